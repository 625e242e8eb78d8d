"""Bytes that are read at many places at once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

PADDING = 64
"""Bytes behind the end, whatever they are, so that a read that begins before it need not be
checked: more than any layout's numbers in a row take."""
MAX_VARINT_BYTES = 5
TOO_LONG = 1 << 40  # what a varint of more than 32 bits reads as: longer than anything


class Data:
    """``start[i]`` to ``end[i]`` are row i's bytes; equal where it is null."""

    def __init__(self, column: pa.Array) -> None:
        """``column``: binary or large binary."""
        width = np.int64 if pa.types.is_large_binary(column.type) else np.int32
        bounds = np.frombuffer(column.buffers()[1], width)
        bounds = bounds[column.offset : column.offset + len(column) + 1].astype(np.int64)
        self.bytes = _padded(column.buffers()[2], int(bounds[0]), int(bounds[-1]))
        self.start = bounds[:-1] - bounds[0]
        self.end = bounds[1:] - bounds[0]

    def numbers(self, dtype: np.dtype, at: np.ndarray) -> np.ndarray:
        return self._views[dtype][at]

    @cached_property
    def _views(self) -> _Views:
        return _Views(self.bytes)

    def int16s(self, at: np.ndarray) -> np.ndarray:
        word = self.bytes.take(at, mode="clip").astype(np.uint16)
        word <<= 8
        word |= self.bytes[1:].take(at, mode="clip")
        return word.view(np.int16).astype(np.int64)

    def int32s(self, at: np.ndarray) -> np.ndarray:
        return self._views[INT32][at].astype(np.int64)

    def varints(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Unsigned 32-bit varints; TOO_LONG for more."""
        byte = self.bytes[at]
        value = (byte & 0x7F).astype(np.int64)
        after = at + 1
        longer = np.flatnonzero(byte >= 0x80)
        for size in range(1, MAX_VARINT_BYTES):
            if not len(longer):
                return value, after
            byte = self.bytes[at[longer] + size]
            value[longer] |= (byte & 0x7F).astype(np.int64) << 7 * size
            after[longer] += 1
            longer = longer[byte >= 0x80]
        value[longer] = TOO_LONG
        value[value > 0xFFFFFFFF] = TOO_LONG
        return value, after


def _padded(buffer: pa.Buffer | None, start: int, end: int) -> np.ndarray:
    """Copied only where the buffer ends too early: the last slice of a batch, mostly."""
    if buffer is not None and end + PADDING <= buffer.size:
        return np.frombuffer(buffer, np.uint8)[start : end + PADDING]
    padded = np.zeros(end - start + PADDING, np.uint8)
    if end > start:
        padded[: end - start] = np.frombuffer(buffer, np.uint8)[start:end]
    return padded


class _Views(dict[np.dtype, np.ndarray]):
    """The bytes as overlapping items of a type, one beginning at every byte."""

    def __init__(self, data: np.ndarray) -> None:
        super().__init__()
        self._data = data

    def __missing__(self, dtype: np.dtype) -> np.ndarray:
        count = len(self._data) - dtype.itemsize + 1
        self[dtype] = view = np.ndarray((count,), dtype, buffer=self._data, strides=(1,))
        return view


INT16, INT32 = np.dtype(">i2"), np.dtype(">i4")
