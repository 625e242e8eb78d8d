"""Dumps that Kafka's own tools print: text of kafka-dump-log, and of the console consumer with a
formatter of the coordinator's records.

kafka-dump-log prints partition, offset and time of each record, but formatters print none of these.
A formatter's record gets the partition UNKNOWN_PARTITION and the time in its value.  In place of
the offset it gets a number made of this time and its key.  Records are in the order of time,
records of one key and millisecond in the order of the file, and a record has the same number in
every file.  A record without a time is unreadable.

Rows are dicts of RAW (jobs.sources.topic.raw_records); ``position`` is the byte offset in the
uncompressed file.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from coordinator_core.records import decode, encode_value
from jobs.console.errors import UsageError
from jobs.lake.files import open_file
from jobs.sources.dumps.columns import Columns
from jobs.sources.dumps.printed_records import (
    Unprintable,
    json_of,
    pair_of_dump_log,
    pair_of_json,
    pair_of_offsets_formatter,
)
from jobs.sources.dumps.row_files import DAMAGE, KEPT_BYTES, not_read, uncompressed
from jobs.sources.logs.file_bytes import KEPT_OF_LINE, LINE_BYTES, LongLine
from jobs.sources.logs.kinds import FORMATTED

DUMP_LOG, FORMATTER = "text of kafka-dump-log", "output of a formatter"
UNKNOWN_PARTITION = -1
_TEXT = re.compile(rb"^(?:Dumping \S.*\.log|(?:\| )?(?:baseOffset|offset): \d+ )", re.MULTILINE)
_LOG_OF = re.compile(r"(?<![\w.-])(__consumer_offsets|[\w.-]+)-(\d+)/[^/]*\.log$")
_NAMED = re.compile(r"consumer_offsets-(\d+)")
_OFFSET = re.compile(r"(?:\| )?offset: (\d+) ")
_TIME = re.compile(r"(?:CreateTime|LogAppendTime|NoTimestampType): (-?\d+)")
_BATCH = re.compile(r"baseOffset: \d+ (?>.*?producerId: (-?\d+) ).*?isTransactional: (true|false)")
_MARKER = re.compile(r"endTxnMarker: (COMMIT|ABORT)")
_NO_RECORD = re.compile(r"(?:baseOffset: |(?:Log s|S)tarting offset: |Dumping |\s*$)")
# Formatters of Kafka 3.8 and up print no line end between records.
_END = re.compile(rb'\n|\}(?=\{"key":\{)')
_BLOCK_BYTES = 1 << 20
_OVERLAP = 16  # longer than any text that _END searches
_NUMBER_BITS = 21  # number of bits of the digest, beside 42 bits of milliseconds
_FREE_BITS = 3  # number of bits that distinguish records of the same key and millisecond


def tool_of(beginning: bytes, file: str) -> str | None:
    """DUMP_LOG or FORMATTER, None for other files.  Raises UsageError if the partition is
    unknown.
    """
    if _TEXT.search(beginning):
        if not _NAMED.search(file) and not _NAMED.search(beginning.decode("utf-8", "replace")):
            raise UsageError(
                f"--dump {file}: no line `Dumping .../__consumer_offsets-N/...` names the"
                " partition: name the file consumer_offsets-N.txt"
            )
        return DUMP_LOG
    return FORMATTER if FORMATTED.search(beginning) else None


# kafka-dump-log -------------------------------------------------------------------------------


def dump_log_rows(file: str, _: Columns) -> Iterator[dict[str, Any]]:
    """Yield records of a transaction after its marker; without a marker they are unreadable."""
    named = _NAMED.search(file.rsplit("/", 1)[-1]) or _NAMED.search(file)
    of_file: tuple[str | None, int] | None = (None, int(named[1])) if named else None
    log, producer = of_file, None
    open_: dict[tuple[Any, str], list[dict[str, Any]]] = defaultdict(list)
    for position, piece in _pieces(file):
        line = _text(piece)
        if not isinstance(line, str):
            yield _unread(position, piece, "not UTF-8")
        elif line.startswith("Dumping "):
            heading = _LOG_OF.search(line.rstrip())
            log, producer = ((heading[1], int(heading[2])) if heading else of_file), None
        elif line.startswith("baseOffset: "):
            batch = _BATCH.match(line)
            producer = batch[1] if batch and batch[2] == "true" else None
        elif marker := _MARKER.search(
            line, 0, line.find(" key: ") if " key: " in line else len(line)
        ):
            for row in open_.pop((log, producer or ""), ()):
                yield row | {"aborted": marker[1] == "ABORT"}
        elif offset := _OFFSET.match(line):
            row = _dumped(position, piece, line.rstrip("\r\n"), int(offset[1]), log)
            if producer is None or "reason" in row:
                yield row
            else:
                open_[log, producer].append(row)
        elif not _NO_RECORD.match(line):
            yield _unread(position, piece, "not a line of kafka-dump-log")
    for rows in open_.values():
        for row in rows:
            yield row | {"reason": "the transaction has no end in this file"}


def _dumped(
    position: int, piece: bytes, line: str, offset: int, log: tuple[str | None, int] | None
) -> dict[str, Any]:
    before, has_key, record = line.partition(" key: ")
    key, has_payload, payload = record.partition(" payload: ")
    time = _TIME.search(before)
    try:
        if log is None:
            raise Unprintable("no previous line names the partition")
        if not has_key:
            raise Unprintable("line without key and payload: print it with --offsets-decoder")
        if not has_payload or not time:
            raise Unprintable("a truncated line")
        key_bytes, value = pair_of_dump_log(key, payload)
    except Unprintable as error:
        where = {"partition": log[1], "log_offset": offset} if log else {}
        return where | _unread(position, piece, str(error))
    return {
        "position": position,
        "topic": log[0],
        "partition": log[1],
        "log_offset": offset,
        "time_ms": int(time[1]),
        "key": key_bytes,
        "value": value,
    }


# Formatters -----------------------------------------------------------------------------------


def formatter_rows(file: str, _: Columns) -> Iterator[dict[str, Any]]:
    numbers = _Numbers()
    for position, piece in _pieces(file):
        line = _text(piece)
        if not isinstance(line, str):
            yield _unread(position, piece, "not UTF-8")
        elif line.strip():
            try:
                yield {"position": position, **_formatted(line.strip(), numbers)}
            except Unprintable as error:
                yield _unread(position, piece, str(error))


def _formatted(line: str, numbers: _Numbers) -> dict[str, Any]:
    if line.startswith("{"):
        record = json_of(line)
        pair = pair_of_json(record.get("key"), record.get("value"))
    else:
        pair = pair_of_offsets_formatter(line)
    time_ms, key, value = _dated(*pair)
    return {
        "partition": UNKNOWN_PARTITION,
        "log_offset": numbers.of(time_ms, key, value or b""),
        "time_ms": time_ms,
        "key": key,
        "value": value,
    }


class _Numbers:
    """The numbers of a file's records; another record never has the same one."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}  # numbers of records, by a digest of key and value
        self._used: set[int] = set()
        self._next: dict[int, int] = {}

    def of(self, time_ms: int, key: bytes, value: bytes) -> int:
        record = blake2b(value, digest_size=16, key=blake2b(key, digest_size=32).digest()).digest()
        if record not in self._numbers:
            hashed = int.from_bytes(blake2b(key, digest_size=4).digest())
            slot = hashed >> (32 - _NUMBER_BITS + _FREE_BITS) << _FREE_BITS
            first = time_ms << _NUMBER_BITS | slot
            number = self._next.get(first, first)
            while number in self._used:
                number += 1
            self._used.add(number)
            self._next[first] = number + 1
            self._numbers[record] = number
        return self._numbers[record]


