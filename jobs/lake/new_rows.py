"""Rows in Arrow whose key a table does not have yet: what the embedded engine adds to a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Size of a block of stored rows: a block takes some 20 MB, and each block needs one join.
_KEYS_AT_ONCE = 500_000
_ROW = "_row"


def first_per_key(rows: pa.Table, key: list[str]) -> pa.Table:
    """The first row of each key; ``rows`` itself if all keys differ."""
    columns = [_numbers(rows.column(name)) for name in key]
    order = np.lexsort(columns[::-1])  # The sort is stable: equal keys keep the order of the rows.
    is_equal = np.ones(max(len(order) - 1, 0), bool)
    for column in columns:
        is_equal &= np.diff(column[order]) == 0
    if not is_equal.any():
        return rows
    return rows.take(np.sort(np.delete(order, np.flatnonzero(is_equal) + 1)))


def split_by_stored(
    rows: pa.Table, key: list[str], stored: Iterable[pa.RecordBatch], changing: str | None
) -> tuple[pa.Table, pa.Table]:
    """The rows whose key is not among ``stored``, and the rows that differ in the column
    ``changing``.

    ``stored`` has batches with the key's columns and ``changing``; read once, few at a time.
    """
    keys = rows.select(key).append_column(_ROW, pa.array(np.arange(rows.num_rows)))
    is_new = np.ones(rows.num_rows, bool)
    differs = np.zeros(rows.num_rows, bool)
    for part in _joined(stored, rows.schema):
        both = keys.join(part, key, join_type="inner")
        places = both.column(_ROW).to_numpy()
        is_new[places] = False
        if changing:
            old, new = both.column(changing), rows.column(changing).take(both.column(_ROW))
            differs[places] = ~_are_equal(old, new)
    return rows.filter(is_new), rows.filter(differs)


def range_of(column: pa.ChunkedArray) -> tuple[Any, Any]:
    """The smallest and the largest value."""
    ends = pc.min_max(column)
    return ends["min"].as_py(), ends["max"].as_py()


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Numbers that are equal if and only if the values are equal."""
    if not pa.types.is_integer(column.type):
        column = column.combine_chunks().dictionary_encode().indices
    numbers: np.ndarray = column.to_numpy()
    return numbers


def _joined(stored: Iterable[pa.RecordBatch], types: pa.Schema) -> Iterator[pa.Table]:
    """Tables of about _KEYS_AT_ONCE rows, with the types that the columns have in ``types``."""
    held: list[pa.RecordBatch] = []
    for batch in stored:
        held.append(batch)
        if sum(each.num_rows for each in held) >= _KEYS_AT_ONCE:
            yield _table(held, types)
            held = []
    if held:
        yield _table(held, types)


def _table(batches: list[pa.RecordBatch], types: pa.Schema) -> pa.Table:
    """DataFusion returns views of strings, which Arrow cannot join."""
    table = pa.Table.from_batches(batches)
    return table.cast(pa.schema([(name, types.field(name).type) for name in table.schema.names]))


def _are_equal(old: pa.ChunkedArray, new: pa.ChunkedArray) -> np.ndarray:
    same = pc.equal(old, new)
    both_null = pc.and_(old.is_null(), new.is_null())
    are_equal: np.ndarray = pc.or_(pc.fill_null(same, False), both_null).to_numpy()
    return are_equal
