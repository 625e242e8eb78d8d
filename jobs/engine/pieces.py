"""Some groups at a time: the memory of the embedded engine grows with the rows of a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.engine.embedded import is_embedded
from jobs.engine.keeping import computed_in_turn

Tables = Mapping[str, DataFrame]


def in_pieces(
    derived: Callable[..., DataFrame], tables: Tables, *, largest: str, at_once: int
) -> DataFrame:
    """The rows that ``derived`` makes of the tables, computed with some ``at_once`` rows of the
    ``largest`` at a time.

    ``derived`` gets the tables by name: the rows of some groups, and all rows of tables without
    groups.  A row that it makes depends on rows of the same group only.  Spark computes all groups
    in one plan, as its tasks spill to disk.
    """
    rows = tables[largest]
    pieces = -(-rows.count() // at_once) if is_embedded(rows.sparkSession) else 1
    if pieces <= 1:
        return derived(**tables)
    return computed_in_turn(derived(**_piece(tables, piece, pieces)) for piece in range(pieces))


def _piece(tables: Tables, piece: int, pieces: int) -> Tables:
    in_piece = F.pmod(F.xxhash64("group_id"), F.lit(pieces)) == piece
    return {
        name: rows.where(in_piece) if "group_id" in rows.columns else rows
        for name, rows in tables.items()
    }
