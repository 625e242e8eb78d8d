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


def key_types(keys: pa.Array) -> list[int]:
    """The record types in ``keys`` that have a layout, ascending."""
    types = np.unique(ByteRows(keys).headers()).tolist()
    return [type_ for type_ in types if type_ in _types_with_layout()]


def read_records(type_: int, keys: pa.Array, values: pa.Array) -> DecodedRecords:
    """Reads the records of a type from binary columns.

    Rows of the type that are not in the result are left to the reference codec.
    """
    from jobs.bulk.reader import read  # here: imports numba

    key_data, value_data = ByteRows(keys), ByteRows(values)
    key_program, value_program = _programs(type_)
    is_null = _is_null(values)
    versions = value_data.headers()
    versions[is_null] = -1
    rows = np.flatnonzero(key_data.headers() == type_)
    while True:
        key = read(key_program, key_data, rows, np.zeros(len(rows), np.int64))
        value = read(value_program, value_data, rows, versions[rows])
        is_good = key.good & (value.good | is_null[rows])
        if is_good.all():
            version = number_array(versions[rows], is_null[rows])
            return DecodedRecords(rows, key, version, value)
        rows = rows[is_good]


def _is_null(array: pa.Array) -> np.ndarray:
    if not array.null_count:  # the usual case, known without a scan
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
