"""A group's committed offsets, in the order in which the era's maps iterate over partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from coordinator_core.jvm.hash_codes import string_hash, topic_partition_hash
from coordinator_core.jvm.scala_maps import (
    Scala212Table,
    scala_212_order_of_map,
    scala_213_order_of_offsets,
)
from coordinator_core.jvm.timeline_maps import TimelineKeys
from coordinator_core.protocol.messages import TopicPartition


class CommittedOffset:
    __slots__ = ("commit_timestamp_ms", "expire_timestamp_ms", "metadata", "offset", "topic_id")

    def __init__(
        self, offset: int, metadata: str, commit_timestamp_ms: int, expire_timestamp_ms: int | None
    ) -> None:
        self.offset = offset
        self.metadata = metadata
        self.commit_timestamp_ms = commit_timestamp_ms
        # expiry time of a commit with a retention (OffsetCommit versions 2 to 4)
        self.expire_timestamp_ms = expire_timestamp_ms
        self.topic_id: str | None = None  # None if the commit had no topic id (KIP-848)


class PartitionOrder(Protocol):
    """The keys of a hash map of partitions; its order depends on its history."""

    def add(self, partition: TopicPartition) -> None: ...

    def discard(self, partition: TopicPartition) -> None: ...

    def in_order(self) -> list[TopicPartition]: ...

    def in_order_of_some(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Partitions of the map, given in its order, in the order of the map they are copied to."""
        ...

    def revert_commit(self, partitions: list[TopicPartition], snapshot: int) -> None:
        """Apply a commit and revert it: the map may have grown."""

    def revert_removal(self, partitions: list[TopicPartition], snapshot: int) -> None:
        """Apply a removal and revert it: the order may have changed."""


class ScalaPartitions:
    """Scala 2.13's mutable HashMap, copied to an immutable one for iteration."""

    __slots__ = ("_partitions",)

    def __init__(self) -> None:
        self._partitions: dict[TopicPartition, None] = {}

    def add(self, partition: TopicPartition) -> None:
        self._partitions[partition] = None

    def discard(self, partition: TopicPartition) -> None:
        self._partitions.pop(partition, None)

    def revert_commit(self, partitions: list[TopicPartition], snapshot: int) -> None:
        """This has no effect: up to 3.9 a commit is applied once it is in the log."""

    def revert_removal(self, partitions: list[TopicPartition], snapshot: int) -> None:
        """This has no effect: up to 3.9 a removal is never reverted."""

    def in_order(self) -> list[TopicPartition]:
        return scala_213_order_of_offsets(list(self._partitions))

    def in_order_of_some(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        return scala_213_order_of_offsets(partitions)


class Scala212Partitions(ScalaPartitions):
    """Scala 2.12's mutable HashMap, copied to an immutable one for iteration."""

    __slots__ = ("_table",)

    copies = 2  # Kafka copies the map twice, in filter and in map.

    def __init__(self) -> None:
        super().__init__()
        self._table: Scala212Table[TopicPartition] = Scala212Table()

    def add(self, partition: TopicPartition) -> None:
        self._table.add(topic_partition_hash(partition), partition)

    def discard(self, partition: TopicPartition) -> None:
        self._table.discard(partition)

    def in_order(self) -> list[TopicPartition]:
        partitions = list(self._table)
        return scala_212_order_of_map(partitions, len(partitions))

    def in_order_of_some(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        chosen = set(partitions)
        in_order = iter([each for each in self._table if each in chosen])
        for _ in range(self.copies):
            in_order = iter(Scala212Table((topic_partition_hash(each), each) for each in in_order))
        copied = list(in_order)
        return scala_212_order_of_map(copied, len(copied))


class Scala212PartitionsBefore011(Scala212Partitions):
    """Before 0.11 the map step was missing: offsets had no position in the log."""

    __slots__ = ()

    copies = 1


class TimelinePartitions:
    """4.x: a TimelineHashMap of topics, each with a TimelineHashMap of partitions."""

    __slots__ = ("_partitions", "_topics")

    def __init__(self) -> None:
        self._topics: TimelineKeys[str] = TimelineKeys(string_hash)
        self._partitions: dict[str, TimelineKeys[int]] = {}

    def add(self, partition: TopicPartition) -> None:
        topic, number = partition
        if topic not in self._partitions:
            self._topics.add(topic)
            self._partitions[topic] = TimelineKeys(int)
        self._partitions[topic].add(number)

    def discard(self, partition: TopicPartition) -> None:
        topic, number = partition
        if topic in self._partitions:
            self._partitions[topic].discard(number)
            if not self._partitions[topic]:
                self._topics.discard(topic)
                del self._partitions[topic]

    def revert_commit(self, partitions: list[TopicPartition], snapshot: int) -> None:
        for topic, numbers in _by_topic(partitions).items():
            committed = self._partitions.get(topic)
            if committed is None:  # the commit added the topic's map, the revert removed it
                self._topics.add(topic)
                self._topics.discard(topic)
                continue
            replaced = [number for number in numbers if number in committed]
            for number in numbers:
                committed.add(number)
            for number in numbers:
                committed.discard(number)
            committed.put_back(replaced, snapshot)

    def revert_removal(self, partitions: list[TopicPartition], snapshot: int) -> None:
        emptied = []
        for topic, numbers in _by_topic(partitions).items():
            committed = self._partitions[topic]
            if len(numbers) == len(committed):
                emptied.append(topic)
            committed.put_back(numbers, snapshot)
        self._topics.put_back(emptied, snapshot)

    def in_order(self) -> list[TopicPartition]:
        return [(topic, number) for topic in self._topics for number in self._partitions[topic]]

    def in_order_of_some(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        return partitions


def _by_topic(partitions: list[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return topics


class OffsetStore:
    """Committed offsets by partition; ``pending`` offsets are not in the log yet."""

    __slots__ = ("_committed", "_order", "pending")

    def __init__(self, order: PartitionOrder) -> None:
        self._committed: dict[TopicPartition, CommittedOffset] = {}
        self._order = order
        self.pending: dict[TopicPartition, CommittedOffset] = {}

    def __len__(self) -> int:
        return len(self._committed)

    def __contains__(self, partition: TopicPartition) -> bool:
        return partition in self._committed

    def get(self, partition: TopicPartition) -> CommittedOffset | None:
        return self._committed.get(partition)

    def put(self, partition: TopicPartition, committed: CommittedOffset) -> None:
        self._committed[partition] = committed
        self._order.add(partition)

    def remove(self, partition: TopicPartition) -> None:
        del self._committed[partition]
        self._order.discard(partition)

    def revert_commit(self, partitions: list[TopicPartition], snapshot: int) -> None:
        self._order.revert_commit(partitions, snapshot)

    def revert_removal(self, partitions: list[TopicPartition], snapshot: int) -> None:
        self._order.revert_removal(partitions, snapshot)

    def in_order(self) -> list[tuple[TopicPartition, CommittedOffset]]:
        """Partitions and offsets in the order of the era's map."""
        return [(each, self._committed[each]) for each in self._order.in_order()]

    def in_order_of_removal(
        self, choose: Callable[[TopicPartition, CommittedOffset], bool]
    ) -> list[TopicPartition]:
        """Partitions for which ``choose`` is true, in the order of the map they are copied to."""
        chosen = [partition for partition, offset in self.in_order() if choose(partition, offset)]
        return self._order.in_order_of_some(chosen)
