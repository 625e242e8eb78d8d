"""Where the fields of many rows lie, and the Arrow arrays made of them.

A row here is whatever holds the field: a record, an element of an array, the bytes of a member.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.bulk.data import Data

_ARROW_TYPES = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "uint16": pa.uint16(),
    "int32": pa.int32(),
    "uint32": pa.uint32(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "uuid": pa.binary(16),
}


@dataclass(frozen=True, slots=True)
class Numbers:
    """Values of a fixed size, big-endian, at ``at``."""

    type: str
    dtype: np.dtype
    at: np.ndarray


@dataclass(frozen=True, slots=True)
class Runs:
    """Of each row ``count`` values, one behind the other from ``start``."""

    type: str
    dtype: np.dtype
    start: np.ndarray
    count: np.ndarray


@dataclass(slots=True)
class Sized:
    """Strings or bytes; a length of -1 is null. ``array`` is kept once it is made."""

    start: np.ndarray
    length: np.ndarray
    text: bool
    array: pa.Array | None = None

    @property
    def end(self) -> np.ndarray:
        return self.start + np.maximum(self.length, 0)


@dataclass(frozen=True, slots=True)
class Array:
    """``count`` elements a row, -1 for a null array; ``element`` has all of them in order."""

    count: np.ndarray
    element: Column

    @property
    def owner(self) -> np.ndarray:
        """The row of each element."""
        return np.repeat(np.arange(len(self.count)), np.maximum(self.count, 0))


@dataclass(frozen=True, slots=True)
class Struct:
    size: int
    """Rows."""
    fields: dict[str, Column]

    def __getitem__(self, name: str) -> Column:
        return self.fields[name]


@dataclass(frozen=True, slots=True)
class Partial:
    """A field that some of ``size`` rows have: ``rows``, ascending. The others are null."""

    size: int
    rows: np.ndarray
    column: Column


Column = Numbers | Runs | Sized | Array | Struct | Partial


# To Arrow -------------------------------------------------------------------------------------


def arrow_array(data: Data, column: Column) -> pa.Array:
    """Numbers, text, bytes, lists and structs; ids of topics as their 16 bytes."""
    match column:
        case Numbers():
            return _numbers(column.type, data.numbers(column.dtype, column.at))
        case Runs():
            return _runs(data, column)
        case Sized():
            if column.array is None:
                column.array = _sized(data, column)
            return column.array
        case Array():
            return list_array(column.count, arrow_array(data, column.element))
        case Struct():
            arrays = [arrow_array(data, field) for field in column.fields.values()]
            return struct_array(dict(zip(column.fields, arrays, strict=True)))
        case Partial():
            return spread(arrow_array(data, column.column), column.rows, column.size)


def bad_text(data: Data, column: Column) -> np.ndarray:
    """The rows in which something is not UTF-8; what is text in the others is made on the way."""
    match column:
        case Sized(text=True):
            return _not_utf8(arrow_array(data, column))
        case Array():
            inner = bad_text(data, column.element)
            return column.owner[inner] if len(inner) else inner
        case Struct():
            return np.concatenate([NO_ROWS, *(bad_text(data, f) for f in column.fields.values())])
        case Partial():
            return column.rows[bad_text(data, column.column)]
        case _:
            return NO_ROWS


ASCII = 0x80  # and above it is not
NO_ROWS = np.empty(0, np.int64)


def _not_utf8(array: pa.StringArray) -> np.ndarray:
    if _is_ascii(array):
        return NO_ROWS
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        words = array.cast(pa.binary()).to_pylist()
        return np.array([i for i, word in enumerate(words) if word and not _is_text(word)])
    return NO_ROWS


def _is_ascii(array: pa.StringArray) -> bool:
    """As nearly all are: ids, addresses, names of topics."""
    _, bounds, content = array.buffers()
    size = int(np.frombuffer(bounds, np.int32)[len(array)]) if len(array) and content else 0
    return size == 0 or int(np.frombuffer(content, np.uint8, size).max()) < ASCII


def _is_text(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def _numbers(type_: str, values: np.ndarray) -> pa.Array:
    if type_ == "bool":
        return from_buffers(pa.bool_(), len(values), [None, bitmap(values != 0)])
    native = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    return from_buffers(_ARROW_TYPES[type_], len(native), [None, native.view(np.uint8)])


def _runs(data: Data, column: Runs) -> pa.Array:
    taken = slices(data.bytes, column.start, column.count * column.dtype.itemsize)
    return _numbers(
        column.type, np.frombuffer(taken.buffers()[2], column.dtype, column.count.sum())
    )


def _sized(data: Data, column: Sized) -> pa.Array:
    return slices(data.bytes, column.start, column.length, pa.string() if column.text else None)


def slices(
    data: np.ndarray, start: np.ndarray, length: np.ndarray, type_: pa.DataType | None = None
) -> pa.Array:
    """Stretches of ``data`` in its order, null where the length is negative; binary, if no other
    type is told.

    All in one gather: the bytes are taken for an array whose every second element is wanted.
    """
    size = len(start)
    if size and length.max() < 0:
        return pa.nulls(size, type_ or pa.binary())
    has_null = length.min(initial=0) < 0
    bounds = np.empty(2 * size + 1, np.int32)
    bounds[0:-1:2] = start
    np.add(start, np.maximum(length, 0) if has_null else length, out=bounds[1::2], casting="unsafe")
    bounds[-1] = bounds[-2] if size else 0
    parts = from_buffers(pa.binary(), 2 * size, [None, bounds, data])
    every_second = from_buffers(pa.int64(), size, [None, np.arange(0, 2 * size, 2)])
    _, taken_bounds, taken = pc.array_take(parts, every_second, boundscheck=False).buffers()
    validity = bitmap(length >= 0) if has_null else None
    return from_buffers(type_ or pa.binary(), size, [validity, taken_bounds, taken])


def list_array(count: np.ndarray, values: pa.Array) -> pa.ListArray:
    """Lists of ``count`` values each, -1 for null."""
    bounds = np.zeros(len(count) + 1, np.int32)
    np.cumsum(np.maximum(count, 0), out=bounds[1:])
    is_null = count < 0
    validity = bitmap(~is_null) if is_null.any() else None
    return from_buffers(pa.list_(values.type), len(count), [validity, bounds], [values])


def struct_array(columns: dict[str, pa.Array]) -> pa.StructArray:
    return pa.StructArray.from_arrays(list(columns.values()), list(columns))


def spread(array: pa.Array, rows: np.ndarray, size: int) -> pa.Array:
    """``array`` at ``rows``, ascending, of ``size`` rows; the others are null."""
    if len(rows) == size:
        return array
    if array.null_count == len(array):
        return pa.nulls(size, array.type)
    if pa.types.is_list(array.type) and not array.offset:  # what is in the lists need not move
        count = np.full(size, -1)
        count[rows] = np.where(_is_valid(array), np.diff(_bounds(array)), -1)
        return list_array(count, array.values)
    place = np.zeros(size, np.int64)
    place[rows] = np.arange(len(rows))
    there = np.zeros(size, bool)
    there[rows] = True
    return array.take(from_buffers(pa.int64(), size, [bitmap(there), place]))


def number_array(numbers: np.ndarray) -> pa.Int32Array:
    narrow = np.ascontiguousarray(numbers, np.int32)
    return from_buffers(pa.int32(), len(narrow), [None, narrow])


def boolean_numbers(array: pa.BooleanArray) -> np.ndarray:
    """Without nulls."""
    return array.cast(pa.uint8()).to_numpy(zero_copy_only=False).astype(bool)


def without_null_lists(array: pa.Array) -> pa.Array:
    """Empty lists for null ones; what is no list stays."""
    if not pa.types.is_list(array.type) or not array.null_count:
        return array
    return with_empty_lists(array, np.flatnonzero(~_is_valid(array)))


def with_empty_lists(array: pa.ListArray, rows: np.ndarray) -> pa.ListArray:
    """Empty lists for the null ones at ``rows``."""
    if not len(rows):
        return array
    count = np.where(_is_valid(array), np.diff(_bounds(array)), -1)
    count[rows] = 0
    return list_array(count, array.values)


def _bounds(array: pa.ListArray) -> np.ndarray:
    return np.frombuffer(array.buffers()[1], np.int32)[: len(array) + 1]


def _is_valid(array: pa.Array) -> np.ndarray:
    validity = array.buffers()[0]
    if validity is None:
        return np.ones(len(array), bool)
    bits = np.frombuffer(validity, np.uint8)
    return np.unpackbits(bits, count=len(array), bitorder="little").astype(bool)


def bitmap(bits: np.ndarray) -> np.ndarray:
    return np.packbits(bits, bitorder="little")


def from_buffers(
    type_: pa.DataType,
    size: int,
    buffers: list[np.ndarray | pa.Buffer | None],
    children: list[pa.Array] | None = None,
) -> pa.Array:
    wrapped = [b if b is None or isinstance(b, pa.Buffer) else pa.py_buffer(b) for b in buffers]
    return pa.Array.from_buffers(type_, size, wrapped, children=children)
