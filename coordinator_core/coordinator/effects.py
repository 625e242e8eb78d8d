"""The effects of the present turn: what the caller must perform, in this order."""

from __future__ import annotations

from typing import Any

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.protocol.messages import Effect, Event, Respond, Response


class Effects:
    """``of_turn`` has the effects so far, ``modern`` the registered groups that are not classic."""

    __slots__ = ("_failed", "_modern", "of_turn")

    def __init__(self, modern: dict[str, ModernGroup]) -> None:
        self.of_turn: list[Effect] = []
        self._failed: set[str] = set()  # requests that the coordinator could not process
        self._modern = modern

    def respond(self, request_id: str, response: Response) -> None:
        if request_id not in self._failed:
            self.of_turn.append(Respond(request_id, response))

    def fail(self, request_id: str, response: Response) -> None:
        """Respond to a request that failed within; if it is parked, it gets no second answer."""
        self.respond(request_id, response)
        self._failed.add(request_id)

    def event(self, kind: str, group: ClassicGroup, **fields: Any) -> None:
        self.of_turn.append(
            Event(kind, group.group_id, group.state.value, group.generation, fields)
        )

    def modern_event(self, kind: str, group_id: str, **fields: Any) -> None:
        """An event of a consumer, share or streams group, with the fields of its log line."""
        group = self._modern.get(group_id)
        state = "" if group is None else group.state_name()
        epoch = 0 if group is None else group.epoch
        self.of_turn.append(Event(kind, group_id, state, epoch, fields))
