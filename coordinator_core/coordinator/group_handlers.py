"""How the coordinator handles the groups of each type that is not classic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.modern.records import Fields, ModernRecord
from coordinator_core.protocol.messages import Request

T = TypeVar("T")  # the coordinator's Turn
Replay = Callable[[T, Fields, Fields | None], None]  # applies a record's key and value


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupHandlers(Generic[T]):
    """The handlers of one group type.

    ``requests`` are handlers by request, of requests of this type alone; ``shared_requests`` are
    requests that classic groups have, too.  ``replays`` say how a record changes its group, by
    record type.  ``start_timers`` starts the timers of a loaded group.  ``tombstones`` returns the
    tombstones of all records of an empty group.  ``forget_topics`` handles deleted topics, by id.
    """

    group_type: GroupType
    requests: Mapping[type[Request], Callable[[T, Any], None]]
    shared_requests: Mapping[type[Request], Callable[[T, Any, Any], None]]
    replays: Mapping[str, Replay[T]]
    start_timers: Callable[[T, Any], None]
    tombstones: Callable[[Any], list[ModernRecord]]
    forget_topics: Callable[[T, Iterable[str]], None] | None = None


class HandlersByType(Generic[T]):
    """The handlers of all types.

    ``of`` has handlers by name of the group type.  ``requests`` and ``replays`` are handlers of all
    types in one mapping.  ``refusals`` makes the answer with an error, by type of heartbeat.
    """

    __slots__ = ("of", "refusals", "replays", "requests")

    def __init__(
        self, handlers: Sequence[GroupHandlers[T]], shared_replays: Mapping[str, Replay[T]]
    ) -> None:
        """``shared_replays`` are replays of record types that several group types have."""
        self.of = {each.group_type.name: each for each in handlers}
        self.refusals = {each.group_type.heartbeat: each.group_type.refusal for each in handlers}
        self.requests: dict[type[Request], Callable[[T, Any], None]] = {}
        self.replays = dict(shared_replays)
        for each in handlers:
            self.requests |= each.requests
            self.replays |= each.replays
