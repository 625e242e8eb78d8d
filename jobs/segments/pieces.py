"""A segment in pieces: runs of batches as columns if possible, else single frames."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.segments.columns import Columns, read_columns
from jobs.segments.compression import MAX_INFLATED, Allowance
from jobs.segments.frames import RUN_BYTES, Frame, FrameGap, Run, runs

MIN_RUN = 8  # minimum number of batches in a run; columns of fewer batches cost more than they save


def pieces(
    view: memoryview, max_inflated: int = MAX_INFLATED, allowance: Allowance | None = None
) -> Iterator[Columns | Frame | FrameGap]:
    """Pieces in file order.  The caller reads a frame with the reference, `read_batch`.

    Columns never have a batch that inflates to more than ``max_inflated`` bytes, or to more than
    the rest of the ``allowance``; the bytes to which columns inflate are subtracted from the
    allowance.
    """
    for stretch in stretches(view):
        if isinstance(stretch, FrameGap):
            yield stretch
        else:
            yield from pieces_of(view, stretch, max_inflated, allowance)


def stretches(view: memoryview) -> Iterator[Run | FrameGap]:
    """Gaps, and runs joined up to RUN_BYTES: in concatenated segments the offsets start again
    often, and columns of each short run would be slow."""
    held: Run = []
    size = 0
    for item in runs(view):
        if isinstance(item, FrameGap):
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
    view: memoryview,
    run: Run,
    max_inflated: int = MAX_INFLATED,
    allowance: Allowance | None = None,
) -> Iterator[Columns | Frame]:
    """The run as columns if possible, else in halves, at last batch by batch."""
    limit = max_inflated if allowance is None else allowance.of_batch
    columns = _columns_of(view, run, limit)
    if columns is not None and (allowance is None or _is_within(allowance, columns)):
        yield columns
    elif len(run) < MIN_RUN or run[0].magic < 2:
        yield from run
    else:
        middle = len(run) // 2
        yield from pieces_of(view, run[:middle], max_inflated, allowance)
        yield from pieces_of(view, run[middle:], max_inflated, allowance)


def _is_within(allowance: Allowance, columns: Columns) -> bool:
    """Take what the run inflates to from the allowance. Returns False if less is left."""
    size = len(columns.data) if columns.is_inflated else 0
    if size > allowance.left:
        return False
    allowance.use(size)
    return True


def _columns_of(view: memoryview, run: Run, max_inflated: int) -> Columns | None:
    """The run as columns, or None if it is short or needs the reference."""
    if len(run) < MIN_RUN or run[0].magic < 2:
        return None
    try:
        return read_columns(view, run, max_inflated)
    except Exception:  # The reference decoder reports the fault.
        return None
