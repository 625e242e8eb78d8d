"""Items by a key, or cut at gaps.

An activity of a large group has thousands of changes, and pairs of them would take minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K")


def by(key: Callable[[T], K], items: Iterable[T]) -> dict[K, list[T]]:
    """The items with each key, in order."""
    grouped: dict[K, list[T]] = {}
    for each in items:
        grouped.setdefault(key(each), []).append(each)
    return grouped


def cut_at_gaps(
    items: Iterable[T],
    gap_ms: int,
    *,
    when: Callable[[T], int],
    until: Callable[[T], int] | None = None,
) -> Iterator[list[T]]:
    """Items in order of ``when``, cut where the next one is more than ``gap_ms`` after ``until`` of
    the last one.
    """
    series: list[T] = []
    for each in items:
        if series and when(each) - (until or when)(series[-1]) > gap_ms:
            yield series
            series = []
        series.append(each)
    if series:
        yield series
