"""Partition counts of topics from a file: assignments show only partitions that were assigned.

reads   a file of lines, each in one of these formats
          kafka-topics.sh --describe   its output; lines about single partitions are skipped
          CSV                          topic,partitions[,since], with or without this header
          JSON                         {"topic": ..., "partitions": ..., "since": ...}
writes  topic_partitions   one row per topic and ``since``; existing rows are overwritten

``since`` is a time in ISO 8601, in UTC unless it names a zone.  A count without ``since`` holds
until the next ``since``.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple, TextIO

from jobs.console.errors import UsageError
from jobs.lake.tables import Lake

TABLE = "topic_partitions"
HEADER = ["topic", "partitions"]
# Older releases print no space after the colons.
DESCRIBED = re.compile(r"Topic: ?(?P<topic>\S+)\s.*\bPartitionCount: ?(?P<partitions>\d+)\b")
PARTITION_LINE = re.compile(r"\s+Topic: ?\S+\s+Partition: ?\d+\s")
TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
MAX_PARTITIONS = 2**31 - 1
MAX_LINE_CHARACTERS = 1 << 16
FIRST_YEAR, LAST_YEAR = 1970, 9999
MOST_SHOWN = 300  # maximum characters of a value that a message shows


class Count(NamedTuple):
    topic: str
    partitions: int
    since: datetime | None


class BadLine(Exception):
    """The reason why a line cannot be read."""


def read_file(path: str) -> list[Count]:
    """The file's counts; UsageError names the file and the unreadable line."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            counts = read_lines(_lines_of(file), path)
    except OSError as error:
        raise UsageError(f"--file {path}: {error.strerror}; give a readable file") from None
    except UnicodeDecodeError:
        raise UsageError(f"--file {path}: not UTF-8") from None
    if not counts:
        raise UsageError(f"--file {path}: the file has no topic")
    return counts


def _lines_of(file: TextIO) -> Iterator[str]:
    """A line that is too long without its end, which is not read."""
    return iter(lambda: file.readline(MAX_LINE_CHARACTERS + 1), "")


def read_lines(lines: Iterable[str], name: str) -> list[Count]:
    """The counts; raises UsageError for a line that cannot be read or contradicts an earlier
    one.
    """
    counts: dict[tuple[str, datetime | None], Count] = {}
    for number, line in enumerate(lines, start=1):
        try:
            for count in _read_line(line.rstrip("\r\n")):
                earlier = counts.setdefault((count.topic, count.since), count)
                if earlier != count:
                    raise BadLine(
                        f"{count.topic} has {earlier.partitions} partitions in an earlier line"
                    )
        except BadLine as error:
            raise UsageError(f"{name}:{number}: {error}") from None
    return list(counts.values())


def _read_line(line: str) -> Iterator[Count]:
    if len(line) > MAX_LINE_CHARACTERS:
        raise BadLine(f"longer than {MAX_LINE_CHARACTERS} characters")
    if not line.strip() or PARTITION_LINE.match(line):
        return
    if line.startswith("{"):
        yield _of_json(line)
    elif line.startswith("Topic:"):
        yield _described(line)
    elif (fields := [field.strip() for field in next(csv.reader([line], skipinitialspace=True))])[
        :2
    ] != HEADER:
        yield _of_fields(fields)


def _described(line: str) -> Count:
    match = DESCRIBED.match(line)
    if match is None:
        raise BadLine("no PartitionCount; give the complete output of kafka-topics.sh --describe")
    return _count(match["topic"], match["partitions"], None)


def _of_fields(fields: list[str]) -> Count:
    if not 2 <= len(fields) <= 3:
        raise BadLine(f"{len(fields)} fields instead of topic,partitions[,since]")
    topic, partitions, since = [*fields, ""][:3]
    return _count(topic, partitions, since or None)


def _of_json(line: str) -> Count:
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as error:
        raise BadLine(f"not JSON: {error.msg} at {error.pos}") from None
    # The text has, for example, a number of 5,000 digits or 10,000 levels.
    except (ValueError, RecursionError) as error:
        raise BadLine(f"not readable as JSON: {error}") from None
    missing = [name for name in HEADER if name not in entry]
    if missing:
        raise BadLine(f"no {missing[0]!r} in the object")
    return _count(entry["topic"], entry["partitions"], entry.get("since"))


def _count(topic: Any, partitions: Any, since: Any) -> Count:
    if not isinstance(topic, str) or not TOPIC_NAME.fullmatch(topic):
        raise BadLine(f"{_shown(topic)} is not a topic name")
    return Count(topic, _number(partitions), None if since is None else _time(since))


def _number(text: Any) -> int:
    if re.fullmatch("[0-9]{1,10}", str(text)) and 0 < int(text) <= MAX_PARTITIONS:
        return int(text)
    raise BadLine(f"{_shown(text)} is not a number of partitions")


def _time(text: Any) -> datetime:
    try:
        time = datetime.fromisoformat(text)
        utc = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        raise BadLine(f"{_shown(text)} is not a time in ISO 8601") from None
    if not FIRST_YEAR <= utc.year < LAST_YEAR:
        raise BadLine(f"{_shown(text)} is not between {FIRST_YEAR} and {LAST_YEAR}")
    return utc


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def run(lake: Lake, counts: Iterable[Count]) -> None:
    rows = [(lake.cluster_id, *count) for count in counts]
    lake.upsert(TABLE, lake.frame(TABLE, rows))


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("topic-partitions")
