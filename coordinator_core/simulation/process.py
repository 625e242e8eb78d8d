"""A process with a consumer: it is started, stopped, killed, frozen, slowed down, cut off, and
restarted after a failure if its group has a ``restart`` time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol
from uuid import UUID

from coordinator_core.client import (
    LIBRARIES,
    ClientEffect,
    ClientRequest,
    ClientResponse,
    Closed,
    Consumer,
    ConsumerConfig,
    Disconnect,
    ListenerCall,
    Measured,
    Raised,
    Send,
)
from coordinator_core.client.modern.member_ids import member_id_of
from coordinator_core.client.subscription import is_cooperative
from coordinator_core.coordinator.group_types import GROUP_TYPES
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Subtopology, TopicPartition, Topology
from coordinator_core.simulation.channels import Channel, NetworkPath
from coordinator_core.simulation.consumption import Handled, SimulatedApplication
from coordinator_core.simulation.plans import Action, ActionKind, ProcessSpec
from coordinator_core.simulation.random_draws import fraction, key_of, mixed
from coordinator_core.simulation.spec import GroupSpec, Network

_JITTER = 1 << 40  # offset that separates these draws from the draws by time in ms
_MEMBER_ID = _JITTER + 1
_COMMIT = "offset commit"
Callback = Callable[[int], None]


class ProcessEnvironment(Protocol):
    """The cluster as a process uses it: its services, and receivers of notifications.

    ``has_records`` says whether anything is produced to the topics; else all positions stay 0.
    `SimulatedApplication` explains ``produced`` and ``limit``.
    """

    has_records: bool

    def later(self, process: SimulatedProcess, at_ms: int, callback: Callback) -> None: ...
    def wake(self, process: SimulatedProcess, at_ms: int) -> None: ...
    def send(
        self, process: SimulatedProcess, request: ClientRequest, node: int | None, now_ms: int
    ) -> None: ...
    def called(self, process: SimulatedProcess, call: ListenerCall, now_ms: int) -> None: ...
    def ended(self, process: SimulatedProcess, how: str, now_ms: int) -> None: ...
    def measured(self, process: SimulatedProcess, measured: Measured) -> None: ...
    def produced(self, partition: TopicPartition, now_ms: int) -> int: ...
    def limit(
        self, group_id: str, partition: TopicPartition, position: int, now_ms: int
    ) -> tuple[int, bool] | None: ...
    def consumed(self, process: SimulatedProcess, handled: Handled) -> None: ...


class SimulatedProcess:
    """``number`` orders processes.  ``life`` counts starts.  ``consumer`` None: not running."""

    def __init__(
        self,
        *,
        spec: ProcessSpec,
        group: GroupSpec,
        number: int,
        seed: int,
        network: Network,
        environment: ProcessEnvironment,
        host: str | None = None,
        member_ids: tuple[str, ...] = (),
    ) -> None:
        self.name = spec.name
        self.group = group
        self.number = number
        self.instance_id = spec.instance_of if group.static else None
        self.protocol = group.protocol
        self.assignors = group.assignors or LIBRARIES[group.client].assignors
        self._member_ids = member_ids
        self._claims = spec.claims
        self.refused = 0  # number of lives that ended because their group.instance.id was in use
        self.key = key_of(seed, group.name, spec.name)
        self.host = host or "/10.{}.{}.{}".format(*(mixed(self.key, n) % 250 for n in range(3)))
        self.network_path = NetworkPath(network, self.key)
        self.consumer: Consumer | None = None
        self.application: SimulatedApplication | None = None
        self.life = 0
        self.channels: dict[tuple[int, bool], Channel] = {}
        self.wake_ms: int | None = None
        self.is_away = False
        self.frozen_until_ms = 0
        self.cut_until_ms = 0
        self._is_closing = self._starts_when_closed = False
        self._inbox: list[Callback] = []
        self._jitters = 0
        self._failure = ""
        self._environment = environment

    # -- actions -------------------------------------------------------------------------------

    def act(self, action: Action, now_ms: int) -> None:
        if action.kind is ActionKind.START:
            self.protocol = action.protocol or self.protocol
            self.start(now_ms)
        elif self.consumer is not None:
            _ACTIONS[action.kind](self, now_ms, now_ms + action.length_ms)

    def start(self, now_ms: int) -> None:
        """Start the process; if its previous life is still closing, when it has closed."""
        if self.consumer is not None:
            self._starts_when_closed = self._is_closing
            return
        self.life += 1
        group = self.group
        commits = group.commit_interval_ms is not None
        config = ConsumerConfig(
            group_id=group.name,
            client_id=self.name,
            name=f"{self.name}#{self.life}",
            client_host=self.host,
            instance_id=self.instance_id,
            assignors=group.assignors,
            session_timeout_ms=group.session_timeout_ms,
            heartbeat_interval_ms=group.heartbeat_interval_ms,
            max_poll_interval_ms=group.max_poll_interval_ms,
            enable_auto_commit=commits,
            auto_commit_interval_ms=group.commit_interval_ms or 5000,
            metadata_max_age_ms=group.metadata_max_age_ms,
            timer_delay_us=group.timer_delay_us,
            claims=self._claims if self.life == 1 else (),
            group_protocol=self.protocol,
            member_id=self._member_id(),
            remote_assignor=group.remote_assignor,
            regex=group.regex,
            process_id=self._process_id(),
            topology=topology_of(group) if GROUP_TYPES[self.protocol].has_topology else None,
        )
        self.channels = {}
        self._failure = ""
        self.is_away = False
        self.frozen_until_ms = 0
        self.consumer = Consumer(config, LIBRARIES[group.client], self._jitter)
        if commits and self._environment.has_records:
            self.application = self._application(now_ms)
        self._perform(self.consumer.subscribe(group.topics, now_ms), now_ms)
        if self.consumer is not None:
            self._perform(self.consumer.poll(now_ms), now_ms)

    def _application(self, now_ms: int) -> SimulatedApplication:
        environment, group_id = self._environment, self.group.name
        return SimulatedApplication(
            handle_ms=self.group.handle_ms,
            produced=environment.produced,
            limit=lambda partition, position, at_ms: environment.limit(
                group_id, partition, position, at_ms
            ),
            ended=lambda handled: environment.consumed(self, handled),
            now_ms=now_ms,
        )

    def _member_id(self) -> str:
        """The id that a client of a modern group makes for this life."""
        if not GROUP_TYPES[self.protocol].has_epochs:
            return ""
        recorded = self._member_ids[self.life - 1 : self.life]
        if any(recorded):
            return recorded[0]
        is_librdkafka = LIBRARIES[self.group.client].is_librdkafka
        return member_id_of(self._random_bytes(self.life, 16), is_librdkafka=is_librdkafka)

    def _process_id(self) -> str:
        """A streams application's process id, in the form of a UUID."""
        return str(UUID(bytes=self._random_bytes(self.life, 16, 1), version=4))

    def _random_bytes(self, *purpose: int) -> bytes:
        key = mixed(self.key, _MEMBER_ID, *purpose)
        return b"".join(mixed(key, n).to_bytes(8, "big") for n in range(2))

    def stop(self, now_ms: int, _: int) -> None:
        if self.consumer is None or self._is_frozen(now_ms, self.stop):
            return
        if consumer := self._consumer_after_work(now_ms):
            self._is_closing = True
            self._perform(consumer.close(now_ms), now_ms)

    def kill(self, now_ms: int, _: int) -> None:
        self._consumer_after_work(now_ms)
        self._end("killed", now_ms)

    def freeze(self, now_ms: int, until_ms: int) -> None:
        if until_ms <= self.frozen_until_ms:
            return
        self._consumer_after_work(now_ms)
        self._rest(now_ms)
        self.frozen_until_ms = until_ms
        life = self.life
        self._schedule(until_ms, lambda at_ms: self._thaw(at_ms) if life == self.life else None)

    def stop_polling(self, now_ms: int, until_ms: int) -> None:
        """The application does not poll until ``until_ms``."""
        consumer = self.consumer
        if consumer is None or self.is_away or self._is_frozen(now_ms, self.stop_polling):
            return
        if self._consumer_after_work(now_ms) is None:
            return
        self.is_away = True
        self._rest(now_ms)
        self._perform(consumer.process(now_ms), now_ms)
        self._later(until_ms, self._poll_again)

    def cut(self, now_ms: int, until_ms: int) -> None:
        self.cut_until_ms = max(self.cut_until_ms, until_ms)

    def _poll_again(self, now_ms: int) -> None:
        self.is_away = False
        if self.application is not None:
            self.application.go_on(now_ms)
        if self.consumer is not None and not self.consumer.is_closed:
            self._perform(self.consumer.poll(now_ms), now_ms)

    def _thaw(self, now_ms: int) -> None:
        if now_ms < self.frozen_until_ms:
            return  # The process was frozen again, for a longer time.
        if self.application is not None and not self.is_away:
            self.application.go_on(now_ms)
        inbox, self._inbox = self._inbox, []
        for deliver in inbox:
            deliver(now_ms)
        if consumer := self._consumer_after_work(now_ms):
            self._perform(consumer.thawed(now_ms), now_ms)
        self.advance(now_ms)

    def _is_frozen(self, now_ms: int, action: Callable[[int, int], None]) -> bool:
        """Returns whether the process is frozen; if so, the action is carried out when it runs
        again.
        """
        if now_ms >= self.frozen_until_ms:
            return False
        self._inbox.append(lambda at_ms: action(at_ms, at_ms))
        return True

    # -- input ---------------------------------------------------------------------------------

    def received(self, request_id: str, response: ClientResponse, now_ms: int) -> None:
        self._deliver(now_ms, lambda consumer, at: consumer.received(request_id, response, at))

    def disconnected(self, node: int, now_ms: int) -> None:
        self._deliver(now_ms, lambda consumer, at: consumer.disconnected(node, at))

    def lost(self, request_id: str, now_ms: int) -> None:
        self._deliver(now_ms, lambda consumer, at: consumer.lost(request_id, at))

    def _deliver(
        self, now_ms: int, call: Callable[[Consumer, int], Iterable[ClientEffect]]
    ) -> None:
        if now_ms < self.frozen_until_ms:
            self._inbox.append(lambda at_ms: self._deliver(at_ms, call))
        elif consumer := self._consumer_in_poll(now_ms):
            self._perform(call(consumer, now_ms), now_ms)

    def advance(self, now_ms: int) -> None:
        if now_ms < self.frozen_until_ms:
            return
        if consumer := self._consumer_in_poll(now_ms):
            self._perform(consumer.advance(now_ms), now_ms)

    def work(self, now_ms: int) -> None:
        """The application handles the available records while its consumer does nothing."""
        if now_ms >= self.frozen_until_ms:
            self._consumer_after_work(now_ms)
            self.set_wake()

    @property
    def is_behind(self) -> bool:
        """Returns whether the application has records left to handle."""
        return self.application is not None and self.application.is_behind

    def set_wake(self) -> None:
        """Schedule the consumer's next timer."""
        due_ms = None if self.consumer is None else self.consumer.next_deadline_ms()
        if due_ms is not None and due_ms != self.wake_ms:
            self._environment.wake(self, due_ms)
        self.wake_ms = due_ms

    # -- output --------------------------------------------------------------------------------

    def _perform(self, effects: Iterable[ClientEffect], now_ms: int) -> None:
        for effect in effects:
            if self.consumer is None:
                break
            if type(effect) is Send:
                self._environment.send(self, effect.request, effect.node, now_ms)
            elif type(effect) is ListenerCall:
                self._listen(effect, now_ms)
            elif type(effect) is Disconnect:
                self.close_channels(effect.node)
            elif type(effect) is Measured:
                self._environment.measured(self, effect)
            elif type(effect) is Raised:
                self._fail(effect, now_ms)
            elif type(effect) is Closed:
                self._end(self._failure or "closed", now_ms)
        if self.consumer is not None and self.application is not None:
            self.application.have(self.consumer.positions, now_ms)
        self.set_wake()

    def _listen(self, call: ListenerCall, now_ms: int) -> None:
        self._environment.called(self, call, now_ms)
        if not self.group.listener_ms:
            self._listened(now_ms)
        else:
            self._later(now_ms + self.group.listener_ms, self._listened)

    def _listened(self, now_ms: int) -> None:
        if self.consumer is not None:
            self._perform(self.consumer.listened(now_ms), now_ms)

    def _fail(self, raised: Raised, now_ms: int) -> None:
        """An exception from poll ends the application, which closes its consumer.  A failed commit
        and librdkafka's non-fatal errors are only logged by the application.
        """
        if self.consumer is None or self._failure or raised.text.startswith(_COMMIT):
            return
        if LIBRARIES[self.group.client].is_librdkafka and not raised.is_fatal:
            return
        self.refused += raised.error is Errors.UNRELEASED_INSTANCE_ID
        self._failure = f"failed: {raised.error.name if raised.error else raised.text}"
        self._start_again(now_ms)
        self._is_closing = True
        self._perform(self.consumer.close(now_ms), now_ms)

    def _start_again(self, now_ms: int) -> None:
        """A supervisor starts the process again, if the group has one."""
        if self.group.restart_ms is not None:
            self._schedule(now_ms + self.group.restart_ms, self.start)

    def _end(self, how: str, now_ms: int) -> None:
        if self.consumer is None:
            return
        self.consumer = None
        self._is_closing = False
        if self.application is not None:
            self.application.end(now_ms)
            self.application = None
        self.wake_ms = None
        self._inbox.clear()
        for node in {broker_id for broker_id, _ in self.channels}:
            self.close_channels(node)
        self._environment.ended(self, how, now_ms)
        if self._starts_when_closed:
            self._starts_when_closed = False
            self._schedule(now_ms, self.start)

    def close(self, now_ms: int) -> None:
        """The simulation ends."""
        self.work(now_ms)
        if self.application is not None:
            self.application.end(now_ms)

    def close_channels(self, node: int) -> None:
        for is_group in (False, True):
            channel = self.channels.pop((node, is_group), None)
            if channel is not None:
                channel.is_open = False

    def _later(self, at_ms: int, callback: Callback) -> None:
        """Schedule a callback for this process life; while frozen it waits."""
        life = self.life

        def due(now_ms: int) -> None:
            if life != self.life:
                return
            if now_ms < self.frozen_until_ms:
                self._inbox.append(due)
            else:
                callback(now_ms)

        self._schedule(at_ms, due)

    def _schedule(self, at_ms: int, callback: Callback) -> None:
        self._environment.later(self, at_ms, callback)

    def _jitter(self) -> float:
        self._jitters += 1
        return 2 * fraction(self.key, _JITTER, self._jitters) - 1

    def _rest(self, now_ms: int) -> None:
        if self.application is not None:
            self.application.rest(now_ms)

    def _consumer_in_poll(self, now_ms: int) -> Consumer | None:
        """The consumer, after the records that poll returned.  An eager consumer returns none while
        it commits, revokes and rejoins."""
        if self.consumer is None or self.consumer.is_idle or is_cooperative(self.assignors):
            return self._consumer_after_work(now_ms)
        return self.consumer

    def _consumer_after_work(self, now_ms: int) -> Consumer | None:
        """The consumer, with the application's positions, which the next commit sends.  Returns
        None if the process has ended, maybe because of a record that it handled.
        """
        consumer, application = self.consumer, self.application
        if consumer is not None and application is not None:
            consumer.consumed(application.handle(now_ms))
            if application.has_crashed:
                self._end("crashed", now_ms)
                self._start_again(now_ms)
        return self.consumer


def topology_of(group: GroupSpec) -> Topology:
    """One subtopology that reads the group's topics and has no internal topics."""
    return Topology(1, (Subtopology("0", tuple(sorted(group.topics))),))


_ACTIONS: dict[ActionKind, Callable[[SimulatedProcess, int, int], None]] = {
    ActionKind.STOP: SimulatedProcess.stop,
    ActionKind.KILL: SimulatedProcess.kill,
    ActionKind.FREEZE: SimulatedProcess.freeze,
    ActionKind.SLOW: SimulatedProcess.stop_polling,
    ActionKind.CUT: SimulatedProcess.cut,
}
