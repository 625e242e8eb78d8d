"""Input and output of the share group assignor: topic ids and partitions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from coordinator_core.assignors.model import PartitionAssignorError
from coordinator_core.jvm.hash_codes import record_hash, uuid_hash

TopicIdAssignment = Mapping[str, Sequence[int]]  # topic id -> partitions, in Kafka's order
TopicIdPartition = tuple[str, int]


class ShareSubscriber(NamedTuple):
    """``topics`` are ids of the subscribed topics that exist, in the order of their names' HashSet.

    ``assigned`` is the previous target assignment, in the order of Kafka's HashMap and HashSets.
    """

    member_id: str
    topics: Sequence[str]
    assigned: TopicIdAssignment = MappingProxyType({})


class ShareTopics(NamedTuple):
    """``assignable`` has the partitions that may be assigned, by topic; None: all partitions."""

    partitions: Mapping[str, int]
    assignable: Mapping[str, Collection[int]] | None = None

    def targets(self, topic_ids: Iterable[str]) -> list[TopicIdPartition]:
        """The assignable partitions; raises PartitionAssignorError for a topic without metadata."""
        return [(topic, number) for topic in topic_ids for number in self.targets_of(topic)]

    def targets_of(self, topic_id: str) -> list[int]:
        count = self.partitions.get(topic_id)
        if count is None:
            raise PartitionAssignorError(f"topic {topic_id} has no metadata")
        if self.assignable is None:
            return [*range(count)]
        assignable = self.assignable.get(topic_id, ())
        return [number for number in range(count) if number in assignable]


def partition_hash(partition: TopicIdPartition) -> int:
    """``TopicIdPartition.hashCode``."""
    return record_hash(uuid_hash(partition[0]), partition[1])
