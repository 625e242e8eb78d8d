"""How good an assignment is: balance, moves beyond what had to move, racks, idle members.

Members are whatever ids the caller gives; to follow a static member through restarts, give its
instance id. What is counted is in partitions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from coordinator_core.assignors._balancing import balance_score
from coordinator_core.assignors._fewest_moves import fewest_moves
from coordinator_core.assignors._racks import partition_racks
from coordinator_core.assignors.members import same_topics
from coordinator_core.assignors.model import Member, TopicPartition, Topics

Lists = Mapping[str, Collection[TopicPartition]]


@dataclass(frozen=True)
class Quality:
    """One assignment ``after``, seen against the one ``before``.

    ``before`` may hold members that left; ``members`` are those of ``after``.
    """

    topics: Topics
    members: Sequence[Member]
    before: Lists
    after: Lists

    @cached_property
    def imbalance(self) -> int:
        """Kafka's balance score: differences between all pairs of members, summed; 0 is best."""
        return balance_score(self._counts)

    @cached_property
    def spread(self) -> int:
        """Most less least partitions of a member."""
        return max(self._counts, default=0) - min(self._counts, default=0)

    @cached_property
    def _counts(self) -> list[int]:
        return [len(self.after.get(member.member_id, ())) for member in self.members]

    @cached_property
    def idle(self) -> list[str]:
        """Members that subscribe to something and have nothing."""
        return [m.member_id for m in self.members if m.topics and not self.after.get(m.member_id)]

    @cached_property
    def _owner_before(self) -> dict[TopicPartition, str]:
        """Of each partition that still exists; claimed twice before, it counts for nobody."""
        owner: dict[TopicPartition, str] = {}
        claimed_twice = set()
        for member_id, partitions in self.before.items():
            for topic, partition in partitions:
                if partition < self.topics.partitions.get(topic, 0):
                    if (topic, partition) in owner:
                        claimed_twice.add((topic, partition))
                    owner[topic, partition] = member_id
        return {tp: member for tp, member in owner.items() if tp not in claimed_twice}

    @cached_property
    def _owner_after(self) -> dict[TopicPartition, str]:
        return {tp: member for member, partitions in self.after.items() for tp in partitions}

    @cached_property
    def new(self) -> int:
        """Partitions that nobody had before."""
        return sum(tp not in self._owner_before for tp in self._owner_after)

    @cached_property
    def withheld(self) -> int:
        """Had an owner before and have none now, though somebody subscribes to them."""
        subscribed = set().union(*(member.topics for member in self.members))
        return sum(tp[0] in subscribed and tp not in self._owner_after for tp in self._owner_before)

    @cached_property
    def moved(self) -> int:
        """Partitions with an owner before and another one now, orphaned ones included."""
        return sum(
            self._owner_after.get(tp, member) != member for tp, member in self._owner_before.items()
        )

    @cached_property
    def kept(self) -> int:
        return sum(self._owner_after.get(tp) == member for tp, member in self._owner_before.items())

    @cached_property
    def _keepable(self) -> dict[TopicPartition, str]:
        """Partitions whose owner is still here and subscribed."""
        topics_of = {member.member_id: frozenset(member.topics) for member in self.members}
        return {
            tp: member
            for tp, member in self._owner_before.items()
            if tp[0] in topics_of.get(member, ())
        }

    @cached_property
    def orphaned(self) -> int:
        """Partitions that somebody subscribes to and whose owner left or unsubscribed."""
        subscribed = set().union(*(member.topics for member in self.members))
        return sum(tp[0] in subscribed for tp in self._owner_before.keys() - self._keepable.keys())

    @cached_property
    def moves_forced(self) -> int:
        """Fewest moves of any assignment as balanced as can be: orphans, and what balance needs.

        As balanced as can be: the least balance score that the subscriptions allow.
        """
        if same_topics(self.members):
            return self.orphaned + self._moves_for_equal_shares()
        return self.orphaned + fewest_moves(self.topics, self.members, self._keepable)

    def _moves_for_equal_shares(self) -> int:
        held = dict.fromkeys((member.member_id for member in self.members), 0)
        for member_id in self._keepable.values():
            held[member_id] += 1
        wanted = set(self.members[0].topics) if self.members else set()
        total = sum(self.topics.partitions.get(topic, 0) for topic in wanted)
        share, extra = divmod(total, max(len(self.members), 1))
        above = sum(count > share for count in held.values())
        kept = sum(min(count, share) for count in held.values()) + min(extra, above)
        return len(self._keepable) - kept

    @cached_property
    def stickiness(self) -> float | None:
        """Kept of those that could be kept; None if there were none."""
        return self.kept / len(self._keepable) if self._keepable else None

    @cached_property
    def rack_locality(self) -> float | None:
        """Assigned partitions with a replica in the owner's rack, of those where both are known."""
        local = known = 0
        for member in self.members:
            for topic, partition in self.after.get(member.member_id, ()) if member.rack else ():
                racks = {r for r in self._racks(topic, partition) if r is not None}
                known += bool(racks)
                local += member.rack in racks
        return local / known if known else None

    def _racks(self, topic: str, partition: int) -> Collection[str | None]:
        if partition >= self.topics.partitions.get(topic, 0):
            return ()
        return tuple(partition_racks(self.topics, topic)[partition])
