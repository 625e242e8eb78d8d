"""Rows of bytes read by a layout, and what was found in them as Arrow arrays.

Only who decodes imports this: with it comes numba, which takes half a second.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from jobs.bulk import kernel
from jobs.bulk.columns import bits, struct_array
from jobs.bulk.data import HEADER, Data
from jobs.bulk.gather import lists, number_lists, numbers, slices
from jobs.bulk.program import NUMBER_BYTES, Column, Program

_TYPES = {"string": pa.string(), "bytes": pa.binary()}


@dataclass(frozen=True)
class Found:
    """The fields of many rows.

    ``good``: which rows could be read; the others are null in every field.  Of ``starts`` and
    ``lengths`` each column's end at its ``ends``; a negative length is null.
    """

    data: np.ndarray
    good: np.ndarray
    columns: dict[str, Column]
    ends: list[int]
    starts: np.ndarray
    lengths: np.ndarray

    def __getitem__(self, name: str) -> pa.Array:
        """Ids of topics are their 16 bytes."""
        return self._array(self.columns[name])

    def length(self, name: str) -> np.ndarray:
        """Of each row, to be changed: in bytes, or how many elements."""
        return self.lengths[self._span(self.columns[name])]

    def _span(self, column: Column) -> slice:
        begin = self.ends[column.index - 1] if column.index else 0
        return slice(begin, self.ends[column.index])

    def _array(self, column: Column) -> pa.Array:
        span = self._span(column)
        start, length = self.starts[span], self.lengths[span]
        if column.element is not None:
            return lists(length, self._array(column.element))
        if column.fields:
            fields = {name: self._array(field) for name, field in column.fields.items()}
            return struct_array(fields, bits(length >= 0) if len(length) else None)
        if column.type in _TYPES:
            return slices(self.data, start, length, _TYPES[column.type])
        if column.type in NUMBER_BYTES:
            return numbers(self.data, column.type, start, length)
        return number_lists(self.data, column.type.removeprefix("[]"), start, length)


def read(program: Program, data: Data, rows: np.ndarray | slice, version: np.ndarray) -> Found:
    """What lies behind the rows' headers. Rows of a version that the program lacks are not good."""
    start, end = data.start[rows] + HEADER, data.end[rows]
    room = program.room(len(start), len(data.bytes))
    cursors = np.empty((2, program.column_count), np.uint64)
    found, good = _SCRATCH.of(program.column_count * room), np.empty(len(start), bool)
    stack = np.empty(program.depth, np.int64)
    kernel.walk(
        program.steps, program.entries, data.bytes, start, end, version, room, found, cursors,
        stack, good,
    )  # fmt: skip
    counts = cursors[0].astype(np.int64)
    ends = counts.cumsum()
    kept = _two(int(ends[-1]))
    columns = [found[:, i * room : i * room + count] for i, count in enumerate(counts.tolist())]
    np.concatenate(columns, axis=1, out=kept)
    return Found(data.bytes, good, program.columns, ends.tolist(), *kept)


class _Scratch(threading.local):
    """Kept from walk to walk: little of it is ever written to, and memory that is new is slow."""

    found = np.empty((2, 0), np.int32)

    def of(self, size: int) -> np.ndarray:
        if self.found.shape[1] < size:
            self.found = _two(size)
        return self.found


_SCRATCH = _Scratch()


def _two(size: int) -> np.ndarray:
    """Rows of so many int32."""
    return np.frombuffer(pa.allocate_buffer(8 * size), np.int32).reshape(2, size)
