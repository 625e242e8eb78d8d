"""Keys and values of one record type, read in bulk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from jobs.bulk.columns import Struct, arrow_array, bad_text
from jobs.bulk.data import Data
from jobs.bulk.plan import Plan, is_flexible, plan
from schemas.record_layouts import Layout, layouts

HEADER = 2  # bytes: the type before a key, the version before a value


@dataclass(frozen=True)
class Records:
    """Some records of a batch, ``rows`` by ascending number.

    Those at ``valued`` (indices into ``rows``) have a value; ``versions`` and ``values`` are
    theirs alone, the others are tombstones.
    """

    rows: np.ndarray
    key_data: Data
    keys: Struct
    valued: np.ndarray
    versions: np.ndarray
    value_data: Data
    values: Struct

    def key(self, name: str) -> pa.Array:
        return arrow_array(self.key_data, self.keys[name])

    def value(self, name: str) -> pa.Array:
        return arrow_array(self.value_data, self.values[name])


def key_types(keys: pa.Array) -> list[int]:
    """The types at hand that layouts describe, ascending."""
    data = Data(keys)
    sized = data.start[data.end - data.start >= HEADER]
    at_hand = np.unique(data.int16s(sized)).tolist()
    return [type_ for type_ in at_hand if type_ in _known_types()]


def read_records(type_: int, keys: pa.Array, values: pa.Array) -> Iterator[Records]:
    """Binary columns; rows that are in none of the results are the reference's to read."""
    key_data, value_data = Data(keys), Data(values)
    is_null = _is_null(values)
    rows = _rows_of_type(type_, key_data)
    if not len(rows):
        return
    key_layout, value_layout = _layouts(type_)
    rows, keys = _read(key_layout, key_data, rows, np.zeros(len(key_data.start), np.int8))
    version = _versions(value_data, is_null)
    for flexible, some in _by_encoding(value_layout, version, rows[~is_null[rows]]):
        good, found = _read(value_layout, value_data, some, version)
        is_mine = np.zeros(len(is_null), bool)
        is_mine[good] = True
        if not flexible:  # which tombstones go with is all the same
            is_mine[rows[is_null[rows]]] = True
        mine = np.flatnonzero(is_mine)
        of_mine = keys
        if len(mine) < len(rows):
            _, of_mine = _read(key_layout, key_data, mine, np.zeros(len(is_null), np.int8))
        valued = np.flatnonzero(~is_null[mine])
        yield Records(mine, key_data, of_mine, valued, version[good], value_data, found)


def _read(
    layout: Layout, data: Data, rows: np.ndarray, version: np.ndarray
) -> tuple[np.ndarray, Struct]:
    """Those of the rows that can be read whole, and their fields."""
    while True:
        walker = _plan(layout, version[rows])
        start, end = data.start[rows] + HEADER, data.end[rows]
        found, after, bad = walker.walk(data, start, end, version[rows])
        bad |= after != end
        if not bad.any():
            bad[bad_text(data, found)] = True
        if not bad.any():
            return rows, found
        rows = rows[~bad]


def _plan(layout: Layout, version: np.ndarray) -> Plan:
    return plan(layout, frozenset(np.flatnonzero(np.bincount(version)).tolist() or [0]))


def _rows_of_type(type_: int, data: Data) -> np.ndarray:
    sized = np.flatnonzero(data.end - data.start >= HEADER)
    return sized[data.int16s(data.start[sized]) == type_]


def _versions(data: Data, is_null: np.ndarray) -> np.ndarray:
    """-1 where there is none."""
    version = np.full(len(is_null), -1, np.int64)
    sized = np.flatnonzero(data.end - data.start >= HEADER)
    version[sized] = data.int16s(data.start[sized])
    return version


def _by_encoding(
    layout: Layout, version: np.ndarray, rows: np.ndarray
) -> Iterator[tuple[bool, np.ndarray]]:
    """Rows of known versions: those of the classic encoding, if only none, then the flexible."""
    highest = layout.valid_versions.highest or 0
    flexible = np.array([is_flexible(layout, v) for v in range(highest + 1)])
    known = rows[(version[rows] >= 0) & (version[rows] <= highest)]
    is_new = flexible[version[known]]
    yield False, known[~is_new]
    if is_new.any():
        yield True, known[is_new]


@cache
def _known_types() -> frozenset[int | None]:
    return frozenset(layout.api_key for layout in layouts() if layout.type == "coordinator-key")


@cache
def _layouts(type_: int) -> tuple[Layout, Layout]:
    """Of key and value, as they are written today."""
    mine = [layout for layout in layouts() if layout.api_key == type_ and not layout.written_until]
    key = next(layout for layout in mine if layout.type == "coordinator-key")
    return key, next(layout for layout in mine if layout.type == "coordinator-value")


def _is_null(array: pa.Array) -> np.ndarray:
    validity = array.buffers()[0]
    if validity is None or not array.null_count:
        return np.zeros(len(array), bool)
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)] == 0
