"""Items by a key, or cut at gaps.

An activity of a large group has thousands of changes; comparing all pairs would take minutes.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K")

# Above this many pairs, only pairs in order of time are tried.
PAIRS_AT_MOST = 250_000
# Candidates that are tried for an item in order of time.
TRIES = 100
# From this number of similar items on, a headline gives their kind and number instead of their
# names.
ALIKE = 5
# A number in a name, and its replacement in the pattern of similar names.
NUMBER, ANY_NUMBER = "[0-9]+", "*"


def by(key: Callable[[T], K], items: Iterable[T]) -> dict[K, list[T]]:
    """The items with each key, in order."""
    grouped: dict[K, list[T]] = {}
    for each in items:
        grouped.setdefault(key(each), []).append(each)
    return grouped


def alike(key: Callable[[T], K], items: Sequence[T]) -> list[list[T]]:
    """The items in order, each in a list of its own; ALIKE or more items with one key are in one
    list, at the place of the first item.
    """
    grouped = by(key, items)
    placed: dict[tuple[K, int | None], list[T]] = {}
    for number, each in enumerate(items):
        mine = grouped[key(each)]
        placed.setdefault((key(each), None if len(mine) >= ALIKE else number), []).append(each)
    return list(placed.values())


def name_pattern(name: str) -> str:
    """The name with ANY_NUMBER for each number: equal for names that differ only in numbers."""
    return re.sub(NUMBER, ANY_NUMBER, name)


def cut_at_gaps(
    items: Iterable[T],
    gap_ms: int,
    *,
    when: Callable[[T], int],
    until: Callable[[T], int] | None = None,
) -> Iterator[list[T]]:
    """Items in order of ``when``, divided where the next item is more than ``gap_ms`` after
    ``until`` of the last item.
    """
    series: list[T] = []
    for each in items:
        if series and when(each) - (until or when)(series[-1]) > gap_ms:
            yield series
            series = []
        series.append(each)
    if series:
        yield series


def within(times: Sequence[int], first: int, last: int) -> range:
    """The positions of the times from ``first`` to ``last``; ``times`` are in order."""
    return range(bisect_left(times, first), bisect_right(times, last))


def candidates(
    possible: Sequence[range], fits: Callable[[int, int], bool]
) -> Iterator[tuple[int, list[int]]]:
    """Items with the candidates that fit them; ``possible`` has the candidates' positions per item.

    With more than PAIRS_AT_MOST pairs, an item has at most one candidate, which no item before it
    has: the first of some TRIES.
    """
    if sum(map(len, possible)) > PAIRS_AT_MOST:
        yield from _in_order(possible, fits)
        return
    for item, each in enumerate(possible):
        yield item, [other for other in each if fits(item, other)]


def _in_order(
    possible: Sequence[range], fits: Callable[[int, int], bool]
) -> Iterator[tuple[int, list[int]]]:
    following = list(range(1 + max(each.stop for each in possible)))

    def unused(position: int) -> int:
        while following[position] != position:
            following[position] = following[following[position]]
            position = following[position]
        return position

    for item, each in enumerate(possible):
        other = unused(each.start)
        for _ in range(TRIES):
            if other >= each.stop:
                break
            if fits(item, other):
                following[other] = other + 1
                yield item, [other]
                break
            other = unused(other + 1)
