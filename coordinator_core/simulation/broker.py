"""A simulated broker: the coordinator, its timers, its appends and its server.log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig, Era
from coordinator_core.coordinator.metadata_image import TopicImage
from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.coordinator.turn import MemberIds
from coordinator_core.coordinator.written_lines import line_of
from coordinator_core.log_lines import render_line
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Append,
    BareError,
    Effect,
    Event,
    OffsetCommit,
    Request,
    Respond,
    Response,
)
from coordinator_core.simulation.event_queue import Callback, EventQueue, Phase
from coordinator_core.simulation.offsets_partition import OffsetsPartition
from coordinator_core.simulation.outputs import BrokerLogLine
from coordinator_core.simulation.random_draws import between

_TOPIC = "__consumer_offsets"


class BrokerEnvironment(Protocol):
    """The cluster as a broker uses it: its services, and receivers of notifications."""

    event_queue: EventQueue
    partitions: list[OffsetsPartition]
    append_ms: tuple[int, int]
    load_ms: int
    key: int
    logs_broker_events: bool
    writes_logs: bool

    def partition_of(self, group_id: str) -> int: ...
    def topic_images(self) -> list[TopicImage]: ...
    def group_configs(self) -> Iterable[tuple[str, Mapping[str, str]]]: ...
    def append_error(self, broker: SimulatedBroker, append: Append, now_ms: int) -> Errors: ...
    def schedule(
        self, group_id: str, at_ms: int, phase: Phase, actor: int, callback: Callback
    ) -> None: ...
    def answer(self, request_id: str, response: Response, now_ms: int) -> None: ...
    def logged(self, line: BrokerLogLine) -> None: ...
    def appended(self, broker: SimulatedBroker, append: Append, now_ms: int) -> None: ...
    def happened(self, broker: SimulatedBroker, event: Event, now_ms: int) -> None: ...
    def handled(self, broker: SimulatedBroker, now_ms: int) -> None: ...


class SimulatedBroker:
    """``is_up``: accepts connections.  For a partition that it still loads, the broker responds
    COORDINATOR_LOAD_IN_PROGRESS.
    """

    def __init__(
        self,
        broker_id: int,
        config: CoordinatorConfig,
        era: Era,
        ids: MemberIds,
        environment: BrokerEnvironment,
    ) -> None:
        self.broker_id = broker_id
        self.era = era
        self.is_up = True
        self.coordinator = Coordinator(config, era, ids)
        self._config = config
        self._ids = ids
        self._environment = environment
        self._in_flight: dict[int, list[tuple[Append, Errors]]] = {}
        self._loading: set[int] = set()
        self._wake_ms: int | None = None

    # -- requests ------------------------------------------------------------------------------

    def handle(self, request: Request, now_ms: int) -> None:
        """Handle a request, or refuse it if the broker does not lead or still loads the group."""
        error = self._error_of(self._environment.partition_of(request.group_id))
        if error is not Errors.NONE:
            self._environment.answer(request.request_id, BareError(error), now_ms)
            return
        self._catch_up(now_ms)
        if type(request) is OffsetCommit:
            request = self._with_topic_ids(request)
        self._perform(self.coordinator.handle(request, now_ms), now_ms)
        self._run_background(now_ms)
        self._done(now_ms)

    def _with_topic_ids(self, commit: OffsetCommit) -> OffsetCommit:
        """Add topic ids, as brokers do; in newer eras to commits of all versions."""
        rules = self.era.modern
        if rules is None or not (rules.broker_adds_topic_ids or commit.version >= 10):
            return commit
        topics = self._environment.topic_images()
        names = {topic for topic, *_ in commit.offsets}
        ids = {topic.name: topic.topic_id for topic in topics if topic.name in names}
        return commit._replace(topic_ids=ids)

    def _run_background(self, now_ms: int) -> None:
        """Work of the broker's other threads: it resolves regular expressions."""
        while (effects := self.coordinator.run_background(now_ms)) is not None:
            self._perform(effects, now_ms)

    def topics_changed(self, now_ms: int) -> None:
        """The cluster's metadata changed."""
        if self.era.modern is not None and self.is_up:
            self._catch_up(now_ms)
            topics = self._environment.topic_images()
            self._perform(self.coordinator.change_topics(topics, (), now_ms), now_ms)
            self._done(now_ms)

    def _error_of(self, partition: int) -> Errors:
        if self._environment.partitions[partition].leader != self.broker_id:
            return Errors.NOT_COORDINATOR
        if partition in self._loading:
            return Errors.COORDINATOR_LOAD_IN_PROGRESS
        return Errors.NONE

    def group(self, group_id: str) -> ClassicGroup | None:
        return self.coordinator.groups.get(group_id)

    def modern_group(self, group_id: str) -> ModernGroup | None:
        return self.coordinator.modern_groups.get(group_id)

    # -- the coordinator's effects -------------------------------------------------------------

    def _catch_up(self, now_ms: int) -> None:
        """Fire the timers due by now, before anything else at this time."""
        coordinator = self.coordinator
        while (due_ms := coordinator.next_deadline_ms()) is not None and due_ms <= now_ms:
            self._perform(coordinator.fire_next(now_ms) or [], now_ms)

    def _done(self, now_ms: int) -> None:
        self._environment.handled(self, now_ms)
        due_ms = self.coordinator.next_deadline_ms()
        if due_ms is not None and (self._wake_ms is None or due_ms < self._wake_ms):
            self._wake_ms = due_ms
            self._environment.event_queue.schedule(due_ms, Phase.TIMERS, self.broker_id, self._wake)

    def _wake(self, now_ms: int) -> None:
        if self._wake_ms != now_ms:
            return  # An earlier wake-up replaced this one.
        self._wake_ms = None
        self._catch_up(now_ms)
        self._done(now_ms)

    def _perform(self, effects: Iterable[Effect], now_ms: int) -> None:
        for effect in effects:
            if type(effect) is Respond:
                self._environment.answer(effect.request_id, effect.response, now_ms)
            elif type(effect) is Append:
                self._append(effect, now_ms)
            else:
                assert type(effect) is Event
                self._log_event(effect, now_ms)

    def _log_event(self, event: Event, now_ms: int) -> None:
        self._environment.happened(self, event, now_ms)
        if not self._environment.writes_logs:
            return
        partitions = self._config.offsets_topic_partitions
        text = line_of(
            event, self.era, local_ms=now_ms, broker_id=self.broker_id, partitions=partitions
        )
        if text is not None:
            self._environment.logged(BrokerLogLine(now_ms, self.broker_id, text))

    def _append(self, append: Append, now_ms: int) -> None:
        environment, partition = self._environment, self._environment.partitions[append.partition]
        error = environment.append_error(self, append, now_ms)
        took_ms = between(
            *environment.append_ms, environment.key, partition.number, partition.end_offset
        )
        if error is Errors.NONE:
            environment.appended(self, append, now_ms)
        partition.acked_ms = max(partition.acked_ms, now_ms + took_ms)
        if partition.acked_ms == now_ms:
            self._perform(self.coordinator.appended(append, error, now_ms), now_ms)
            return
        self._in_flight.setdefault(append.partition, []).append((append, error))
        environment.schedule(
            append.group_id,
            partition.acked_ms,
            Phase.LOG,
            append.partition,
            lambda at_ms: self._acknowledge(append, error, at_ms),
        )

    def _acknowledge(self, append: Append, error: Errors, now_ms: int) -> None:
        waiting = self._in_flight.get(append.partition, [])
        if (append, error) not in waiting:
            return  # Another broker leads the partition now.
        waiting.remove((append, error))
        self._catch_up(now_ms)
        self._perform(self.coordinator.appended(append, error, now_ms), now_ms)
        self._done(now_ms)

    # -- elections -----------------------------------------------------------------------------

    def start(self, now_ms: int) -> None:
        """Start without any state; partitions are loaded by ``elected``."""
        self.is_up = True
        self.coordinator = Coordinator(self._config, self.era, self._ids)
        self._in_flight.clear()
        self._loading.clear()
        self._wake_ms = None
        for group_id, configs in self._environment.group_configs():
            self.coordinator.configure_group(group_id, configs)
        self.topics_changed(now_ms)
        if self._environment.logs_broker_events:
            for step in ("starting_up", "startup_complete"):
                self._print("OTHER", now_ms, step=step)

    def stop(self, now_ms: int) -> None:
        """Killed: no log line, no response to any request."""
        self.is_up = False
        self._in_flight.clear()
        self._wake_ms = None

    def elected(self, partition: int, now_ms: int) -> None:
        epoch = self._environment.partitions[partition].epoch
        self._loading.add(partition)
        self._print("PARTITION_LOAD", now_ms, partition, step="elected", epoch=epoch)
        self._print("PARTITION_LOAD", now_ms, partition, step="scheduled", epoch=epoch)

        def load(at_ms: int) -> None:
            if epoch == self._environment.partitions[partition].epoch and self.is_up:
                self._load(partition, at_ms)

        self._environment.event_queue.schedule(
            now_ms + self._environment.load_ms, Phase.CLUSTER, self.broker_id, load
        )

    def _load(self, number: int, now_ms: int) -> None:
        partition = self._environment.partitions[number]
        records = partition.records()
        self._catch_up(now_ms)
        effects = self.coordinator.load(records, now_ms)
        loaded = [e.group_id for e in effects if type(e) is Event and e.kind == "LOADED"]
        for group_id in loaded:
            if (group := self.coordinator.groups.get(group_id)) is not None:
                self._print_members(group, now_ms)
        self._perform(effects, now_ms)
        self._print(
            "PARTITION_LOAD",
            now_ms,
            number,
            step="finished",
            epoch=partition.epoch,
            duration_ms=self._environment.load_ms,
            scheduler_ms=0,
            count=len(records),
            byte_count=sum(len(key) + len(value or b"") for key, value in records),
        )
        self._loading.discard(number)
        self._done(now_ms)

    def resigned(self, partition: int, now_ms: int) -> None:
        """Another broker leads: requests that wait are answered with NOT_COORDINATOR."""
        epoch = self._environment.partitions[partition].epoch
        self._loading.discard(partition)
        self._catch_up(now_ms)
        self._print("PARTITION_LOAD", now_ms, partition, step="resigned", epoch=epoch)
        for step in ("scheduled", "started"):
            self._print("PARTITION_UNLOAD", now_ms, partition, step=step, epoch=epoch)
        classic, modern = self.coordinator.groups, self.coordinator.modern_groups
        groups: list[ClassicGroup | ModernGroup] = []
        groups += [each for each in classic.values() if each.partition == partition]
        groups += [each for each in modern.values() if each.partition == partition]
        waiting = self._in_flight.pop(partition, [])
        if self.era.unloads_before_appends_fail:
            self._perform(self.coordinator.unload(now_ms, partition), now_ms)
        self._fail(waiting, now_ms)
        if not self.era.unloads_before_appends_fail:
            self._perform(self.coordinator.unload(now_ms, partition), now_ms)
        self._print(
            "PARTITION_UNLOAD",
            now_ms,
            partition,
            step="finished",
            epoch=epoch,
            count=sum(len(group.offsets) for group in groups),
            group_count=len(groups),
        )
        self._done(now_ms)

    def _fail(self, waiting: list[tuple[Append, Errors]], now_ms: int) -> None:
        """Fail appends that are not acknowledged; their records stay in the log."""
        for append, _ in waiting:
            error = Errors.NOT_LEADER_OR_FOLLOWER
            self._perform(self.coordinator.appended(append, error, now_ms), now_ms)

    # -- log lines about the broker itself -----------------------------------------------------

    def _print(
        self, event: str, now_ms: int, partition: int | None = None, **fields: object
    ) -> None:
        if not self._environment.writes_logs:
            return
        fields = fields | {"broker_id": self.broker_id}
        if partition is not None:
            fields["topic_partition"] = f"{_TOPIC}-{partition}"
        text = render_line(event, self.era.kafka, local_ms=now_ms, **fields)
        if text is not None:
            self._environment.logged(BrokerLogLine(now_ms, self.broker_id, text))

    def _print_members(self, group: ClassicGroup, now_ms: int) -> None:
        for member in group.in_order():
            if not self.era.logs_loaded_dynamic_members and member.instance_id is None:
                continue
            self._print(
                "LOADED",
                now_ms,
                step="member",
                group_id=group.group_id,
                generation=group.generation,
                member_id=member.member_id,
                instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                session_timeout_ms=member.session_timeout_ms,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                protocols=tuple(name for name, _ in member.protocols),
                _=f"memberId={member.member_id}, groupInstanceId=Some({member.instance_id})",
            )
