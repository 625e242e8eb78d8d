"""Inputs that are large, or become large when they are read.

Each writes its files below a folder, as `segments/__consumer_offsets-0/0.log`, `server.log`,
`trace.jsonl` or `dump.jsonl`, with one readable input before it and one after it.
"""

from __future__ import annotations

import base64
import gzip
import json
import struct
from collections.abc import Callable, Iterable
from pathlib import Path

import cramjam

from coordinator_core.records import (
    Subscription,
    encode_key,
    encode_subscription,
    encode_value,
)
from jobs.segments.compression import CODECS
from jobs.segments.writer import framed, records_bytes, varint
from tools.fuzz import largest_groups

DAY_MS = 1_795_219_200_000
MIB = 1 << 20
LARGEST = 10_000, 10_000  # members and partitions of a group
BOMB_BYTES = 60 * MIB  # just below the size limit of a batch
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: bytes(cramjam.gzip.compress(data)),
    "snappy": lambda data: bytes(cramjam.snappy.compress_raw(data)),
    "lz4": lambda data: bytes(cramjam.lz4.compress(data)),
    "zstd": lambda data: bytes(cramjam.zstd.compress(data)),
}


def log_line(group: str, second: int = 0) -> bytes:
    return (
        f"[2026-11-21 00:00:{second % 60:02},000] INFO [GroupCoordinator 0]: Group {group} with"
        " generation 1 is now empty (__consumer_offsets-0)"
        " (kafka.coordinator.group.GroupCoordinator)\n"
    ).encode()


def group_record(group: str, members: Iterable[bytes] = ()) -> tuple[bytes, bytes]:
    """Key and value of a classic group; ``members``: their subscriptions."""
    fields = {
        "protocol_type": "consumer",
        "generation": 1,
        "protocol": "range",
        "leader": "m-0",
        "current_state_timestamp": DAY_MS,
        "members": [
            {
                "member_id": f"m-{number}",
                "group_instance_id": None,
                "client_id": "c",
                "client_host": "/h",
                "rebalance_timeout": 1,
                "session_timeout": 1,
                "subscription": subscription,
                "assignment": b"",
            }
            for number, subscription in enumerate(members)
        ],
    }
    return encode_key(2, {"group": group}), encode_value(2, 3, fields)


def batch(offset: int, records: list[tuple[bytes, bytes | None]], codec: str = "none") -> bytes:
    payload = records_bytes(records)
    if codec != "none":
        payload = COMPRESS[codec](payload)
    return framed(offset, 0, DAY_MS + offset, payload, len(records), attributes=CODECS.index(codec))


def _segment(folder: Path, bombs: list[bytes]) -> None:
    """``bombs`` are batches of the offsets from 1 on."""
    file = folder / "segments" / "__consumer_offsets-0" / "00000000000000000000.log"
    file.parent.mkdir(parents=True)
    with file.open("wb") as out:
        out.write(batch(0, [group_record("before")]))
        out.writelines(bombs)
        out.write(batch(1_000_000, [group_record("after")]))


def _log(folder: Path, parts: Iterable[bytes]) -> None:
    with (folder / "server.log").open("wb") as out:
        out.write(log_line("before"))
        out.writelines(parts)
        out.write(log_line("after", 59))


def bombs(codec: str, count: int) -> Callable[[Path], None]:
    """Batches of one record whose value inflates to BOMB_BYTES."""

    def write(folder: Path) -> None:
        zeros = bytes(BOMB_BYTES)
        key = encode_key(2, {"group": "bomb"})
        _segment(folder, [batch(1 + number, [(key, zeros)], codec) for number in range(count)])

    return write


def many_records(folder: Path) -> None:
    """A batch of a million empty records."""
    count = 1_000_000
    records = (b"\0\0" + varint(number) + b"\x01\x01\x00" for number in range(count))
    payload = COMPRESS["zstd"](b"".join(varint(len(record)) + record for record in records))
    _segment(folder, [framed(1, 0, DAY_MS, payload, count, attributes=CODECS.index("zstd"))])


def many_topics(folder: Path) -> None:
    """A subscription to 10^6 topics."""
    topics = [f"topic-{number}" for number in range(10**6)]
    subscription = encode_subscription(Subscription(1, topics, None, [], -1))
    _segment(folder, [batch(1, [group_record("topics", [subscription])])])


