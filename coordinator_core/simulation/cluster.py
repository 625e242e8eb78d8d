"""The simulated cluster: brokers, logs, network and processes of a fleet on one virtual clock.

    for output in simulate(fleet, start_ms=...):
        ...

The same fleet and seed yield the same outputs, byte for byte.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256

from coordinator_core.client import (
    ClientRequest,
    ListenerCall,
    Measured,
)
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.coordinator.metadata_image import TopicImage
from coordinator_core.jvm.hash_codes import partition_for
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Append, Event, Response, TopicPartition
from coordinator_core.simulation.broker import SimulatedBroker
from coordinator_core.simulation.consumption import Handled
from coordinator_core.simulation.event_queue import Callback, EventQueue, Phase
from coordinator_core.simulation.faults import Faults
from coordinator_core.simulation.ground_truth import GroupTruth
from coordinator_core.simulation.idle_time import IdleSkipper
from coordinator_core.simulation.message_delivery import MessageDelivery
from coordinator_core.simulation.modern_truth import ModernTruth
from coordinator_core.simulation.offsets_partition import OffsetsPartition
from coordinator_core.simulation.outputs import BrokerLogLine, Output, TruthLine
from coordinator_core.simulation.plans import Action, Obstacle, planned_actions
from coordinator_core.simulation.process import SimulatedProcess
from coordinator_core.simulation.random_draws import key_of
from coordinator_core.simulation.simulated_group import SimulatedGroup
from coordinator_core.simulation.spec import Fleet, GroupSpec, Script
from coordinator_core.simulation.tracing import TraceRecorder

_MAX_PROCESSES = 1_000_000  # per group: process numbers start at a multiple of this number
_EXPIRIES = frozenset({"HEARTBEAT_EXPIRED", "PENDING_EXPIRED", "EXPIRED_UNKNOWN"})
# Events that only consumer, share and streams groups have.
_MODERN_EVENTS = frozenset({"FENCED", "TARGET", "EPOCH_BUMP", "CONVERT", "STATIC_FENCED"})
# Why a group was not converted, or refused a client of the other protocol.
_NOT_CONVERTED = frozenset(
    {
        "UPGRADE_FAILED", "upgrade_disabled", "upgrade_other_protocol", "upgrade_too_large",
        "downgrade_disabled", "downgrade_too_large", "migration_disabled",
    }
)  # fmt: skip
_OFFSET_COMMIT = b"\x00\x01"
_GROUP_RECORD = b"\x00\x02"


def simulate(
    fleet: Fleet,
    start_ms: int,
    *,
    seed: int | None = None,
    skips_idle: bool = True,
    traces: bool = True,
    log_lines: bool = True,
    commits: bool = True,
    partitions: frozenset[int] | None = None,
) -> Iterator[Output]:
    """Outputs in order of time.  ``start_ms`` is ms since the epoch.

    ``skips_idle`` False simulates every heartbeat; the outputs are the same.  ``commits`` False
    also skips automatic commits of idle groups; only their records are missing.  ``partitions``
    limits the simulation to groups of these partitions of `__consumer_offsets`; their outputs do
    not depend on other partitions.  ``traces``, ``log_lines`` False: without these outputs.
    """
    cluster = SimulatedCluster(
        fleet,
        start_ms,
        fleet.seed if seed is None else seed,
        skips_idle=skips_idle,
        traces=traces,
        log_lines=log_lines,
        commits=commits,
        partitions=partitions,
    )
    yield from cluster.run()


class SimulatedCluster:
    def __init__(
        self,
        fleet: Fleet,
        start_ms: int,
        seed: int,
        *,
        skips_idle: bool = True,
        traces: bool = True,
        log_lines: bool = True,
        commits: bool = True,
        partitions: frozenset[int] | None = None,
    ) -> None:
        spec = fleet.cluster
        count = spec.config.offsets_topic_partitions
        self.fleet = fleet
        self.start_ms = start_ms
        self.end_ms = start_ms + fleet.length_ms
        self.key = key_of(seed, "world")
        self.append_ms = spec.append_ms
        self.load_ms = spec.load_ms
        self.event_queue = EventQueue(start_ms)
        self.topics = {topic.name: topic for topic in fleet.topics}
        self.topic_ids = {
            topic.name: topic.topic_id or _topic_id(seed, topic.name) for topic in fleet.topics
        }
        self.has_records = any(topic.rate for topic in fleet.topics)
        self.outputs: list[Output] = []
        self.partitions = [OffsetsPartition(n, 1 + n % spec.brokers) for n in range(count)]
        self.selected = partitions if partitions is not None else frozenset(range(count))
        self.writes_logs = log_lines
        # Log the events of a broker once, even if a separate task simulates each partition.
        self.logs_broker_events = 0 in self.selected
        self.brokers = {
            n: SimulatedBroker(n, spec.config, ERAS[spec.era], self._member_id, self)
            for n in range(1, spec.brokers + 1)
        }
        self.groups: dict[str, SimulatedGroup] = {}
        self.tracing: TraceRecorder | None = None
        if traces:
            self.tracing = TraceRecorder(
                self.outputs.append,
                start_ms,
                {topic_id: name for name, topic_id in self.topic_ids.items()},
            )
        self._seed = seed
        self.delivery = MessageDelivery(self, self._skip_idle_time)
        self.faults = Faults(self, self.delivery.break_connections)
        self.idle_skipper = None
        if skips_idle:
            quiet_until = self.faults.quiet_until
            self.idle_skipper = IdleSkipper(self, quiet_until, skips_commits=not commits)
        self._populate()

    def _skip_idle_time(self, group: SimulatedGroup, now_ms: int) -> None:
        if self.idle_skipper is not None:
            self.idle_skipper.consider(group, now_ms)

    def _populate(self) -> None:
        for index, spec in enumerate(self.fleet.groups):
            partition = partition_for(spec.name, len(self.partitions))
            if partition in self.selected:
                self._add_group(spec, partition, index * _MAX_PROCESSES)

    def _add_group(self, spec: GroupSpec, partition: int, first_number: int) -> None:
        script = spec.script or self._script(spec)
        truth = GroupTruth(spec.name, self.outputs.append)
        names = {topic_id: name for name, topic_id in self.topic_ids.items()}
        modern_truth = ModernTruth(spec.name, self.outputs.append, names)
        group = SimulatedGroup(
            spec=spec,
            partition=partition,
            truth=truth,
            modern_truth=modern_truth,
            actions=list(script.actions),
        )
        group.processes = [
            SimulatedProcess(
                spec=process,
                group=script.own.get(process.name, spec),
                number=first_number + n,
                seed=self._seed,
                network=self.fleet.network,
                environment=self,
                host=script.hosts.get(process.name),
                member_ids=script.member_ids.get(process.name, ()),
            )
            for n, process in enumerate(script.processes)
        ]
        self.groups[spec.name] = group
        by_name = {process.name: process for process in group.processes}
        for action in group.actions:
            process = by_name[action.process]
            self.event_queue.schedule(
                self.start_ms + action.at_ms,
                Phase.CLUSTER,
                process.number,
                partial(self._act, group, process, action),
            )

        for at_ms in sorted({at_ms for each in spec.obstacles for at_ms in self._turns_ms(each)}):
            for process in group.processes:
                self.later(process, self.start_ms + at_ms, process.work)

    def _turns_ms(self, obstacle: Obstacle) -> Iterator[int]:
        """The times at which applications must check the partition: just before a pause, and once a
        pill is in the log.
        """
        yield obstacle.at_ms - 1
        if obstacle.kind == "pill":
            yield obstacle.at_ms + 1000 // max(self.topics[obstacle.partition[0]].rate, 1) + 1
        if obstacle.until_ms is not None:
            yield obstacle.until_ms

    def _script(self, spec: GroupSpec) -> Script:
        processes, actions = planned_actions(
            spec.name, spec.processes, spec.plans, self._seed, self.fleet.length_ms
        )
        return Script(tuple(processes), tuple(actions), {}, {})

    def run(self) -> Iterator[Output]:
        for broker in self.brokers.values():
            broker.start(self.start_ms)
        for partition in self.partitions:
            if partition.leader is not None and partition.number in self.selected:
                self.brokers[partition.leader].elected(partition.number, self.start_ms)
        self.faults.schedule_all()
        for at_ms in sorted({at_ms for topic in self.topics.values() for at_ms, _ in topic.grows}):
            self.event_queue.schedule(self.start_ms + at_ms, Phase.CLUSTER, -1, self._topics_grow)
        while self.event_queue.step(self.end_ms):
            if self.outputs:
                yield from self.outputs
                self.outputs.clear()
        self._close()
        yield from self.outputs
        self.outputs.clear()

    def _topics_grow(self, now_ms: int) -> None:
        for broker in self.brokers.values():
            broker.topics_changed(now_ms)

    def _close(self) -> None:
        for name, group in self.groups.items():
            for process in group.processes:
                process.close(self.end_ms)
            group.owned.close(self.end_ms)
            group.truth.close()
            modern = group.modern_truth
            modern.close(self.end_ms)  # This also counts the time until the end.
            self._write_truth(
                truth="group",
                group=name,
                generations=group.truth.generations + modern.targets,
                rebalance_ms=group.truth.rebalance_ms + modern.not_stable_ms,
                members_expired=group.truth.expired + modern.expired,
                member_ids=group.ids,
                group_epochs=modern.bumps,
                members_joined=modern.joined,
                members_left=modern.left,
                members_timed_out=modern.timed_out,
                static_members_refused=sum(each.refused for each in group.processes),
                recorded_moves=modern.moved,
                unowned_partition_ms=group.owned.unowned_ms,
                double_owned_partition_ms=group.owned.double_ms,
                partitions_moved=group.owned.moves,
            )

    def _write_truth(self, **truth: object) -> None:
        self.outputs.append(TruthLine(truth))

    def _act(
        self, group: SimulatedGroup, process: SimulatedProcess, action: Action, now_ms: int
    ) -> None:
        group.done += 1
        self._write_truth(
            truth="action",
            at_ms=now_ms,
            group=group.spec.name,
            process=process.name,
            action=action.kind.value,
            length_ms=action.length_ms,
        )
        process.act(action, now_ms)

    # -- environment of processes ------------------------------------------------------------------

    def schedule(
        self, group_id: str, at_ms: int, phase: Phase, actor: int, callback: Callback
    ) -> None:
        group = self.groups[group_id]
        group.open += 1

        def due(now_ms: int) -> None:
            group.open -= 1
            callback(now_ms)

        self.event_queue.schedule(at_ms, phase, actor, due)

    def later(self, process: SimulatedProcess, at_ms: int, callback: Callback) -> None:
        """Schedule something that a process does, or that is done to it."""
        later_ms = self.groups[process.group.name].later_ms
        later_ms.append(at_ms)

        def due(now_ms: int) -> None:
            later_ms.remove(at_ms)
            callback(now_ms)

        self.event_queue.schedule(at_ms, Phase.CLIENT, process.number, due)

    def wake(self, process: SimulatedProcess, at_ms: int) -> None:
        def due(now_ms: int) -> None:
            if process.wake_ms == now_ms:
                process.wake_ms = None
                process.advance(now_ms)

        self.event_queue.schedule(at_ms, Phase.CLIENT, process.number, due)

    def produced(self, partition: TopicPartition, now_ms: int) -> int:
        return self.topics[partition[0]].produced(now_ms - self.start_ms)

    def limit(
        self, group_id: str, partition: TopicPartition, position: int, now_ms: int
    ) -> tuple[int, bool] | None:
        """The position at which the first obstacle of the partition stops its application."""
        since_ms = now_ms - self.start_ms
        limits = [
            (position, False)
            if each.kind == "pause"
            else (self.topics[partition[0]].produced(each.at_ms), True)
            for each in self.groups[group_id].spec.obstacles
            if each.partition == partition and each.is_there(since_ms)
        ]
        return min((limit for limit in limits if limit[0] >= position), default=None)

    def consumed(self, process: SimulatedProcess, handled: Handled) -> None:
        topic, number = handled.partition
        self._write_truth(
            truth="handled",
            at_ms=handled.to_ms,
            group=process.group.name,
            process=process.name,
            life=process.life,
            topic=topic,
            partition=number,
            from_ms=handled.from_ms,
            from_offset=handled.from_offset,
            to_offset=handled.to_offset,
        )

    def called(self, process: SimulatedProcess, call: ListenerCall, now_ms: int) -> None:
        owned = self.groups[process.group.name].owned
        change = owned.assigned if call.kind == "assigned" else owned.revoked
        for partition in call.partitions:
            change(process.name, partition, now_ms)
        self._write_truth(
            truth="callback",
            at_ms=now_ms,
            group=process.group.name,
            process=process.name,
            life=process.life,
            callback=call.kind,
            partitions=[list(each) for each in call.partitions],
        )

    def measured(self, process: SimulatedProcess, measured: Measured) -> None:
        if measured.step == "rebalance":
            self._write_truth(
                truth="client_rebalance",
                at_ms=measured.end_ms,
                group=process.group.name,
                process=process.name,
                generation=measured.generation,
                duration_ms=measured.duration_ms,
            )

    def ended(self, process: SimulatedProcess, how: str, now_ms: int) -> None:
        self.groups[process.group.name].owned.process_ended(process.name, now_ms)
        self._write_truth(
            truth="end", at_ms=now_ms, group=process.group.name, process=process.name, how=how
        )

    def send(
        self, process: SimulatedProcess, request: ClientRequest, node: int | None, now_ms: int
    ) -> None:
        self.delivery.send(process, request, node, now_ms)

    # -- environment of brokers --------------------------------------------------------------------

    def answer(self, request_id: str, response: Response, now_ms: int) -> None:
        self.delivery.answer(request_id, response, now_ms)

    def topic_images(self) -> list[TopicImage]:
        """The topics as they are now."""
        since_ms = self.event_queue.now_ms - self.start_ms
        return [
            TopicImage(topic.name, self.topic_ids[topic.name], topic.partitions_at(since_ms))
            for topic in self.topics.values()
        ]

    def group_configs(self) -> Iterable[tuple[str, Mapping[str, str]]]:
        for name, group in self.groups.items():
            if group.spec.configs:
                yield name, dict(group.spec.configs)

    def partition_of(self, group_id: str) -> int:
        return self.groups[group_id].partition

    def append_error(self, broker: SimulatedBroker, append: Append, now_ms: int) -> Errors:
        if self.partitions[append.partition].leader != broker.broker_id:
            return Errors.NOT_LEADER_OR_FOLLOWER
        return self.faults.append_error(append, now_ms)

    def appended(self, broker: SimulatedBroker, append: Append, now_ms: int) -> None:
        (key, value), partition = append.records[0], self.partitions[append.partition]
        is_commit = key[:2] == _OFFSET_COMMIT and value is not None
        sequence = 0 if is_commit else broker.era.group_batch_sequence
        self.outputs.append(partition.append(append.records, now_ms, sequence))
        if self.tracing is not None:
            self.tracing.written(append, now_ms)
        self._note_stored(broker, append, now_ms)

    def _note_stored(self, broker: SimulatedBroker, append: Append, now_ms: int) -> None:
        """Records of a group's state, not offsets: give the truth the group as they leave it."""
        simulated, modern = self.groups[append.group_id], broker.modern_group(append.group_id)
        if modern is not None:
            if any(key[:2] not in (_OFFSET_COMMIT, _GROUP_RECORD) for key, _ in append.records):
                simulated.written_ms = now_ms
                kinds = {int.from_bytes(key[:2], "big") for key, value in append.records if value}
                simulated.modern_truth.stored(modern, frozenset(kinds), now_ms)
            return
        group = broker.group(append.group_id)
        if group is not None and any(
            key[:2] == _GROUP_RECORD and value is not None for key, value in append.records
        ):
            if simulated.modern_truth.is_current:
                simulated.modern_truth.converted(now_ms)
                simulated.truth.continues = group.generation
            else:
                simulated.truth.stored(group, now_ms)

    def logged(self, line: BrokerLogLine) -> None:
        self.outputs.append(line)

    def happened(self, broker: SimulatedBroker, event: Event, now_ms: int) -> None:
        simulated = self.groups[event.group_id]
        simulated.has_expired = simulated.has_expired or event.kind in _EXPIRIES
        group = broker.group(event.group_id)
        fields = event.fields
        left_classic = "client_reason" in fields and fields.get("step") != "classic"
        leaves_modern = event.kind == "LEFT" and not left_classic
        is_modern = event.kind in _MODERN_EVENTS or leaves_modern
        if is_modern or broker.modern_group(event.group_id) is not None:
            simulated.modern_truth.happened(event)
        else:
            simulated.truth.happened(event, group, now_ms)
        step = str(event.fields.get("step", event.kind))
        if event.kind == "CONVERT" or step in _NOT_CONVERTED:
            self._write_truth(truth="conversion", at_ms=now_ms, group=event.group_id, step=step)
        if event.kind == "CONVERT":
            self._converts(simulated, step, now_ms)
        if self.tracing is not None:
            self.tracing.happened(event)

    def _converts(self, group: SimulatedGroup, step: str, now_ms: int) -> None:
        """An empty group of another type begins a new incarnation: its generations restart."""
        if not step.endswith("to_classic"):
            group.truth.converted(now_ms)
            group.modern_truth.takes_over(group.truth.last_ended, group.truth.owners)
        elif step == "empty_to_classic":
            group.modern_truth.converted(now_ms)
        if step.startswith("empty"):
            group.truth.incarnation += 1
            group.modern_truth.incarnation += 1

    def handled(self, broker: SimulatedBroker, now_ms: int) -> None:
        if self.tracing is not None:
            self.tracing.emit_states(broker.coordinator.groups, now_ms)

    def _member_id(self, group_id: str, prefix: str) -> str:
        """A member id in a broker's format, derived from the seed, the group and a counter."""
        group = self.groups[group_id]
        group.ids += 1
        digest = sha256(f"{self._seed}/{group_id}#{group.ids}".encode()).hexdigest()
        parts = digest[:8], digest[8:12], "4" + digest[13:16], "a" + digest[17:20], digest[20:32]
        member_id = f"{prefix}-{'-'.join(parts)}"
        if self.tracing is not None:
            self.tracing.member_ids.append(member_id)
        return member_id


def _topic_id(seed: int, name: str) -> str:
    """A topic id, derived from the seed and the topic's name, so that it stays the same."""
    digest = bytearray(sha256(f"{seed}/topic/{name}".encode()).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x40
    digest[8] = digest[8] & 0x3F | 0x80
    return urlsafe_b64encode(bytes(digest)).decode()[:22]
