"""Arrow arrays of fields at many positions of a byte array.  Importing this imports numba.

Starts, lengths and counts are int32; a negative length or count is null.  ``data`` is padded.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from jobs.bulk import kernel
from jobs.bulk.arrow_buffers import bits, from_buffers
from jobs.bulk.program import NUMBER_BYTES, PADDING

Positions = tuple[np.ndarray, np.ndarray, str]
"""Start and length of the field in each row, and the field's type."""

ROWS_AT_ONCE = 2048
TEXT_TYPES = {"string": pa.string(), "bytes": pa.binary()}
_NUMBERS = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "uint16": pa.uint16(),
    "int32": pa.int32(),
    "uint32": pa.uint32(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "uuid": pa.binary(NUMBER_BYTES["uuid"]),
}


class _Slices:
    """Strings or bytes; ``type_`` is string or binary."""

    def __init__(
        self, data: np.ndarray, start: np.ndarray, length: np.ndarray, type_: pa.DataType
    ) -> None:
        self._data, self.start, self._type = data, start, type_
        self._bounds, self._validity = _bounds(length)
        self._content = _empty(int(self._bounds[-1]))

    def copy(self, first: int, last: int) -> None:
        bounds = self._bounds[first : last + 1]
        kernel.copy(self._data, self.start[first:last], bounds, self._content)

    def array(self) -> pa.Array:
        buffers = [self._validity, self._bounds, self._content]
        return from_buffers(self._type, len(self.start), buffers)


class _Numbers:
    """A big-endian number from each start, or the bytes of a UUID."""

    def __init__(self, data: np.ndarray, start: np.ndarray, length: np.ndarray, type_: str) -> None:
        self._data, self.start, self._length, self._type = data, start, length, type_
        self._size = NUMBER_BYTES[type_]
        self._content = _empty(len(start) * self._size)
        self._has_null = False

    def copy(self, first: int, last: int) -> None:
        start, length = self.start[first:last], self._length[first:last]
        content = self._content[first * self._size :]
        self._has_null |= kernel.copy_numbers(self._data, start, length, self._size, content)

    def array(self) -> pa.Array:
        validity = bits(self._length >= 0) if self._has_null else None
        return _typed(self._type, len(self.start), validity, self._content)


def slices(data: np.ndarray, start: np.ndarray, length: np.ndarray, type_: pa.DataType) -> pa.Array:
    """Strings or bytes; ``type_`` is string or binary."""
    copies = _Slices(data, start, length, type_)
    copies.copy(0, len(start))
    return copies.array()


def fields(data: np.ndarray, positions: Iterable[Positions]) -> list[pa.Array]:
    """Strings, bytes and numbers of as many rows each.

    Some rows of all fields are copied before the next rows: fields of one row lie side by side, and
    are still in the processor's cache.
    """
    copies = [
        _Slices(data, start, length, TEXT_TYPES[type_])
        if type_ in TEXT_TYPES
        else _Numbers(data, start, length, type_)
        for start, length, type_ in positions
    ]
    size = max((len(each.start) for each in copies), default=0)
    for first in range(0, size, ROWS_AT_ONCE):
        for each in copies:
            each.copy(first, first + ROWS_AT_ONCE)
    return [each.array() for each in copies]


def is_single(type_: str) -> bool:
    """Returns whether a field of this type is a string, bytes or one number."""
    return type_ in TEXT_TYPES or type_ in NUMBER_BYTES


def number_lists(data: np.ndarray, type_: str, start: np.ndarray, count: np.ndarray) -> pa.Array:
    """``count`` big-endian numbers from each start."""
    size = NUMBER_BYTES[type_]
    bounds, validity = _bounds(count)
    total = int(bounds[-1])
    content = _empty(total * size)
    kernel.copy_runs(data, start, bounds, size, content)
    values = _typed(type_, total, None, content)
    return from_buffers(pa.list_(values.type), len(count), [validity, bounds], [values])


def lists(count: np.ndarray, values: pa.Array) -> pa.ListArray:
    bounds, validity = _bounds(count)
    return from_buffers(pa.list_(values.type), len(count), [validity, bounds], [values])


def _bounds(length: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Offsets of consecutive values, and the validity bitmap (None without nulls)."""
    bounds = np.empty(len(length) + 1, np.int32)
    has_null = kernel.add_up(length, bounds)
    return bounds, bits(length >= 0) if has_null else None


def _typed(type_: str, size: int, validity: np.ndarray | None, content: np.ndarray) -> pa.Array:
    if type_ == "bool":
        content = bits(content[:size] != 0)
    return from_buffers(_NUMBERS[type_], size, [validity, content])


def _empty(size: int) -> np.ndarray:
    """A buffer of Arrow's pool, which keeps freed memory for the next batch."""
    return np.frombuffer(pa.allocate_buffer(size + PADDING), np.uint8)
