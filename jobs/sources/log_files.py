"""Broker log files (gzip, any encoding, with container prefixes) -> entries, in file order.

Reads a stream of bytes, without Spark.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO
from zoneinfo import ZoneInfo

from coordinator_core.log_lines import LogLine, parse_line

_BLOCK_BYTES = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"
_MOST_WRAPS = 3
_FARTHEST_HEAD = 200
_STEP_BACK_MS = 30 * 60 * 1000

# Every coordinator line has one of these words in its prefix, logger or message.
_COORDINATOR_WORDS = (b"oordinator", b"Metadata")
_PLAIN_HEAD = re.compile(rb"\[\d{4}-")
_ANY_HEAD = re.compile(
    rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"
    rb"|^(?:[\d/:., -]+ )?\[?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b"
    rb"|^\s*\[(?:GroupCoordinator|GroupMetadataManager|Group Metadata Manager)[ \]]|^\s*\{"
)
_TRACE_LINE = re.compile(
    rb"\s|$|Caused by: |Suppressed: |\.\.\. \d+ |[\w.$]+(?:Exception|Error|Throwable)\b"
)
# Prefixes of docker compose, journald and container runtimes.
_WRAPPER = re.compile(
    rb"[\w.-]+ *\| ?"
    rb"|(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d))"
    rb" (?:std(?:out|err) [FP] |\S+ [\w.-]+(?:\[\d+\])?: )"
)
_COLOR = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One parsed coordinator line.

    ``position``: offset of the line's first byte in the uncompressed stream.  ``time_ms``: UTC; a
    line without a date has the time of the last dated coordinator line before it, or None.
    ``stack_trace``: the lines after it that belong to it.
    """

    file: str
    position: int
    line_number: int  # from 1
    time_ms: int | None
    line: LogLine
    text: str  # the decoded line without its end, and the lines that it was wrapped into
    stack_trace: str | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """One line of a coordinator's logger with an unknown wording, or the place of file damage."""

    file: str
    position: int
    line_number: int
    reason: str
    bytes: bytes


@dataclass(slots=True)
class LogCounts:
    """The last item of a file: lines == events + unreadable + skipped + continuations."""

    file: str
    lines: int = 0
    events: int = 0
    unreadable: int = 0
    skipped: int = 0
    continuations: int = 0


def read_log(
    stream: BinaryIO, *, file: str, timezone: str
) -> Iterator[LogEntry | Unreadable | LogCounts]:
    """Entries and unreadable lines in file order, then one LogCounts.

    ``stream`` may be gzip (detected by its first bytes); a damaged one is read up to the damage.
    ``timezone``: IANA name of the broker's wall clock, for dates without a zone.  A local time that
    occurs twice (end of summer time) is the first of the two until the file's dates step back, then
    the second; a skipped local time has the offset before the change.  Raises
    zoneinfo.ZoneInfoNotFoundError.
    """
    reader = _Reader(file, WallClock(timezone))
    blocks = Blocks(stream)
    for number, (position, raw) in enumerate(_lines(blocks), start=1):
        item = reader.take(number, position, raw)
        if item is not None:
            yield item
    last = reader.flush(breaks_off=not blocks.ends_in_newline)
    if last is not None:
        yield last
    if reader.is_binary:
        yield reader.damage("not text: encrypted, or an unknown compression", 0)
    elif blocks.damage is not None:
        yield reader.damage(blocks.damage, blocks.position)
    yield reader.counts


