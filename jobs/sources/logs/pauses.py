"""Pauses in a log: a process that does not run, or whose host sleeps, logs nothing at all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from jobs.sources.logs.dates import head_stamp
from jobs.sources.logs.layouts import line_of, unwrapped

# The text before a line in which a pause is looked for.
_BYTES = 64 * 1024
# A process that runs again logs a failure within this time.
_SOON_MS = 60_000
_SHORTEST_MS = 5_000
# A pause stands out beside this many others, each this many times shorter.
_OTHERS, _TIMES = 10, 5


def pause_before(chunk: bytes, end: int, line: bytes, source: str | None) -> int | None:
    """Milliseconds of the longest pause shortly before a line that begins at ``end`` of ``chunk``;
    None unless the lines of its source are otherwise close together.
    """
    start = max(0, end - _BYTES)
    own = unwrapped(line)
    texts = [*chunk[start:end].splitlines()[1 if start else 0 :], line]
    times = list(_times(texts, source, needs_source=own.source is not None))
    if not times or len(times) < _OTHERS + 2:
        return None
    pauses = [(after - before, after) for before, after in pairwise(times)]
    recent = [pause for pause, after in pauses if times[-1] - after <= _SOON_MS]
    longest = max(recent, default=0)
    others = sorted(pause for pause, _ in pauses)[:-1]
    is_longest = bool(others) and longest >= others[-1]
    if longest < _SHORTEST_MS or not is_longest or longest < _TIMES * others[-1]:
        return None
    return longest


def _times(texts: list[bytes], source: str | None, *, needs_source: bool) -> Iterator[int]:
    """The complete local times of a source's lines."""
    for text in texts:
        inside = unwrapped(text)
        if needs_source and inside.source != source:
            continue
        stamp = head_stamp(line_of(inside))
        if stamp is not None and stamp.local_ms is not None:
            yield stamp.local_ms
