"""Hash codes as Java and Scala compute them, and the partition that holds a group.

The partition of a group in `__consumer_offsets` follows from ``String.hashCode``.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from functools import lru_cache

TopicPartition = tuple[str, int]

MASK32 = 0xFFFFFFFF


def to_int32(value: int) -> int:
    """The value as Java's int would wrap it."""
    return (value & MASK32 ^ 0x80000000) - 0x80000000


def string_hash(text: str) -> int:
    """``String.hashCode``: over UTF-16 units, as a signed int32."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = 31 * code + (high << 8 | low) & MASK32
    return to_int32(code)


def spread(code: int) -> int:
    """Fold the upper half into the hash code, as uint32; Java and Scala 2.13 place keys by it."""
    code &= MASK32
    return code ^ code >> 16


@lru_cache(maxsize=1 << 16)
def spread_hash(text: str) -> int:
    """``spread`` of the string's hash code; cached, as a Java String caches its hash code."""
    return spread(string_hash(text))


def topic_partition_hash(partition: TopicPartition) -> int:
    """``TopicPartition.hashCode``, as uint32."""
    return ((31 + partition[1]) * 31 + string_hash(partition[0])) & MASK32


def topic_id_partition_hash(partition: TopicPartition) -> int:
    """``TopicIdPartition.hashCode`` with the zero topic id."""
    return 31 * 31 + topic_partition_hash(partition)


def case_class_hash(partition: TopicPartition) -> int:
    """The hash code of 0.9's TopicAndPartition, a Scala case class:

    The MurmurHash3 of both fields.
    """
    code = 0xCAFEBABE
    for data in (string_hash(partition[0]), partition[1]):
        mixed = data * 0xCC9E2D51 & MASK32
        mixed = (mixed << 15 | mixed >> 17) & MASK32
        code ^= mixed * 0x1B873593 & MASK32
        code = (code << 13 | code >> 19) & MASK32
        code = (code * 5 + 0xE6546B64) & MASK32
    code ^= 2
    code = (code ^ code >> 16) * 0x85EBCA6B & MASK32
    code = (code ^ code >> 13) * 0xC2B2AE35 & MASK32
    return code ^ code >> 16


def utils_abs(value: int) -> int:
    """Kafka's ``Utils.abs``: 0 for the int32 that has no positive counterpart."""
    return 0 if value == -(2**31) else abs(value)


def partition_for(group_id: str, partitions: int = 50) -> int:
    """The partition of `__consumer_offsets` that holds a group.

    ``partitions``: offsets.topic.num.partitions.
    """
    return utils_abs(string_hash(group_id)) % partitions


@lru_cache(maxsize=1 << 16)
def uuid_halves(text: str) -> tuple[int, int]:
    """The most and the least significant bits, as uint64, of a topic id in Kafka's text form, 22
    characters of base64."""
    data = urlsafe_b64decode(text + "==")
    return int.from_bytes(data[:8], "big"), int.from_bytes(data[8:], "big")


def uuid_hash(text: str) -> int:
    """``Uuid.hashCode`` of a topic id in Kafka's text form."""
    high, low = uuid_halves(text)
    folded = high ^ low
    return to_int32(folded >> 32 ^ folded)


def record_hash(first: int, second: int) -> int:
    """The hash code of a Java record with two fields, from theirs."""
    return to_int32(31 * first + second)
