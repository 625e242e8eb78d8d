"""Range with racks: co-partitioned topics together, then ranges in the rack, then plain ranges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from coordinator_core.assignors.members import static_first, subscribers
from coordinator_core.assignors.model import Assignment, Member, Topics
from coordinator_core.assignors.racks import Racks


def assign(topics: Topics, members: Sequence[Member]) -> Assignment | None:
    """None if no topic needs its racks; then plain range decides.

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
    for together in _co_partitioned(states):
        if len(together) > 1:
            _give_together(together)
        elif together[0].needs_racks:
            together[0].give_ranges(in_rack=True)
    for state in states:
        state.give_ranges(in_rack=False)
    assignment: Assignment = {member.member_id: [] for member in members}
    for state in states:  # in name order, as the sorted lists are
        for member_id, given in state.given.items():
            assignment[member_id] += sorted((state.topic, p) for p in given)
    return assignment


class _TopicState:
    """What one topic still has to give, and what each subscriber may still take."""

    def __init__(self, topics: Topics, topic: str, consumers: Sequence[Member]) -> None:
        self.topic = topic
        self.racks = Racks(topics, [topic], consumers)
        self.needs_racks = self.racks.used
        self.rack_of = {member.member_id: member.rack or None for member in consumers}
        self.free = dict.fromkeys(range(topics.partitions[topic]))
        self.given: dict[str, list[int]] = {member.member_id: [] for member in consumers}
        self.share, self.extra = divmod(len(self.free), len(consumers))

    def room(self, member_id: str) -> int:
        return max(0, self.share + (self.extra > 0) - len(self.given[member_id]))

    def may(self, member_id: str, partition: int) -> bool:
        """A member without a rack is at home everywhere."""
        rack = self.rack_of[member_id]
        return rack is None or rack in self.racks.at.get((self.topic, partition), ())

    def give(self, member_id: str, partitions: Iterable[int]) -> None:
        given = self.given[member_id]
        for partition in partitions:
            given.append(partition)
            del self.free[partition]
        self.extra -= len(given) > self.share

    def give_ranges(self, in_rack: bool) -> None:
        for member_id in self.given:
            room = self.room(member_id)
            partitions: list[int] = []
            for partition in self.free if room else ():
                if not in_rack or self.may(member_id, partition):
                    partitions.append(partition)
                    if len(partitions) == room:
                        break
            if partitions:
                self.give(member_id, partitions)


def _co_partitioned(states: Iterable[_TopicState]) -> list[list[_TopicState]]:
    """Topics with the same subscribers, racks and number of partitions that have racks."""
    alike: dict[tuple[object, int], list[_TopicState]] = defaultdict(list)
    for state in states:
        alike[tuple(state.rack_of.items()), len(state.racks.at)].append(state)
    return list(alike.values())


def _give_together(states: Sequence[_TopicState]) -> None:
    """Partition p of all of them to the first member at home in all, with room in all."""
    remaining = list(states[0].rack_of)
    for partition in range(len(states[0].racks.at)):
        for member_id in remaining:
            if all(s.may(member_id, partition) and s.room(member_id) for s in states):
                _give_partition(states, member_id, partition)
                if not any(state.room(member_id) for state in states):
                    remaining.remove(member_id)
                break


def _give_partition(states: Sequence[_TopicState], member_id: str, partition: int) -> None:
    for state in states:
        state.give(member_id, [partition])
