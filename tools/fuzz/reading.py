"""Mutated logs through the readers of brokers' and of clients' logs, without a run around them.

No file may stop a reader; each line is kept, quarantined or skipped; and lines that nothing changed
(canaries) are read at their place, with their time, whatever is around them.
"""

from __future__ import annotations

import gzip
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import cramjam
import pyarrow as pa

from jobs.console.errors import INTERNAL_ERROR
from jobs.lake.dates import DateRange
from jobs.sources.broker_logs.broker_log import log_rows
from jobs.sources.client_logs.client_log import client_rows
from jobs.sources.logs.chunks import is_document
from jobs.sources.logs.file_bytes import in_utf8, is_compressed
from tools.fuzz.corpus import input_of
from tools.fuzz.mutations import mutated

TIMEZONE = "Europe/Berlin"  # a zone with gaps and repeated hours
_CANARIES = 3
_LINE_END = re.compile(rb"\n")
_CANARY_TIME = datetime(2026, 11, 21, 9, 0, 0, 123_000, UTC)
_DATE = "2026-11-21 10:00:00,123"
_CANARY = {
    "broker": "[{date}] INFO [GroupCoordinator 7]: Stabilized group {group} generation 5"
    " (__consumer_offsets-3) with 2 members (kafka.coordinator.group.GroupCoordinator)\n",
    "client": "[{date}] INFO [Consumer clientId=c, groupId={group}] Request joining group due to:"
    " group is already rebalancing"
    " (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n",
}
_EVENTS = {"broker": "JOIN_COMPLETE", "client": "REJOIN_REQUESTED"}
_READERS: dict[str, Callable[..., Iterator[pa.RecordBatch]]] = {
    "broker": log_rows, "client": client_rows,
}  # fmt: skip
_KINDS = {"broker": ("log", "log", "export"), "client": ("client",)}


@dataclass
class Reading:
    """Counts of a campaign's files and lines; ``faults`` should be empty."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class FuzzedLog:
    """``canaries``: groups of the lines that nothing changed, which only text has."""

    reader: str
    data: bytes
    canaries: tuple[str, ...]


def fuzzed_log(number: int, seed: int) -> FuzzedLog:
    """The same log for the same number and seed; some are compressed or in UTF-16."""
    log = fuzzed_text(number, seed)
    if not log.canaries:
        return log
    return replace(log, data=_packed(log.data, random.Random(f"{seed} packed {number}")))


def fuzzed_text(number: int, seed: int) -> FuzzedLog:
    """A mutated log; canaries are at the beginnings of its lines."""
    chance = random.Random(f"{seed} {number}")
    reader = ("broker", "client")[number % 2]
    kind = chance.choice(_KINDS[reader])
    data = mutated(kind, input_of(kind, number, chance), chance)
    if not _is_text(data):
        return FuzzedLog(reader, data, ())
    canaries = tuple(f"canary-{number}-{each}" for each in range(_CANARIES))
    for group in canaries:
        line = _CANARY[reader].format(date=_DATE, group=group).encode()
        at = chance.choice([0, len(data), *(match.end() for match in _LINE_END.finditer(data))])
        before = data[:at] if at == 0 or data[:at].endswith(b"\n") else data[:at] + b"\n"
        data = before + line + data[at:]
    return FuzzedLog(reader, data, canaries)


def _is_text(data: bytes) -> bool:
    """Returns whether lines of UTF-8 can be inserted."""
    return not is_document(data) and not is_compressed(data) and in_utf8(data) == data


def _packed(data: bytes, chance: random.Random) -> bytes:
    """Mostly as it is; else in a form in which all lines are still readable."""
    form = chance.randrange(20)
    if form == 0:
        return gzip.compress(data[: len(data) // 2]) + gzip.compress(data[len(data) // 2 :])
    if form == 1:
        return bytes(cramjam.zstd.compress(data))
    if form == 2:
        return data.decode("utf-8", "replace").encode("utf-16")
    return data


def faults_of(log: FuzzedLog, path: Path, counts: Counter[str]) -> Iterator[str]:
    """What is wrong with the rows of a log, which is written to ``path``."""
    path.write_bytes(log.data)
    try:
        batches = list(_READERS[log.reader](str(path), TIMEZONE, DateRange(None, None)))
    except Exception as error:
        yield f"{type(error).__name__}: {str(error)[:300]}"
        return
    *rows, totals = (row for batch in batches for row in batch.to_pylist())
    yield from _faults_of_counts(rows, totals, counts)
    for row in rows:
        if (row["reason_unreadable"] or "").startswith(INTERNAL_ERROR):
            yield f"{row['reason_unreadable'][:300]}: {row['raw'][:200]!r}"
    yield from _faults_of_canaries(log, rows)
    if _is_text(log.data):
        lines = log.data.count(b"\n") + (not log.data.endswith(b"\n"))
        if totals["inputs"] < lines:
            yield f"{totals['inputs']} of {lines} lines are counted"


def _faults_of_counts(
    rows: list[dict[str, Any]], totals: dict[str, Any], counts: Counter[str]
) -> Iterator[str]:
    kinds = Counter(row["kind"] for row in rows)
    kept = sum(dict(totals["kept_by_date"] or ()).values())
    counts += Counter(
        files=1, lines=totals["inputs"], kept=kept, quarantined=totals["quarantined"],
        skipped=totals["skipped"], not_understood=totals["not_understood"] or 0,
    )  # fmt: skip
    if totals["inputs"] != kept + totals["quarantined"] + totals["skipped"]:
        yield f"counts do not add up: {totals}"
    if kinds != Counter(event=kept, quarantined=totals["quarantined"]):
        yield f"{dict(kinds)} rows, but counts are {totals}"
    if min(totals["inputs"], totals["skipped"], totals["quarantined"]) < 0:
        yield f"a count is negative: {totals}"


def _faults_of_canaries(log: FuzzedLog, rows: list[dict[str, Any]]) -> Iterator[str]:
    for group in log.canaries:
        own = [row for row in rows if row.get("group_id") == group]
        read = [(row["event"], row["event_time"]) for row in own]
        if read != [(_EVENTS[log.reader], _CANARY_TIME)]:
            yield f"{group} was read as {read}"


def campaign(folder: Path, *, count: int, seed: int, first: int = 0) -> Iterator[Reading]:
    """The result after each hundred files; files with a fault are kept in the folder."""
    result = Reading()
    for number in range(first, first + count):
        log, path = fuzzed_log(number, seed), folder / f"{number}.log"
        faults = list(faults_of(log, path, result.counts))
        result.faults += [f"{path} ({log.reader}): {fault}" for fault in faults]
        if not faults:
            path.unlink()
        if number % 100 == 99:
            yield result
    yield result


def main(count: int, seed: int) -> int:
    """Print the counts of a campaign; 1 if there was a fault."""
    folder, result = Path(tempfile.mkdtemp(prefix="regroup-fuzz-")), Reading()
    for result in campaign(folder, count=count, seed=seed):
        print(f"  {_shown(result)}", file=sys.stderr, flush=True)
    print(f"{count:,} logs of seed {seed}: {_shown(result)}", *result.faults[:50], sep="\n  ")
    return int(bool(result.faults))


def _shown(result: Reading) -> str:
    counts = ", ".join(f"{number:,} {name}" for name, number in result.counts.items())
    return f"{counts}, {len(result.faults)} faults"
