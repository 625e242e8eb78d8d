"""Primitive types of `__consumer_offsets` records, as bytes.

The coordinator writes its records by hand, because they are its hot path; records/ knows every type
and version, and a test compares the two.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from functools import lru_cache
from struct import Struct

int16 = Struct(">h").pack
int32 = Struct(">i").pack
int64 = Struct(">q").pack
NULL_STRING = b"\xff\xff"


@lru_cache(maxsize=4096)
def string(text: str) -> bytes:
    data = text.encode()
    return int16(len(data)) + data


@lru_cache(maxsize=4096)
def uuid(text: str) -> bytes:
    """The bytes of a topic id in its text form of 22 characters."""
    return urlsafe_b64decode(text + "==")


def nullable_string(text: str | None) -> bytes:
    return NULL_STRING if text is None else string(text)


def sized(data: bytes) -> bytes:
    return int32(len(data)) + data


def compact_string(text: str) -> bytes:
    """A string of a flexible version (KIP-482)."""
    data = text.encode()
    return _unsigned_varint(len(data) + 1) + data


def _unsigned_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
