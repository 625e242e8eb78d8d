"""Check brokers' logs: can they be read, do they hold coordinator lines, in which time zone?"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO
from zoneinfo import ZoneInfo

from coordinator_core.log_lines.lines import parse_head
from jobs.command_line.config import valid_timezone
from jobs.console.errors import UsageError
from jobs.doctor.results import CheckResult, failure, ok, warning
from jobs.sources.broker_log import FILES_LIKE
from jobs.sources.files import list_files, open_file
from jobs.sources.log_bytes import Blocks
from jobs.sources.log_entries import LogCounts, LogEntry, Unreadable
from jobs.sources.log_files import read_log
from jobs.sources.log_order import ORDERED_BYTES, sample_of

CHECK = "broker log"
MOST_FILES = 5
MOST_BYTES = 16 << 20  # per file, uncompressed: reading takes half a minute at most
MOST_SHOWN = 3
MOST_SOURCES = 5
LONGEST_SHOWN = 160
TAIL_BYTES = 1 << 16
QUARTER_MS = 15 * 60_000  # every zone's offset from UTC is a multiple of this
FARTHEST_ZONE_MS = 14 * 3600_000
WRITTEN_WITHIN_MS = 30_000  # between the last line's time and the file's: the log is in use


@dataclass
class Sample:
    """Coordinator lines and unreadable lines of a file, or of its first MOST_BYTES bytes."""

    file: str
    is_complete: bool
    broker_lines: int = 0  # lines with a date or a level, among the first TAIL_BYTES
    zoned: int = 0  # coordinator lines with a date that names its zone
    times: list[int] = field(default_factory=list)  # ms since the epoch
    brokers_of_sources: dict[str, set[int]] = field(default_factory=dict)
    is_disordered: bool = False
    unreadable: list[Unreadable] = field(default_factory=list)
    counts: LogCounts = field(default_factory=lambda: LogCounts(""))


def check_broker_logs(pattern: str, timezone: str) -> Iterator[CheckResult]:
    """``timezone``: the zone for dates that name none."""
    try:
        zone = valid_timezone(timezone)
        files = list_files(pattern, "--broker-log", name_like=FILES_LIKE)
    except UsageError as error:
        yield failure(CHECK, str(error), "give the brokers' server.log files: --broker-log GLOB")
        return
    newest = sorted(files, key=_write_time)[-MOST_FILES:]
    if len(files) > len(newest):
        yield ok(CHECK, f"{len(files)} files; checking the newest {len(newest)}")
    for file in newest:
        try:
            sample = _sample(file, zone)
        except OSError as error:
            remedy = "let this user read it"
            yield failure(CHECK, f"{file} cannot be read: {error.strerror or error}", remedy)
            continue
        yield _coordinator_lines(sample)
        yield from _unreadable_lines(sample)
        if sample.counts.events:
            yield _time_zone(sample, zone)
        if sample.brokers_of_sources:
            yield _sources(sample)
        if sample.is_disordered:
            yield warning(
                "log order",
                f"{file} is not in the order of time: a run sorts it, if it has at most "
                f"{ORDERED_BYTES >> 20} MiB",
                "export it ascending: `sort @timestamp asc`, `logcli --forward`, or `tac`",
            )


def _sample(file: str, timezone: str) -> Sample:
    with open_file(file) as stream:
        text, is_complete = _beginning(stream)
    sample = Sample(file, is_complete, is_disordered=sample_of(text).is_disordered)
    for raw in text[:TAIL_BYTES].splitlines():
        sample.broker_lines += parse_head(raw.decode("utf-8", "replace")) is not None
    for item in read_log(io.BytesIO(text), file=file, timezone=timezone):
        match item:
            case LogEntry(time_ms=time_ms, line=line, source=source):
                if source is not None:
                    brokers = sample.brokers_of_sources.setdefault(source, set())
                    if line.broker_id is not None:
                        brokers.add(line.broker_id)
                sample.zoned += line.utc_offset_minutes is not None
                if time_ms is not None:
                    sample.times.append(time_ms)
            case Unreadable():
                sample.unreadable.append(item)
            case LogCounts():
                sample.counts = item
    return sample


def _beginning(stream: BinaryIO) -> tuple[bytes, bool]:
    """Complete lines, uncompressed; True if these are all.  Only a run reports damage."""
    taken = bytearray()
    for block in Blocks(stream):
        taken += block
        if len(taken) > MOST_BYTES:
            return bytes(taken[: taken.rfind(b"\n", 0, MOST_BYTES) + 1]), False
    return bytes(taken), True


def _coordinator_lines(sample: Sample) -> CheckResult:
    counts = sample.counts
    part = "" if sample.is_complete else f"first {MOST_BYTES >> 20} MiB of "
    text = f"{part}{sample.file}: {counts.events:,} of {counts.lines:,} lines are the coordinator's"
    if counts.events:
        return ok(CHECK, text)
    if not sample.broker_lines:
        remedy = "give server.log as a broker writes it: `[date] LEVEL message (logger)`"
        return failure(CHECK, f"{text}; no line has a broker's format", remedy)
    return warning(
        CHECK,
        text,
        "expected for a broker that coordinates no group; else set kafka.coordinator.group and "
        "org.apache.kafka.coordinator.group to INFO in its log4j configuration",
    )


def _unreadable_lines(sample: Sample) -> Iterator[CheckResult]:
    if not sample.unreadable:
        return
    examples = [
        f"line {line.line_number}, {line.reason}: "
        + line.bytes[:LONGEST_SHOWN].decode("utf-8", "replace")
        for line in sample.unreadable[:MOST_SHOWN]
    ]
    text = f"{len(sample.unreadable)} unreadable lines, first: {' | '.join(examples)}"
    yield warning(CHECK, text, "a run writes them to table quarantine and uses the other lines")


def _sources(sample: Sample) -> CheckResult:
    """The brokers whose lines are in one file, by what the lines around them name."""
    each = [
        f"{source} ({_brokers(brokers)})" for source, brokers in sample.brokers_of_sources.items()
    ]
    more = f" and {len(each) - MOST_SOURCES} more" if len(each) > MOST_SOURCES else ""
    return ok("log sources", f"{sample.file}: {', '.join(each[:MOST_SOURCES])}{more}")


def _brokers(ids: set[int]) -> str:
    return f"broker {', '.join(map(str, sorted(ids)))}" if ids else "no broker named"


def _time_zone(sample: Sample, timezone: str) -> CheckResult:
    """Estimate the clock's zone: the last line was printed when the file was last written."""
    if sample.zoned == sample.counts.events:
        return ok("log dates", "every line names its time zone")
    if not sample.times:
        return warning(
            "log dates",
            "no line of the coordinator has a date or follows one: a run quarantines them all",
            "print the date in the log's layout, as [%d] %p %m (%c)%n does",
        )
    first, last = (f"{_time(ms):%Y-%m-%d %H:%M}" for ms in (sample.times[0], sample.times[-1]))
    text = f"{first} to {last} UTC if the brokers' clocks show {timezone}"
    ahead_ms = _clock_ahead_ms(sample.file, timezone)
    if ahead_ms is None:
        ask = "ask where the broker runs; give --log-timezone if that is another zone"
        return ok("log dates", f"{text}, which cannot be determined from this file", ask)
    if ahead_ms == 0:
        return ok("log dates", f"{text}; the file's write time confirms it")
    hours = f"{abs(ahead_ms) / 3600_000:g} h {'ahead of' if ahead_ms > 0 else 'behind'} {timezone}"
    return warning(
        "log dates",
        f"{text}; by the file's write time they are {hours}",
        "give the brokers' zone: --log-timezone, or timezone under [logs]",
    )


