"""Positions that clients logged when a commit failed.

A client that was removed from its group learns so when it commits.  Java's clients and franz-go
then log the positions that they wanted to commit.  These positions cover all records that the
application has handled, even records handled while other members owned the partition.  The highest
position is exact.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jobs.costs.arrays import EvidenceArrays
from jobs.costs.lag import FOLLOWED_MS
from jobs.costs.rules import CommitProgress, Reprocessed
from jobs.costs.series import NONE, Flags, Ints
from jobs.costs.tenures import Tenures

# A line belongs to the client's latest tenure among this many tenures of the partition.  A line
# without a client belongs to the latest tenure whose owner was removed.
LOOKBACK = 4


def with_failed_commits(
    t: Tenures, p: CommitProgress, r: Reprocessed, arrays: EvidenceArrays
) -> Reprocessed:
    """The logged positions replace estimates from the rate of the commits."""
    position = np.full(len(t.row), NONE)
    tenure = _tenures_of_lines(t, arrays, r.is_slow | (t.heard_ms != NONE))
    is_known = tenure != NONE
    np.maximum.at(position, tenure[is_known], arrays.failed.value[is_known])
    has_position = (position >= p.last_offset) & (position != NONE) & (p.last != NONE)
    records = (position - p.last_offset).astype(float)
    exact = {name: np.where(has_position, records, getattr(r, name)) for name in _RECORDS}
    return replace(
        r,
        **exact,
        position=np.where(has_position, position, r.position),
        handled=np.where(has_position, position, r.handled),
        is_bounded=r.is_bounded | has_position,
    )


_RECORDS = ("records", "low", "high")


def _tenures_of_lines(t: Tenures, arrays: EvidenceArrays, was_removed: Flags) -> Ints:
    """The tenure of each line; NONE if no tenure fits."""
    lines, client = arrays.failed, arrays.client
    of_line = np.full(len(lines.part), NONE)
    if not len(t.part):
        return of_line
    began = (t.part << 42) | t.from_ms
    at = np.searchsorted(began, (lines.part << 42) | lines.at_ms, side="right") - 1
    for _ in range(LOOKBACK):
        tenure = np.maximum(at, 0)
        is_client = np.where(client == NONE, was_removed[tenure], t.client[tenure] == client)
        is_own = (at >= 0) & (t.part[tenure] == lines.part) & is_client
        end_ms = np.maximum(t.until_ms, np.minimum(t.departed_ms, t.next_ms))[tenure]
        is_own &= lines.at_ms <= end_ms + FOLLOWED_MS
        of_line = np.where((of_line == NONE) & is_own, tenure, of_line)
        at = at - 1
    return of_line
