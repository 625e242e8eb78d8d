"""Arrow arrays of numpy arrays, buffers and other Arrow arrays, without copies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def number_array(numbers: np.ndarray, is_null: np.ndarray | None = None) -> pa.Int32Array:
    narrow = np.ascontiguousarray(numbers, np.int32)
    return from_buffers(
        pa.int32(), len(narrow), [None if is_null is None else bits(~is_null), narrow]
    )


def struct_array(
    columns: dict[str, pa.Array], validity: np.ndarray | None = None
) -> pa.StructArray:
    arrays = list(columns.values())
    type_ = pa.struct([pa.field(name, array.type) for name, array in columns.items()])
    return from_buffers(type_, len(arrays[0]), [validity], arrays)


def with_values(lists: pa.ListArray, values: pa.Array) -> pa.ListArray:
    """The same lists with other values."""
    return from_buffers(pa.list_(values.type), len(lists), lists.buffers()[:2], [values])


def bits(flags: np.ndarray) -> np.ndarray:
    return np.packbits(flags, bitorder="little")


def from_buffers(
    type_: pa.DataType,
    size: int,
    buffers: list[np.ndarray | pa.Buffer | None],
    children: list[pa.Array] | None = None,
) -> pa.Array:
    wrapped = [b if b is None or isinstance(b, pa.Buffer) else pa.py_buffer(b) for b in buffers]
    return pa.Array.from_buffers(type_, size, wrapped, children=children)
