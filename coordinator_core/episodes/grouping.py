"""Items by a key: an activity of a large group has thousands of changes, and pairs of them would
take minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K")


def by(key: Callable[[T], K], items: Iterable[T]) -> dict[K, list[T]]:
    """The items with each key, in order."""
    grouped: dict[K, list[T]] = {}
    for each in items:
        grouped.setdefault(key(each), []).append(each)
    return grouped
