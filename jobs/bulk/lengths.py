"""The three ways a length is written before a string, bytes or an array. A null is -1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jobs.bulk.data import Data


@dataclass(frozen=True, slots=True)
class Int16Lengths:
    """Of a string."""

    size: ClassVar[int] = 2

    def read(self, data: Data, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lengths, and the positions behind them."""
        return data.int16s(at), at + 2

    def read_one(self, content: bytes, at: int) -> tuple[int, int]:
        return int.from_bytes(content[at : at + 2], "big", signed=True), at + 2


@dataclass(frozen=True, slots=True)
class Int32Lengths:
    """Of bytes or an array."""

    size: ClassVar[int] = 4

    def read(self, data: Data, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return data.int32s(at), at + 4

    def read_one(self, content: bytes, at: int) -> tuple[int, int]:
        return int.from_bytes(content[at : at + 4], "big", signed=True), at + 4


@dataclass(frozen=True, slots=True)
class CompactLengths:
    """Of any of them in the flexible encoding (KIP-482)."""

    size: ClassVar[int] = 1

    def read(self, data: Data, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, after = data.varints(at)
        return value - 1, after

    def read_one(self, content: bytes, at: int) -> tuple[int, int]:
        value = shift = 0
        while at < len(content):
            byte = content[at]
            value |= (byte & 0x7F) << shift
            shift += 7
            at += 1
            if byte < 0x80:
                break
        return value - 1, at


Lengths = Int16Lengths | Int32Lengths | CompactLengths
INT16, INT32, COMPACT = Int16Lengths(), Int32Lengths(), CompactLengths()
