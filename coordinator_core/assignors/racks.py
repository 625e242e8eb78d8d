"""When replica racks count, and which member's rack holds which partition (KIP-881)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from coordinator_core.assignors.model import Member, TopicPartition, Topics


class Racks:
    """Racks of the members and of the partitions of some topics.

    They count only if some member's rack holds a replica and the partitions' sets of racks
    differ; else nobody mismatches. Empty rack ids of members count as none.
    Source: AbstractPartitionAssignor.useRackAwareAssignment.
    """

    def __init__(self, topics: Topics, names: Iterable[str], members: Sequence[Member]) -> None:
        of_member = {m.member_id: m.rack for m in members if m.rack}
        self.at: dict[TopicPartition, frozenset[str]] = {}
        self.used = False
        if not of_member:
            return
        self.at = {
            (topic, partition): frozenset(r for r in racks if r is not None)
            for topic in names
            for partition, racks in enumerate(partition_racks(topics, topic))
        }
        everywhere: frozenset[str] = frozenset().union(*self.at.values())
        self.used = not everywhere.isdisjoint(of_member.values()) and any(
            racks != everywhere for racks in self.at.values()
        )
        self.of_member = of_member if self.used else {}
        self._members_in = Counter(self.of_member.values())

    def mismatch(self, member_id: str, partition: TopicPartition) -> bool:
        """The member has a rack, and no replica is there."""
        rack = self.of_member.get(member_id)
        return rack is not None and rack not in self.at.get(partition, ())

    def match(self, member_id: str, partition: TopicPartition) -> bool:
        """The member has a rack, and a replica is there."""
        rack = self.of_member.get(member_id)
        return rack is not None and rack in self.at.get(partition, ())

    def members_near(self, partition: TopicPartition) -> int:
        """How many members share a rack with one of the partition's replicas."""
        return sum(self._members_in[rack] for rack in self.at.get(partition, ()))


def partition_racks(topics: Topics, topic: str) -> Sequence[Iterable[str | None]]:
    """Replica racks of each partition, none where the metadata has none."""
    racks = topics.racks.get(topic)
    return racks if racks else [()] * topics.partitions[topic]
