"""A segment in pieces: whole runs of batches as columns where that is possible, else one by one."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.segments.batch import BadBatch
from jobs.segments.columns import Columns, read_columns
from jobs.segments.compression import MAX_INFLATED
from jobs.segments.frames import RUN_BYTES, Frame, Gap, Run, runs

MIN_RUN = 8  # batches, below which columns are not worth their set-up


def pieces(view: memoryview, max_inflated: int = MAX_INFLATED) -> Iterator[Columns | Frame | Gap]:
    """In file order.  A frame is left to the reference, `read_batch`, to read or to refuse.

    Batches that inflate to more than ``max_inflated`` bytes are never among the columns.
    """
    for stretch in stretches(view):
        if isinstance(stretch, Gap):
            yield stretch
        else:
            yield from pieces_of(view, stretch, max_inflated)


def stretches(view: memoryview) -> Iterator[Run | Gap]:
    """Runs joined up to RUN_BYTES: where segments were strung together, the offsets start again
    and again, and each run by itself would cost the set-up of its columns."""
    held: Run = []
    size = 0
    for item in runs(view):
        if isinstance(item, Gap):
            if held:
                yield held
            held, size = [], 0
            yield item
            continue
        if held and (size >= RUN_BYTES or (item[0].magic < 2) != (held[0].magic < 2)):
            yield held
            held, size = [], 0
        held += item
        size += sum(frame.size for frame in item)
    if held:
        yield held


def pieces_of(
    view: memoryview, run: Run, max_inflated: int = MAX_INFLATED
) -> Iterator[Columns | Frame]:
    """In bulk where that is possible, else by halves, in the end batch by batch."""
    columns = _columns_of(view, run, max_inflated)
    if columns is not None:
        yield columns
    elif len(run) < MIN_RUN or run[0].magic < 2:
        yield from run
    else:
        middle = len(run) // 2
        yield from pieces_of(view, run[:middle], max_inflated)
        yield from pieces_of(view, run[middle:], max_inflated)


def _columns_of(view: memoryview, run: Run, max_inflated: int) -> Columns | None:
    """The run in bulk, or None where it is not worth it or not possible."""
    if len(run) < MIN_RUN or run[0].magic < 2:
        return None
    try:
        return read_columns(view, run, max_inflated)
    except BadBatch:
        return None
