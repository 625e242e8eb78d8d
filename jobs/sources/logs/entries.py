"""A line of a log, with the lines that belong to it -> an entry, or why it is unreadable.

A line is pending until the next one begins: the lines in between may be its stack trace, or parts
into which a terminal or a log store wrapped it.  An entry may need information from earlier lines
(a date, the second pass of a repeated hour), which is then searched from the start of the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from coordinator_core.log_lines import LogLine, parse_line
from coordinator_core.log_lines.lines import unframed
from jobs.console.errors import internal_error
from jobs.sources.configurations.start_ups import StartUpSettings
from jobs.sources.logs.clock import WallClock, beyond_dates
from jobs.sources.logs.dates import FileDates, LineDates
from jobs.sources.logs.file_bytes import LINE_BYTES
from jobs.sources.logs.layouts import PLAIN_HEAD, TRACE_LINE, has_prefix, text_of

_MOST_WRAPS = 3
MOST_EXAMPLES, LONGEST_EXAMPLE = 3, 300


class LogEntry(NamedTuple):
    """One parsed coordinator line.

    ``position`` is the offset of the line's first byte in the uncompressed stream.  ``time_ms``:
    UTC, or None if the line has no complete date, and ``undated`` says why.  ``stack_trace`` has
    the lines after it that belong to it.
    """

    file: str
    position: int
    line_number: int  # number of the line within the range, from 1
    time_ms: int | None
    line: LogLine
    text: str  # decoded line without its end, including the lines into which it was wrapped
    stack_trace: str | None = None
    source: str | None = None  # name in the line's wrapper: a pod, host or stream
    undated: str | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """One line of a coordinator's logger with an unknown wording, or the place of file damage.

    ``length`` is the length of the line, if not all of its bytes are kept.
    """

    file: str
    position: int
    line_number: int
    reason: str
    bytes: bytes
    length: int | None = None


@dataclass(slots=True, kw_only=True)
class LogCounts:
    """The last item of a range: lines == events + unreadable + skipped + continuations."""

    file: str
    lines: int = 0
    events: int = 0
    unreadable: int = 0
    skipped: int = 0
    continuations: int = 0
    # Number of lines that name a coordinator but are not understood: unreadable or skipped.
    not_understood: int = field(default=0, compare=False)
    examples: list[str] = field(default_factory=list, compare=False)
    software: set[str] = field(default_factory=set, compare=False)
    start_ups: StartUpSettings = field(default_factory=StartUpSettings, compare=False)

    def is_not_understood(self, text: str) -> None:
        """Count a line."""
        self.not_understood += 1
        if len(self.examples) < MOST_EXAMPLES:
            self.examples.append(text[:LONGEST_EXAMPLE])


class Pending:
    """A line that may be a coordinator's, and the lines without a head after it."""

    __slots__ = (
        *("beyond", "error", "following", "following_size", "is_trace", "number", "position"),
        *("raw", "text"),
    )

    def __init__(self, number: int, position: int, raw: bytes, text: str) -> None:
        self.number = number
        self.position = position
        self.raw = raw
        self.text = text  # without wrapper
        self.following: list[str] = []
        self.following_size = 0  # in bytes
        self.is_trace: list[bool] = []  # if false, the line may be a wrapped part of another line
        # number of following lines that belong to the next range, which counts them
        self.beyond = 0
        self.error: str | None = None  # reason why the line cannot be parsed

    def attach(self, body: bytes) -> bool:
        """Returns whether the next line may be a part of this line, in which case it is kept as
        such.
        """
        is_trace = TRACE_LINE.match(body) is not None
        if not is_trace and len(self.following) >= _MOST_WRAPS:
            return False
        self.following_size += len(body)
        if self.following_size > LINE_BYTES:
            return False
        self.following.append(text_of(body))
        self.is_trace.append(is_trace)
        return True

    def parsed(self) -> tuple[LogLine | None, int]:
        """The parsed line, and the number of the following lines that are wrapped parts of it."""
        line = parse_line(self.text)
        if line is None or (line.logger is not None and line.event is not None):
            return line, 0
        for wraps in range(1, min(_MOST_WRAPS, len(self.following)) + 1):
            for glue in ("", " "):
                parts = [self.text, *self.following[:wraps]]
                joined = parse_line(glue.join(map(unframed, parts)))
                if joined is not None and joined.event is not None and joined.logger is not None:
                    return joined, wraps
        return line, 0

    def full_text(self, wraps: int) -> str:
        """The line, and the next ``wraps`` lines that it was wrapped into."""
        first = self.text if PLAIN_HEAD.match(self.raw) else text_of(self.raw)
        return "\n".join([first, *self.following[:wraps]]) if wraps else first

    def trace(self, wraps: int) -> str | None:
        lines = zip(self.following[wraps:], self.is_trace[wraps:], strict=True)
        return "\n".join(text for text, is_trace in lines if is_trace) or None


