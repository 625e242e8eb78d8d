"""Bytes that are read at many places at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

HEADER = 2  # bytes: the type before a key, the version before a value
PADDING = 64
"""Bytes behind the end, whatever they are: a word may begin on the last byte, and what stands for
a number or id that is null is read from the first."""


class Data:
    """``start[i]`` to ``end[i]`` are row i's bytes; equal where it is null."""

    def __init__(self, column: pa.Array) -> None:
        """``column``: binary or large binary."""
        width = np.int64 if pa.types.is_large_binary(column.type) else np.int32
        bounds = np.frombuffer(column.buffers()[1], width)
        bounds = bounds[column.offset : column.offset + len(column) + 1].astype(np.int64)
        content = np.frombuffer(column.buffers()[2] or b"", np.uint8)
        self.bytes = padded(content, int(bounds[0]), int(bounds[-1]))
        self.start = bounds[:-1] - bounds[0]
        self.end = bounds[1:] - bounds[0]

    def headers(self) -> np.ndarray:
        """The int16 that each row begins with; -1 where it is too short."""
        from jobs.bulk.kernel import read_headers  # here: numba takes half a second

        headers = np.empty(len(self.start), np.int64)
        read_headers(self.bytes, self.start, self.end, headers)
        return headers


def padded(data: np.ndarray, start: int, end: int) -> np.ndarray:
    """From ``start`` to PADDING behind ``end``.

    Copied only where ``data`` ends too early: the last slice of a batch, mostly.
    """
    if end + PADDING <= len(data):
        return data[start : end + PADDING]
    copied = np.empty(end - start + PADDING, np.uint8)
    copied[: end - start] = data[start:end]
    return copied
