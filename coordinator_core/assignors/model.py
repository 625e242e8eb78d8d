"""What every assignor takes and gives: topics, members as they subscribed, lists of partitions."""

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

    ``owned`` is grouped by topic and ordered as it was sent. ``generation`` belongs to the
    claims in ``owned``; ``field_generation`` is the subscription's own field (version 2 and
    later), which Kafka compares *another* member's claim with. Both are -1 when not sent.
    """

    member_id: str
    topics: Sequence[str]
    owned: Sequence[tuple[str, Sequence[int]]] = ()
    generation: int = NO_GENERATION
    field_generation: int = NO_GENERATION
    instance_id: str | None = None
    rack: str | None = None


class Topics:
    """Partition counts and replica racks by topic, with every partition's integer code.

    Code ``start[topic] + partition`` counts through the topics in name order, so one integer
    stands for a (topic, partition) everywhere behind the border. To clients a topic without
    partitions is one without metadata. ``racks`` gives each partition's replica racks; None
    is a broker without one.
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
        """(topic, partition) of every code."""
        table: list[TopicPartition] = []
        for topic, count in zip(self.names, self.sizes, strict=True):
            table += zip(repeat(topic, count), range(count), strict=True)
        return table

    @cached_property
    def table_of(self) -> dict[str, tuple[TopicPartition, ...]]:
        """The same by topic."""
        ends = map(slice, self.start.values(), accumulate(self.sizes))
        return {topic: tuple(self.table[cut]) for topic, cut in zip(self.start, ends, strict=True)}

    @cached_property
    def code_ranges(self) -> list[range]:
        """Every topic's codes, in the order of ``names``."""
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
        """Every topic's first place when topics go as given, which is by topic id."""
        starts = accumulate(self.partitions.values(), initial=0)
        return dict(zip(self.partitions, starts, strict=False))

    @cached_property
    def table_by_id(self) -> list[TopicPartition]:
        """(topic, partition) of every such place."""
        if self.names == list(self.partitions):
            return self.table
        starts = [(self.start[topic], count) for topic, count in self.partitions.items()]
        slices = (self.table[start : start + count] for start, count in starts)
        return [*chain.from_iterable(slices)]

    @cached_property
    def hash_order(self) -> list[str] | None:
        """Topics as a HashMap iterates; None if that rests on the order of their insertion."""
        return hash_order_of_all(self.names)

    @cached_property
    def topic_of(self) -> list[int]:
        """Index in ``names`` of every code's topic."""
        return [index for index, count in enumerate(self.sizes) for _ in range(count)]

    @cached_property
    def partition_major(self) -> list[int]:
        """Of every code, its place when partitions go before topics."""
        width = len(self.names)
        return [
            partition * width + index
            for index, count in enumerate(self.sizes)
            for partition in range(count)
        ]

    def only(self, subscribed: Collection[str]) -> Topics:
        """Without the topics nobody subscribes to; the last answer is kept for the next round."""
        if [*subscribed] == self.names:
            return self
        wanted = frozenset(subscribed)
        if wanted.issuperset(self.names):
            return self
        if self._subset is None or self._subset[0] != wanted:
            kept = {topic: n for topic, n in self.partitions.items() if topic in wanted}
            self._subset = wanted, Topics(kept, self.racks)
        return self._subset[1]


class Assignor(Protocol):
    """The one signature. Lists are in Kafka's order; every member has one, if only an empty one.

    ``hashed``: subscriptions lie in a HashMap filled in the order of ``members``, as with a
    client that leads; else in ``members``' own order. AssignorError where Kafka throws.
    """

    def __call__(
        self, topics: Topics, members: Sequence[Member], hashed: bool = ...
    ) -> Assignment: ...


class AssignorError(Exception):
    """Kafka's assignor throws here; ``kafka_name`` is the class it throws."""

    kafka_name = "KafkaException"


class IllegalState(AssignorError):
    """A client assignor met a claim that its bookkeeping does not survive."""

    kafka_name = "IllegalStateException"


class NullPointer(AssignorError):
    """A client assignor looked up a member that it had set aside."""

    kafka_name = "NullPointerException"


class PartitionAssignorError(AssignorError):
    """A server side assignor met a topic without metadata."""

    kafka_name = "PartitionAssignorException"


class Endless(AssignorError):
    """Kafka's sticky assignor would move the same partitions round and round, and never answer."""

    kafka_name = "none, for it does not end"