def _clock_ahead_ms(file: str, timezone: str) -> int | None:
    """How far the broker's clock is ahead of ``timezone``: the last line's time minus the file's
    write time.  None if the file was copied or compressed, or is not local."""
    last_ms = _last_printed_ms(file)
    if last_ms is None:
        return None
    written = datetime.fromtimestamp(Path(file).stat().st_mtime, UTC)
    offset = written.astimezone(ZoneInfo(timezone)).utcoffset()
    assert offset is not None  # a ZoneInfo always has an offset
    wall_ms = int((written.timestamp() + offset.total_seconds()) * 1000)
    ahead_ms = round((last_ms - wall_ms) / QUARTER_MS) * QUARTER_MS
    is_live = abs(last_ms - wall_ms - ahead_ms) <= WRITTEN_WITHIN_MS
    return ahead_ms if is_live and abs(ahead_ms) <= FARTHEST_ZONE_MS else None


def _last_printed_ms(file: str) -> int | None:
    """The last date in an uncompressed local file, in ms since 1970 in its own zone."""
    if "://" in file:
        return None
    with open(file, "rb") as stream:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(max(0, size - TAIL_BYTES))
        tail = stream.read().decode("utf-8", "replace")
    heads = map(parse_head, reversed(tail.splitlines()))
    return next((head.local_ms for head in heads if head and head.local_ms is not None), None)


def _write_time(file: str) -> float:
    return 0.0 if "://" in file else Path(file).stat().st_mtime


def _time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
