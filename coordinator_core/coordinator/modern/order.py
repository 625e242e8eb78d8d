"""Orders of the Java coordinator's hash maps that records show."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache

from coordinator_core.coordinator.metadata_image import uuid_hash
from coordinator_core.jvm.hash_codes import spread
from coordinator_core.jvm.java_maps import FIRST_CAPACITY, table_capacity


@lru_cache(maxsize=1 << 16)
def _spread(topic_id: str) -> int:
    return spread(uuid_hash(topic_id))


def in_order_of_ints(numbers: Iterable[int], capacity: int = FIRST_CAPACITY) -> list[int]:
    """Partitions as a HashMap of this initial capacity iterates, put in the order given."""
    in_order = list(numbers)
    while len(in_order) * 4 > capacity * 3:
        capacity *= 2
    mask = capacity - 1
    return sorted(in_order, key=lambda number: number & mask)


def capacity_of_copy(entries: int) -> int:
    """The capacity of a HashMap that is made as a copy of one with so many entries."""
    capacity = 1
    while capacity < entries / 0.75 + 1:
        capacity *= 2
    return capacity


def in_order_of_ids(topic_ids: Collection[str]) -> list[str]:
    """Topic ids as a HashMap of them iterates."""
    if len(topic_ids) < 2:
        return list(topic_ids)
    mask = table_capacity(len(topic_ids)) - 1
    return sorted(topic_ids, key=lambda topic_id: _spread(topic_id) & mask)
