"""The outcome of transactional records: the next end marker of their producer id decides."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from jobs.segments.batch import Batch

OUTCOMES = {"COMMIT": True, "ABORT": False}


class EndMarkers:
    """The COMMIT and ABORT markers of one partition, added in offset order."""

    def __init__(self) -> None:
        self._offsets: dict[int, list[int]] = {}
        self._outcomes: dict[int, list[bool]] = {}

    def add(self, producer_id: int, offset: int, control: str) -> None:
        """Adds a marker; other control records do not end a transaction."""
        if control in OUTCOMES:
            self._offsets.setdefault(producer_id, []).append(offset)
            self._outcomes.setdefault(producer_id, []).append(OUTCOMES[control])

    def committed(self, producer_id: int, offset: int) -> bool | None:
        """Returns True for committed, False for aborted, and None if no marker follows."""
        next_marker = bisect_right(self._offsets.get(producer_id, ()), offset)
        outcomes = self._outcomes.get(producer_id, ())
        return outcomes[next_marker] if next_marker < len(outcomes) else None


def transactions(batches: Iterable[Batch]) -> list[bool | None]:
    """For each batch of a partition, in offset order, whether its transaction was committed.

    Returns None for batches outside transactions, for control batches, and for open transactions.
    """
    markers = EndMarkers()
    transactional = []
    for batch in batches:
        if batch.control is not None:
            markers.add(batch.producer_id, batch.base_offset, batch.control)
        is_data = batch.is_transactional and batch.control is None
        transactional.append((batch.producer_id, batch.last_offset) if is_data else None)
    return [key and markers.committed(*key) for key in transactional]
