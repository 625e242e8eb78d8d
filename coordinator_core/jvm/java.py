"""What Java and Scala decide for Kafka: hash codes, a group's partition, the order of a hash map.

The partition of a group in `__consumer_offsets` follows from `String.hashCode`, and the order of a
group's members in records and answers from the map that the coordinator keeps them in: Scala's up
to 3.9, Java's from 4.0 on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

FIRST_CAPACITY = 16
LOAD_FACTOR = 0.75
CROWDED_BIN = 8
SMALLEST_TREE_CAPACITY = 64


def to_int32(value: int) -> int:
    """The value as Java's int would wrap it."""
    return (value & 0xFFFFFFFF ^ 0x80000000) - 0x80000000


def string_hash(text: str) -> int:
    """`String.hashCode`: over UTF-16 units, as a signed int32."""
    units = text.encode("utf-16-be", "surrogatepass")
    found = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        found = 31 * found + (high << 8 | low) & 0xFFFFFFFF
    return to_int32(found)


def utils_abs(value: int) -> int:
    """Kafka's `Utils.abs`: 0 for the int32 that has no positive counterpart."""
    return 0 if value == -(2**31) else abs(value)


def partition_for(group_id: str, partitions: int = 50) -> int:
    """Where `__consumer_offsets` keeps a group; ``partitions``: offsets.topic.num.partitions."""
    return utils_abs(string_hash(group_id)) % partitions


def spread_hash(text: str) -> int:
    """What both maps place a key by: the hash code with its upper half folded in, as uint32."""
    code = string_hash(text) & 0xFFFFFFFF
    return code ^ code >> 16


class HashMapKeys:
    """Keys of a `java.util.HashMap` in the order in which it iterates.

    A table of bins, each in order of insertion; it doubles with its 13th, 25th, ... key and never
    shrinks.  Bins that Java turns into trees (nine keys of one bin among 64 or more) are not
    modelled: they keep the order of insertion here.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._hashes: dict[str, int] = {}
        self._capacity = FIRST_CAPACITY
        for key in keys:
            self.add(key)

    def add(self, key: str) -> None:
        """A key that is there keeps its place."""
        if key in self._hashes:
            return
        spread = spread_hash(key)
        crowded = self._bin_size(spread) >= CROWDED_BIN
        self._hashes[key] = spread
        if crowded and self._capacity < SMALLEST_TREE_CAPACITY:
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


class ScalaHashMapKeys(HashMapKeys):
    """The same of Scala 2.13's `mutable.HashMap`.

    Bins are in order of hash; the table doubles as the 12th, 24th, ... key is put, which may be one
    that is there already.
    """

    def add(self, key: str) -> None:
        if len(self._hashes) + 1 >= int(self._capacity * LOAD_FACTOR):
            self._capacity *= 2
        if key not in self._hashes:
            self._hashes[key] = spread_hash(key)

    def __iter__(self) -> Iterator[str]:
        mask = self._capacity - 1
        place = {key: (spread & mask, to_int32(spread)) for key, spread in self._hashes.items()}
        return iter(sorted(place, key=lambda key: place[key]))
