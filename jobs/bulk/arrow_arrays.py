"""Arrow arrays of fields at many positions of a byte array.  Importing this imports numba.

Starts, lengths and counts are int32; a negative length or count is null.  ``data`` is padded.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from jobs.bulk import kernel
from jobs.bulk.arrow_buffers import bits, from_buffers
from jobs.bulk.program import NUMBER_BYTES, PADDING

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


def slices(data: np.ndarray, start: np.ndarray, length: np.ndarray, type_: pa.DataType) -> pa.Array:
    """Strings or bytes; ``type_``: string or binary."""
    bounds, validity = _bounds(length)
    content = _empty(int(bounds[-1]))
    kernel.copy(data, start, bounds, content)
    return from_buffers(type_, len(start), [validity, bounds, content])


def numbers(data: np.ndarray, type_: str, start: np.ndarray, length: np.ndarray) -> pa.Array:
    """One big-endian number from each start; uuids as their bytes."""
    size = NUMBER_BYTES[type_]
    content = _empty(len(start) * size)
    has_null = kernel.copy_numbers(data, start, length, size, content)
    return _typed(type_, len(start), bits(length >= 0) if has_null else None, content)


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
