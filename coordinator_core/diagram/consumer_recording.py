"""Records consumers of the client model with the engine as their coordinator.

A script names the consumers, their libraries and settings, and events such as a crash.  Between
consumers and the broker is a network with one delay; the broker reads the next request of a
connection only after it has answered the previous request.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from heapq import heappop, heappush
from itertools import count, groupby
from typing import Any

from coordinator_core.client import (
    LIBRARIES,
    ClientEffect,
    ClientRequest,
    ClientResponse,
    Closed,
    Consumer,
    ConsumerConfig,
    Disconnect,
    FindCoordinator,
    FindCoordinatorResponse,
    ListenerCall,
    Metadata,
    MetadataResponse,
    Raised,
    Send,
)
from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.turn import MemberIds
from coordinator_core.diagram.recording import (
    Entry,
    GroupEvent,
    Line,
    RecordedEvent,
    Recording,
    RequestArrived,
    TimerFired,
    TraceEntry,
)
from coordinator_core.diagram.scenario_recording import JoinWatch, timeouts_of, title_of
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Append,
    Effect,
    Event,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
    Respond,
    SyncGroup,
    TopicPartition,
)
from coordinator_core.scenarios.scenario import config_of
from coordinator_core.scenarios.trace_events import record_event, response_event

GROUP, NODE = "g", 0
GroupRequest = JoinGroup | SyncGroup | Heartbeat | LeaveGroup | OffsetCommit | OffsetFetch
_OPS = {
    JoinGroup: "join",
    SyncGroup: "sync",
    Heartbeat: "heartbeat",
    LeaveGroup: "leave",
    OffsetCommit: "commit",
    OffsetFetch: "fetch",
}


def record_consumers(script: Line, era: Era, member_ids: MemberIds) -> Recording:
    """Run the script's consumers until ``until_ms``.

    Raises KeyError, TypeError or ValueError for an invalid script.
    """
    consumer_run = _ConsumerRun(script, era, member_ids)
    consumer_run.run(script["until_ms"])
    return Recording(
        title=title_of(script, era),
        steps=consumer_run.steps,
        entries=tuple(consumer_run.entries),
        member_ids=tuple(consumer_run.made_ids),
        has_engine_events=True,
        timeouts=timeouts_of(era),
        state_names={state.value: name for state, name in era.state_names.items()},
    )


class _Connection:
    """Requests that the broker has not read yet, and the id of the request that it handles."""

    def __init__(self) -> None:
        self.unread: deque[GroupRequest] = deque()
        self.busy: str | None = None


class _ConsumerRun:
    def __init__(self, script: Line, era: Era, member_ids: MemberIds) -> None:
        self.made_ids: list[str] = []
        self.coordinator = Coordinator(
            config_of(script.get("config", {})), era, self._recording_ids(member_ids)
        )
        self.joins = JoinWatch(self.coordinator)
        self.partitions = dict(script["topics"])
        self.delay_ms: int = script["network_ms"]
        self.now_ms = 0
        self.agenda: list[tuple[int, int, Callable[[], None]]] = []
        self.order = count()
        self.consumers: dict[str, Consumer] = {}
        self.connections: dict[str, _Connection] = {}
        self.asking: dict[str, tuple[str, _Connection]] = {}  # request id -> consumer, connection
        self.steps: dict[str, dict[str, Any]] = {}
        self.entries: list[Entry] = []
        for name, settings in script["consumers"].items():
            self._at(settings["starts_ms"], partial(self._start, name, settings))
        for event in script.get("happens", ()):
            self._at(event["at_ms"], partial(_HAPPENS[event["what"]], self, event))

    def _recording_ids(self, member_ids: MemberIds) -> MemberIds:
        def made(group_id: str, prefix: str) -> str:
            self.made_ids.append(member_ids(group_id, prefix))
            return self.made_ids[-1]

        return made

    def _at(self, at_ms: int, action: Callable[[], None]) -> None:
        heappush(self.agenda, (at_ms, next(self.order), action))

    def run(self, until_ms: int) -> None:
        while (next_ms := self._next_ms()) is not None and next_ms <= until_ms:
            self.now_ms = max(self.now_ms, next_ms)
            if self.agenda and self.agenda[0][0] <= self.now_ms:
                heappop(self.agenda)[2]()
            else:
                self._advance()

    def _next_ms(self) -> int | None:
        moments = [self.coordinator.next_deadline_ms()]
        moments += [each.next_deadline_ms() for each in self.consumers.values()]
        moments += [self.agenda[0][0]] if self.agenda else []
        return min((each for each in moments if each is not None), default=None)

    def _advance(self) -> None:
        while (effects := self.coordinator.fire_next(self.now_ms)) is not None:
            self.entries.append(TimerFired(self.now_ms))
            self._perform(effects)
            self.entries += self.joins.look(self.now_ms, None)
        for name in list(self.consumers):
            self._call(name, "advance")

    def _start(self, name: str, settings: Line) -> None:
        fields = dict(settings.get("settings", {}))
        if "assignors" in fields:
            fields["assignors"] = tuple(fields["assignors"])
        client_id = f"consumer-{name}"
        config = ConsumerConfig(group_id=GROUP, client_id=client_id, name=name, **fields)
        self.consumers[name] = Consumer(config, LIBRARIES[settings["library"]])
        self.connections[name] = _Connection()
        self._perform_of(name, self.consumers[name].subscribe(self.partitions, self.now_ms))
        self._call(name, "poll")

    def _call(self, name: str, method: str, *args: Any) -> None:
        """Call a method of the consumer, if it still runs."""
        if name in self.consumers:
            self._perform_of(name, getattr(self.consumers[name], method)(*args, self.now_ms))

    def _perform_of(self, name: str, effects: list[ClientEffect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self._later(partial(self._arrive, name, effect.request))
            elif isinstance(effect, ListenerCall):
                self._note(name, f"onPartitions{effect.kind.title()}: {_named(effect.partitions)}")
                self._at(self.now_ms, partial(self._call, name, "listened"))
            elif isinstance(effect, Disconnect):
                self.connections[name] = _Connection()
            elif isinstance(effect, Raised):
                self._note(name, f"exception in the application: {effect.text}")
            elif isinstance(effect, Closed):
                del self.consumers[name]

    def _note(self, name: str, text: str) -> None:
        self.entries.append(RecordedEvent(self.now_ms, name, text))

    def close(self, event: Line) -> None:
        self._note(event["who"], "closes")
        self._call(event["who"], "close")

    def crash(self, event: Line) -> None:
        self._note(event["who"], "crashes")
        del self.consumers[event["who"]]
        self.connections[event["who"]] = _Connection()

    def lose_connection(self, event: Line) -> None:
        self._note(event["who"], "connection breaks")
        self.connections[event["who"]] = _Connection()
        self._call(event["who"], "disconnected", NODE)

    def grow(self, event: Line) -> None:
        self.partitions[event["topic"]] = event["partitions"]
        text = f"{event['topic']} grows to {event['partitions']} partitions"
        self._note("coordinator", text)

    def _later(self, action: Callable[[], None]) -> None:
        self._at(self.now_ms + self.delay_ms, action)

    def _arrive(self, name: str, request: ClientRequest) -> None:
        if isinstance(request, FindCoordinator):
            self._answer(name, request.request_id, FindCoordinatorResponse(Errors.NONE, NODE))
        elif isinstance(request, Metadata):
            partition_counts = {each: self.partitions[each] for each in request.topics}
            self._answer(name, request.request_id, MetadataResponse(partition_counts))
        elif isinstance(request, GroupRequest):
            connection = self.connections[name]
            connection.unread.append(request)
            self.asking[request.request_id] = name, connection
            self._read_on(connection)

    def _read_on(self, connection: _Connection) -> None:
        while connection.busy is None and connection.unread:
            request = connection.unread.popleft()
            connection.busy = request.request_id
            self.steps[request.request_id] = _step(request, self.now_ms)
            self.entries.append(RequestArrived(self.now_ms, request.request_id))
            self._perform(self.coordinator.handle(request, self.now_ms))
            waits = isinstance(request, JoinGroup) and connection.busy is not None
            self.entries += self.joins.look(self.now_ms, GROUP if waits else None)

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Append):
                lines = [record_event(self.now_ms, key, value) for key, value in effect.records]
                self.entries += [TraceEntry(self.now_ms, line) for line in lines]
                self._perform(self.coordinator.appended(effect, Errors.NONE, self.now_ms))
            elif isinstance(effect, Event):
                self.entries.append(GroupEvent(self.now_ms, effect))
            else:
                self._respond(effect)

    def _respond(self, effect: Respond) -> None:
        request_id, response = effect
        name, connection = self.asking.pop(request_id)
        op = self.steps[request_id]["op"]
        line = response_event(self.now_ms, request_id, op, response)
        self.entries.append(TraceEntry(self.now_ms, line))
        if connection is not self.connections[name]:
            self._note(
                name,
                "does not receive this response: it went to the old connection",
            )
            return
        connection.busy = None
        self._answer(name, request_id, response)  # type: ignore[arg-type]  # the response of its request
        self._at(self.now_ms, partial(self._read_on, connection))

    def _answer(self, name: str, request_id: str, response: ClientResponse) -> None:
        self._later(partial(self._call, name, "received", request_id, response))


_HAPPENS: Mapping[str, Callable[[_ConsumerRun, Line], None]] = {
    "close": _ConsumerRun.close,
    "crash": _ConsumerRun.crash,
    "connection breaks": _ConsumerRun.lose_connection,
    "topic grows": _ConsumerRun.grow,
}


def _named(partitions: tuple[TopicPartition, ...]) -> str:
    topics = [
        f"{topic}-{','.join(str(number) for _, number in numbered)}"
        for topic, numbered in groupby(partitions, key=lambda each: each[0])
    ]
    return " ".join(topics) or "no partitions"


# -- requests as steps ---------------------------------------------------------------------------


def _text(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()


def _step(request: GroupRequest, at_ms: int) -> dict[str, Any]:
    """The request in the form of a scenario's step."""
    step: dict[str, Any] = {"id": request.request_id, "op": _OPS[type(request)], "group": GROUP}
    step["at_ms"] = at_ms
    if isinstance(request, JoinGroup):
        step["session_timeout_ms"] = request.session_timeout_ms
        step["rebalance_timeout_ms"] = request.rebalance_timeout_ms
        step["protocols"] = [[name, _text(data)] for name, data in request.protocols]
    if isinstance(request, SyncGroup):
        step["assignments"] = [[who, _text(data)] for who, data in request.assignments.items()]
    if isinstance(request, LeaveGroup):
        step["members"] = [[each.member_id, each.instance_id] for each in request.members]
    elif isinstance(request, OffsetFetch):
        step["offsets"] = request.partitions
    else:
        step["member"] = request.member_id
        step["instance_id"] = request.instance_id
    if isinstance(request, OffsetCommit):
        step["offsets"] = request.offsets
    if isinstance(request, SyncGroup | Heartbeat | OffsetCommit):
        step["generation"] = request.generation
    return step
