"""The input of a diagram: requests, answers, records and events of a group, in one order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from coordinator_core.protocol.messages import Event

Json = Any
Line = Mapping[str, Json]  # one line of a trace
Steps = Mapping[str, Mapping[str, Json]]  # a scenario's steps, by id


class RequestArrived(NamedTuple):
    """The request of step ``step_id`` arrives at the coordinator."""

    at_ms: int
    step_id: str


class TimerFired(NamedTuple):
    """A timer fires; it causes the entries up to the next RequestArrived or TimerFired."""

    at_ms: int


class TraceEntry(NamedTuple):
    """A line of the trace: an answer, a record, or a state if the recording has no events."""

    at_ms: int
    line: Line


class GroupEvent(NamedTuple):
    """An event of a group, from the engine or from a broker's log line."""

    at_ms: int
    event: Event


class DelayedJoinStatus(NamedTuple):
    """A delayed join was created, or still waits after a join or with fewer members missing.

    ``is_longer`` means that the join's time ran out and it waits again; an initial join waits again
    because new members joined. ``awaited`` has ids of the members that have yet to join; empty if
    ``is_initial``.
    """

    at_ms: int
    group_id: str
    is_new: bool
    is_initial: bool
    is_longer: bool
    deadline_ms: int
    awaited: tuple[str, ...]


class RecordedEvent(NamedTuple):
    """A callback or exception in a participant's application, or an event of its process."""

    at_ms: int
    participant: str
    text: str


Entry = RequestArrived | TimerFired | TraceEntry | GroupEvent | DelayedJoinStatus | RecordedEvent


class Recording(NamedTuple):
    """``title`` is the scenario and what played it.  ``steps`` are empty for a trace without
    scenario.

    ``member_ids`` are in the order in which they were made, as far as known. ``timeouts`` are the
    kinds of timeouts that members have in the era. ``has_engine_events`` means that the entries
    include the engine's events, which have the causes.
    """

    title: str
    steps: Steps
    entries: tuple[Entry, ...]
    member_ids: tuple[str, ...]
    has_engine_events: bool
    timeouts: tuple[str, ...]
    state_names: Mapping[str, str]  # the newest era's name -> this era's name
