"""Keys and values of one record type, read in bulk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from jobs.bulk.arrow_buffers import number_array
from jobs.bulk.byte_rows import ByteRows
from jobs.bulk.program import Program, program
from schemas.record_layouts import layouts

if TYPE_CHECKING:
    from jobs.bulk.reader import DecodedRows


@dataclass(frozen=True)
class DecodedRecords:
    """Records of a batch: ``rows`` are their ascending row numbers.

    A tombstone's version is null, and so is every field of its value.
    """

    rows: np.ndarray
    key: DecodedRows
    version: pa.Int32Array
    value: DecodedRows


class KeysAndValues:
    """The keys and values of a batch, with the record type of each row; values may be null."""

    def __init__(self, keys: pa.Array, values: pa.Array) -> None:
        """``keys`` and ``values`` are binary columns."""
        self._keys, self._values = ByteRows(keys), ByteRows(values)
        self._types = self._keys.headers()
        # The rows of each type stay in ascending order.  Types have 16 bits, sorted in linear time.
        self._by_type = np.argsort(self._types.astype(np.int16), kind="stable")
        self._sorted_types = self._types[self._by_type]
        self._is_null = _is_null(values)
        self._versions = self._values.headers()
        self._versions[self._is_null] = -1

    def types(self) -> list[int]:
        """The record types that have a layout, ascending."""
        is_first = np.diff(self._sorted_types, prepend=np.int64(-2)) != 0
        types: list[int] = self._sorted_types[is_first].tolist()
        return [type_ for type_ in types if type_ in _types_with_layout()]

    def records(self, type_: int) -> DecodedRecords:
        """The records of a type; its rows that are not in them are left to the reference codec."""
        from jobs.bulk.reader import read  # here: imports numba

        key_program, value_program = _programs(type_)
        first, last = np.searchsorted(self._sorted_types, [type_, type_ + 1])
        rows = self._by_type[first:last]
        while True:
            is_null, versions = self._is_null[rows], self._versions[rows]
            key = read(key_program, self._keys, rows, np.zeros(len(rows), np.int64))
            value = read(value_program, self._values, rows, versions)
            is_good = key.good & (value.good | is_null)
            if is_good.all():
                return DecodedRecords(rows, key, number_array(versions, is_null), value)
            rows = rows[is_good]


def read_records(type_: int, keys: pa.Array, values: pa.Array) -> DecodedRecords:
    """The records of one type only; see `KeysAndValues`."""
    return KeysAndValues(keys, values).records(type_)


def _is_null(array: pa.Array) -> np.ndarray:
    if not array.null_count:  # This is the usual case, which needs no scan.
        return np.zeros(len(array), bool)
    is_null: np.ndarray = array.is_null().to_numpy(zero_copy_only=False)
    return is_null


@cache
def _types_with_layout() -> frozenset[int | None]:
    return frozenset(layout.api_key for layout in layouts() if layout.type == "coordinator-key")


@cache
def _programs(type_: int) -> tuple[Program, Program]:
    """Programs of the current layouts of key and value."""
    current = [each for each in layouts() if each.api_key == type_ and not each.written_until]
    key = next(layout for layout in current if layout.type == "coordinator-key")
    value = next(layout for layout in current if layout.type == "coordinator-value")
    return program(key, exact=True), program(value, exact=True)
