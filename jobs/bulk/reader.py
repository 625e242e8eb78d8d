"""Rows of bytes read by a layout, and what was found in them as Arrow arrays.

Only who decodes imports this: with it comes numba, which takes half a second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from jobs.bulk import kernel
from jobs.bulk.arrow_arrays import lists, number_lists, numbers, slices
from jobs.bulk.arrow_buffers import bits, struct_array
from jobs.bulk.byte_rows import HEADER, Data
from jobs.bulk.program import NUMBER_BYTES, Column, Program

ELEMENT_BYTES = 64
"""Of an array's elements on average: at first there is room for as many as that makes."""
_TYPES = {"string": pa.string(), "bytes": pa.binary()}


@dataclass(frozen=True)
class Found:
    """The fields of many rows.

    ``good``: which rows could be read; the others are null in every field.  Each column has
    ``room`` in ``starts`` and ``lengths`` and uses up to its ``ends``; a negative length is null.
    """

    data: np.ndarray
    good: np.ndarray
    columns: dict[str, Column]
    room: int
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
        return slice(self.room * column.index, self.ends[column.index])

    def _array(self, column: Column, is_element: bool = False) -> pa.Array:
        if is_element and column.fields:
            return struct_array(self._arrays(column.fields))
        span = self._span(column)
        start, length = self.starts[span], self.lengths[span]
        if column.element is not None:
            return lists(length, self._array(column.element, is_element=True))
        if column.fields:
            return struct_array(self._arrays(column.fields), bits(length >= 0))
        if column.type in _TYPES:
            return slices(self.data, start, length, _TYPES[column.type])
        if column.type in NUMBER_BYTES:
            return numbers(self.data, column.type, start, length)
        return number_lists(self.data, column.type.removeprefix("[]"), start, length)

    def _arrays(self, columns: dict[str, Column]) -> dict[str, pa.Array]:
        return {name: self._array(column) for name, column in columns.items()}


def read(program: Program, data: Data, rows: np.ndarray | slice, version: np.ndarray) -> Found:
    """What lies behind the rows' headers. Rows of a version that the program lacks are not good."""
    start, end = data.start[rows] + HEADER, data.end[rows]
    good, stack = np.empty(len(start), bool), np.empty(program.depth, np.int64)
    cursors = np.empty((2, program.column_count), np.uint64)
    room = len(start) + len(data.bytes) // ELEMENT_BYTES
    while True:
        memory = pa.allocate_buffer(2 * 4 * program.column_count * room)
        found = np.frombuffer(memory, np.int32).reshape(2, -1)
        if kernel.walk(
            program.steps, program.entries, data.bytes, start, end, version, room, found, cursors,
            stack, good,
        ):  # fmt: skip
            return Found(data.bytes, good, program.columns, room, cursors[0].tolist(), *found)
        room *= 2
