"""A fleet on one virtual clock: brokers, their logs, the network and the processes on it.

    for output in simulate(fleet, start_ms=...):
        ...

The same fleet and seed give the same outputs, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256

from coordinator_core.client import (
    ClientRequest,
    ListenerCall,
    Measured,
)
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.jvm.java import partition_for
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Append, Event, Response
from coordinator_core.simulation.agenda import Act, Agenda, Phase
from coordinator_core.simulation.broker import Broker
from coordinator_core.simulation.chance import key_of
from coordinator_core.simulation.faults import Faults
from coordinator_core.simulation.idle import Idle
from coordinator_core.simulation.log import Partition
from coordinator_core.simulation.outputs import Line, Output, Told
from coordinator_core.simulation.plans import Action, lives_of
from coordinator_core.simulation.post import Post
from coordinator_core.simulation.process import Process
from coordinator_core.simulation.spec import Fleet, GroupSpec, Script
from coordinator_core.simulation.tracing import Tracing
from coordinator_core.simulation.truth import GroupTruth, Ownership

_MOST_PROCESSES = 1_000_000  # of a group, to number them apart from the next group's
_OFFSET_COMMIT = b"\x00\x01"
_GROUP_RECORD = b"\x00\x02"


@dataclass
class GroupWorld:
    """``open``: messages on their way and appends not through; ``later_ms``: when something is due
    that its processes have before them.
    """

    spec: GroupSpec
    partition: int
    truth: GroupTruth
    processes: list[Process] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    done: int = 0
    open: int = 0
    ids: int = 0
    owned: Ownership = field(default_factory=Ownership)
    later_ms: list[int] = field(default_factory=list)
    idle_not_before_ms: int = 0

    @property
    def next_action_ms(self) -> int | None:
        """Since the fleet's start."""
        return self.actions[self.done].at_ms if self.done < len(self.actions) else None


def simulate(
    fleet: Fleet,
    start_ms: int,
    *,
    seed: int | None = None,
    skips_idle: bool = True,
    traces: bool = True,
    partitions: frozenset[int] | None = None,
) -> Iterator[Output]:
    """Everything that happens, in order of time; ``start_ms``: ms since the epoch.

    ``skips_idle`` False plays every heartbeat; the outputs are the same.  ``partitions``: only the
    groups of these partitions of `__consumer_offsets`; they fare as they do among all others.
    """
    world = World(
        fleet,
        start_ms,
        fleet.seed if seed is None else seed,
        skips_idle=skips_idle,
        traces=traces,
        partitions=partitions,
    )
    yield from world.run()


