"""``java.util.HashMap``: the order in which it iterates over its keys.

A table of bins, each in order of insertion; it doubles with its 13th, 25th, ... key and never
shrinks.  Bins that Java turns into trees (nine keys in one bin of a table of 64 or more) are not
modelled: they keep the order of insertion here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from coordinator_core.jvm.hash_codes import spread_hash

FIRST_CAPACITY = 16
LOAD_FACTOR = 0.75
_CROWDED_BIN = 8
_SMALLEST_TREE_CAPACITY = 64


class HashMapKeys:
    """Keys of a HashMap that keys are added to and removed from."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._hashes: dict[str, int] = {}
        self._capacity = FIRST_CAPACITY
        for key in keys:
            self.add(key)

    def add(self, key: str) -> None:
        """Add the key; one that the map has keeps its place."""
        if key in self._hashes:
            return
        spread = spread_hash(key)
        crowded = self._bin_size(spread) >= _CROWDED_BIN
        self._hashes[key] = spread
        if crowded and self._capacity < _SMALLEST_TREE_CAPACITY:
            self._capacity *= 2
        if len(self._hashes) > self._capacity * LOAD_FACTOR:
            self._capacity *= 2

    def discard(self, key: str) -> None:
        self._hashes.pop(key, None)

    def __contains__(self, key: object) -> bool:
        return key in self._hashes

    def __len__(self) -> int:
        return len(self._hashes)

    def __iter__(self) -> Iterator[str]:
        mask = self._capacity - 1
        return iter(sorted(self._hashes, key=lambda key: self._hashes[key] & mask))

    def _bin_size(self, spread: int) -> int:
        mask = self._capacity - 1
        return sum(other & mask == spread & mask for other in self._hashes.values())


def table_capacity(entries: int) -> int:
    """The capacity of a HashMap that grew from its default by inserting ``entries`` keys."""
    capacity = FIRST_CAPACITY
    while entries * 4 > capacity * 3:
        capacity *= 2
    return capacity


def hash_order(names: Iterable[str], capacity: int | None = None) -> list[str]:
    """Distinct ``names``, inserted in this order, as a HashMap iterates over them.

    Faster than HashMapKeys, for maps that are filled once.  Within a bin insertion order holds; a
    table that grows early because a bin is crowded is not modelled.
    """
    keys = list(dict.fromkeys(names))
    mask = (capacity or table_capacity(len(keys))) - 1
    bins = [spread_hash(name) & mask for name in keys]
    return [keys[i] for i in sorted(range(len(keys)), key=bins.__getitem__)]


def hash_order_of_all(names: Collection[str]) -> list[str] | None:
    """``hash_order`` for any order of insertion, or None if two names share a bin."""
    mask = table_capacity(len(names)) - 1
    by_bin = {spread_hash(name) & mask: name for name in names}
    if len(by_bin) < len(names):
        return None
    return [by_bin[bin_] for bin_ in sorted(by_bin)]
