"""The rule which dates of the bronze tables no run has processed yet, for all readers of `runs`.

Each successful run stores the versions of the bronze tables that it processed, for its own dates
and for all dates.  After a row of step REPAIR, the earlier runs of its cluster cover nothing,
because computed rows were lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

BRONZE = ("offsets_records", "broker_log_events", "client_events", "end_offsets")
REPAIR = "repair"


class Coverage(NamedTuple):
    """The versions of one bronze table that a successful run for ``first`` to ``last`` covers:
    ``own_version`` for its own dates, ``all_version`` for every date; -1: none."""

    first: date | None
    last: date | None
    all_version: int
    own_version: int

    def covers(self, version: int, day: date) -> bool:
        is_own = self.first is None or self.last is None or self.first <= day <= self.last
        return version <= (self.own_version if is_own else self.all_version)


def uncovered_dates(commits: Iterable[tuple[int, date]], runs: Iterable[Coverage]) -> set[date]:
    """Dates of the commits, (version, date) each, that no run covers."""
    runs = list(runs)
    return {day for version, day in commits if not any(run.covers(version, day) for run in runs)}
