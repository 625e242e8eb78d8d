"""What a diagram is drawn from: all that was asked, answered, written and decided, in one order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from coordinator_core.protocol.messages import Event

Json = Any
Line = Mapping[str, Json]  # of a trace
Steps = Mapping[str, Mapping[str, Json]]  # a scenario's, by id


class Asked(NamedTuple):
    """The step ``step_id`` reaches the coordinator."""

    at_ms: int
    step_id: str


class Fired(NamedTuple):
    """A timer fires, with what follows up to the next ``Asked`` or ``Fired``."""

    at_ms: int


class Said(NamedTuple):
    """A line of the trace: an answer, a record, or a state where no events tell it."""

    at_ms: int
    line: Line


class Told(NamedTuple):
    """What happened to a group, as the engine or a broker's log says."""

    at_ms: int
    event: Event


class Waits(NamedTuple):
    """A delayed join was made, or is still there after a join or when fewer are missing.

    ``is_longer``: the time of an initial one ran out, and it waits anew, for new members came.
    ``awaited``: the member ids that have yet to join; nobody in particular if ``is_initial``.
    """

    at_ms: int
    group_id: str
    is_new: bool
    is_initial: bool
    is_longer: bool
    deadline_ms: int
    awaited: tuple[str, ...]


class Felt(NamedTuple):
    """Something that a participant's application hears, or that happens to its process."""

    at_ms: int
    who: str
    text: str


Entry = Asked | Fired | Said | Told | Waits | Felt


class Story(NamedTuple):
    """``title``: what was played and by whom.  ``steps`` is empty where only a trace is known.

    ``member_ids``: in the order in which they were made, as far as that is known.
    ``timeouts``: kinds of timeouts that members have in the era.
    ``is_seen_inside``: the engine's own events are here, so that causes can be told.
    """

    title: str
    steps: Steps
    entries: tuple[Entry, ...]
    member_ids: tuple[str, ...]
    is_seen_inside: bool
    timeouts: tuple[str, ...]
    state_names: Mapping[str, str]  # the era's own, of those that were renamed
