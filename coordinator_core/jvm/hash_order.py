"""In which order Scala's maps and Kafka's own yield their keys; Java's are in java.py.

Records, join answers, new leaders and timers of one deadline follow the iteration order of a hash
map of member ids; the records of one commit and its tombstones that of a map of partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from coordinator_core.jvm.java import (
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


class Scala212Table(Generic[_K]):
    """Keys of Scala 2.12's (and 2.11's) mutable.HashMap: bins downwards, newest first."""

    __slots__ = ("_bins", "_capacity", "_hashes")

    def __init__(self, hashed: Iterable[tuple[int, _K]] = ()) -> None:
        self._hashes: dict[_K, int] = {}
        self._capacity = FIRST_CAPACITY
        self._bins: list[list[_K]] = [[] for _ in range(FIRST_CAPACITY)]
        for code, key in hashed:
            self.add(code, key)

    def __iter__(self) -> Iterator[_K]:
        return iter([key for bin_ in reversed(self._bins) for key in bin_])

    def add(self, code: int, key: _K) -> None:
        if key in self._hashes:
            return
        self._hashes[key] = _byteswap32(code & _MASK32)
        self._bin(key).insert(0, key)
        if len(self._hashes) > self._capacity * LOAD_FACTOR:
            self._double()

    def discard(self, key: _K) -> None:
        if key in self._hashes:
            self._bin(key).remove(key)
            del self._hashes[key]

    def _bin(self, key: _K) -> list[_K]:
        # The hash is rotated by the bit count of the first table's size less one: four.
        rotated = self._hashes[key] >> 4 | self._hashes[key] << 28 & _MASK32
        return self._bins[rotated >> (32 - (self._capacity - 1).bit_length())]

    def _double(self) -> None:
        keys = list(self)
        self._capacity *= 2
        self._bins = [[] for _ in range(self._capacity)]
        for key in keys:
            self._bin(key).insert(0, key)


class Scala212Keys:
    """Strings in such a table."""

    __slots__ = ("_table",)

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._table = Scala212Table((string_hash(key), key) for key in keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def add(self, key: str) -> None:
        self._table.add(string_hash(key), key)

    def discard(self, key: str) -> None:
        self._table.discard(key)


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

    __slots__ = ("_capacity", "_hash", "_kept", "_kept_at", "_size", "_slots")

    def __init__(self, hash_of: Callable[[_K], int]) -> None:
        self._hash = hash_of
        self._kept: TimelineKeys[_K] | None = None
        self._kept_at = 0
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

    def put_back(self, keys: list[_K], snapshot: int) -> None:
        """Keys that were removed or replaced, in this order, come back by a revert to a snapshot.

        The snapshot kept them in a small table of the same kind, and yields them in its order.  It
        goes on keeping what it kept before.
        """
        if self._kept is None or self._kept_at != snapshot:
            self._kept, self._kept_at = TimelineKeys(self._hash), snapshot
        kept = self._kept
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


def scala_212_order(keys: Iterable[str]) -> list[str]:
    """Keys of what groupBy makes in Scala 2.12, of up to four: those of a mutable HashMap."""
    return list(Scala212Keys(keys))


def scala_212_order_of_map(
    partitions: list[TopicPartition], built_from: int
) -> list[TopicPartition]:
    """An immutable Map in Scala 2.12: as in 2.13, but its trie yields all slots in turn."""
    if built_from <= _SMALL_MAP:
        return partitions
    return _trie_in_turn((topic_partition_hash(each), each) for each in partitions)


def scala_212_order_of_request(
    partitions: list[TopicPartition], built_from: int
) -> list[TopicPartition]:
    """Up to 2.1 requests had a Java HashMap of partitions, before it became Scala's."""
    places = {each: topic_partition_hash(each) for each in partitions}
    in_java = sorted(places, key=lambda each: (places[each] ^ places[each] >> 16) & 15)
    return scala_212_order_of_map(in_java, built_from)


def scala_212_order_of_joined(member_ids: list[str]) -> list[str]:
    """Up to 2.2 the leader was sent a copy of the members' map, made immutable."""
    copied = list(Scala212Keys(member_ids))
    if len(copied) <= _SMALL_MAP:
        return copied
    return _trie_in_turn((string_hash(each), each) for each in copied)


def as_in_the_group(member_ids: list[str]) -> list[str]:
    return member_ids


def _trie_in_turn(hashed: Iterable[tuple[int, _K]]) -> list[_K]:
    return _slots_in_turn([(_improve(code), key) for code, key in hashed], 0)


def _slots_in_turn(entries: list[tuple[int, _K]], shift: int) -> list[_K]:
    if len(entries) <= 1 or shift > 30:
        return [key for _, key in entries]
    slots: dict[int, list[tuple[int, _K]]] = {}
    for entry in entries:
        slots.setdefault(entry[0] >> shift & 31, []).append(entry)
    return [key for slot in sorted(slots) for key in _slots_in_turn(slots[slot], shift + 5)]


def scala_211_order_of_case_classes(
    partitions: list[TopicPartition], built_from: int
) -> list[TopicPartition]:
    """In 0.9 an immutable Map had Scala's own TopicAndPartition as keys, which hashes otherwise."""
    if built_from <= _SMALL_MAP:
        return partitions
    return _trie_in_turn((_case_class_hash(each), each) for each in partitions)


def _case_class_hash(partition: TopicPartition) -> int:
    """The hash code of a Scala case class of a string and an int: MurmurHash3 of both."""
    code = 0xCAFEBABE
    for data in (string_hash(partition[0]), partition[1]):
        mixed = data * 0xCC9E2D51 & _MASK32
        mixed = (mixed << 15 | mixed >> 17) & _MASK32
        code ^= mixed * 0x1B873593 & _MASK32
        code = (code << 13 | code >> 19) & _MASK32
        code = (code * 5 + 0xE6546B64) & _MASK32
    code ^= 2
    code = (code ^ code >> 16) * 0x85EBCA6B & _MASK32
    code = (code ^ code >> 13) * 0xC2B2AE35 & _MASK32
    return code ^ code >> 16
