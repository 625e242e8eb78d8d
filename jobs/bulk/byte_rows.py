"""The bytes of a binary column, with start and end per row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from jobs.bulk.program import PADDING


class ByteRows:
    """Row i has ``bytes[start[i]:end[i]]``; a null row is empty."""

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
        """The int16 at the start of each row; -1 if the row is too short."""
        from jobs.bulk.kernel import read_headers  # here: numba takes half a second

        headers = np.empty(len(self.start), np.int64)
        read_headers(self.bytes, self.start, self.end, headers)
        return headers


def padded(data: np.ndarray, start: int, end: int) -> np.ndarray:
    """The bytes from ``start`` to PADDING bytes after ``end``.

    Copies only if ``data`` ends before that, which usually only a batch's last slice does.
    """
    if end + PADDING <= len(data):
        return data[start : end + PADDING]
    copied = np.empty(end - start + PADDING, np.uint8)
    copied[: end - start] = data[start:end]
    return copied
