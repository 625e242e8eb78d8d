"""Scala's hash maps: the order of their keys in Scala 2.11, 2.12 and 2.13.

Functions named ``scala_..._order_of_...`` give the order in which one version of Kafka writes the
records of a commit, expires offsets or lists members.  ``built_from`` is the number of keys that
the map was built from, before some were left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from coordinator_core.jvm.hash_codes import (
    MASK32,
    TopicPartition,
    case_class_hash,
    spread,
    spread_hash,
    string_hash,
    to_int32,
    topic_id_partition_hash,
    topic_partition_hash,
)
from coordinator_core.jvm.java_maps import FIRST_CAPACITY, LOAD_FACTOR, HashMapKeys

_K = TypeVar("_K")
_SMALL_MAP = 4  # Immutable maps of up to four keys keep the order of insertion.


# -- mutable.HashMap -----------------------------------------------------------------------------


class ScalaHashMapKeys(HashMapKeys):
    """Keys of Scala 2.13's mutable.HashMap.

    Bins are in order of hash; the table doubles when the 12th, 24th, ... key is put, even if the
    map already has that key.
    """

    def add(self, key: str) -> None:
        if len(self._hashes) + 1 >= int(self._capacity * LOAD_FACTOR):
            self._capacity *= 2
        if key not in self._hashes:
            self._hashes[key] = spread_hash(key)

    def __iter__(self) -> Iterator[str]:
        mask = self._capacity - 1
        place = {key: (code & mask, to_int32(code)) for key, code in self._hashes.items()}
        return iter(sorted(place, key=lambda key: place[key]))


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
        self._hashes[key] = _byteswap32(code & MASK32)
        self._bin(key).insert(0, key)
        if len(self._hashes) > self._capacity * LOAD_FACTOR:
            self._double()

    def discard(self, key: _K) -> None:
        if key in self._hashes:
            self._bin(key).remove(key)
            del self._hashes[key]

    def _bin(self, key: _K) -> list[_K]:
        # The hash is rotated by the bit count of the first table's size less one: four.
        rotated = self._hashes[key] >> 4 | self._hashes[key] << 28 & MASK32
        return self._bins[rotated >> (32 - (self._capacity - 1).bit_length())]

    def _double(self) -> None:
        keys = list(self)
        self._capacity *= 2
        self._bins = [[] for _ in range(self._capacity)]
        for key in keys:
            self._bin(key).insert(0, key)


class Scala212Keys:
    """Strings in a Scala212Table."""

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
    code = code * 0x9E3775CD & MASK32
    code = int.from_bytes(code.to_bytes(4, "big"), "little")
    return code * 0x9E3775CD & MASK32


# -- immutable.HashMap, a trie -------------------------------------------------------------------


def _trie_order_213(hashed: Iterable[tuple[int, _K]]) -> list[_K]:
    """Scala 2.13: by five bits of the hash, the single keys of a node before its sub-nodes."""
    return _singles_first([(_improve(code), key) for code, key in hashed], 0)


def _singles_first(entries: list[tuple[int, _K]], shift: int) -> list[_K]:
    if len(entries) <= 1 or shift > 30:
        return [key for _, key in entries]
    nodes = _nodes(entries, shift)
    singles = [node[0][1] for node in nodes if len(node) == 1]
    return singles + [
        key for node in nodes if len(node) > 1 for key in _singles_first(node, shift + 5)
    ]


def _trie_order_212(hashed: Iterable[tuple[int, _K]]) -> list[_K]:
    """Scala 2.12: all slots of a node in turn, whether a key or a sub-node."""
    return _slots_in_turn([(_improve(code), key) for code, key in hashed], 0)


def _slots_in_turn(entries: list[tuple[int, _K]], shift: int) -> list[_K]:
    if len(entries) <= 1 or shift > 30:
        return [key for _, key in entries]
    return [key for node in _nodes(entries, shift) for key in _slots_in_turn(node, shift + 5)]


def _nodes(entries: list[tuple[int, _K]], shift: int) -> list[list[tuple[int, _K]]]:
    """Entries that share five bits of the hash, in the order of those bits."""
    slots: dict[int, list[tuple[int, _K]]] = {}
    for entry in entries:
        slots.setdefault(entry[0] >> shift & 31, []).append(entry)
    return [slots[slot] for slot in sorted(slots)]


def _improve(code: int) -> int:
    code &= MASK32
    code = (code + ~(code << 9)) & MASK32
    code ^= code >> 14
    code = (code + (code << 4)) & MASK32
    return code ^ (code >> 10)


# -- orders of strings ---------------------------------------------------------------------------


def scala_213_order_of_group_by(keys: Iterable[str]) -> list[str]:
    """Keys of the map that groupBy makes in Scala 2.13."""
    return _trie_order_213((string_hash(key), key) for key in keys)


def scala_212_order_of_group_by(keys: Iterable[str]) -> list[str]:
    """Keys of the map that groupBy makes in Scala 2.12; up to four keys are in the order of
    mutable.HashMap.
    """
    return list(Scala212Keys(keys))


def scala_212_order_of_joined(member_ids: list[str]) -> list[str]:
    """Up to 2.2 the leader received an immutable copy of the members' map."""
    copied = list(Scala212Keys(member_ids))
    if len(copied) <= _SMALL_MAP:
        return copied
    return _trie_order_212((string_hash(each), each) for each in copied)


