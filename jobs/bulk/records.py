"""Keys and values of one record type, read in bulk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from jobs.bulk.arrow_buffers import number_array
from jobs.bulk.byte_rows import Data
from jobs.bulk.program import Program, program
from schemas.record_layouts import layouts

if TYPE_CHECKING:
    from jobs.bulk.reader import Found


@dataclass(frozen=True)
class Records:
    """Some records of a batch, ``rows`` by ascending number; a tombstone has no version, and null
    in every field of its value."""

    rows: np.ndarray
    key: Found
    version: pa.Int32Array
    value: Found


def key_types(keys: pa.Array) -> list[int]:
    """The types at hand that layouts describe, ascending."""
    at_hand = np.unique(Data(keys).headers()).tolist()
    return [type_ for type_ in at_hand if type_ in _known_types()]


def read_records(type_: int, keys: pa.Array, values: pa.Array) -> Records:
    """Binary columns; of the rows of the type those that are not in the result are the
    reference's to read."""
    from jobs.bulk.reader import read  # in who decodes alone: numba takes half a second

    key_data, value_data = Data(keys), Data(values)
    key_program, value_program = _programs(type_)
    is_null = _is_null(values)
    versions = value_data.headers()
    versions[is_null] = -1
    rows = np.flatnonzero(key_data.headers() == type_)
    while True:
        key = read(key_program, key_data, rows, np.zeros(len(rows), np.int64))
        value = read(value_program, value_data, rows, versions[rows])
        is_mine = key.good & (value.good | is_null[rows])
        if is_mine.all():
            return Records(rows, key, number_array(versions[rows], is_null[rows]), value)
        rows = rows[is_mine]


def _is_null(array: pa.Array) -> np.ndarray:
    if not array.null_count:  # mostly so, and told at once
        return np.zeros(len(array), bool)
    return array.is_null().to_numpy(zero_copy_only=False)


@cache
def _known_types() -> frozenset[int | None]:
    return frozenset(layout.api_key for layout in layouts() if layout.type == "coordinator-key")


@cache
def _programs(type_: int) -> tuple[Program, Program]:
    """Of key and value, as they are written today."""
    mine = [layout for layout in layouts() if layout.api_key == type_ and not layout.written_until]
    key = next(layout for layout in mine if layout.type == "coordinator-key")
    value = next(layout for layout in mine if layout.type == "coordinator-value")
    return program(key, whole=True), program(value, whole=True)
