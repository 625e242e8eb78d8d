"""Broker log files as they lie about (plain, gzip, any encoding, wrapped) -> entries, in file order.

Reads: a stream of bytes.  Writes nothing.  Pure apart from the stream: no Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from coordinator_core.log_lines import LogLine


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One coordinator line that was understood.

    ``position``: byte offset of the line's first byte in the uncompressed stream.  ``time_ms``: UTC, None where
    the line has no date.  ``stack_trace``: the lines that follow it and belong to it.
    """

    file: str
    position: int
    line_number: int  # from 1
    time_ms: int | None
    line: LogLine
    text: str  # the whole line as it came, decoded, without its end
    stack_trace: str | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """One line of a coordinator's logger that no wording knows, or bytes that are no text."""

    file: str
    position: int
    line_number: int
    reason: str
    bytes: bytes


@dataclass(slots=True)
class LogCounts:
    """Comes last: lines == events + unreadable + skipped + continuations."""

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

    ``stream`` may be gzip (told by its first bytes).  ``timezone``: IANA name of the broker's wall clock.
    """
    raise NotImplementedError
