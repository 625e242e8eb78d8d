"""The trace of a simulation, in the format of ``regroup scenario run``.

A step is named PROCESS-REQUEST-NUMBER.  Heartbeats that were answered without an error are neither
numbered nor written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coordinator_core.client import (
    ClientRequest,
    ClientResponse,
    FindCoordinatorResponse,
    MetadataResponse,
)
from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Append,
    ConsumerGroupHeartbeat,
    Event,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    LeaveGroup,
    MemberHeartbeatResponse,
    OffsetCommit,
    OffsetFetch,
    Response,
    ShareGroupHeartbeat,
    StreamsGroupHeartbeat,
    StreamsHeartbeatResponse,
    SyncGroup,
)
from coordinator_core.scenarios.trace_events import modern_response_event, record_event, state_event
from coordinator_core.simulation.outputs import TraceLine

_OPS: Mapping[type[ClientRequest], str] = {
    JoinGroup: "join",
    SyncGroup: "sync",
    Heartbeat: "heartbeat",
    LeaveGroup: "leave",
    OffsetCommit: "commit",
    OffsetFetch: "fetch",
    ConsumerGroupHeartbeat: "consumer_heartbeat",
    ShareGroupHeartbeat: "share_heartbeat",
    StreamsGroupHeartbeat: "streams_heartbeat",
}


class TraceRecorder:
    """``member_ids`` are all member ids assigned so far, for the trace's first line."""

    def __init__(
        self, emit: Callable[[TraceLine], None], start_ms: int, topic_names: Mapping[str, str]
    ) -> None:
        self._topic_names = topic_names
        self.member_ids: list[str] = []
        self._emit = emit
        self._start_ms = start_ms
        self._steps: dict[str, int] = {}
        self._touched: dict[str, None] = {}
        self._last_states: dict[str, tuple[str, int]] = {}

    def answered(
        self,
        process: str,
        request: ClientRequest,
        response: Response | ClientResponse,
        now_ms: int,
    ) -> None:
        if isinstance(response, FindCoordinatorResponse | MetadataResponse):
            return
        if isinstance(response, HeartbeatResponse) and response.error is Errors.NONE:
            return
        if _is_plain(response):
            return
        number = self._steps[process] = self._steps.get(process, 0) + 1
        op = _OPS[type(request)]
        at_ms = now_ms - self._start_ms
        step = f"{process}-{op}-{number}"
        self._emit(TraceLine(modern_response_event(at_ms, step, op, response, self._topic_names)))

    def written(self, append: Append, now_ms: int) -> None:
        for key, value in append.records:
            self._emit(TraceLine(record_event(now_ms - self._start_ms, key, value)))

    def happened(self, event: Event) -> None:
        if event.kind == "STATE":
            self._touched[event.group_id] = None

    def emit_states(self, groups: Mapping[str, ClassicGroup], now_ms: int) -> None:
        """Emit the states of groups that changed since their last state line."""
        touched, self._touched = self._touched, {}
        for group_id in touched:
            last = self._last_states.get(group_id, ("Dead", 0))
            group = groups.get(group_id)
            state = ("Dead", last[1]) if group is None else (group.state.value, group.generation)
            if state != last:
                self._last_states[group_id] = state
                event = state_event(now_ms - self._start_ms, group_id, state, group)
                self._emit(TraceLine(event))


def _is_plain(response: Response | ClientResponse) -> bool:
    """Returns whether a heartbeat was answered without an error and without an assignment."""
    if not isinstance(response, MemberHeartbeatResponse | StreamsHeartbeatResponse):
        return False
    return response.error is Errors.NONE and response.assignment is None
