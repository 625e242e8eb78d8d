"""Kafka's compression codecs, as used in batches and wrapper messages.

Input may be a decompression bomb, so every codec inflates into a buffer of limited size and stops
when that is full.
"""

from __future__ import annotations

from collections.abc import Callable

import cramjam
import numpy as np

from jobs.segments.batch import BadBatch

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER_SIZE = 16  # size of magic, version and lowest compatible version
SNAPPY_MAX_RATIO = 64  # a copy element of 3 bytes produces at most 64 bytes
LZ4_MAGIC = b"\x04\x22\x4d\x18"
LZ4_BLOCK, LZ4_END = 64 << 10, bytes(4)
JAVA_LZ4 = LZ4_MAGIC + b"\x60\x40\x82"  # blocks have at most LZ4_BLOCK bytes, without checksums
MAX_INFLATED = 64 << 20
"""Bytes. By default brokers accept compressed batches up to 1 MiB."""
MAX_RATIO = 256
"""The total size that a file may inflate to beyond MAX_INFLATED, as a multiple of its size: a
coordinator's records compress to a fifth or a tenth, a zip bomb to a ten-thousandth."""
FIRST_BUFFER, GROWTH = 64 << 10, 8
FULL = "failed to write whole buffer"  # cramjam's message for a full buffer


def decompress(codec: str, data: bytes, magic: int, max_inflated: int = MAX_INFLATED) -> bytes:
    """The records of a batch of that magic. Raises BadBatch for unreadable data, or more than
    ``max_inflated`` bytes."""
    try:
        return _DECOMPRESS[codec](data, magic, max_inflated)
    except (cramjam.DecompressionError, ValueError, IndexError) as error:
        raise BadBatch(f"{codec}: {error}") from error


class Allowance:
    """The number of bytes to which the batches of one file may still inflate, each batch and
    together.
    """

    def __init__(self, file_bytes: int, max_inflated: int = MAX_INFLATED) -> None:
        self._of_batch = max_inflated
        self.left = max_inflated + MAX_RATIO * file_bytes

    @property
    def of_batch(self) -> int:
        return min(self._of_batch, self.left)

    def use(self, inflated: int) -> None:
        self.left = max(0, self.left - inflated)


def _inflated(decompress_into: Callable[..., int], data: bytes, limit: int) -> bytes:
    """Raises ValueError if the data inflates to more than ``limit`` bytes."""
    size = min(limit, max(FIRST_BUFFER, GROWTH * len(data)))
    while True:
        buffer = np.empty(size, np.uint8)  # The system allocates only pages that are written.
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
    """Java clients frame snappy blocks (xerial); other clients write one bare block."""
    if not data.startswith(XERIAL_MAGIC):
        return _snappy_block(data, limit)
    blocks = []
    position = XERIAL_HEADER_SIZE
    while position < len(data):
        if data.startswith(XERIAL_MAGIC, position):  # Streams may be concatenated.
            position += XERIAL_HEADER_SIZE
            continue
        start = position + 4
        position = start + int.from_bytes(data[start - 4 : start], "big", signed=True)
        if not start <= position <= len(data):
            raise ValueError("a block is longer than the data")
        blocks.append(_snappy_block(data[start:position], limit))
        limit -= len(blocks[-1])
    return b"".join(blocks)


def _snappy_block(data: bytes, limit: int) -> bytes:
    length = cramjam.snappy.decompress_raw_len(data)
    if length > SNAPPY_MAX_RATIO * len(data):  # The decoder would allocate this length at once.
        raise ValueError(f"{len(data)} bytes are too few for the declared length {length}")
    if length > limit:
        raise ValueError(f"{len(data)} bytes inflate to {length}; the limit is {limit}")
    return bytes(cramjam.snappy.decompress_raw(data))


def _lz4(data: bytes, magic: int, limit: int) -> bytes:
    inflated = _single_lz4_block(data, limit)
    if inflated is not None:
        return inflated
    repaired = _repair_lz4_header(data) if magic < 2 else data
    return _inflated(cramjam.lz4.decompress_into, repaired, limit)


def _single_lz4_block(data: bytes, limit: int) -> bytes | None:
    """Decompress a frame of one block, such as a small batch of a broker, in less than half the
    time. Returns None for other or damaged frames.
    """
    start, end = len(JAVA_LZ4) + 4, len(data) - len(LZ4_END)
    if not (data.startswith(JAVA_LZ4) and data.endswith(LZ4_END)):
        return None
    if int.from_bytes(data[start - 4 : start], "little") != end - start or end - start > LZ4_BLOCK:
        return None
    buffer = np.empty(min(limit, LZ4_BLOCK), np.uint8)
    try:  # cramjam's types do not say that an array is a buffer.
        size = cramjam.lz4.decompress_block_into(data[start:end], buffer)  # type: ignore[arg-type]
    except cramjam.DecompressionError:
        return None
    return buffer[:size].tobytes()


def _repair_lz4_header(data: bytes) -> bytes:
    """Clients before 0.10 included the frame's magic in the header's checksum (KAFKA-3160).

    The outer message's CRC has verified the bytes, so the correct checksum is set here.
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
    """XXH32 with seed 0 of fewer than 16 bytes, the length of an LZ4 frame descriptor."""
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