class Entries:
    """Makes the items of a range from its pending lines, in their order, and counts them."""

    def __init__(
        self,
        counts: LogCounts,
        timezone: str,
        dates: FileDates,
        before: Callable[[int], Entries] | None = None,
        source: str | None = None,
    ) -> None:
        """``before`` has the entries of the file up to a position; ``before`` is None from the
        start of the file on.

        ``source`` says whose lines they are, if the lines of each source are read apart.
        """
        self._counts = counts
        self._source = source
        self._clock = WallClock(timezone)
        self.dates = LineDates(dates, self._clock)
        self._before = before
        self._had_logger = False

    def item_of(
        self, pending: Pending, *, breaks_off: bool = False
    ) -> LogEntry | Unreadable | None:
        """Returns None if the line is not a coordinator's.

        ``breaks_off`` means that the file ends without a newline, perhaps in the middle of a
        number.
        """
        if pending.error is not None:
            self._count_following(pending, 0)
            return self._unreadable(pending, pending.error)
        wraps = 0
        try:
            line, wraps = pending.parsed()
            is_broken = breaks_off and not pending.following
            item = self._item(pending, line, wraps, is_broken=is_broken)
        except OSError:  # The error occurred while reading the preceding lines.
            raise
        except Exception as error:
            item, wraps = self._unreadable(pending, internal_error(error)), 0
        if pending.following:
            self._count_following(pending, wraps)
        return item

    def _item(
        self, pending: Pending, line: LogLine | None, wraps: int = 0, *, is_broken: bool = False
    ) -> LogEntry | Unreadable | None:
        if line is None:
            self._counts.skipped += 1
            if has_prefix(pending.raw):
                self._counts.is_not_understood(pending.text)
            return None
        if line.event is None:
            self._counts.is_not_understood(pending.text)
            reason = f"unknown wording of {line.logger or 'a coordinator'}"
            return self._unreadable(pending, reason)
        if is_broken and line.logger is None and self._is_with_loggers(pending.position):
            return self._unreadable(pending, "the line is incomplete at the end of the file")
        local_ms, offset_minutes, undated = self._local_time(line)
        if local_ms is not None and (beyond := beyond_dates(local_ms)) is not None:
            return self._unreadable(pending, beyond)
        if (too_large := _beyond_its_type(line)) is not None:
            return self._unreadable(pending, too_large)
        self._had_logger = self._had_logger or line.logger is not None
        time_ms = self._utc_ms(local_ms, offset_minutes, pending.position)
        self._counts.events += 1
        return LogEntry(
            file=self._counts.file,
            position=pending.position,
            line_number=pending.number,
            time_ms=time_ms,
            line=line,
            text=pending.full_text(wraps),
            stack_trace=pending.trace(wraps) if pending.following else None,
            source=self._source,
            undated=undated,
        )

    def _local_time(self, line: LogLine) -> tuple[int | None, int | None, str | None]:
        """The local time of the line, its zone, and the reason why it has no time."""
        if line.stamp is None and line.local_ms is not None:
            return line.local_ms, None, None
        return self.dates.of(line.stamp, line.outer)

    def _is_with_loggers(self, position: int) -> bool:
        """Returns whether an entry before a position names its logger."""
        if not self._had_logger:
            self._look_back(position)
        return self._had_logger

    def _count_following(self, pending: Pending, wraps: int) -> None:
        own = len(pending.following) - pending.beyond
        traces = sum(pending.is_trace[wraps:own])
        self._counts.continuations += min(wraps, own) + traces
        self._counts.skipped += max(0, own - wraps) - traces

    def _utc_ms(
        self, local_ms: int | None, offset_minutes: int | None, position: int
    ) -> int | None:
        if local_ms is None:
            return None
        if offset_minutes is not None:
            return local_ms - offset_minutes * 60_000
        if self._before is not None and self._clock.depends_on_order(local_ms):
            self._look_back(position)
        return self._clock.utc_ms(local_ms)

    def _look_back(self, position: int) -> None:
        """Take over what the lines before a position decide; from then on this reader decides."""
        if self._before is None:
            return
        past, self._before = self._before(position), None
        self._clock = past._clock
        self._had_logger = self._had_logger or past._had_logger

    def _unreadable(self, pending: Pending, reason: str) -> Unreadable:
        self._counts.unreadable += 1
        return Unreadable(self._counts.file, pending.position, pending.number, reason, pending.raw)


def _beyond_its_type(line: LogLine) -> str | None:
    """The field that does not fit its column, or None if all do."""
    event = line.event
    if event is None:
        return None
    for name, value, limit in (
        ("broker id", line.broker_id, 1 << 31),
        ("generation", event.generation, (1 << 31) - 1),  # The next generation must fit, too.
        ("member count", event.member_count, 1 << 31),
        ("duration", event.duration_ms, 1 << 63),
        ("count", event.count, 1 << 63),
    ):
        if value is not None and not -limit <= value < limit:
            return f"{name} {value} does not fit {32 if limit <= 1 << 31 else 64} bits"
    return None
