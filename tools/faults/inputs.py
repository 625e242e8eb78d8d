"""Damages segments and broker logs.

A fault is a function of the undamaged bytes; the same seed puts it at the same position.
"""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable
from datetime import datetime, timedelta

from coordinator_core.records import encode_key
from jobs.segments.frames import Frame, frames
from jobs.segments.writer import framed, records_bytes, varint

Fault = Callable[[bytes, random.Random], bytes]
_LINE_TIME = re.compile(rb"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),", re.MULTILINE)
_HEADER = 61  # number of bytes of a record batch before its records


def some_batch(data: bytes, chance: random.Random) -> tuple[int, int]:
    """First and end position of a batch that is neither the first nor the last."""
    batches = [frame for frame in frames(memoryview(data)) if isinstance(frame, Frame)]
    frame = chance.choice(batches[1:-1])
    return frame.position, frame.position + frame.size


def truncated(data: bytes, chance: random.Random) -> bytes:
    """Cut off in the middle of a batch."""
    first, end = some_batch(data, chance)
    return data[: chance.randrange(first + 12, end)]


def flipped_bit(data: bytes, chance: random.Random) -> bytes:
    first, end = some_batch(data, chance)
    damaged = bytearray(data)
    damaged[chance.randrange(first + _HEADER, end)] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def two_gib_batch(data: bytes, chance: random.Random) -> bytes:
    """A batch whose header has a length of 2 GiB."""
    first, _ = some_batch(data, chance)
    return data[: first + 8] + struct.pack(">i", 2**31 - 1) + data[first + 12 :]


def endless_array(data: bytes, chance: random.Random) -> bytes:
    """An additional batch with a valid checksum: a group record with 2**31 - 1 as member count."""
    value = struct.pack(">hh8sihhqi", 3, 8, b"consumer", 1, -1, -1, 0, 2**31 - 1)
    record = records_bytes([(encode_key(2, {"group": "endless"}), value)])
    return data + one_batch(record, next_offset(data))


def endless_key(data: bytes, chance: random.Random) -> bytes:
    """An additional batch with a valid checksum: a record with 2 GiB as length of its key."""
    claimed = b"\x00\x00\x00\x00" + varint(2**31 - 1) + b"\x00\x02"
    return data + one_batch(varint(len(claimed)) + claimed, next_offset(data))


def zero_bytes(data: bytes, chance: random.Random) -> bytes:
    return b""


def next_offset(data: bytes) -> int:
    last = [frame for frame in frames(memoryview(data)) if isinstance(frame, Frame)][-1]
    base, delta = struct.unpack_from(">q15xi", data, last.position)
    return int(base + delta + 1)


def one_batch(payload: bytes, offset: int) -> bytes:
    """A batch with the bytes of one record."""
    return framed(offset, 0, 1_795_219_200_000, payload, 1, base_sequence=-1)


SEGMENTS: dict[str, Fault] = {
    "truncated in a batch": truncated,
    "a flipped bit": flipped_bit,
    "a batch of 2 GiB": two_gib_batch,
    "an array of 2**31 - 1": endless_array,
    "a key of 2 GiB": endless_key,
    "zero bytes": zero_bytes,
}


# Broker logs ----------------------------------------------------------------------------------


def encrypted(data: bytes, chance: random.Random) -> bytes:
    return chance.randbytes(len(data))


def utf_16(data: bytes, chance: random.Random) -> bytes:
    return data.decode().encode("utf-16")


def cut_off(data: bytes, chance: random.Random) -> bytes:
    """Cut off in the middle of a line, after two thirds of the log."""
    return data[: data.index(b" INFO ", len(data) * 2 // 3) + 40]


def clock_set_back(data: bytes, chance: random.Random) -> bytes:
    """From the middle on, the broker's clock is ten minutes behind."""
    middle = data.index(b"\n[", len(data) // 2) + 1

    def earlier(match: re.Match[bytes]) -> bytes:
        moved = datetime.fromisoformat(match[1].decode()) - timedelta(minutes=10)
        return f"[{moved:%Y-%m-%d %H:%M:%S},".encode()

    return data[:middle] + _LINE_TIME.sub(earlier, data[middle:])


LOGS: dict[str, Fault] = {
    "encrypted": encrypted,
    "UTF-16": utf_16,
    "cut off in a line": cut_off,
    "clock set back": clock_set_back,
}
