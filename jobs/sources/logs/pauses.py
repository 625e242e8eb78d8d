"""Pauses in a log: a process that does not run, or whose host sleeps, logs nothing at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice, takewhile
from typing import NamedTuple

from jobs.sources.logs.dates import head_stamp
from jobs.sources.logs.layouts import line_of, unwrapped

# Size of the text before a line in which a pause is searched.
_BYTES = 64 * 1024
# A process that runs again logs a failure within this time after a pause.
_SOON_MS = 60_000
_SHORTEST_MS = 5_000
# A pause counts as long if it is this many times longer than this many other pauses.
_OTHERS, _TIMES = 10, 5


def pause_before(chunk: bytes, end: int, line: bytes, source: str | None) -> int | None:
    """Milliseconds of the longest pause shortly before a line that begins at ``end`` of ``chunk``,
    or None unless the lines of its source are otherwise close together.
    """
    start = max(0, end - _BYTES)
    own = unwrapped(line)
    texts = [*chunk[start:end].splitlines()[1 if start else 0 :], line]
    times = _Times(texts, source, needs_source=own.source is not None)
    first, last = times.nearest(range(len(texts))), times.nearest(range(len(texts) - 1, -1, -1))
    if first is None or last is None:
        return None
    latest_ms = times[last]
    assert latest_ms is not None
    long = takewhile(
        lambda pause: latest_ms - pause.until_ms <= _SOON_MS,
        times.pauses(first, last, _SHORTEST_MS),
    )
    longest = max((pause.ms for pause in long), default=None)
    if longest is None or not times.has(_OTHERS + 2):
        return None
    comparable = times.pauses(first, last, longest // _TIMES + 1)
    return longest if len(list(islice(comparable, 2))) == 1 else None


class _Pause(NamedTuple):
    """``until_ms`` is the time of the line that ends the pause."""

    ms: int
    until_ms: int


class _Times:
    """The complete local times of a source's lines, each read when it is needed: most lines of a
    text are not, as there is no pause between two lines that are close together.
    """

    def __init__(self, texts: list[bytes], source: str | None, *, needs_source: bool) -> None:
        self._texts = texts
        self._source = source
        self._needs_source = needs_source
        self._read: dict[int, int | None] = {}

    def __getitem__(self, place: int) -> int | None:
        if place not in self._read:
            self._read[place] = self._time_of(self._texts[place])
        return self._read[place]

    def _time_of(self, text: bytes) -> int | None:
        inside = unwrapped(text)
        if self._needs_source and inside.source != self._source:
            return None
        stamp = head_stamp(line_of(inside))
        return None if stamp is None else stamp.local_ms

    def nearest(self, places: Iterable[int]) -> int | None:
        """The first of these places with a time."""
        return next((place for place in places if self[place] is not None), None)

    def has(self, count: int) -> bool:
        """Returns whether at least ``count`` lines have a time."""
        dated = (place for place in range(len(self._texts)) if self[place] is not None)
        return len(list(islice(dated, count))) == count

    def pauses(self, first: int, last: int, least_ms: int) -> Iterator[_Pause]:
        """The pauses of at least this length between two lines with a time, the latest first."""
        before, until = self[first], self[last]
        if before is None or until is None or until - before < least_ms:
            return
        middle = (first + last) // 2
        between = self.nearest(chain(range(middle, last), range(middle - 1, first, -1)))
        if between is None or between == first:
            yield _Pause(until - before, until)
            return
        yield from self.pauses(between, last, least_ms)
        yield from self.pauses(first, between, least_ms)
