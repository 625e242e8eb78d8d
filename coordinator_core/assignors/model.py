"""Input and output of every assignor: topics, members with their claims, and lists of
partitions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, repeat
from typing import NamedTuple, Protocol

from coordinator_core.jvm.java_maps import hash_order_of_all
from coordinator_core.jvm.strings import java_sorted

TopicPartition = tuple[str, int]
Assignment = dict[str, list[TopicPartition]]
PartitionRacks = Sequence[Collection[str | None]]

NO_GENERATION = -1


class Member(NamedTuple):
    """One member's subscription as the leader holds it after decoding.

    ``owned`` is grouped by topic, in the order sent. ``generation`` belongs to the claims in
    ``owned``; ``field_generation`` is the subscription's own field (version 2 and later), with
    which Kafka compares *another* member's claim. Both are -1 if the member sent none.
    """

    member_id: str
    topics: Sequence[str]
    owned: Sequence[tuple[str, Sequence[int]]] = ()
    generation: int = NO_GENERATION
    field_generation: int = NO_GENERATION
    instance_id: str | None = None
    rack: str | None = None


class Topics:
    """Partition counts and replica racks by topic, with an integer code per partition.

    Codes number the partitions of all topics, in the order of topic names. ``start[topic] +
    partition``.  Clients treat a topic without partitions like a topic without metadata. ``racks``
    has the racks of each partition's replicas; None is a broker without a rack.
    """

    def __init__(
        self,
        partitions: Mapping[str, int],
        racks: Mapping[str, PartitionRacks | None] | None = None,
    ) -> None:
        self.partitions = {topic: count for topic, count in partitions.items() if count > 0}
        self.without_partitions = partitions.keys() - self.partitions.keys()
        self.racks = {topic: r for topic, r in (racks or {}).items() if r}
        self.names = java_sorted(self.partitions)
        self.sizes = [self.partitions[topic] for topic in self.names]
        starts = [0, *accumulate(self.sizes)]
        self.total = starts.pop()
        self.start = dict(zip(self.names, starts, strict=True))
        self._subset: tuple[frozenset[str], Topics] | None = None

    @cached_property
    def table(self) -> list[TopicPartition]:
        """(topic, partition) per code."""
        table: list[TopicPartition] = []
        for topic, count in zip(self.names, self.sizes, strict=True):
            table += zip(repeat(topic, count), range(count), strict=True)
        return table

    @cached_property
    def table_of(self) -> dict[str, tuple[TopicPartition, ...]]:
        """(topic, partition) of every partition, by topic."""
        ends = map(slice, self.start.values(), accumulate(self.sizes))
        return {topic: tuple(self.table[cut]) for topic, cut in zip(self.start, ends, strict=True)}

    @cached_property
    def code_ranges(self) -> list[range]:
        """Range of codes of every topic, in the order of ``names``."""
        return [
            range(start, start + count)
            for start, count in zip(self.start.values(), self.sizes, strict=True)
        ]

    @cached_property
    def all_codes(self) -> frozenset[int]:
        return frozenset(range(self.total))

    @cached_property
    def code_of(self) -> dict[str, dict[int, int]]:
        """Codes by topic and partition."""
        return {
            topic: dict(enumerate(codes))
            for topic, codes in zip(self.names, self.code_ranges, strict=True)
        }

    @cached_property
    def start_by_id(self) -> dict[str, int]:
        """Index in ``table_by_id`` of every topic's first partition."""
        starts = accumulate(self.partitions.values(), initial=0)
        return dict(zip(self.partitions, starts, strict=False))

    @cached_property
    def table_by_id(self) -> list[TopicPartition]:
        """(topic, partition) of all topics in the given order, which is the order of topic ids."""
        if self.names == list(self.partitions):
            return self.table
        starts = [(self.start[topic], count) for topic, count in self.partitions.items()]
        slices = (self.table[start : start + count] for start, count in starts)
        return [*chain.from_iterable(slices)]

    @cached_property
    def hash_order(self) -> list[str] | None:
        """Topics as a HashMap iterates, or None if that depends on the order of insertion."""
        return hash_order_of_all(self.names)

    @cached_property
    def topic_of(self) -> list[int]:
        """Index in ``names`` of the topic, per code."""
        return [index for index, count in enumerate(self.sizes) for _ in range(count)]

    @cached_property
    def partition_major(self) -> list[int]:
        """Sort key per code that orders by partition, then topic."""
        width = len(self.names)
        return [
            partition * width + index
            for index, count in enumerate(self.sizes)
            for partition in range(count)
        ]

    def only(self, subscribed: Collection[str]) -> Topics:
        """Only the subscribed topics; the last result is cached for the next generation."""
        if [*subscribed] == self.names:
            return self
        names = frozenset(subscribed)
        if names.issuperset(self.names):
            return self
        if self._subset is None or self._subset[0] != names:
            kept = {topic: n for topic, n in self.partitions.items() if topic in names}
            self._subset = names, Topics(kept, self.racks)
        return self._subset[1]


class Assignor(Protocol):
    """The signature of all assignors: it returns a list per member, in Kafka's order; a list may be
    empty.

    ``hashed`` means that the subscriptions are in a HashMap filled in the order of ``members``, as
    in a leading client.  Otherwise they are in the order of ``members``. Raises AssignorError in
    cases in which Kafka throws an exception.
    """

    def __call__(
        self, topics: Topics, members: Sequence[Member], hashed: bool = ...
    ) -> Assignment: ...


class AssignorError(Exception):
    """An input for which Kafka's assignor throws an exception of the class ``kafka_name``."""

    kafka_name = "KafkaException"


class IllegalState(AssignorError):
    """Claims that leave the quotas of a client assignor inconsistent."""

    kafka_name = "IllegalStateException"


class NullPointer(AssignorError):
    """A client assignor looks up a member that it has excluded from balancing."""

    kafka_name = "NullPointerException"


class PartitionAssignorError(AssignorError):
    """A subscribed topic has no metadata; the coordinator's assignors throw this exception."""

    kafka_name = "PartitionAssignorException"


class NoSuchElement(AssignorError):
    """The share group assignor assigns partitions although all members are full."""

    kafka_name = "NoSuchElementException"


class Endless(AssignorError):
    """Kafka's sticky assignor would move the same partitions in circles and never return."""

    kafka_name = "none: it does not return"
