"""The cluster's topics as the coordinator sees them: ids, partitions, racks, and their hashes.

A group stores the hash of the topics that it subscribes to, so that the coordinator sees any change
of these topics. Source: org.apache.kafka.coordinator.group.Utils, computeTopicHash and
computeGroupHash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import Struct
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from coordinator_core.jvm.hash_codes import uuid_halves

_TWO_LONGS = Struct("<QQ").pack
_INT = Struct("<i").pack
_LONG = Struct("<Q").pack
_MAGIC_BYTE = b"\x00"

Racks = tuple[tuple[str, ...], ...]  # racks of the replicas, by partition


class TopicImage(NamedTuple):
    """``topic_id`` is base64 of 22 characters, as in records. ``racks`` is () if no
    broker has one.
    """

    name: str
    topic_id: str
    partitions: int
    racks: Racks = ()


class MetadataImage:
    """The topics at one moment; immutable. ``version`` is the number of changes so far."""

    __slots__ = ("_hashes", "by_id", "topics", "version")

    def __init__(self, topics: Mapping[str, TopicImage], version: int = 0) -> None:
        self.topics = dict(topics)
        self.by_id = {topic.topic_id: topic for topic in topics.values()}
        self.version = version
        self._hashes: dict[str, int] = {}

    def changed(self, topics: Iterable[TopicImage], deleted: Iterable[str]) -> MetadataImage:
        """The image after topics were deleted, and then created or grown."""
        gone = set(deleted)
        left = {name: topic for name, topic in self.topics.items() if name not in gone}
        return MetadataImage(left | {topic.name: topic for topic in topics}, self.version + 1)

    def topic_hash(self, name: str) -> int:
        """The hash of a topic, as uint64; 0 if it does not exist."""
        topic = self.topics.get(name)
        if topic is None:
            return 0
        value = self._hashes.get(name)
        if value is None:
            value = self._hashes[name] = xxh3_64_intdigest(_topic_bytes(topic))
        return value

    def group_hash(self, names: Iterable[str]) -> int:
        """The hash of the existing topics, as int64; 0 without any."""
        hashes = [self.topic_hash(name) for name in sorted(names) if name in self.topics]
        if not hashes:
            return 0
        value = xxh3_64_intdigest(b"".join([_LONG(each) for each in hashes]))
        return value - (1 << 64) if value >> 63 else value


NO_TOPICS = MetadataImage({})


def _topic_bytes(topic: TopicImage) -> bytes:
    high, low = uuid_halves(topic.topic_id)
    out = [_MAGIC_BYTE, _TWO_LONGS(high, low), _string(topic.name), _INT(topic.partitions)]
    for partition in range(topic.partitions):
        out.append(_INT(partition))
        for rack in sorted(topic.racks[partition] if partition < len(topic.racks) else ()):
            out += [_INT(len(rack)), _string(rack)]
    return b"".join(out)


def _string(text: str) -> bytes:
    """As hash4j's putString: UTF-16 units, then their number."""
    units = text.encode("utf-16-le")
    return units + _INT(len(units) // 2)
