"""A segment in pieces: runs of batches as columns if possible, else single frames."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.segments.batch import BadBatch
from jobs.segments.columns import Columns, read_columns
from jobs.segments.compression import MAX_INFLATED
from jobs.segments.frames import RUN_BYTES, Frame, Gap, Run, runs

MIN_RUN = 8  # batches; columns of fewer cost more than they save


def pieces(view: memoryview, max_inflated: int = MAX_INFLATED) -> Iterator[Columns | Frame | Gap]:
    """Pieces in file order.  The caller reads a frame with the reference, `read_batch`.

    Columns never have a batch that inflates to more than ``max_inflated`` bytes.
    """
    for stretch in stretches(view):
        if isinstance(stretch, Gap):
            yield stretch
        else:
            yield from pieces_of(view, stretch, max_inflated)


def stretches(view: memoryview) -> Iterator[Run | Gap]:
    """Gaps, and runs joined up to RUN_BYTES: in concatenated segments the offsets start again
    often, and columns of each short run would be slow."""
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
    """The run as columns if possible, else in halves, at last batch by batch."""
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
    """The run as columns; None if it is short or needs the reference."""
    if len(run) < MIN_RUN or run[0].magic < 2:
        return None
    try:
        return read_columns(view, run, max_inflated)
    except BadBatch:
        return None
