"""In which order Scala's maps and Kafka's own yield their keys; Java's are in java.py.

Records, join answers, new leaders and timers of one deadline follow the iteration order of a hash
map of member ids; the records of one commit and its tombstones that of a map of partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from coordinator_core.java import (
    FIRST_CAPACITY,
    LOAD_FACTOR,
    HashMapKeys,
    string_hash,
    to_int32,
)

TopicPartition = tuple[str, int]
_K = TypeVar("_K")

_SMALL_MAP = 4  # Scala's immutable maps of up to four keys keep them as they came
_MASK32 = 0xFFFFFFFF


class Scala212Keys(HashMapKeys):
    """Keys of Scala 2.12's (and 2.11's) mutable.HashMap: bins downwards, newest first."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._bins: list[list[str]] = [[] for _ in range(FIRST_CAPACITY)]
        super().__init__(keys)

    def add(self, key: str) -> None:
        if key in self._hashes:
            return
        self._hashes[key] = _byteswap32(string_hash(key) & _MASK32)
        self._bin(key).insert(0, key)
        if len(self._hashes) > self._capacity * LOAD_FACTOR:
            self._double()

    def discard(self, key: str) -> None:
        if key in self._hashes:
            self._bin(key).remove(key)
            del self._hashes[key]

    def __iter__(self) -> Iterator[str]:
        return iter([key for bin_ in reversed(self._bins) for key in bin_])

    def _bin(self, key: str) -> list[str]:
        # The hash is rotated by the bit count of the first table's size less one: four.
        rotated = self._hashes[key] >> 4 | self._hashes[key] << 28 & _MASK32
        return self._bins[rotated >> (32 - (self._capacity - 1).bit_length())]

    def _double(self) -> None:
        keys = list(self)
        self._capacity *= 2
        self._bins = [[] for _ in range(self._capacity)]
        for key in keys:
            self._bin(key).insert(0, key)


def _byteswap32(code: int) -> int:
    code = code * 0x9E3775CD & _MASK32
    code = int.from_bytes(code.to_bytes(4, "big"), "little")
    return code * 0x9E3775CD & _MASK32


def trie_order(keys_by_hash: Iterable[tuple[int, _K]]) -> list[_K]:
    """Keys of Scala 2.13's immutable HashMap: by five bits of the hash, single ones first."""
    return _trie([(_improve(code), key) for code, key in keys_by_hash], 0)


def _trie(entries: list[tuple[int, _K]], shift: int) -> list[_K]:
    if len(entries) <= 1 or shift > 30:
        return [key for _, key in entries]
    slots: dict[int, list[tuple[int, _K]]] = {}
    for entry in entries:
        slots.setdefault(entry[0] >> shift & 31, []).append(entry)
    found = [slots[slot] for slot in sorted(slots)]
    singles = [inside[0][1] for inside in found if len(inside) == 1]
    return singles + [
        key for inside in found if len(inside) > 1 for key in _trie(inside, shift + 5)
    ]


def _improve(code: int) -> int:
    code &= _MASK32
    code = (code + ~(code << 9)) & _MASK32
    code ^= code >> 14
    code = (code + (code << 4)) & _MASK32
    return code ^ (code >> 10)


def java_order(keys: Iterable[str]) -> list[str]:
    """Keys put one by one into a Java HashMap, or ConcurrentHashMap."""
    return list(HashMapKeys(keys))


def scala_213_trie_order(keys: Iterable[str]) -> list[str]:
    """Keys of what groupBy makes in Scala 2.13."""
    return trie_order((string_hash(key), key) for key in keys)


def topic_partition_hash(partition: TopicPartition) -> int:
    """TopicPartition.hashCode."""
    return ((31 + partition[1]) * 31 + string_hash(partition[0])) & _MASK32


class TimelineKeys(Generic[_K]):
    """Keys of Kafka's TimelineHashMap: slots of a multiplicative hash, newest first in a slot.

    The table never shrinks, and may grow as a key is put that is there already.
    """

    __slots__ = ("_capacity", "_hash", "_size", "_slots")

    def __init__(self, hash_of: Callable[[_K], int]) -> None:
        self._hash = hash_of
        self._capacity = 2
        self._size = 0
        self._slots: dict[int, list[_K]] = {}

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[_K]:
        slots = self._slots
        return iter([key for slot in sorted(slots) for key in reversed(slots[slot])])

    def add(self, key: _K) -> None:
        if (self._size + 1) * LOAD_FACTOR > self._capacity:
            self._double()
        slot = self._slots.setdefault(self._slot(key), [])
        if key not in slot:
            slot.append(key)
            self._size += 1

    def discard(self, key: _K) -> None:
        slot = self._slots.get(self._slot(key), [])
        if key in slot:
            slot.remove(key)
            self._size -= 1

    def put_back(self, keys: list[_K]) -> None:
        """Keys that were removed or replaced, in this order, come back by a revert to a snapshot.

        The snapshot kept them in a small table of the same kind, and yields them in its order.
        """
        kept = TimelineKeys(self._hash)
        for key in keys:
            kept.add(key)
            self.discard(key)
        for slot in sorted(kept._slots):
            for key in kept._slots[slot]:
                self.add(key)

    def _slot(self, key: _K) -> int:
        product = to_int32(self._hash(key)) * -7046029254386353131 & (1 << 64) - 1
        return product >> (65 - self._capacity.bit_length())

    def _double(self) -> None:
        keys = [key for slot in sorted(self._slots) for key in self._slots[slot]]
        self._capacity *= 2
        self._slots = {}
        for key in keys:
            self._slots.setdefault(self._slot(key), []).append(key)


def scala_213_order_of_map(
    partitions: list[TopicPartition], built_from: int
) -> list[TopicPartition]:
    """Partitions left of an immutable Map that was built in order from ``built_from`` of them.

    Up to four keys stay as they came, more go into a trie, and stay in it when some are left out.
    """
    if built_from <= _SMALL_MAP:
        return partitions
    return trie_order((topic_partition_hash(each), each) for each in partitions)


def scala_213_order_of_commit(
    partitions: list[TopicPartition], built_from: int
) -> list[TopicPartition]:
    """The same of a mutable HashMap of topic id partitions (with the zero id), made immutable."""
    hashed = [(31 * 31 + topic_partition_hash(each), each) for each in partitions]
    return _table_then_map(hashed, built_from)


def scala_213_order_of_offsets(partitions: list[TopicPartition]) -> list[TopicPartition]:
    """A mutable HashMap of topic partitions, made immutable."""
    hashed = [(topic_partition_hash(each), each) for each in partitions]
    return _table_then_map(hashed, len(hashed))


def _table_then_map(
    entries: list[tuple[int, TopicPartition]], built_from: int
) -> list[TopicPartition]:
    if built_from > _SMALL_MAP:
        return trie_order(entries)

    def place(entry: tuple[int, TopicPartition]) -> tuple[int, int]:
        code = entry[0] & _MASK32
        spread = code ^ code >> 16
        return spread & (FIRST_CAPACITY - 1), to_int32(spread)

    return [partition for _, partition in sorted(entries, key=place)]
