"""Some groups at a time: the memory of the embedded engine grows with the rows of a plan."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.engine.embedded import is_embedded
from jobs.engine.keeping import computed_in_turn

Cut = Callable[[DataFrame], DataFrame]


def in_pieces(derived: Callable[[Cut], DataFrame], rows: DataFrame, *, at_once: int) -> DataFrame:
    """The rows that ``derived`` makes of all groups, computed with some ``at_once`` of ``rows``.

    ``derived`` applies the `Cut` that it gets to each frame that it reads: one piece's groups
    remain.  A row that it makes depends on rows of the same group only.  Spark computes all groups
    in one plan, as its tasks spill to disk.
    """
    pieces = -(-rows.count() // at_once) if is_embedded(rows.sparkSession) else 1
    if pieces <= 1:
        return derived(lambda frame: frame)
    return computed_in_turn(derived(_cut(piece, pieces)) for piece in range(pieces))


def _cut(piece: int, pieces: int) -> Cut:
    in_piece = F.pmod(F.xxhash64("group_id"), F.lit(pieces)) == piece
    return lambda frame: frame.where(in_piece)
