"""Brokers' logs: whether they can be read, whose lines they hold, and in which time zone."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO
from zoneinfo import ZoneInfo

from coordinator_core.log_lines.lines import parse_head
from jobs.command_line.config import known_timezone
from jobs.console.errors import UsageError
from jobs.doctor.finding import Finding, failure, ok, warning
from jobs.sources.broker_log import FILES_LIKE
from jobs.sources.files import list_files, open_file
from jobs.sources.log_files import Blocks, LogCounts, LogEntry, Unreadable, read_log

CHECK = "broker log"
MOST_FILES = 5
MOST_BYTES = 16 << 20  # of a file, uncompressed: half a minute of reading at worst
MOST_SHOWN = 3
LONGEST_SHOWN = 160
TAIL_BYTES = 1 << 16
QUARTER_MS = 15 * 60_000  # every zone's distance from UTC is some of these
FARTHEST_ZONE_MS = 14 * 3600_000
WRITTEN_WITHIN_MS = 30_000  # of the last line: a log that is still being written


@dataclass
class Sample:
    """Of a file, or the beginning of one: whose lines, and what nobody understood."""

    file: str
    is_whole: bool
    dated: int = 0  # of its first lines, those with a date or a level
    zoned: int = 0  # coordinator lines whose date names its zone
    times: list[int] = field(default_factory=list)  # ms since the epoch
    strange: list[Unreadable] = field(default_factory=list)
    counts: LogCounts = field(default_factory=lambda: LogCounts(""))


def examine(pattern: str, timezone: str) -> Iterator[Finding]:
    """``timezone``: in which dates are read that name none."""
    try:
        zone = known_timezone(timezone)
        files = list_files(pattern, "--broker-log", name_like=FILES_LIKE)
    except UsageError as error:
        yield failure(CHECK, str(error), "name the brokers' server.log files: --broker-log GLOB")
        return
    newest = sorted(files, key=_written)[-MOST_FILES:]
    if len(files) > len(newest):
        yield ok(CHECK, f"{len(files)} files; looked at the newest {len(newest)}")
    for file in newest:
        try:
            sample = _sample(file, zone)
        except OSError as error:
            remedy = "see that this user may read it"
            yield failure(CHECK, f"{file} cannot be read: {error.strerror or error}", remedy)
            continue
        yield _whose(sample)
        yield from _strange(sample)
        if sample.counts.events:
            yield _zone(sample, zone)


def _sample(file: str, timezone: str) -> Sample:
    with open_file(file) as stream:
        text, is_whole = _beginning(stream)
    sample = Sample(file, is_whole)
    for raw in text[:TAIL_BYTES].splitlines():
        sample.dated += parse_head(raw.decode("utf-8", "replace")) is not None
    for found in read_log(io.BytesIO(text), file=file, timezone=timezone):
        match found:
            case LogEntry(time_ms=time_ms, line=line):
                sample.zoned += line.utc_offset_minutes is not None
                if time_ms is not None:
                    sample.times.append(time_ms)
            case Unreadable():
                sample.strange.append(found)
            case LogCounts():
                sample.counts = found
    return sample


def _beginning(stream: BinaryIO) -> tuple[bytes, bool]:
    """Whole lines, uncompressed; whether that is all.  Damage is left for the run to report."""
    taken = bytearray()
    for block in Blocks(stream):
        taken += block
        if len(taken) > MOST_BYTES:
            return bytes(taken[: taken.rfind(b"\n", 0, MOST_BYTES) + 1]), False
    return bytes(taken), True


def _whose(sample: Sample) -> Finding:
    counts = sample.counts
    part = "" if sample.is_whole else f"the first {MOST_BYTES >> 20} MiB of "
    found = f"{part}{sample.file}: {counts.events:,} of {counts.lines:,} lines the coordinator's"
    if counts.events:
        return ok(CHECK, found)
    if not sample.dated:
        remedy = "give server.log as a broker writes it: `[date] LEVEL message (logger)`"
        return failure(CHECK, f"{found}; no line begins as a broker's", remedy)
    return warning(
        CHECK,
        found,
        "right for a broker that coordinates no group; else let it log kafka.coordinator.group "
        "and org.apache.kafka.coordinator.group at INFO",
    )


def _strange(sample: Sample) -> Iterator[Finding]:
    if not sample.strange:
        return
    shown = [
        f"line {line.line_number}, {line.reason}: "
        + line.bytes[:LONGEST_SHOWN].decode("utf-8", "replace")
        for line in sample.strange[:MOST_SHOWN]
    ]
    found = f"{len(sample.strange)} lines not understood, first: {' | '.join(shown)}"
    yield warning(CHECK, found, "a run puts them into the table quarantine; the others count")


def _zone(sample: Sample, timezone: str) -> Finding:
    """Lines rarely name their zone, but the last one was printed when the file was written."""
    if sample.zoned == sample.counts.events:
        return ok("log dates", "every line names its time zone")
    began, ended = (f"{_time(ms):%Y-%m-%d %H:%M}" for ms in (sample.times[0], sample.times[-1]))
    found = f"from {began} to {ended} UTC if the brokers' clocks show {timezone}"
    off_ms = _off_ms(sample.file, timezone)
    if off_ms is None:
        ask = "ask where the broker runs; give --log-timezone if that is another zone"
        return ok("log dates", f"{found}, which this file cannot tell", ask)
    if off_ms == 0:
        return ok("log dates", f"{found}, and so they do: the file was last written then")
    hours = f"{abs(off_ms) / 3600_000:g} h {'ahead of' if off_ms > 0 else 'behind'} {timezone}"
    return warning(
        "log dates",
        f"{found}; by when the file was written they are {hours}",
        "give the brokers' zone: --log-timezone, or timezone under [logs]",
    )


def _off_ms(file: str, timezone: str) -> int | None:
    """How far the clock that printed the last line is ahead of ``timezone``, by the time the file
    was last written; None where that tells nothing: copied, packed, or not a local file."""
    last_ms = _last_printed_ms(file)
    if last_ms is None:
        return None
    written = datetime.fromtimestamp(Path(file).stat().st_mtime, UTC)
    offset = written.astimezone(ZoneInfo(timezone)).utcoffset()
    assert offset is not None  # a ZoneInfo always knows
    wall_ms = int((written.timestamp() + offset.total_seconds()) * 1000)
    ahead_ms = round((last_ms - wall_ms) / QUARTER_MS) * QUARTER_MS
    is_live = abs(last_ms - wall_ms - ahead_ms) <= WRITTEN_WITHIN_MS
    return ahead_ms if is_live and abs(ahead_ms) <= FARTHEST_ZONE_MS else None


def _last_printed_ms(file: str) -> int | None:
    """The last date in a plain local file, in ms since 1970 of its own zone."""
    if "://" in file:
        return None
    with open(file, "rb") as stream:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(max(0, size - TAIL_BYTES))
        tail = stream.read().decode("utf-8", "replace")
    heads = map(parse_head, reversed(tail.splitlines()))
    return next((head.local_ms for head in heads if head and head.local_ms is not None), None)


def _written(file: str) -> float:
    return 0.0 if "://" in file else Path(file).stat().st_mtime


def _time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
