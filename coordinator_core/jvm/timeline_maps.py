"""Kafka's TimelineHashMap (KIP-848): the order of its keys, also after reverts to a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from coordinator_core.jvm.hash_codes import to_int32
from coordinator_core.jvm.java_maps import LOAD_FACTOR

_K = TypeVar("_K")


class TimelineKeys(Generic[_K]):
    """Keys of a TimelineHashMap: slots of a multiplicative hash, newest first in a slot.

    The table never shrinks, and may grow when a key is put that it already has.
    """

    __slots__ = ("_capacity", "_hash", "_kept", "_kept_at", "_size", "_slots")

    def __init__(self, hash_of: Callable[[_K], int]) -> None:
        self._hash = hash_of
        self._kept: TimelineKeys[_K] | None = None  # keys that the latest snapshot keeps
        self._kept_at = 0
        self._capacity = 2
        self._size = 0
        self._slots: dict[int, list[_K]] = {}

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[_K]:
        slots = self._slots
        return iter([key for slot in sorted(slots) for key in reversed(slots[slot])])

    def __contains__(self, key: _K) -> bool:
        return key in self._slots.get(self._slot(key), ())

    def add(self, key: _K) -> None:
        if (self._size + 1) * LOAD_FACTOR > self._capacity:
            self._double()
        slot = self._slots.setdefault(self._slot(key), [])
        if key not in slot:
            slot.append(key)
            self._size += 1

    def with_key(self, key: _K) -> list[_K]:
        """The keys in order, with this one added if it is not there."""
        if key in self:
            return [*self]
        copy = TimelineKeys(self._hash)
        copy._capacity, copy._size = self._capacity, self._size
        copy._slots = {slot: [*keys] for slot, keys in self._slots.items()}
        copy.add(key)
        return [*copy]

    def discard(self, key: _K) -> None:
        slot = self._slots.get(self._slot(key), [])
        if key in slot:
            slot.remove(key)
            self._size -= 1

    def put_back(self, keys: list[_K], snapshot: int) -> None:
        """Restore keys that were removed or replaced, in this order, by a revert to a snapshot.

        The snapshot keeps such keys in a small table of the same kind and yields them in that
        table's order; keys from earlier reverts to the same snapshot are still in it.
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
