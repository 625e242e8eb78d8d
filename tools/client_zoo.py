"""Compare what Regroup reads from clients' logs with the truth of captured groups.

    python -m tools.client_zoo PLAY [PLAY ...] [--events]

PLAY holds clients/LIBRARY/*.log, truth.json and versions.json.  Prints a row per library and group:
lines, events, quarantined lines; generations, members and assigned partitions that agree with the
truth, and those that the truth lacks; errors of the times.  ``--events`` prints the table of
docs/sources.md instead: library, version, logging (from README.md beside PLAY) and events.  Logs
without any date are read with invented dates, as a container's runtime would add them.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any
from zlib import crc32

from coordinator_core.client_history import ClientGeneration, generations_of_clients
from jobs.client_evidence import line_of_row
from jobs.lake.dates import DateRange
from jobs.sources.client_logs.client_log import rows_of_stream
from tools.client_zoo_groups import print_row

Row = dict[str, Any]
MEASURES = (
    *("group", "lines", "events", "quarantined", "generations", "members", "partitions"),
    *("members without an id", "ms off: median", "most"),
)
EVENTS = ("library", "version", "logging", "generations", "members", "partitions", "events")


@dataclass
class Reading:
    """What is read of one library's logs; ``is_dated``: with dates of its own."""

    lines: int = 0
    quarantined: int = 0
    is_dated: bool = True
    rows: list[Row] = field(default_factory=list)


@dataclass
class Agreement:
    """How many are in truth, are read of truth, and are read without being in truth."""

    truth: int
    read: int
    more: int

    def __str__(self) -> str:
        if not self.truth:
            return "-"
        return f"{self.read} of {self.truth}" + (f", {self.more} more" if self.more else "")


@dataclass
class Measure:
    generations: Agreement
    members: Agreement
    partitions: Agreement
    unnamed: int
    ms_off: list[int]


def main(arguments: list[str]) -> None:
    plays = [Path(each) for each in arguments if not each.startswith("--")]
    with_events = "--events" in arguments
    print_row(*(EVENTS if with_events else MEASURES))
    for play in plays:
        truth = json.loads((play / "truth.json").read_text())["groups"]
        versions = json.loads((play / "versions.json").read_text())["libraries"]
        logging = settings(play.parent / "README.md")
        for folder in sorted((play / "clients").iterdir()):
            name = folder.name
            own = {group: each for group, each in truth.items() if each["library"] == name}
            reading = read(folder, min(each["script_t0_wall_ms"] for each in own.values()))
            for group, each in own.items():
                measure = measured(group, each, reading)
                if with_events:
                    print_events(
                        name, versions.get(name, ""), logging.get(name, ""), reading, measure
                    )
                else:
                    print_measures(group, reading, measure)


def read(folder: Path, since_ms: int) -> Reading:
    """``since_ms``: a time before the logs, for dates that are not complete."""
    reading = Reading()
    for path in sorted(folder.glob("*.log")):
        rows = rows_of(path.read_bytes(), path, since_ms)
        counts = rows.pop()
        if counts["quarantined"] and not any(row["kind"] == "event" for row in rows):
            reading.is_dated = False
            rows = rows_of(dated(path), path, since_ms)
            counts = rows.pop()
        reading.lines += counts["inputs"]
        reading.quarantined += counts["quarantined"]
        reading.rows += [row for row in rows if row["kind"] == "event"]
    return reading


def rows_of(content: bytes, path: Path, since_ms: int) -> list[Row]:
    batches = rows_of_stream(
        io.BytesIO(content), str(path), "UTC", DateRange(), path.stem, since_ms
    )
    return [row for batch in batches for row in batch.to_pylist()]


def dated(path: Path) -> bytes:
    """With one second per line, from a time of this file's own on."""
    first = 1.8e9 + crc32(path.name.encode()) % 10**7
    return b"".join(
        b"%s stdout F %s" % (datetime.fromtimestamp(first + n, UTC).isoformat().encode(), line)
        for n, line in enumerate(path.read_bytes().splitlines(keepends=True))
    )


def settings(readme: Path) -> dict[str, str]:
    """The column "logging" of the README's table, by library."""
    if not readme.exists():
        return {}
    rows = (line.strip("| \n").split(" | ") for line in readme.read_text().splitlines())
    return {
        name.strip(): row[1].strip() for row in rows if len(row) == 4 for name in row[0].split(",")
    }


def measured(group: str, truth: Row, reading: Reading) -> Measure:
    rows = [row for row in reading.rows if row["group_id"] == group]
    generations = generations_of_clients(map(line_of_row, rows))
    own = {each.generation: each for each in generations}
    true = {each["generation"]: each for each in truth["rebalance_list"] if each.get("membership")}
    members = {
        (number, each["member"]): each.get("partitions", 0)
        for number, generation in true.items()
        for each in generation["membership"]
    }
    # Count members of all incarnations, because invented dates divide an incarnation.
    read = dict(members_of(generations))
    named = {key: partitions for key, partitions in read.items() if "#" not in key[1]}
    return Measure(
        of(true, own),
        of(members, named),
        Agreement(
            sum(members.values()),
            sum(min(n, len(named.get(key) or ())) for key, n in members.items()),
            sum(max(0, len(own or ()) - members.get(key, 0)) for key, own in named.items()),
        ),
        len(read) - len(named),
        [
            abs((own[number].stable_ms or 0) - true[number]["end_ms"])
            for number in own.keys() & true.keys()
            if reading.is_dated and own[number].stable_ms is not None
        ],
    )


def of(truth: Iterable[Any], read: Iterable[Any]) -> Agreement:
    true, own = set(truth), set(read)
    return Agreement(len(true), len(true & own), len(own - true))


def members_of(
    generations: Iterable[ClientGeneration],
) -> Iterator[tuple[tuple[int, str], frozenset[str] | None]]:
    for generation in generations:
        for member in generation.members:
            yield (generation.generation, member.member_id), member.assigned


def print_measures(group: str, reading: Reading, measure: Measure) -> None:
    print_row(
        group,
        reading.lines,
        len(reading.rows),
        reading.quarantined,
        *(measure.generations, measure.members, measure.partitions, measure.unnamed),
        *((round(median(measure.ms_off)), max(measure.ms_off)) if measure.ms_off else ("-", "-")),
    )


def print_events(name: str, version: str, logging: str, reading: Reading, measure: Measure) -> None:
    events = dict.fromkeys(row["event"] for row in reading.rows)
    counts = (measure.generations, measure.members, measure.partitions)
    print_row(name, version, logging, *counts, ", ".join(events))


if __name__ == "__main__":
    main(sys.argv[1:])
