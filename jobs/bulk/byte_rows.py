"""The bytes of a binary column, with start and end per row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from jobs.bulk.program import HEADER, PADDING


class ByteRows:
    """Row i has ``bytes[start[i]:end[i]]``; a null row is empty."""

    def __init__(self, column: pa.Array) -> None:
        """``column`` is binary or large binary."""
        width = np.int64 if pa.types.is_large_binary(column.type) else np.int32
        bounds = np.frombuffer(column.buffers()[1], width)
        bounds = bounds[column.offset : column.offset + len(column) + 1].astype(np.int64)
        content = np.frombuffer(column.buffers()[2] or b"", np.uint8)
        self.bytes = padded(content, int(bounds[0]), int(bounds[-1]))
        self.start = bounds[:-1] - bounds[0]
        self.end = bounds[1:] - bounds[0]

    def headers(self) -> np.ndarray:
        """The int16 at the start of each row; -1 if the row is too short."""
        is_long = self.end - self.start >= HEADER
        at = np.where(is_long, self.start, 0)
        headers = self.bytes[at].astype(np.int16) << 8 | self.bytes[at + 1]
        return np.where(is_long, np.maximum(headers, -1), -1).astype(np.int64)


def padded(data: np.ndarray, start: int, end: int) -> np.ndarray:
    """The bytes from ``start`` to PADDING bytes after ``end``.

    Copies only if ``data`` ends before this length, which usually only a batch's last slice does.
    """
    if end + PADDING <= len(data):
        return data[start : end + PADDING]
    copied = np.empty(end - start + PADDING, np.uint8)
    copied[: end - start] = data[start:end]
    return copied
