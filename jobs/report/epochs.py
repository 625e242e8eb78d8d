"""The partitions of members of consumer, share and streams groups, over time.

Members of these groups do not stop together: each member gives up and takes partitions at its own
heartbeats.  A span is a time in which a process had the same partitions and the same state:

stable   it has reached the target assignment
behind   a newer target exists, of which its next heartbeat tells it; it consumes what it has
revoke   it was asked to give up partitions and has not confirmed that yet (UNREVOKED)
wait     others have not given up partitions that it is to have (UNRELEASED)
away     a static member that closed: the group keeps its partitions for it (member epoch -2)
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from coordinator_core.coordinator.group_types import GROUP_TYPES

Row = dict[str, Any]

STABLE, BEHIND, REVOKE, WAIT, AWAY = "stable", "behind", "revoke", "wait", "away"
_PHASES = {"UNREVOKED": REVOKE, "UNRELEASED": WAIT}
_AWAY_EPOCH = -2


class EpochSpan(NamedTuple):
    """Times in ms since the epoch.  ``assigned`` and ``pending`` are as in table member_epochs."""

    process: str
    from_ms: int
    to_ms: int
    phase: str
    assigned: list[Row]
    pending: list[Row]
    epoch: int


def epoch_spans(
    epochs: Sequence[Row], generations: Sequence[Row], members: Sequence[Row], last_ms: int
) -> Iterator[EpochSpan]:
    """The spans from the first generation to ``last_ms``, by process and time.

    ``epochs`` are rows of member_epochs by process and time.  ``members`` are rows of
    generation_members, which say when each membership ended.
    """
    base_ms = generations[0]["begin_ms"]
    ends = _Ends(generations, members, last_ms)
    targets = _Targets(generations)
    for process, rows in groupby(epochs, key=lambda row: row["process"]):
        mine, spans = list(rows), list[EpochSpan]()
        for row, following in zip(mine, [*mine[1:], None], strict=True):
            to_ms = ends.of(row)
            if following is not None:
                to_ms = min(to_ms, following["at_ms"])
            for phase, begin_ms, end_ms in _phases(row, to_ms, targets):
                begin_ms = max(begin_ms, base_ms)
                if end_ms > begin_ms:
                    spans.append(
                        EpochSpan(
                            process=process,
                            from_ms=begin_ms,
                            to_ms=end_ms,
                            phase=phase,
                            assigned=row["assigned"] or [],
                            pending=row["pending"] or [],
                            epoch=row["epoch"],
                        )
                    )
        yield from _joined(spans)


def _joined(spans: Sequence[EpochSpan]) -> list[EpochSpan]:
    """Spans that differ in time only as one: a record repeats what a member has."""
    joined: list[EpochSpan] = []
    for span in spans:
        if joined and span == joined[-1]._replace(from_ms=joined[-1].to_ms, to_ms=span.to_ms):
            joined[-1] = joined[-1]._replace(to_ms=span.to_ms)
        else:
            joined.append(span)
    return joined


def _phases(row: Row, to_ms: int, targets: _Targets) -> list[tuple[str, int, int]]:
    from_ms = row["at_ms"]
    if row["epoch"] == _AWAY_EPOCH:
        return [(AWAY, from_ms, to_ms)]
    if row["state"] in _PHASES:
        return [(_PHASES[row["state"]], from_ms, to_ms)]
    behind_ms = min(max(targets.newer_ms(row), from_ms), to_ms)
    return [(STABLE, from_ms, behind_ms), (BEHIND, behind_ms, to_ms)]


class _Targets:
    """The times at which the targets of each incarnation were computed."""

    def __init__(self, generations: Sequence[Row]) -> None:
        self._epochs: dict[int, list[int]] = {}
        self._times: dict[int, list[float]] = {}
        for each in generations:
            if GROUP_TYPES[each["group_type"]].has_epochs and each["joined_ms"] is not None:
                self._epochs.setdefault(each["incarnation"], []).append(each["generation"])
                self._times.setdefault(each["incarnation"], []).append(each["joined_ms"])

    def newer_ms(self, row: Row) -> float:
        """Time of the first target that is newer than the member's epoch; infinite without one."""
        place = bisect_right(self._epochs.get(row["incarnation"], ()), row["epoch"])
        times = self._times.get(row["incarnation"], ())
        return times[place] if place < len(times) else float("inf")


class _Ends:
    """The times at which memberships ended; a member that comes back may have the same member
    id.
    """

    def __init__(self, generations: Sequence[Row], members: Sequence[Row], last_ms: int) -> None:
        self._last_ms = last_ms
        self._stops = {
            (each["incarnation"], each["generation"]): _or(each["end_ms"], last_ms)
            for each in generations
        }
        self._ends: dict[str, list[int]] = {}
        for member in members:
            stop_ms = self._stops.get((member["incarnation"], member["generation"]))
            ends = self._ends.setdefault(member["member_id"], [])
            if stop_ms is not None and (member["gone"] or member["left_how"] is not None):
                ends.append(_or(member["left_ms"], stop_ms))
        for ends in self._ends.values():
            ends.sort()

    def of(self, row: Row) -> int:
        """The end of the membership; for a member without a generation, the end of the
        generation.
        """
        if row["member_id"] not in self._ends:
            stop_ms = self._stops.get((row["incarnation"], row["generation"]))
            return _or(stop_ms, row["at_ms"])
        ends = self._ends[row["member_id"]]
        place = bisect_left(ends, row["at_ms"])
        return ends[place] if place < len(ends) else self._last_ms


def _or(value: Any, otherwise: int) -> int:
    return otherwise if value is None else int(value)