# -- orders of partitions ------------------------------------------------------------------------


def scala_213_order_of_map(
    partitions: list[TopicPartition], built_from: int
) -> list[TopicPartition]:
    """Partitions left of an immutable Map.

    Up to four keys keep the order of insertion.  More keys go into a trie, and stay in it when some
    keys are removed.
    """
    if built_from <= _SMALL_MAP:
        return partitions
    return _trie_order_213((topic_partition_hash(each), each) for each in partitions)


def scala_213_order_of_commit(
    partitions: list[TopicPartition], built_from: int
) -> list[TopicPartition]:
    """A mutable HashMap of topic id partitions (with the zero id), converted to immutable."""
    hashed = [(topic_id_partition_hash(each), each) for each in partitions]
    return _table_then_map(hashed, built_from)


def scala_213_order_of_offsets(partitions: list[TopicPartition]) -> list[TopicPartition]:
    """A mutable HashMap of topic partitions, converted to immutable."""
    hashed = [(topic_partition_hash(each), each) for each in partitions]
    return _table_then_map(hashed, len(hashed))


def _table_then_map(
    entries: list[tuple[int, TopicPartition]], built_from: int
) -> list[TopicPartition]:
    if built_from > _SMALL_MAP:
        return _trie_order_213(entries)

    def place(entry: tuple[int, TopicPartition]) -> tuple[int, int]:
        code = spread(entry[0])
        return code & (FIRST_CAPACITY - 1), to_int32(code)

    return [partition for _, partition in sorted(entries, key=place)]


def scala_212_order_of_map(
    partitions: list[TopicPartition], built_from: int
) -> list[TopicPartition]:
    """Partitions left of an immutable Map in Scala 2.12."""
    if built_from <= _SMALL_MAP:
        return partitions
    return _trie_order_212((topic_partition_hash(each), each) for each in partitions)


def scala_212_order_of_request(
    partitions: list[TopicPartition], built_from: int
) -> list[TopicPartition]:
    """Up to 2.2 a request had a Java HashMap of partitions, converted to a Scala map."""
    bins = {each: spread(topic_partition_hash(each)) & 15 for each in partitions}
    return scala_212_order_of_map(sorted(bins, key=bins.__getitem__), built_from)


def scala_211_order_of_case_classes(
    partitions: list[TopicPartition], built_from: int
) -> list[TopicPartition]:
    """In 0.9.0 an immutable Map had Scala's own TopicAndPartition as keys, with another hash."""
    if built_from <= _SMALL_MAP:
        return partitions
    return _trie_order_212((case_class_hash(each), each) for each in partitions)