class World:
    def __init__(
        self,
        fleet: Fleet,
        start_ms: int,
        seed: int,
        *,
        skips_idle: bool = True,
        traces: bool = True,
        partitions: frozenset[int] | None = None,
    ) -> None:
        cluster = fleet.cluster
        self.fleet = fleet
        self.start_ms = start_ms
        self.end_ms = start_ms + fleet.length_ms
        self.key = key_of(seed, "world")
        self.append_ms = cluster.append_ms
        self.load_ms = cluster.load_ms
        self.agenda = Agenda(start_ms)
        self.topics = {topic.name: topic for topic in fleet.topics}
        self.outputs: list[Output] = []
        count = cluster.config.offsets_topic_partitions
        ids = range(1, cluster.brokers + 1)
        self.partitions = [Partition(n, 1 + n % cluster.brokers) for n in range(count)]
        self.shown = partitions if partitions is not None else frozenset(range(count))
        self.tells_of_brokers = 0 in self.shown  # once, where partitions are played apart
        era = ERAS[cluster.era]
        self.brokers = {n: Broker(n, cluster.config, era, self._member_id, self) for n in ids}
        self.groups: dict[str, GroupWorld] = {}
        self.tracing = Tracing(self.outputs.append, start_ms) if traces else None
        self.faults = Faults(self)
        self._seed = seed
        self.post = Post(self)
        self.idle = Idle(self) if skips_idle else None
        self._populate()

    def _populate(self) -> None:
        for place, spec in enumerate(self.fleet.groups):
            partition = partition_for(spec.name, len(self.partitions))
            if partition not in self.shown:
                continue
            script = spec.script or self._script(spec)
            truth = GroupTruth(spec.name, self.outputs.append)
            group = GroupWorld(spec, partition, truth, actions=list(script.actions))
            network = self.fleet.network
            group.processes = [
                Process(
                    each,
                    script.own.get(each.name, spec),
                    place * _MOST_PROCESSES + n,
                    self._seed,
                    network,
                    self,
                    script.hosts.get(each.name),
                )
                for n, each in enumerate(script.processes)
            ]
            self.groups[spec.name] = group
            by_name = {process.name: process for process in group.processes}
            for action in group.actions:
                process = by_name[action.process]
                self.agenda.note(
                    self.start_ms + action.at_ms,
                    Phase.WORLD,
                    process.number,
                    partial(self._do, group, process, action),
                )

    def _script(self, spec: GroupSpec) -> Script:
        processes, actions = lives_of(
            spec.name, spec.processes, spec.plans, self._seed, self.fleet.length_ms
        )
        return Script(tuple(processes), tuple(actions), {}, {})

    def run(self) -> Iterator[Output]:
        for broker in self.brokers.values():
            broker.start(self.start_ms)
        for partition in self.partitions:
            if partition.leader is not None and partition.number in self.shown:
                self.brokers[partition.leader].elected(partition.number, self.start_ms)
        self.faults.note()
        while self.agenda.step(self.end_ms):
            if self.outputs:
                yield from self.outputs
                self.outputs.clear()
        self._close()
        yield from self.outputs
        self.outputs.clear()

    def _close(self) -> None:
        for name, group in self.groups.items():
            group.owned.close(self.end_ms)
            group.truth.close()
            self._tell(
                truth="group",
                group=name,
                generations=group.truth.generations,
                rebalance_ms=group.truth.rebalance_ms,
                members_expired=group.truth.expired,
                member_ids=group.ids,
                unowned_partition_ms=group.owned.unowned_ms,
                double_owned_partition_ms=group.owned.double_ms,
                partitions_moved=group.owned.moves,
            )

    def _tell(self, **truth: object) -> None:
        self.outputs.append(Told(truth))

    def _do(self, group: GroupWorld, process: Process, action: Action, now_ms: int) -> None:
        group.done += 1
        self._tell(
            truth="action",
            at_ms=now_ms,
            group=group.spec.name,
            process=process.name,
            action=action.act.value,
            length_ms=action.length_ms,
        )
        process.act(action, now_ms)

    # -- what processes need -------------------------------------------------------------------

    def note(self, group_id: str, at_ms: int, phase: Phase, actor: int, act: Act) -> None:
        group = self.groups[group_id]
        group.open += 1

        def due(now_ms: int) -> None:
            group.open -= 1
            act(now_ms)

        self.agenda.note(at_ms, phase, actor, due)

    def later(self, process: Process, at_ms: int, act: Act) -> None:
        """Something that a process will do, or that will be done to it."""
        later_ms = self.groups[process.group.name].later_ms
        later_ms.append(at_ms)

        def due(now_ms: int) -> None:
            later_ms.remove(at_ms)
            act(now_ms)

        self.agenda.note(at_ms, Phase.CLIENT, process.number, due)

    def wake(self, process: Process, at_ms: int) -> None:
        def due(now_ms: int) -> None:
            if process.wake_ms == now_ms:
                process.wake_ms = None
                process.advance(now_ms)

        self.agenda.note(at_ms, Phase.CLIENT, process.number, due)

    def rate_of(self, topic: str) -> int:
        return self.topics[topic].rate

    def called(self, process: Process, call: ListenerCall, now_ms: int) -> None:
        owned = self.groups[process.group.name].owned
        change = owned.gained if call.kind == "assigned" else owned.let_go
        for partition in call.partitions:
            change(f"{process.name}", partition, now_ms)
        self._tell(
            truth="callback",
            at_ms=now_ms,
            group=process.group.name,
            process=process.name,
            life=process.life,
            callback=call.kind,
            partitions=[list(each) for each in call.partitions],
        )

    def measured(self, process: Process, measured: Measured) -> None:
        if measured.step == "rebalance":
            self._tell(
                truth="client_rebalance",
                at_ms=measured.end_ms,
                group=process.group.name,
                process=process.name,
                generation=measured.generation,
                duration_ms=measured.duration_ms,
            )

    def ended(self, process: Process, how: str, now_ms: int) -> None:
        self.groups[process.group.name].owned.gone(process.name, now_ms)
        self._tell(
            truth="end", at_ms=now_ms, group=process.group.name, process=process.name, how=how
        )

    def send(self, process: Process, request: ClientRequest, node: int | None, now_ms: int) -> None:
        self.post.send(process, request, node, now_ms)

    # -- what brokers need and tell ------------------------------------------------------------

    def answer(self, request_id: str, response: Response, now_ms: int) -> None:
        self.post.answer(request_id, response, now_ms)

    def partition_of(self, group_id: str) -> int:
        return self.groups[group_id].partition

    def append_error(self, broker: Broker, append: Append, now_ms: int) -> Errors:
        if self.partitions[append.partition].leader != broker.broker_id:
            return Errors.NOT_LEADER_OR_FOLLOWER
        return self.faults.append_error(append, now_ms)

    def appended(self, broker: Broker, append: Append, now_ms: int) -> None:
        (key, value), partition = append.records[0], self.partitions[append.partition]
        is_commit = key[:2] == _OFFSET_COMMIT and value is not None
        sequence = 0 if is_commit or broker.era.is_new_coordinator else -1
        self.outputs.append(partition.append(append.records, now_ms, sequence))
        if self.tracing is not None:
            self.tracing.written(append, now_ms)
        group = broker.group(append.group_id)
        if group is not None and any(
            key[:2] == _GROUP_RECORD and value is not None for key, value in append.records
        ):
            self.groups[append.group_id].truth.stored(group, now_ms)

    def printed(self, line: Line) -> None:
        self.outputs.append(line)

    def happened(self, broker: Broker, event: Event, now_ms: int) -> None:
        group = broker.group(event.group_id)
        self.groups[event.group_id].truth.happened(event, group, now_ms)
        if self.tracing is not None:
            self.tracing.happened(event)

    def handled(self, broker: Broker, now_ms: int) -> None:
        if self.tracing is not None:
            self.tracing.show_states(broker.coordinator.groups, now_ms)

    def _member_id(self, group_id: str, prefix: str) -> str:
        """As a broker makes them, and always the same: from the group and the id's number."""
        group = self.groups[group_id]
        group.ids += 1
        digest = sha256(f"{self._seed}/{group_id}#{group.ids}".encode()).hexdigest()
        parts = digest[:8], digest[8:12], "4" + digest[13:16], "a" + digest[17:20], digest[20:32]
        made = f"{prefix}-{'-'.join(parts)}"
        if self.tracing is not None:
            self.tracing.member_ids.append(made)
        return made