class Blocks:
    """A stream's bytes, uncompressed; ``damage`` is set if the stream turns out to be damaged."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.position = 0
        self.ends_in_newline = True
        self.damage: str | None = None

    def __iter__(self) -> Iterator[bytes]:
        first = self._stream.read(_BLOCK_BYTES)
        blocks = self._inflated(first) if first[:2] == _GZIP_MAGIC else self._following(first)
        for block in blocks:
            self.position += len(block)
            self.ends_in_newline = block[-2:].rstrip(b"\0").endswith(b"\n")
            yield block

    def _following(self, block: bytes) -> Iterator[bytes]:
        while block:
            yield block
            block = self._stream.read(_BLOCK_BYTES)

    def _inflated(self, first: bytes) -> Iterator[bytes]:
        """All gzip members in order, in blocks of at most _BLOCK_BYTES."""
        gzip, within_member = zlib.decompressobj(31), False
        for packed in self._following(first):
            while packed:
                before, within_member = gzip.copy(), True
                try:
                    block = gzip.decompress(packed, _BLOCK_BYTES)
                except zlib.error as error:
                    self.damage = f"gzip stream damaged: {error}"
                    yield _up_to_damage(before, packed)
                    return
                yield block
                packed = gzip.unconsumed_tail
                if gzip.eof:
                    packed = gzip.unused_data.lstrip(b"\0")  # tar and tapes pad with zeros
                    gzip, within_member = zlib.decompressobj(31), False
        if within_member:
            self.damage = "gzip stream ends early"


def _up_to_damage(gzip: Any, packed: bytes) -> bytes:
    """The bytes before the damage, one by one, because a failing call returns none."""
    out = []
    with contextlib.suppress(zlib.error):
        for byte in packed:
            out.append(gzip.decompress(bytes((byte,))))
    return b"".join(out)


def _lines(blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Position of each line's first byte in the stream, and the line as UTF-8 without its end."""
    source = iter(blocks)
    first = next(source, b"")
    encoding, skip = _encoding(first)
    following = _chain(first[skip:], source)
    if encoding == "utf-8":
        yield from _utf8_lines(following, skip)
    else:
        yield from _utf16_lines(following, skip, encoding)


def _encoding(first: bytes) -> tuple[str, int]:
    """Encoding of a text and the length of its byte order mark."""
    if first.startswith(codecs.BOM_UTF8):
        return "utf-8", 3
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if first.startswith(mark):
            return encoding, 2
    sample = first[:1000]
    if sample[1::2].count(0) > len(sample) // 4:
        return "utf-16-le", 0
    if sample[::2].count(0) > len(sample) // 4:
        return "utf-16-be", 0
    return "utf-8", 0