def _dated(key: bytes, value: bytes | None) -> tuple[int, bytes, bytes]:
    """Time, key, and the value without the time at which the join completed.  A formatter prints no
    time of the record, so with this time the sync phase would seem to take 0 ms.
    """
    if value is None:
        raise Unprintable("no time: the formatter prints none, and a tombstone has none")
    type_, _, _, version, fields = decode(key, value)
    fields, time_ms = fields or {}, -1
    if "commit_timestamp" in fields:
        time_ms = fields["commit_timestamp"]
    elif "current_state_timestamp" in fields:
        time_ms = fields.pop("current_state_timestamp")
        value = encode_value(type_, version or 0, fields)
    if not 0 <= time_ms < 1 << (63 - _NUMBER_BITS):
        raise Unprintable("no time: the formatter prints none, and the value has none")
    return time_ms, key, value


# Both -----------------------------------------------------------------------------------------


def _text(piece: Any) -> str | None:
    if not isinstance(piece, bytes):
        return None
    try:
        return piece.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _unread(position: int, piece: Any, reason: str) -> dict[str, Any]:
    if isinstance(piece, bytes):
        return {"position": position, "key": piece[:KEPT_BYTES], "reason": reason}
    return {"position": position, **not_read(piece)}


def _pieces(file: str) -> Iterator[tuple[int, Any]]:
    """Yield byte position and a line, or a formatter's record; instead of it a LongLine, or the
    exception at which decompression fails.
    """
    with open_file(file) as stream:
        blocks = uncompressed(stream)
        buffer, position = b"", 0
        long, beginning = 0, b""  # length and first bytes of a long line before the buffer
        while True:
            try:
                block = blocks.read(_BLOCK_BYTES)
            except DAMAGE as error:
                if buffer:
                    yield position, buffer
                yield position + len(buffer), error
                return
            searched = max(0, len(buffer) - _OVERLAP)
            buffer += block
            start = 0
            ends = [end_of_line.end() for end_of_line in _END.finditer(buffer, searched)]
            for end in ends if block else [len(buffer)]:
                piece = buffer[start:end]
                yield position, LongLine(long + len(piece), beginning) if long else piece
                position, start, long = position + long + len(piece), end, 0
            if not block:
                return
            buffer = buffer[start:]
            if len(buffer) > LINE_BYTES or long:
                beginning = beginning if long else buffer[:KEPT_OF_LINE]
                long += max(0, len(buffer) - _OVERLAP)
                buffer = buffer[-_OVERLAP:]
