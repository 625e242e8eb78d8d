"""Racks of members and replicas, and when the assignors use them (KIP-881)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from coordinator_core.assignors.model import Member, TopicPartition, Topics


class Racks:
    """Racks of the members and of the replicas of some topics.

    ``used`` means that the rack of some member has a replica, and that the partitions have
    different sets of racks.  If it is false, no member matches or mismatches a partition. An empty
    rack id of a member means no rack.  Source: AbstractPartitionAssignor.useRackAwareAssignment.
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
        """Returns whether the member has a rack, and that rack has no replica."""
        rack = self.of_member.get(member_id)
        return rack is not None and rack not in self.at.get(partition, ())

    def match(self, member_id: str, partition: TopicPartition) -> bool:
        """Returns whether the member has a rack, and that rack has a replica."""
        rack = self.of_member.get(member_id)
        return rack is not None and rack in self.at.get(partition, ())

    def members_near(self, partition: TopicPartition) -> int:
        """Number of members in a rack with one of the partition's replicas."""
        return sum(self._members_in[rack] for rack in self.at.get(partition, ()))


def partition_racks(topics: Topics, topic: str) -> Sequence[Iterable[str | None]]:
    """Replica racks per partition; empty if the metadata has none."""
    racks = topics.racks.get(topic)
    return racks if racks else [()] * topics.partitions[topic]
