"""Runs a program over rows of bytes; the fields as Arrow arrays.  Importing this imports numba."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from jobs.bulk import kernel
from jobs.bulk.arrow_arrays import Positions, fields, is_single, lists, number_lists
from jobs.bulk.arrow_buffers import bits, struct_array
from jobs.bulk.byte_rows import ByteRows
from jobs.bulk.program import HEADER, FieldColumn, Program

ELEMENT_BYTES = 32
"""Assumed average size of an array's element, for the initial allocation; the allocation
doubles if it is too small."""


@dataclass(frozen=True, kw_only=True)
class DecodedRows:
    """The fields of many rows.

    ``good`` says whether each row was read; other rows are null in every field.  Each column has
    ``room`` slots in ``starts`` and ``lengths``, and uses the slots up to its entry in ``ends``; a
    negative length means null.
    """

    data: np.ndarray
    good: np.ndarray
    columns: dict[str, FieldColumn]
    room: int
    ends: list[int]
    starts: np.ndarray
    lengths: np.ndarray

    def __getitem__(self, name: str) -> pa.Array:
        """The field's array; a uuid is its 16 bytes."""
        return self._array(self.columns[name])

    def length(self, name: str) -> np.ndarray:
        """Writable lengths per row: in bytes, or in elements for arrays."""
        return self.lengths[self._span(self.columns[name])]

    def _span(self, column: FieldColumn) -> slice:
        return slice(self.room * column.index, self.ends[column.index])

    def _array(self, column: FieldColumn, is_element: bool = False) -> pa.Array:
        if is_element and column.fields:
            return struct_array(self._arrays(column.fields))
        span = self._span(column)
        start, length = self.starts[span], self.lengths[span]
        if column.element is not None:
            return lists(length, self._array(column.element, is_element=True))
        if column.fields:
            return struct_array(self._arrays(column.fields), bits(length >= 0))
        if is_single(column.type):
            return fields(self.data, [self._positions(column)])[0]
        return number_lists(self.data, column.type.removeprefix("[]"), start, length)

    def _arrays(self, columns: dict[str, FieldColumn]) -> dict[str, pa.Array]:
        """The fields of a struct."""
        single = {name: column for name, column in columns.items() if is_single(column.type)}
        copied = fields(self.data, map(self._positions, single.values()))
        arrays = dict(zip(single, copied, strict=True))
        return {
            name: arrays[name] if name in single else self._array(column)
            for name, column in columns.items()
        }

    def _positions(self, column: FieldColumn) -> Positions:
        span = self._span(column)
        return self.starts[span], self.lengths[span], column.type


def read(
    program: Program, data: ByteRows, rows: np.ndarray | slice, version: np.ndarray
) -> DecodedRows:
    """Reads the fields after the rows' headers; rows of unknown versions are not good."""
    start, end = data.start[rows] + HEADER, data.end[rows]
    good, stack = np.empty(len(start), bool), np.empty(program.depth, np.int64)
    cursors = np.empty((2, program.column_count), np.uint64)
    room = len(start) + int(np.maximum(end - start, 0).sum()) // ELEMENT_BYTES
    while True:
        memory = pa.allocate_buffer(2 * 4 * program.column_count * room)
        positions = np.frombuffer(memory, np.int32).reshape(2, -1)
        if kernel.walk(
            program.steps, program.entries, data.bytes, start, end, version, room, positions,
            cursors, stack, good,
        ):  # fmt: skip
            ends = cursors[0].tolist()
            return DecodedRows(
                data=data.bytes,
                good=good,
                columns=program.columns,
                room=room,
                ends=ends,
                starts=positions[0],
                lengths=positions[1],
            )
        room *= 2
