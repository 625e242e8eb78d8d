"""How often, and how many records at once, the clients of a group commit on a date."""

from __future__ import annotations

import numpy as np

from coordinator_core.protocol.client_times import COMMIT_INTERVAL_MS, SAME_COMMIT_MS
from jobs.costs.series import Floats, Ints, Series

DAY_MS = 86_400_000
# Longer pauses between two commits of a partition do not count as intervals.
LONGEST_INTERVAL_MS = 600_000


class Habits:
    """The habits in all groups and dates of ``commits``."""

    def __init__(self, commits: Series, group_of_part: Ints) -> None:
        took_ms, records = np.diff(commits.at_ms), np.diff(commits.value)
        is_interval = (commits.part[1:] == commits.part[:-1]) & (took_ms > SAME_COMMIT_MS)
        is_interval &= took_ms <= LONGEST_INTERVAL_MS
        took_ms, records = took_ms[is_interval], records[is_interval]
        part, at_ms = commits.part[1:][is_interval], commits.at_ms[1:][is_interval]
        key = by_date(group_of_part[part], at_ms)
        order = np.lexsort((took_ms, key))
        took_ms = took_ms[order]
        self._dates, begins = np.unique(key[order], return_index=True)
        if not len(self._dates):
            return
        passed_ms = np.cumsum(took_ms)
        before_ms = np.append(0, passed_ms)[begins]
        total_ms = np.append(before_ms[1:], passed_ms[-1]) - before_ms
        half = np.searchsorted(passed_ms, before_ms + total_ms / 2)
        self._interval_ms = took_ms[np.minimum(half, len(order) - 1)]
        self._most = np.maximum.reduceat(records[order], begins)

    def on_date(self, group: Ints, at_ms: Ints) -> tuple[Floats, Floats]:
        """Per group, on the date of ``at_ms``: the interval between two commits of a partition in
        which most of the time passes, and the most records between two commits.
        """
        if not len(self._dates):
            return np.full(len(group), float(COMMIT_INTERVAL_MS)), np.zeros(len(group))
        wanted = by_date(group, at_ms)
        at = np.minimum(np.searchsorted(self._dates, wanted), len(self._dates) - 1)
        is_known = self._dates[at] == wanted
        return (
            np.where(is_known, self._interval_ms[at], COMMIT_INTERVAL_MS).astype(float),
            np.where(is_known, self._most[at], 0).astype(float),
        )


def by_date(group: Ints, at_ms: Ints) -> Ints:
    """A number per group and date."""
    return (group << 20) + at_ms // DAY_MS
