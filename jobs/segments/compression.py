"""Kafka's compression codecs, as batches and wrapper messages hold them.

What is read may be made to inflate without end, so everything is inflated into a buffer of limited
size, and goes no further once that is full.
"""

from __future__ import annotations

from collections.abc import Callable

import cramjam
import numpy as np

from jobs.segments.batch import BadBatch

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER_SIZE = 16  # magic, version, lowest compatible version
SNAPPY_MAX_RATIO = 64  # a copy element of 3 bytes makes at most 64
LZ4_MAGIC = b"\x04\x22\x4d\x18"
LZ4_BLOCK, LZ4_END = 64 << 10, bytes(4)
JAVA_LZ4 = LZ4_MAGIC + b"\x60\x40\x82"  # blocks of LZ4_BLOCK at most, without checksums
MAX_INFLATED = 64 << 20
"""Bytes; brokers take batches of 1 MiB, compressed, where nobody told them otherwise."""
FIRST_BUFFER, GROWTH = 64 << 10, 8
FULL = "failed to write whole buffer"  # cramjam's words for it


def decompress(codec: str, data: bytes, magic: int, max_inflated: int = MAX_INFLATED) -> bytes:
    """The records of a batch of that magic. Raises BadBatch for what is not readable, or has more
    than ``max_inflated`` bytes."""
    try:
        return _DECOMPRESS[codec](data, magic, max_inflated)
    except (cramjam.DecompressionError, ValueError, IndexError) as error:
        raise BadBatch(f"{codec}: {error}") from error


def _inflated(decompress_into: Callable[..., int], data: bytes, limit: int) -> bytes:
    """ValueError for more bytes than ``limit``."""
    size = min(limit, max(FIRST_BUFFER, GROWTH * len(data)))
    while True:
        buffer = np.empty(size, np.uint8)  # memory only where it is written to
        try:
            return buffer[: decompress_into(data, buffer)].tobytes()
        except cramjam.DecompressionError as error:
            if str(error) != FULL:
                raise
        if size == limit:
            raise ValueError(f"{len(data)} bytes inflate to more than {limit}")
        size = min(limit, GROWTH * size)


def _gzip(data: bytes, magic: int, limit: int) -> bytes:
    return _inflated(cramjam.gzip.decompress_into, data, limit)


def _zstd(data: bytes, magic: int, limit: int) -> bytes:
    if magic < 2:
        raise ValueError("not allowed in message sets (KIP-110)")
    return _inflated(cramjam.zstd.decompress_into, data, limit)


def _snappy(data: bytes, magic: int, limit: int) -> bytes:
    """Java clients frame snappy blocks (xerial), others write one bare block."""
    if not data.startswith(XERIAL_MAGIC):
        return _snappy_block(data, limit)
    blocks = []
    position = XERIAL_HEADER_SIZE
    while position < len(data):
        if data.startswith(XERIAL_MAGIC, position):  # streams may be strung together
            position += XERIAL_HEADER_SIZE
            continue
        start = position + 4
        position = start + int.from_bytes(data[start - 4 : start], "big", signed=True)
        if not start <= position <= len(data):
            raise ValueError("a block runs past the end")
        blocks.append(_snappy_block(data[start:position], limit))
        limit -= len(blocks[-1])
    return b"".join(blocks)


def _snappy_block(data: bytes, limit: int) -> bytes:
    length = cramjam.snappy.decompress_raw_len(data)
    if length > SNAPPY_MAX_RATIO * len(data):  # allocated before anything is read
        raise ValueError(f"{len(data)} bytes cannot hold the {length} they promise")
    if length > limit:
        raise ValueError(f"{len(data)} bytes inflate to {length}, where {limit} are left")
    return bytes(cramjam.snappy.decompress_raw(data))


def _lz4(data: bytes, magic: int, limit: int) -> bytes:
    inflated = _single_lz4_block(data, limit)
    if inflated is not None:
        return inflated
    mended = _mend_lz4_header(data) if magic < 2 else data
    return _inflated(cramjam.lz4.decompress_into, mended, limit)


def _single_lz4_block(data: bytes, limit: int) -> bytes | None:
    """What a frame holds that is one compressed block, as a broker's small batches are: in less
    than half the time. None for any other, and for one that something is wrong with."""
    start, end = len(JAVA_LZ4) + 4, len(data) - len(LZ4_END)
    if not (data.startswith(JAVA_LZ4) and data.endswith(LZ4_END)):
        return None
    if int.from_bytes(data[start - 4 : start], "little") != end - start or end - start > LZ4_BLOCK:
        return None
    buffer = np.empty(min(limit, LZ4_BLOCK), np.uint8)
    try:
        return buffer[: cramjam.lz4.decompress_block_into(data[start:end], buffer)].tobytes()
    except cramjam.DecompressionError:
        return None


def _mend_lz4_header(data: bytes) -> bytes:
    """Clients before 0.10 took the header's checksum over the frame's magic too (KAFKA-3160).

    The outer message's CRC already vouches for the bytes, so the right checksum is put in.
    """
    if len(data) < 7 or not data.startswith(LZ4_MAGIC):
        return data
    has_content_size, has_dictionary = data[4] & 0x08, data[4] & 0x01
    end = 6 + (8 if has_content_size else 0) + (4 if has_dictionary else 0)
    checksum = xxh32_short(data[4:end]) >> 8 & 0xFF
    return b"".join((data[:end], bytes((checksum,)), data[end + 1 :]))


_PRIME = (2654435761, 2246822519, 3266489917, 668265263, 374761393)
_U32 = 0xFFFFFFFF


def xxh32_short(data: bytes) -> int:
    """XXH32 with seed 0 of fewer than 16 bytes, which is what an LZ4 frame descriptor has."""
    h = _PRIME[4] + len(data)
    words = len(data) // 4 * 4
    for i in range(0, words, 4):
        h = h + int.from_bytes(data[i : i + 4], "little") * _PRIME[2] & _U32
        h = _rotate(h, 17) * _PRIME[3] & _U32
    for byte in data[words:]:
        h = h + byte * _PRIME[4] & _U32
        h = _rotate(h, 11) * _PRIME[0] & _U32
    h = (h ^ h >> 15) * _PRIME[1] & _U32
    h = (h ^ h >> 13) * _PRIME[2] & _U32
    return h ^ h >> 16


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _U32


_DECOMPRESS: dict[str, Callable[[bytes, int, int], bytes]] = {
    "gzip": _gzip,
    "snappy": _snappy,
    "lz4": _lz4,
    "zstd": _zstd,
}
