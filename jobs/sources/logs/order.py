"""Bring the records of an export into the order of time, as a broker wrote them.

Log stores return the newest record first, or one stream after the other.  A record has the time
that the store gives it, else the time of its line.  Files whose first lines are in order are not
touched: a broker's own log keeps its order even if its clock steps back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from coordinator_core.log_lines.lines import parse_head
from jobs.sources.logs.layouts import PLAIN_HEAD, Unwrapped, has_head, unwrapped

ORDERED_BYTES = 128 << 20
"""Maximum number of bytes that are sorted at once."""
_SAMPLED_LINES = 200
_OVERLAP_NS = 5_000_000_000
_DATE = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)? ?(Z|UTC|[+-]\d\d:?\d\d)?"
)


class Timed(NamedTuple):
    """A line's place in time.  ``stored`` means that the time is the store's, not the line's.
    ``goes_on`` means that the line is a part.
    """

    source: str | None
    time_ns: int | None
    stored: bool
    goes_on: bool = False


class Sample(NamedTuple):
    """What the first lines of a file show: whether they name their source, are parts of lines, and
    are in another order than a broker writes.
    """

    has_sources: bool
    has_parts: bool
    is_disordered: bool

    @property
    def is_read_as_a_whole(self) -> bool:
        return any(self)


def sample_of(beginning: bytes) -> Sample:
    lines = islice(filter(None, beginning.split(b"\n", _SAMPLED_LINES + 1)), _SAMPLED_LINES)
    pods: set[bytes] = set()
    timed = [_timed(line, pods) for line in lines]
    return Sample(
        any(each.source is not None for each in timed),
        any(each.goes_on for each in timed),
        _is_disordered(timed),
    )


def documents_in_order(records: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """The records of JSON documents; if any source's time falls, all by their time."""
    listed = list(records)
    timed = [timed_of(unwrapped(line)) for _, line in listed]
    is_stored = any(each.stored for each in timed)
    if is_stored:  # Text between documents keeps its position.
        timed = [each if each.stored else each._replace(time_ns=None) for each in timed]
    if not (_steps(timed).falls if is_stored else _is_disordered(timed)):
        yield from listed
        return
    position = 0
    for line in _by_time([line for _, line in listed], timed):
        yield position, line
        position += len(line)


def lines_in_order(text: bytes) -> bytes:
    """The lines of a text by their time; lines without a time follow their previous line."""
    entries = list(_entries(text))
    timed = [timed_of(unwrapped(entry)) for entry in entries]
    return b"".join(_by_time(entries, timed))


def timed_of(line: Unwrapped) -> Timed:
    """The store's time, else the time of the line's head."""
    if line.date is not None and (time_ns := _time_ns(line.date)) is not None:
        return Timed(line.source, time_ns, True, line.goes_on)
    first = line.body.split(b"\n", 1)[0]
    head = parse_head(first.decode("utf-8", "replace")) if has_head(first) else None
    if head is None or head.local_ms is None:
        return Timed(line.source, None, False)
    return Timed(line.source, head.local_ms * 1_000_000, False)


def _timed(line: bytes, pods: set[bytes]) -> Timed:
    try:
        return timed_of(Unwrapped(line) if PLAIN_HEAD.match(line) else unwrapped(line, pods))
    except Exception:  # The reader reports this line.
        return Timed(None, None, False)


def _is_disordered(timed: list[Timed]) -> bool:
    """Newest first, or far from any order.  A clock steps back once; threads and an agent's
    batches overlap a little.
    """
    steps = _steps(timed)
    is_stored = any(each.stored for each in timed)
    if steps.falls <= (0 if is_stored else 1):
        return False
    return steps.falls * 3 > steps.changes * 2 or steps.far_falls * 4 >= steps.changes


class _Steps(NamedTuple):
    """Counts how often the time of a source changes, falls, and falls by more than _OVERLAP_NS."""

    changes: int
    falls: int
    far_falls: int


def _steps(timed: list[Timed]) -> _Steps:
    last: dict[str | None, int] = {}
    changes = []
    for each in timed:
        if each.time_ns is not None:
            changes.append(each.time_ns - last.get(each.source, each.time_ns))
            last[each.source] = each.time_ns
    return _Steps(
        sum(change != 0 for change in changes),
        sum(change < 0 for change in changes),
        sum(change < -_OVERLAP_NS for change in changes),
    )


def _by_time(lines: list[bytes], timed: list[Timed]) -> list[bytes]:
    """Stable; among equal times, a newest-first order is turned around."""
    steps = _steps(timed)
    order = range(len(lines))
    times: list[int] = []
    for each in timed:
        times.append(each.time_ns if each.time_ns is not None else times[-1] if times else 0)
    newest_first = steps.falls * 2 > steps.changes
    by_time = sorted(reversed(order) if newest_first else order, key=times.__getitem__)
    return [lines[place] for place in by_time]


def _entries(text: bytes) -> Iterator[bytes]:
    """Lines with their ends; a line without a time of its own is joined to its previous line."""
    entry = b""
    pods: set[bytes] = set()
    for line in text.splitlines(keepends=True):
        line = line if line.endswith(b"\n") else line + b"\n"
        if entry and not PLAIN_HEAD.match(line) and _timed(line, pods).time_ns is None:
            entry += line
            continue
        if entry:
            yield entry
        entry = line
    if entry:
        yield entry


def _time_ns(date: str) -> int | None:
    """A record's date; one without a zone counts as UTC, as the order alone depends on it."""
    match = _DATE.search(date)
    if match is None:
        return None
    day, time, fraction, zone = match.groups()
    offset = f"{zone[:3]}:{zone[-2:]}" if zone and zone[0] in "+-" else "+00:00"
    try:
        moment = datetime.fromisoformat(f"{day}T{time}{offset}")
    except ValueError:
        return None
    return int(moment.timestamp()) * 1_000_000_000 + int((fraction or "0").ljust(9, "0"))
