"""``java.util.HashMap`` and ``HashSet`` of keys with any hash code, with values, in Java's order.

``java_maps`` has the order of strings alone, faster.  Bins that Java turns into trees are not
modelled.  ``PriorityQueue`` is here, too: which of several equal elements it yields first follows
from its heap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from coordinator_core.jvm.hash_codes import spread
from coordinator_core.jvm.java_maps import FIRST_CAPACITY

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")


def table_size_for(requested: int) -> int:
    """The capacity of ``new HashMap(requested)``: the next power of two."""
    return 1 << max(requested - 1, 0).bit_length()


def capacity_of_copy(size: int) -> int:
    """The capacity of ``new HashSet(collection)``."""
    return table_size_for(max(int(size / 0.75) + 1, FIRST_CAPACITY))


def capacity_of_map_copy(size: int) -> int:
    """The capacity of ``new HashMap(map)``."""
    return table_size_for(int(size / 0.75 + 1)) if size else FIRST_CAPACITY


class HashTable(Generic[K, V]):
    """A HashMap.  ``hash_of`` is the hash code of a key; ``capacity`` is the capacity of the first
    table.
    """

    __slots__ = ("_capacity", "_first", "_hash_of", "_last", "_order", "_places", "_values")

    def __init__(self, hash_of: Callable[[K], int], capacity: int = FIRST_CAPACITY) -> None:
        self._hash_of = hash_of
        self._capacity = capacity
        self._values: dict[K, V] = {}
        self._places: dict[K, tuple[int, int]] = {}  # key -> spread hash code, place in its bin
        self._first = self._last = 0
        self._order: list[K] | None = None

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def __getitem__(self, key: K) -> V:
        return self._values[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())

    def get(self, key: K) -> V | None:
        return self._values.get(key)

    def keys(self) -> list[K]:
        """The keys as they are now; the table may change while the caller iterates."""
        if self._order is None:
            mask, places = self._capacity - 1, self._places
            self._order = sorted(places, key=lambda key: (places[key][0] & mask, places[key][1]))
        return self._order

    def values(self) -> list[V]:
        return [self._values[key] for key in self.keys()]

    def items(self) -> list[tuple[K, V]]:
        return [(key, self._values[key]) for key in self.keys()]

    def put(self, key: K, value: V) -> None:
        if key not in self._values:
            self._last += 1
            self._place(key, self._last)
            if len(self._values) + 1 > self._capacity * 0.75:
                self._capacity *= 2
        self._values[key] = value

    def compute_if_absent(self, key: K, make: Callable[[], V]) -> V:
        """The value of the key, made if absent: at the head of its bin, after the table grew."""
        if len(self._values) > self._capacity * 0.75:
            self._capacity *= 2
            self._order = None
        if key not in self._values:
            self._first -= 1
            self._place(key, self._first)
            self._values[key] = make()
        return self._values[key]

    def remove(self, key: K) -> bool:
        """Returns whether the key was there."""
        if key not in self._values:
            return False
        del self._values[key], self._places[key]
        self._order = None
        return True

    def _place(self, key: K, place: int) -> None:
        self._places[key] = spread(self._hash_of(key)), place
        self._order = None


class IntSet(HashTable[int, None]):
    """A HashSet of Integers, filled in the given order."""

    def __init__(self, values: Iterable[int] = (), capacity: int = FIRST_CAPACITY) -> None:
        super().__init__(int, capacity)
        for value in values:
            self.put(value, None)

    def add(self, value: int) -> None:
        self.put(value, None)


def copied_ints(values: Iterable[int]) -> IntSet:
    """``new HashSet(values)``."""
    ints = [*values]
    return IntSet(ints, capacity_of_copy(len(ints)))


class PriorityQueue(Generic[T]):
    """``java.util.PriorityQueue``; ``key`` says what elements are compared by."""

    __slots__ = ("_heap", "_key")

    def __init__(self, key: Callable[[T], float], elements: Iterable[T] = ()) -> None:
        self._key = key
        self._heap: list[T] = []
        for element in elements:
            self.add(element)

    def __bool__(self) -> bool:
        return bool(self._heap)

    def add(self, element: T) -> None:
        heap, place, key = self._heap, len(self._heap), self._key(element)
        heap.append(element)
        while place > 0:
            parent = (place - 1) >> 1
            if key >= self._key(heap[parent]):
                break
            heap[place] = heap[parent]
            place = parent
        heap[place] = element

    def poll(self) -> T | None:
        """The least element, removed. Returns None from an empty queue."""
        heap = self._heap
        if not heap:
            return None
        least, last = heap[0], heap.pop()
        if heap:
            self._sift_down(last)
        return least

    def _sift_down(self, element: T) -> None:
        heap, place, key = self._heap, 0, self._key(element)
        half = len(heap) >> 1
        while place < half:
            child = 2 * place + 1
            if child + 1 < len(heap) and self._key(heap[child]) > self._key(heap[child + 1]):
                child += 1
            if key <= self._key(heap[child]):
                break
            heap[place] = heap[child]
            place = child
        heap[place] = element
