"""The trace of a simulation, in the words of ``regroup scenario run``.

Steps are named after the process and what it asked, numbered: idle heartbeats do not count, and
their answers, without any news, are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coordinator_core.client import (
    ClientRequest,
    ClientResponse,
    FindCoordinatorResponse,
    MetadataResponse,
)
from coordinator_core.coordinator.classic.group import Group
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Append,
    Event,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
    Response,
    SyncGroup,
)
from coordinator_core.scenarios.trace_events import record_event, response_event, state_event
from coordinator_core.simulation.outputs import Traced

_OPS: Mapping[type[ClientRequest], str] = {
    JoinGroup: "join",
    SyncGroup: "sync",
    Heartbeat: "heartbeat",
    LeaveGroup: "leave",
    OffsetCommit: "commit",
    OffsetFetch: "fetch",
}


class Tracing:
    """``member_ids``: every one made so far, for the trace's first line."""

    def __init__(self, emit: Callable[[Traced], None], start_ms: int) -> None:
        self.member_ids: list[str] = []
        self._emit = emit
        self._start_ms = start_ms
        self._asked: dict[str, int] = {}
        self._touched: dict[str, None] = {}
        self._shown: dict[str, tuple[str, int]] = {}

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
        number = self._asked[process] = self._asked.get(process, 0) + 1
        op = _OPS[type(request)]
        at_ms = now_ms - self._start_ms
        self._emit(Traced(response_event(at_ms, f"{process}-{op}-{number}", op, response)))

    def written(self, append: Append, now_ms: int) -> None:
        for key, value in append.records:
            self._emit(Traced(record_event(now_ms - self._start_ms, key, value)))

    def happened(self, event: Event) -> None:
        if event.kind == "STATE":
            self._touched[event.group_id] = None

    def show_states(self, groups: Mapping[str, Group], now_ms: int) -> None:
        """Where groups ended up, if that differs from what was last shown."""
        touched, self._touched = self._touched, {}
        for group_id in touched:
            last = self._shown.get(group_id, ("Dead", 0))
            group = groups.get(group_id)
            now = ("Dead", last[1]) if group is None else (group.state.value, group.generation)
            if now != last:
                self._shown[group_id] = now
                event = state_event(now_ms - self._start_ms, group_id, now, group)
                self._emit(Traced(event))
