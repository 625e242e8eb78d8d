"""The time in which no records of a partition were handled: from an owner's stop to the next
owner's begin.
"""

from __future__ import annotations

import numpy as np

from coordinator_core.protocol.client_times import FETCH_MS
from jobs.costs.rules import CommitProgress, Reprocessed
from jobs.costs.series import NONE, Ints
from jobs.costs.tenures import Tenures

# Maximum extra time for a client to fetch and hand over a batch.
LATE_MS = 1500


def pauses(
    t: Tenures, p: CommitProgress, r: Reprocessed, next_ms: Ints, first_ms: Ints
) -> tuple[Ints, Ints, Ints]:
    """The pause in ms, and its bounds.  ``next_ms`` is the time of the next assignment;
    ``first_ms`` is the time of the next owner's first commit.

    A client that commits each batch commits as soon as it has handled one: its last commit is the
    time of the last record that it handled.
    """
    resumed_ms = next_ms + FETCH_MS
    pause_ms = resumed_ms - r.stop_ms
    is_batch = p.is_batch & (p.last_ms >= t.from_ms) & (first_ms != NONE)
    between_ms = np.minimum(first_ms - p.last_ms, pause_ms + LATE_MS)
    low_ms = next_ms - r.stop_high_ms
    high_ms = resumed_ms + LATE_MS - np.where(is_batch, p.last_ms, r.stop_low_ms)
    pause_ms = np.where(is_batch, between_ms, pause_ms)
    return (
        np.maximum(pause_ms, 0),
        np.maximum(np.minimum(low_ms, pause_ms), 0),
        np.maximum(np.maximum(high_ms, pause_ms), 0),
    )
