"""Range by racks: co-partitioned topics together, then ranges in racks, then plain ranges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from coordinator_core.assignors.members import static_first, subscribers
from coordinator_core.assignors.model import Assignment, Member, Topics
from coordinator_core.assignors.racks import Racks


def assign_by_racks(topics: Topics, members: Sequence[Member]) -> Assignment | None:
    """Returns None if no topic needs racks.

    Source: RangeAssignor.assignWithRackMatching and TopicAssignmentState (KIP-881).
    """
    ordered = static_first(members)
    states = [
        _TopicState(topics, topic, [ordered[rank] for rank in ranks])
        for topic, ranks in zip(topics.names, subscribers(topics, ordered), strict=True)
        if ranks
    ]
    if not any(state.needs_racks for state in states):
        return None
    for co_partitioned in _co_partitioned(states):
        if len(co_partitioned) > 1:
            _assign_co_partitioned(co_partitioned)
        elif co_partitioned[0].needs_racks:
            co_partitioned[0].assign_ranges(in_rack=True)
    for state in states:
        state.assign_ranges(in_rack=False)
    assignment: Assignment = {member.member_id: [] for member in members}
    for state in states:  # Kafka sorts these lists, so sort by name.
        for member_id, partitions in state.assigned.items():
            assignment[member_id] += sorted((state.topic, p) for p in partitions)
    return assignment


class _TopicState:
    """One topic's free partitions, and the partitions assigned to each subscriber so far."""

    def __init__(self, topics: Topics, topic: str, consumers: Sequence[Member]) -> None:
        self.topic = topic
        self.racks = Racks(topics, [topic], consumers)
        self.needs_racks = self.racks.used
        self.rack_of = {member.member_id: member.rack or None for member in consumers}
        self.free = dict.fromkeys(range(topics.partitions[topic]))
        self.assigned: dict[str, list[int]] = {member.member_id: [] for member in consumers}
        self.share, self.extra = divmod(len(self.free), len(consumers))

    def room(self, member_id: str) -> int:
        return max(0, self.share + (self.extra > 0) - len(self.assigned[member_id]))

    def in_rack(self, member_id: str, partition: int) -> bool:
        """Returns whether the member's rack has a replica; true for a member without a rack."""
        rack = self.rack_of[member_id]
        return rack is None or rack in self.racks.at.get((self.topic, partition), ())

    def assign(self, member_id: str, partitions: Iterable[int]) -> None:
        assigned = self.assigned[member_id]
        for partition in partitions:
            assigned.append(partition)
            del self.free[partition]
        self.extra -= len(assigned) > self.share

    def assign_ranges(self, in_rack: bool) -> None:
        for member_id in self.assigned:
            room = self.room(member_id)
            partitions: list[int] = []
            for partition in self.free if room else ():
                if not in_rack or self.in_rack(member_id, partition):
                    partitions.append(partition)
                    if len(partitions) == room:
                        break
            if partitions:
                self.assign(member_id, partitions)


def _co_partitioned(states: Iterable[_TopicState]) -> list[list[_TopicState]]:
    """Groups topics with the same subscribers, racks and number of partitions with racks."""
    groups: dict[tuple[object, int], list[_TopicState]] = defaultdict(list)
    for state in states:
        groups[tuple(state.rack_of.items()), len(state.racks.at)].append(state)
    return list(groups.values())


def _assign_co_partitioned(states: Sequence[_TopicState]) -> None:
    """Assigns partition p of all topics to the first member that has room and is in the racks of
    all of them.
    """
    remaining = list(states[0].rack_of)
    for partition in range(len(states[0].racks.at)):
        for member_id in remaining:
            if all(s.in_rack(member_id, partition) and s.room(member_id) for s in states):
                for state in states:
                    state.assign(member_id, [partition])
                if not any(state.room(member_id) for state in states):
                    remaining.remove(member_id)
                break
