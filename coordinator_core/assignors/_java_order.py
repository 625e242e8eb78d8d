"""The orders Java gives to names: a String's hash, a HashMap's iteration, String.compareTo.

Kafka's assignors walk hash maps of member ids and topics, so where two answers are equally good
the bucket of a name decides. Here whole maps are put in order at once; for maps that live on see
``coordinator_core.jvm.java``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache

from coordinator_core.jvm import java


@lru_cache(maxsize=1 << 16)
def _spread_hash(name: str) -> int:
    """Cached, as a Java String caches its own hash."""
    return java.spread_hash(name)


def table_capacity(entries: int) -> int:
    """Buckets of a HashMap that grew from its default by inserting ``entries`` keys."""
    capacity = java.FIRST_CAPACITY
    while entries * 4 > capacity * 3:
        capacity *= 2
    return capacity


def hash_order(names: Iterable[str], capacity: int | None = None) -> list[str]:
    """Distinct ``names``, inserted in this order, as a HashMap iterates over them.

    Within a bucket insertion order holds. Bins of 8 and more, which Java turns into trees, are
    taken as lists.
    """
    keys = list(dict.fromkeys(names))
    mask = (capacity or table_capacity(len(keys))) - 1
    buckets = [_spread_hash(name) & mask for name in keys]
    return [keys[i] for i in sorted(range(len(keys)), key=buckets.__getitem__)]


def hash_order_of_all(names: Collection[str]) -> list[str] | None:
    """The same whatever order they were inserted in; None if two share a bucket."""
    mask = table_capacity(len(names)) - 1
    by_bucket = {_spread_hash(name) & mask: name for name in names}
    if len(by_bucket) < len(names):
        return None
    return [by_bucket[bucket] for bucket in sorted(by_bucket)]


def java_sorted(names: Iterable[str]) -> list[str]:
    """Sorted as ``String.compareTo`` does: by UTF-16 code unit, where Python goes by code point."""
    ordered = list(names)
    if "".join(ordered).isascii():
        ordered.sort()
    else:
        ordered.sort(key=utf16)
    return ordered


def utf16(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")