def gzip_log(folder: Path) -> None:
    """10 GiB of one line without an end, in 10 MiB."""
    block = gzip.compress(b"Coordinator" * (MIB * 10 // 11), 9)
    with (folder / "server.log.gz").open("wb") as out:
        out.write(gzip.compress(log_line("before")))
        for _ in range(1024):
            out.write(block)


def endless_line(folder: Path) -> None:
    """A line of 1 GiB."""
    _log(folder, [b"Coordinator x" * MIB for _ in range(80)] + [b"\n"])


def sparse_file(folder: Path) -> None:
    """A log of 3 GiB that is a hole but for its first and last line."""
    _log(folder, [])
    with (folder / "server.log").open("r+b") as out:
        out.seek(3 << 30)
        out.write(log_line("after", 59))


def sparse_segment(folder: Path) -> None:
    """A segment of 3 GiB that is a hole but for its first and last batch."""
    _segment(folder, [])
    with (folder / "segments/__consumer_offsets-0/00000000000000000000.log").open("r+b") as out:
        out.seek(3 << 30)
        out.write(batch(2_000_000, [group_record("end")]))


def endless_trace(folder: Path) -> None:
    """A stack trace of 512 MiB after a line."""
    frame = b"\tat kafka.Frame.call(Frame.java:1)\n"
    _log(folder, [frame * (MIB // len(frame)) for _ in range(512)])


def line_in_parts(folder: Path) -> None:
    """A line in a million parts, as a container's runtime splits lines."""
    part = b"2026-11-21T00:00:00.000000000Z stdout P x\n"
    _log(folder, [part * 1000 for _ in range(1000)])


def many_groups(folder: Path) -> None:
    _log(folder, [log_line(f"group-{number}", number) for number in range(200_000)])


def nested_json(folder: Path) -> None:
    """JSON of 10,000 levels: a line, and a file of its own."""
    deep = b'{"a":' * 10_000 + b"1" + b"}" * 10_000
    _log(folder, [deep + b"\n", b'[{"message":' * 10_000 + b"\n"])
    (folder / "server.log.1").write_bytes(b"[" + deep + b"]")


def long_trace_line(folder: Path) -> None:
    with (folder / "trace.jsonl").open("wb") as out:
        out.write(b'{"event":"start"}\n')
        for _ in range(100):
            out.write(b" " * 10 * MIB)
        out.write(b'\n{"event":"start"}\n')


def long_dump_line(folder: Path) -> None:
    def line(group: str, offset: int) -> bytes:
        key, value = (base64.b64encode(data).decode() for data in group_record(group))
        row = {"partition": 0, "offset": offset, "timestamp": DAY_MS, "key": key, "value": value}
        return json.dumps(row).encode() + b"\n"

    with (folder / "dump.jsonl").open("wb") as out:
        out.write(line("before", 1))
        for _ in range(100):
            out.write(b" " * 10 * MIB)
        out.write(b"\n" + line("after", 2))


def long_list(folder: Path) -> None:
    """A record whose array has 2**31 - 1 entries by its own count."""
    value = struct.pack(">hh8sihhqi", 3, 8, b"consumer", 1, -1, -1, 0, 2**31 - 1)
    _segment(folder, [batch(1, [(encode_key(2, {"group": "list"}), value)])])


def largest_classic(protocol: str) -> Callable[[Path], None]:
    return lambda folder: largest_groups.classic(folder, protocol, *LARGEST)


def largest_consumer(folder: Path) -> None:
    largest_groups.consumer(folder, *LARGEST)


LARGE: dict[str, Callable[[Path], None]] = {
    **{f"{codec}: one batch of 60 MiB": bombs(codec, 1) for codec in COMPRESS},
    **{f"{codec}: 40 batches of 60 MiB": bombs(codec, 40) for codec in ("gzip", "zstd", "lz4")},
    "a batch of 1,000,000 records": many_records,
    "an array of 2**31 - 1": long_list,
    "10^6 topics in a subscription": many_topics,
    "a segment of 3 GiB, sparse": sparse_segment,
    "a log of 10 GiB in 10 MiB of gzip": gzip_log,
    "a line of 1 GiB": endless_line,
    "a log of 3 GiB, sparse": sparse_file,
    "a stack trace of 512 MiB": endless_trace,
    "a line in 1,000,000 parts": line_in_parts,
    "200,000 groups in one log": many_groups,
    "JSON of 10,000 levels": nested_json,
    "a trace line of 1 GiB": long_trace_line,
    "a dump line of 1 GiB": long_dump_line,
    "10,000 members, range": largest_classic("range"),
    "10,000 members, cooperative-sticky": largest_classic(largest_groups.COOPERATIVE),
    "10,000 members, consumer protocol": largest_consumer,
}