def _chain(first: bytes, source: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from source


def _utf8_lines(blocks: Iterable[bytes], position: int) -> Iterator[tuple[int, bytes]]:
    rest = b""
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            yield position, line
            position += len(line) + 1
    if rest:
        yield position, rest


def _utf16_lines(
    blocks: Iterable[bytes], position: int, encoding: str
) -> Iterator[tuple[int, bytes]]:
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    rest = ""
    for block in blocks:
        *lines, rest = (rest + decoder.decode(block)).split("\n")
        for line in lines:
            yield position, line.encode("utf-8", "replace")
            position += len(line.encode(encoding, "replace")) + 2
    rest += decoder.decode(b"", final=True)
    if rest:
        yield position, rest.encode("utf-8", "replace")


class WallClock:
    """A broker's local times -> UTC, in the order of one file."""

    def __init__(self, timezone: str) -> None:
        self._zone = ZoneInfo(timezone)
        self._offsets: dict[tuple[int, int], int] = {}
        self._latest_ms = -(1 << 62)
        self._second_pass = 0

    def utc_ms(self, local_ms: int) -> int:
        """UTC of a local time; see read_log for times that occur twice."""
        if local_ms < self._latest_ms - _STEP_BACK_MS:
            self._second_pass = 1
            self._latest_ms = local_ms
        self._latest_ms = max(self._latest_ms, local_ms)
        return local_ms - self._offset_ms(local_ms, self._second_pass)

    def _offset_ms(self, local_ms: int, fold: int) -> int:
        quarter = local_ms // 900_000  # zones change on quarters of an hour
        if (quarter, fold) not in self._offsets:
            self._offsets[quarter, fold] = self._look_up(quarter * 900_000, fold)
        return self._offsets[quarter, fold]

    def _look_up(self, local_ms: int, fold: int) -> int:
        local = datetime(1970, 1, 1, tzinfo=self._zone, fold=fold) + timedelta(
            milliseconds=local_ms
        )
        offset = local.replace(fold=fold).utcoffset()
        assert offset is not None  # every ZoneInfo has one
        return int(offset.total_seconds() * 1000)


@dataclass(slots=True)
class _Pending:
    """A line that may be a coordinator's, and the lines without a head after it."""

    number: int
    position: int
    raw: bytes
    text: str  # without wrapper
    following: list[str] = field(default_factory=list)
    is_trace: list[bool] = field(default_factory=list)  # False: perhaps a wrapped part of the line

    def full_text(self, wraps: int) -> str:
        """The line, and the next ``wraps`` lines that it was wrapped into."""
        return "\n".join([_text(self.raw), *self.following[:wraps]])

    def trace(self, wraps: int) -> str | None:
        lines = zip(self.following[wraps:], self.is_trace[wraps:], strict=True)
        return "\n".join(text for text, is_trace in lines if is_trace) or None


class _Reader:
    """Counts each line of a file once: as event, unreadable, skipped or continuation."""

    def __init__(self, file: str, clock: WallClock) -> None:
        self.counts = LogCounts(file)
        self._clock = clock
        self._pending: _Pending | None = None
        self._had_head = False
        self._had_logger = False
        self._time_ms: int | None = None
        self._unreadable_text = 0

    @property
    def is_binary(self) -> bool:
        """Whether no line is a coordinator's, and most lines are not UTF-8."""
        return not self.counts.events and 2 * self._unreadable_text > self.counts.lines

    def take(self, number: int, position: int, raw: bytes) -> LogEntry | Unreadable | None:
        """Takes the next line; returns the previous pending line, if this line completes it."""
        self.counts.lines += 1
        if _PLAIN_HEAD.match(raw):
            body = raw
        else:
            body = _unwrapped(raw)
            if not _ANY_HEAD.search(body, 0, _FARTHEST_HEAD):
                self._follow(body)
                return None
        completed = self.flush() if self._pending else None
        self._had_head = True
        if _COORDINATOR_WORDS[0] in body or _COORDINATOR_WORDS[1] in body:
            self._pending = _Pending(number, position, raw, _text(body))
        else:
            self.counts.skipped += 1
        return completed

    def _follow(self, body: bytes) -> None:
        """A line without a head: a part of the pending line, or skipped."""
        if not self.counts.events and not _is_utf8(body):
            self._unreadable_text += 1
        is_trace = self._had_head and _TRACE_LINE.match(body) is not None
        pending = self._pending
        if pending and (is_trace or len(pending.following) < _MOST_WRAPS):
            pending.following.append(_text(body))
            pending.is_trace.append(is_trace)
        elif is_trace:
            self.counts.continuations += 1
        else:
            self.counts.skipped += 1

    def flush(self, *, breaks_off: bool = False) -> LogEntry | Unreadable | None:
        """The pending line as an item; None if it is not a coordinator's.

        ``breaks_off``: the file ends without a newline, perhaps in the middle of a number.
        """
        pending, self._pending = self._pending, None
        if pending is None:
            return None
        line, wraps = _joined(pending)
        rest = pending.is_trace[wraps:]
        self.counts.continuations += wraps + sum(rest)
        self.counts.skipped += len(rest) - sum(rest)
        if line is None:
            self.counts.skipped += 1
            return None
        if line.event is None:
            reason = f"unknown wording of {line.logger or 'a coordinator'}"
            return self._unreadable(pending, reason)
        if breaks_off and not pending.following and self._had_logger and line.logger is None:
            return self._unreadable(pending, "line breaks off at the end of the file")
        self._had_logger = self._had_logger or line.logger is not None
        return self._entry(pending, line, wraps)

    def _entry(self, pending: _Pending, line: LogLine, wraps: int) -> LogEntry:
        self.counts.events += 1
        if line.local_ms is not None and line.utc_offset_minutes is not None:
            self._time_ms = line.local_ms - line.utc_offset_minutes * 60_000
        elif line.local_ms is not None:
            self._time_ms = self._clock.utc_ms(line.local_ms)
        return LogEntry(
            self.counts.file,
            pending.position,
            pending.number,
            self._time_ms,
            line,
            pending.full_text(wraps),
            pending.trace(wraps) if pending.following else None,
        )

    def _unreadable(self, pending: _Pending, reason: str) -> Unreadable:
        self.counts.unreadable += 1
        return Unreadable(self.counts.file, pending.position, pending.number, reason, pending.raw)

    def damage(self, damage: str, position: int) -> Unreadable:
        """The place of the damage counts as a line."""
        self.counts.lines += 1
        self.counts.unreadable += 1
        return Unreadable(self.counts.file, position, self.counts.lines, damage, b"")


def _joined(pending: _Pending) -> tuple[LogLine | None, int]:
    """The parsed line, and how many of the lines after it are wrapped parts of it."""
    line = parse_line(pending.text)
    if line is None or (line.logger is not None and line.event is not None):
        return line, 0
    for wraps in range(1, min(_MOST_WRAPS, len(pending.following)) + 1):
        for glue in ("", " "):
            joined = parse_line(glue.join([pending.text, *pending.following[:wraps]]))
            if joined is not None and joined.event is not None and joined.logger is not None:
                return joined, wraps
    return line, 0


def _unwrapped(raw: bytes) -> bytes:
    body = _COLOR.sub(b"", raw)
    wrapper = _WRAPPER.match(body)
    if wrapper and not _dated_by_wrapper_alone(body, wrapper.end()):
        body = body[wrapper.end() :]
    if body.startswith(b"{"):
        return _from_json(body)
    return body


def _dated_by_wrapper_alone(body: bytes, end: int) -> bool:
    """Whether the prefix has the line's only date and must be kept."""
    return body[:1].isdigit() and not re.search(rb"\d\d:\d\d:\d\d", body[end : end + 40])


_MESSAGES = ("message", "log", "msg", "MESSAGE")
_LEVELS = ("level", "severity", "log.level", "levelname")
_LOGGERS = ("logger", "loggerName", "logger_name", "log.logger", "class", "category")
_DATES = ("timestamp", "@timestamp", "time", "ts", "date", "timeMillis")


def _from_json(body: bytes) -> bytes:
    """A JSON object's message as a line, with the object's date, level and logger where missing."""
    try:
        record = json.loads(body)
    except ValueError:
        return body
    message = _first(record, _MESSAGES)
    if not isinstance(message, str):
        return body
    line = message.rstrip("\r\n")
    if not _ANY_HEAD.search(line.encode()[:200]) or line.startswith("[Group"):
        date, level = _json_date(_first(record, _DATES)), _first(record, _LEVELS)
        logger = _first(record, _LOGGERS)
        line = f"[{date}] {level or 'INFO'} {line}" if date else f"{level or 'INFO'} {line}"
        line = f"{line} ({logger})" if logger else line
    return line.encode()


def _first(record: Any, names: Iterable[str]) -> Any:
    return next(
        (record[name] for name in names if isinstance(record, dict) and name in record), None
    )


def _json_date(value: Any) -> str | None:
    if isinstance(value, int | float):
        seconds = value / 1000 if value > 1e11 else value
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return value if isinstance(value, str) else None


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _text(body: bytes) -> str:
    """The line as text; bytes that are not UTF-8 are read as Latin-1, which keeps every byte."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("latin-1")
    return text.rstrip("\r")
