"""Checksums of a lake's local data files, as Hadoop writes them beside each file that Spark writes.

`.NAME.crc` has four magic bytes, the chunk size and the CRC-32 of each chunk of NAME (Hadoop's
ChecksumFileSystem).  It covers the whole file; Parquet's own checksums cover its pages only, and
delta-rs writes none.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

_MAGIC = b"crc\0"
_CHUNK = 512  # Hadoop's default


def checksum_file(file: Path) -> Path:
    return file.with_name(f".{file.name}.crc")


def write_checksums(file: Path) -> None:
    target = checksum_file(file)
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    partial.write_bytes(_MAGIC + struct.pack(">i", _CHUNK) + _of_chunks(file, _CHUNK))
    partial.replace(target)


def fails_checksums(file: Path) -> bool:
    """Returns whether the file differs from its checksums; False without checksums."""
    target = checksum_file(file)
    if not target.is_file():
        return False
    stored = target.read_bytes()
    if len(stored) < len(_MAGIC) + 4:  # A power failure can leave an empty file.
        return True
    (chunk,) = struct.unpack_from(">i", stored, len(_MAGIC))
    return stored[8:] != _of_chunks(file, chunk)


def _of_chunks(file: Path, chunk: int) -> bytes:
    with file.open("rb") as stream:
        chunks = iter(lambda: stream.read(chunk), b"")
        return b"".join(struct.pack(">I", zlib.crc32(data)) for data in chunks)
