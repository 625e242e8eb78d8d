"""The orders Java gives to names: a String's hash, a HashMap's iteration, String.compareTo.

Kafka's assignors walk hash maps of member ids and topics, so where two answers are equally good
the bucket of a name decides. Sources: the specified ``String.hashCode`` and the published bucket
rule of ``java.util.HashMap`` (spread ``h ^ h >>> 16``, power of two capacity, load factor 3/4).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

_DEFAULT_CAPACITY = 16


def java_hash(name: str) -> int:
    """``String.hashCode`` as an unsigned 32 bit number, over UTF-16 code units."""
    hashed = 0
    units: Iterable[int]
    if name.isascii():
        units = name.encode()
    else:
        utf16 = name.encode("utf-16-be", "surrogatepass")
        units = (high << 8 | low for high, low in zip(utf16[::2], utf16[1::2], strict=True))
    for unit in units:
        hashed = hashed * 31 + unit
    return hashed & 0xFFFFFFFF


@lru_cache(maxsize=1 << 16)
def spread_hash(name: str) -> int:
    """What HashMap masks to find a bucket; cached, as a Java String caches its own hash."""
    return spread(java_hash(name))


def spread(hashed: int) -> int:
    return hashed ^ hashed >> 16


def table_capacity(entries: int) -> int:
    """Buckets of a HashMap that grew from its default by inserting ``entries`` keys."""
    capacity = _DEFAULT_CAPACITY
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
    buckets = [spread_hash(name) & mask for name in keys]
    return [keys[i] for i in sorted(range(len(keys)), key=buckets.__getitem__)]


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
