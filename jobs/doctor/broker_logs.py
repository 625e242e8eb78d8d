"""Check brokers' logs: can they be read, do they hold coordinator lines, in which time zone?"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from coordinator_core.log_lines.lines import parse_head
from jobs.doctor.log_samples import (
    LogKind,
    LogSample,
    SilentLog,
    check_samples,
    unreadable_lines,
)
from jobs.doctor.results import CheckResult, ok, warning
from jobs.sources.broker_logs.broker_log import FILES_LIKE
from jobs.sources.logs.entries import LogCounts, LogEntry, Unreadable
from jobs.sources.logs.files import read_log
from jobs.sources.logs.kinds import kind_of_broker_log, kind_of_undated_log
from jobs.sources.logs.order import ORDERED_BYTES, sample_of

CHECK = "broker log"
LOGS = LogKind(
    check=CHECK,
    option="--broker-log",
    remedy="give the brokers' server.log files: --broker-log GLOB",
    name_like=FILES_LIKE,
    most_files=5,
)
MOST_SOURCES = 5
TAIL_BYTES = 1 << 16
QUARTER_MS = 15 * 60_000  # every zone's offset from UTC is a multiple of this
FARTHEST_ZONE_MS = 14 * 3600_000
# maximum time between the last line and the file's modification time if a log is in use
WRITTEN_WITHIN_MS = 30_000


@dataclass(kw_only=True)
class CoordinatorLines:
    """The lines of the coordinator in a sample, and its unreadable lines."""

    zoned: int = 0  # number of coordinator lines with a date that names its time zone
    times: list[int] = field(default_factory=list)  # ms since the epoch
    brokers_of_sources: dict[str, set[int]] = field(default_factory=dict)
    is_disordered: bool = False
    unreadable: list[Unreadable] = field(default_factory=list)
    counts: LogCounts = field(default_factory=lambda: LogCounts(file=""))


def check_broker_logs(
    pattern: str, timezone: str, since_ms: int | None = None
) -> Iterator[CheckResult]:
    """``timezone`` is the zone for dates that name none.  ``since_ms``: of --log-date."""

    def results(sample: LogSample, zone: str) -> Iterator[CheckResult | SilentLog]:
        return _results(sample, zone, since_ms)

    yield from check_samples(LOGS, pattern, timezone, results)


def _results(
    sample: LogSample, timezone: str, since_ms: int | None
) -> Iterator[CheckResult | SilentLog]:
    lines = _lines_of(sample, timezone, since_ms)
    yield _coordinator_lines(sample, lines)
    yield from unreadable_lines(CHECK, sample, lines.unreadable)
    if lines.times:
        yield _time_zone(sample.file, lines, timezone)
    if lines.brokers_of_sources:
        yield _sources(sample.file, lines)
    if lines.is_disordered:
        yield warning(
            "log order",
            f"{sample.file} is not sorted by time: a run sorts it if it has at most "
            f"{ORDERED_BYTES >> 20} MiB",
            "export the log in time order: `sort @timestamp asc`, `logcli --forward`, or `tac`",
        )


def _lines_of(sample: LogSample, timezone: str, since_ms: int | None) -> CoordinatorLines:
    lines = CoordinatorLines(is_disordered=sample_of(sample.text).is_disordered)
    stream = io.BytesIO(sample.text)
    for item in read_log(stream, file=sample.file, timezone=timezone, since_ms=since_ms):
        match item:
            case LogEntry(time_ms=time_ms, line=line, source=source):
                if source is not None:
                    brokers = lines.brokers_of_sources.setdefault(source, set())
                    if line.broker_id is not None:
                        brokers.add(line.broker_id)
                lines.zoned += line.utc_offset_minutes is not None
                if time_ms is not None:
                    lines.times.append(time_ms)
            case Unreadable():
                lines.unreadable.append(item)
            case LogCounts():
                lines.counts = item
    return lines


def _coordinator_lines(sample: LogSample, lines: CoordinatorLines) -> CheckResult | SilentLog:
    counts = lines.counts
    text = f"{sample.name}: {counts.events:,} of {counts.lines:,} lines are from the coordinator"
    if lines.times:
        return ok(CHECK, text)
    kind = kind_of_undated_log if counts.events else kind_of_broker_log
    return SilentLog(text, kind(sample.text))


def _sources(file: str, lines: CoordinatorLines) -> CheckResult:
    """The brokers whose lines are in one file, by what the lines around them name."""
    each = [
        f"{source} ({_brokers(brokers)})" for source, brokers in lines.brokers_of_sources.items()
    ]
    more = f" and {len(each) - MOST_SOURCES} more" if len(each) > MOST_SOURCES else ""
    return ok("log sources", f"{file}: {', '.join(each[:MOST_SOURCES])}{more}")


def _brokers(ids: set[int]) -> str:
    return f"broker {', '.join(map(str, sorted(ids)))}" if ids else "no broker named"


def _time_zone(file: str, lines: CoordinatorLines, timezone: str) -> CheckResult:
    """Estimate the clock's zone: the last line was printed when the file was last written."""
    if lines.zoned == lines.counts.events:
        return ok("log dates", "every line names its time zone")
    first, last = (f"{_time(ms):%Y-%m-%d %H:%M}" for ms in (lines.times[0], lines.times[-1]))
    text = f"{first} to {last} UTC, assuming time zone {timezone}"
    ahead_ms = _clock_ahead_ms(file, timezone)
    if ahead_ms is None:
        ask = "if the brokers use another time zone, give --log-timezone"
        return ok("log dates", f"{text}; this file does not confirm it", ask)
    if ahead_ms == 0:
        return ok("log dates", f"{text}; the file's write time confirms it")
    hours = f"{abs(ahead_ms) / 3600_000:g} h {'ahead of' if ahead_ms > 0 else 'behind'} {timezone}"
    return warning(
        "log dates",
        f"{text}; by the file's write time, the brokers' clocks are {hours}",
        "give the brokers' time zone: --log-timezone, or timezone under [logs]",
    )


def _clock_ahead_ms(file: str, timezone: str) -> int | None:
    """The time by which the broker's clock is ahead of ``timezone``: the last line's time minus the
    file's write time.  Returns None if the file was copied or compressed, or is not local.
    """
    last_ms = _last_printed_ms(file)
    if last_ms is None:
        return None
    written = datetime.fromtimestamp(Path(file).stat().st_mtime, UTC)
    offset = written.astimezone(ZoneInfo(timezone)).utcoffset()
    assert offset is not None  # A ZoneInfo always has an offset.
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


def _time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
