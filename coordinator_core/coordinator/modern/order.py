"""Orders of the Java coordinator's hash maps that records show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set
from functools import lru_cache

from coordinator_core.jvm.hash_codes import spread, uuid_halves, uuid_hash
from coordinator_core.jvm.hash_tables import capacity_of_copy
from coordinator_core.jvm.java_maps import FIRST_CAPACITY, LOAD_FACTOR


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


def copied_partitions(numbers: Collection[int]) -> Set[int]:
    """The partitions in the iteration order of a HashSet into which they are copied in order."""
    return dict.fromkeys(in_order_of_ints(numbers, capacity_of_copy(len(numbers)))).keys()


def in_order_of_ids(topic_ids: Collection[str], capacity: int = FIRST_CAPACITY) -> list[str]:
    """Topic ids as a HashMap of this initial capacity iterates."""
    if len(topic_ids) < 2:
        return list(topic_ids)
    while int(capacity * LOAD_FACTOR) < len(topic_ids):
        capacity *= 2
    return in_order_of_table(topic_ids, capacity)


def in_order_of_table(topic_ids: Iterable[str], capacity: int) -> list[str]:
    """Topic ids as a HashMap of exactly this capacity iterates."""
    mask = capacity - 1
    return sorted(topic_ids, key=lambda topic_id: _spread(topic_id) & mask)


def in_order_of_copied_ids(topic_ids: Collection[str]) -> list[str]:
    """Topic ids as a HashSet iterates that is made as a copy of another one."""
    return in_order_of_ids(topic_ids, capacity_of_copy(len(topic_ids)))


def in_order_of_uuids(topic_ids: Collection[str]) -> list[str]:
    """Topic ids as ``Uuid.compareTo`` orders them: by two signed numbers."""
    return sorted(topic_ids, key=_signed_halves)


def _signed_halves(topic_id: str) -> tuple[int, int]:
    high, low = uuid_halves(topic_id)
    return high - (high >> 63 << 64), low - (low >> 63 << 64)
