"""Which dates of the bronze tables no run has worked out yet: the rule, whoever reads the log.

Every run that went well notes, in `runs`, the versions of the bronze tables it worked from: up to
which everything is worked out, and up to which its own dates are.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

BRONZE = ("offsets_records", "broker_log_events")


class WorkedOut(NamedTuple):
    """By a good run, of one table: ``all_dates``, the version up to which nothing was left to do,
    and ``own_dates``, the one it worked its own dates out from; -1: none."""

    first: date | None
    last: date | None
    all_dates: int
    own_dates: int

    def covers(self, version: int, day: date) -> bool:
        is_own = self.first is None or self.last is None or self.first <= day <= self.last
        return version <= (self.own_dates if is_own else self.all_dates)


def still_new(commits: Iterable[tuple[int, date]], runs: Iterable[WorkedOut]) -> set[date]:
    """Dates of the commits, (version, date) each, that no run covers."""
    runs = list(runs)
    return {day for version, day in commits if not any(run.covers(version, day) for run in runs)}
