"""A month of files of a cluster's brokers, made from four minutes of a real incident.

The incident (examples/mixed-clients-4.1.2) is cut into one piece per day.  The first half of a
piece is moved to the beginning of its day and the second half to the end, so that events around a
cut are around midnight.  The incident is used twice: in between, every group is deleted, and its
second incarnation has other member ids.  Some groups have records and log lines, some only one of
these; some commits are transactional and end on the same date, on the next one, or never.
"""

from __future__ import annotations

import io
import json
import re
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from coordinator_core.records import decode, encode_value
from jobs.decode.command import decode as decode_files
from jobs.segments.writer import framed, records_bytes

INCIDENT = Path(__file__).resolve().parents[2] / "examples" / "mixed-clients-4.1.2"
FIRST = date(2026, 10, 1)
DAYS, INCARNATIONS = 30, 2
DAY_MS = 86_400_000
LINES_ONLY, RECORDS_ONLY = "inventory-static", "audit-python"
TRANSACTIONAL = "reports-java"
# One in COMMITS commits is kept, and one in OPEN transactions never ends.
COMMITS, OPEN = 10, 7
# Number of records between a transactional commit and its marker.
MARKER_AFTER = 3
TOPIC = "__consumer_offsets"
# Days per segment of an even partition; segments of odd partitions contain one day.
ROLLED_DAYS = 3

_LINE = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\]")
_UUID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OTHER_DIGITS = bytes.maketrans(b"0123456789abcdef", b"89abcdef01234567")


class MonthRecord(NamedTuple):
    """A record without its offset; ``producer_id`` and ``marker`` (0 abort, 1 commit) are set in
    transactions only."""

    time_ms: int
    key: bytes
    value: bytes | None
    producer_id: int = -1
    marker: int | None = None


@dataclass
class History:
    """The data of each day: relative file path -> bytes to append."""

    days: list[date]
    _landing: dict[date, dict[str, bytes]] = field(default_factory=dict)

    def land(self, folder: Path, day: date, *, late: bool | None = None) -> None:
        """Write the day's data; with ``late``, only files that may be late, or only the others."""
        for name, data in self._landing[day].items():
            if late in (None, may_be_late(name)):
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("ab") as file:
                    file.write(data)

    def files(self, day: date) -> list[str]:
        return list(self._landing[day])

    def first(self, count: int) -> History:
        return History(self.days[:count], self._landing)


def may_be_late(name: str) -> bool:
    """Returns whether the file holds one day only, so it is complete when it is delivered."""
    partition = re.search(rf"{TOPIC}-(\d+)/", name)
    return partition is None or int(partition[1]) % 2 == 1


def history() -> History:
    days = [FIRST + timedelta(days=number) for number in range(DAYS)]
    month = History(days, {day: {} for day in days})
    for partition, records in sorted(_records().items()):
        _roll(month, partition, records)
    for day, lines in _lines().items():
        month._landing[day][f"logs/server.log.{day}"] = "".join(lines).encode()
    return month


