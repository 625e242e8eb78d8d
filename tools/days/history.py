"""A month of a cluster's life, as its brokers leave it behind: made of four real minutes.

An incident (examples/mixed-clients-4.1.2) is cut into days, half of each piece after its midnight
and half before the next: what happened around a cut happened around a midnight.  It is lived
twice; in between every group's record is deleted, and its second life has other member ids.
Some groups are known by records and lines, some by one of these; some commits are transactional,
and end on the same date, on the next, or never.
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
DAYS, LIVES = 30, 2
DAY_MS = 86_400_000
BY_LINES_ALONE, BY_RECORDS_ALONE = "inventory-static", "audit-python"
TRANSACTIONAL = "reports-java"
# Of the commits one in so many is kept; of the transactions one in so many never ends.
COMMITS, OPEN = 10, 7
# A marker comes so many records after its commit.
MARKER_AFTER = 3
TOPIC = "__consumer_offsets"
# A segment of an even partition holds so many days, of an odd one a day.
ROLLED_DAYS = 3

_LINE = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\]")
_UUID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OTHER_LIFE = bytes.maketrans(b"0123456789abcdef", b"89abcdef01234567")


class Record(NamedTuple):
    """A record without its offset; ``producer_id`` and ``marker`` (0 abort, 1 commit) of those of
    transactions."""

    time_ms: int
    key: bytes
    value: bytes | None
    producer_id: int = -1
    marker: int | None = None


@dataclass
class History:
    """What a folder gets on each day: file, relative to it -> bytes to append."""

    days: list[date]
    _landing: dict[date, dict[str, bytes]] = field(default_factory=dict)

    def land(self, folder: Path, day: date, *, late: bool | None = None) -> None:
        """The day's files or parts of them; only those that may be late, or only the others."""
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
    """Files that hold one day only, and are whole when they come."""
    partition = re.search(rf"{TOPIC}-(\d+)/", name)
    return partition is None or int(partition[1]) % 2 == 1


def history() -> History:
    days = [FIRST + timedelta(days=number) for number in range(DAYS)]
    made = History(days, {day: {} for day in days})
    for partition, records in sorted(_records().items()):
        _roll(made, partition, records)
    for day, lines in _lines().items():
        made._landing[day][f"logs/server.log.{day}"] = "".join(lines).encode()
    return made


def _roll(made: History, partition: int, records: list[Record]) -> None:
    kept = 1 if partition % 2 else ROLLED_DAYS
    name, rolled = "", -1
    for offset, record in enumerate(records):
        day = _date(record.time_ms)
        if (number := (day - FIRST).days // kept) != rolled:
            name, rolled = f"segments/{TOPIC}-{partition}/{offset:020}.log", number
        landing = made._landing[day]
        landing[name] = landing.get(name, b"") + batch(offset, record)


# Time ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Calendar:
    """The incident's time, in ms, as that of one life in days."""

    first_ms: int
    last_ms: int

    def moved(self, time_ms: int, life: int) -> int:
        days = DAYS // LIVES
        cut_ms = (self.last_ms - self.first_ms) // days + 1
        number, rest = divmod(time_ms - self.first_ms, cut_ms)
        rest = rest if rest < cut_ms // 2 else DAY_MS - (cut_ms - rest)
        return _midnight_ms(FIRST) + (life * days + number) * DAY_MS + rest


def _midnight_ms(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


def _date(time_ms: int) -> date:
    return datetime.fromtimestamp(time_ms / 1000, UTC).date()


def _told() -> list[dict[str, Any]]:
    out = io.StringIO()
    decode_files([str(INCIDENT / "segments")], out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def _calendar() -> Calendar:
    times = [told["timestamp"] for told in _told()]
    return Calendar(min(times) - 1_000, max(times) + 1_000)


# Records -------------------------------------------------------------------------------------


def _records() -> dict[int, list[Record]]:
    """By partition, in order."""
    told, calendar = _told(), _calendar()
    found: dict[int, list[Record]] = defaultdict(list)
    for life in range(LIVES):
        ended = {}
        for partition, time_ms, key, value in _chosen(told):
            moved = calendar.moved(time_ms, life)
            found[partition].append(Record(moved, key, _as_of(key, value, moved, life)))
            if key[:2] == b"\x00\x02":
                ended[key] = partition
        for key, partition in ended.items():
            last_ms = found[partition][-1].time_ms
            found[partition].append(Record(last_ms + 1, key, None))
    return {partition: list(_in_transactions(rows)) for partition, rows in found.items()}


def _chosen(told: list[dict[str, Any]]) -> Iterator[tuple[int, int, bytes, bytes | None]]:
    for record in told:
        is_commit = record["type"] == "OffsetCommit"
        if record["decoded"]["key"]["group"] == BY_LINES_ALONE:
            continue
        if not (is_commit and record["offset"] % COMMITS):
            value = record["value"] and b64decode(record["value"])
            yield record["partition"], record["timestamp"], b64decode(record["key"]), value


def _as_of(key: bytes, value: bytes | None, time_ms: int, life: int) -> bytes | None:
    """The same record with the times inside it moved, and in another life other member ids."""
    if value is None:
        return None
    record = decode(key, value)
    fields = dict(record.value or {})
    moved = {"commit_timestamp": time_ms, "current_state_timestamp": time_ms - 20}
    fields |= {name: ms for name, ms in moved.items() if name in fields}
    whole = encode_value(key[1], record.version, fields)
    return other_life(whole) if life % 2 else whole


def other_life(data: bytes) -> bytes:
    return _UUID.sub(lambda match: match[0].translate(_OTHER_LIFE), data)


def _in_transactions(records: list[Record]) -> Iterator[Record]:
    waiting: list[tuple[int, Record]] = []
    for number, record in enumerate(records):
        is_commit = record.key[:2] == b"\x00\x01"
        if is_commit and TRANSACTIONAL.encode() in record.key and number % 3:
            yield record._replace(producer_id=number)
            if number % OPEN:
                waiting.append((number + MARKER_AFTER, record._replace(producer_id=number)))
        else:
            yield record
        while waiting and waiting[0][0] <= number:
            _, begun = waiting.pop(0)
            yield Record(record.time_ms, b"", b"", begun.producer_id, begun.producer_id % 4 and 1)


def batch(offset: int, record: Record) -> bytes:
    """A batch v2 of one record."""
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
    """The coordinator's lines by day, and by the order in which it wrote them."""
    calendar, found = _calendar(), defaultdict(list)
    text = (INCIDENT / "server.log").read_text()
    for life in range(LIVES):
        for line in text.splitlines(keepends=True):
            match = _LINE.match(line)
            if not match or "[Group" not in line or BY_RECORDS_ALONE in line:
                continue
            said = datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
            time_ms = int(said.timestamp() * 1000)
            if calendar.first_ms <= time_ms <= calendar.last_ms:
                moved = calendar.moved(time_ms, life)
                rest = line[match.end() :]
                rest = other_life(rest.encode()).decode() if life % 2 else rest
                found[_date(moved)].append(f"[{_clock(moved)}]{rest}")
    return found


def _clock(time_ms: int) -> str:
    at = datetime.fromtimestamp(time_ms / 1000, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S},{time_ms % 1000:03}"