def _roll(month: History, partition: int, records: list[MonthRecord]) -> None:
    days_per_segment = 1 if partition % 2 else ROLLED_DAYS
    name, rolled = "", -1
    for offset, record in enumerate(records):
        day = _date(record.time_ms)
        if (number := (day - FIRST).days // days_per_segment) != rolled:
            name, rolled = f"segments/{TOPIC}-{partition}/{offset:020}.log", number
        landing = month._landing[day]
        landing[name] = landing.get(name, b"") + batch(offset, record)


# Time ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Calendar:
    """Maps times of the incident, in ms, to the days of one incarnation."""

    first_ms: int
    last_ms: int

    def moved(self, time_ms: int, incarnation: int) -> int:
        days = DAYS // INCARNATIONS
        cut_ms = (self.last_ms - self.first_ms) // days + 1
        number, rest = divmod(time_ms - self.first_ms, cut_ms)
        rest = rest if rest < cut_ms // 2 else DAY_MS - (cut_ms - rest)
        return _midnight_ms(FIRST) + (incarnation * days + number) * DAY_MS + rest


def _midnight_ms(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


def _date(time_ms: int) -> date:
    return datetime.fromtimestamp(time_ms / 1000, UTC).date()


def _decoded() -> list[dict[str, Any]]:
    out = io.StringIO()
    decode_files([str(INCIDENT / "segments")], out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def _calendar() -> Calendar:
    times = [record["timestamp"] for record in _decoded()]
    return Calendar(min(times) - 1_000, max(times) + 1_000)


# Records -------------------------------------------------------------------------------------


def _records() -> dict[int, list[MonthRecord]]:
    """Records by partition, in offset order."""
    decoded, calendar = _decoded(), _calendar()
    by_partition: dict[int, list[MonthRecord]] = defaultdict(list)
    for incarnation in range(INCARNATIONS):
        ended = {}
        for partition, time_ms, key, value in _selected(decoded):
            moved = calendar.moved(time_ms, incarnation)
            by_partition[partition].append(
                MonthRecord(moved, key, _as_of(key, value, moved, incarnation))
            )
            if key[:2] == b"\x00\x02":
                ended[key] = partition
        for key, partition in ended.items():
            last_ms = by_partition[partition][-1].time_ms
            by_partition[partition].append(MonthRecord(last_ms + 1, key, None))
    return {partition: list(_in_transactions(rows)) for partition, rows in by_partition.items()}


def _selected(decoded: list[dict[str, Any]]) -> Iterator[tuple[int, int, bytes, bytes | None]]:
    for record in decoded:
        is_commit = record["type"] == "OffsetCommit"
        if record["decoded"]["key"]["group"] == LINES_ONLY:
            continue
        if not (is_commit and record["offset"] % COMMITS):
            value = record["value"] and b64decode(record["value"])
            yield record["partition"], record["timestamp"], b64decode(record["key"]), value


def _as_of(key: bytes, value: bytes | None, time_ms: int, incarnation: int) -> bytes | None:
    """The value with its times moved and, in the second incarnation, other member ids."""
    if value is None:
        return None
    record = decode(key, value)
    fields = dict(record.value or {})
    moved = {"commit_timestamp": time_ms, "current_state_timestamp": time_ms - 20}
    fields |= {name: ms for name, ms in moved.items() if name in fields}
    value = encode_value(key[1], record.version, fields)
    return with_other_ids(value) if incarnation % 2 else value


def with_other_ids(data: bytes) -> bytes:
    return _UUID.sub(lambda match: match[0].translate(_OTHER_DIGITS), data)


def _in_transactions(records: list[MonthRecord]) -> Iterator[MonthRecord]:
    waiting: list[tuple[int, MonthRecord]] = []
    for number, record in enumerate(records):
        is_commit = record.key[:2] == b"\x00\x01"
        if is_commit and TRANSACTIONAL.encode() in record.key and number % 3:
            yield record._replace(producer_id=number)
            if number % OPEN:
                waiting.append((number + MARKER_AFTER, record._replace(producer_id=number)))
        else:
            yield record
        while waiting and waiting[0][0] <= number:
            _, commit = waiting.pop(0)
            yield MonthRecord(
                record.time_ms, b"", b"", commit.producer_id, commit.producer_id % 4 and 1
            )


def batch(offset: int, record: MonthRecord) -> bytes:
    """A batch (v2) of one record."""
    key, value, attributes = record.key, record.value, 0
    if record.producer_id >= 0:
        attributes = 0x10
    if record.marker is not None:
        attributes, key, value = 0x30, bytes((0, 0, 0, record.marker)), bytes(6)
    return framed(
        offset, 0, record.time_ms, records_bytes([(key, value)]), 1,
        base_sequence=-1, attributes=attributes, producer=(record.producer_id, 0),
    )  # fmt: skip


# Lines ---------------------------------------------------------------------------------------


def _lines() -> dict[date, list[str]]:
    """The coordinator's lines by day, in the order of the log."""
    calendar, by_day = _calendar(), defaultdict(list)
    text = (INCIDENT / "server.log").read_text()
    for incarnation in range(INCARNATIONS):
        for line in text.splitlines(keepends=True):
            match = _LINE.match(line)
            if not match or "[Group" not in line or RECORDS_ONLY in line:
                continue
            logged = datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
            time_ms = int(logged.timestamp() * 1000)
            if calendar.first_ms <= time_ms <= calendar.last_ms:
                moved = calendar.moved(time_ms, incarnation)
                rest = line[match.end() :]
                rest = with_other_ids(rest.encode()).decode() if incarnation % 2 else rest
                by_day[_date(moved)].append(f"[{_clock(moved)}]{rest}")
    return by_day


def _clock(time_ms: int) -> str:
    at = datetime.fromtimestamp(time_ms / 1000, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S},{time_ms % 1000:03}"
