"""How good an assignment is: balance, moves beyond what had to move, racks, idle members.

Members are whatever ids the caller gives; to follow a static member through restarts, give its
instance id. What is counted is in partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from coordinator_core.assignors.fewest_moves import fewest_moves
from coordinator_core.assignors.members import same_topics, subscribed
from coordinator_core.assignors.model import Member, TopicPartition, Topics
from coordinator_core.assignors.racks import partition_racks
from coordinator_core.assignors.sticky.balancing import balance_score

Lists = Mapping[str, Collection[TopicPartition]]

_rack = itemgetter(Member._fields.index("rack"))


def owners(lists: Lists) -> dict[TopicPartition, str]:
    """Who has each partition; claimed twice, it counts for nobody."""
    owner = _owners(lists)
    if len(owner) == sum(map(len, lists.values())):
        return owner
    claims = Counter(tp for partitions in lists.values() for tp in partitions)
    return {tp: member_id for tp, member_id in owner.items() if claims[tp] == 1}


def _owners(lists: Lists) -> dict[TopicPartition, str]:
    return {tp: member_id for member_id, partitions in lists.items() for tp in partitions}


@dataclass(frozen=True)
class Before:
    """What ``members`` find when they are given something: the same for whatever it will be.

    ``had`` may name members that left and partitions that are gone; ``members`` are those of now.
    """

    topics: Topics
    members: Sequence[Member]
    had: Mapping[TopicPartition, str]

    @cached_property
    def owner(self) -> Mapping[TopicPartition, str]:
        """Of each partition that still exists."""
        exists = set(self.topics.table)
        if exists.issuperset(self.had):
            return self.had
        return {tp: member for tp, member in self.had.items() if tp in exists}

    @cached_property
    def subscribed(self) -> set[str]:
        return subscribed(self.members)

    @cached_property
    def keepable(self) -> dict[TopicPartition, str]:
        """Partitions whose owner is still here and subscribed."""
        topics_of = {member.member_id: frozenset(member.topics) for member in self.members}
        return {
            tp: member for tp, member in self.owner.items() if tp[0] in topics_of.get(member, ())
        }

    @cached_property
    def orphaned(self) -> int:
        """Partitions that somebody subscribes to and whose owner left or unsubscribed."""
        wanted = len(self.owner)
        if not self.subscribed.issuperset(self.topics.partitions):
            wanted = sum(topic in self.subscribed for topic, _ in self.owner)
        return wanted - len(self.keepable)

    @cached_property
    def moves_forced(self) -> int:
        """Fewest moves of any assignment as balanced as can be: orphans, and what balance needs.

        As balanced as can be: the least balance score that the subscriptions allow.
        """
        if same_topics(self.members):
            return self.orphaned + self._moves_for_equal_shares()
        return self.orphaned + fewest_moves(self.topics, self.members, self.keepable)

    def _moves_for_equal_shares(self) -> int:
        held = Counter(self.keepable.values())
        total = sum(self.topics.partitions.get(topic, 0) for topic in self.subscribed)
        share, extra = divmod(total, max(len(self.members), 1))
        above = sum(count > share for count in held.values())
        kept = sum(min(count, share) for count in held.values()) + min(extra, above)
        return len(self.keepable) - kept


@dataclass(frozen=True)
class After:
    """What ``members`` were given, whatever they had before."""

    members: Sequence[Member]
    lists: Lists

    @cached_property
    def imbalance(self) -> int:
        """Kafka's balance score: differences between all pairs of members, summed; 0 is best."""
        return balance_score(self._counts)

    @cached_property
    def spread(self) -> int:
        """Most less least partitions of a member."""
        return max(self._counts, default=0) - min(self._counts, default=0)

    @cached_property
    def assigned(self) -> int:
        """Partitions given, one given twice counted twice."""
        return sum(map(len, self.lists.values()))

    @cached_property
    def idle(self) -> list[str]:
        """Members that subscribe to something and have nothing."""
        pairs = zip(self.members, self._counts, strict=True)
        return [member.member_id for member, count in pairs if member.topics and not count]

    @cached_property
    def _counts(self) -> list[int]:
        return [len(self.lists.get(member.member_id, ())) for member in self.members]

    @cached_property
    def owner(self) -> dict[TopicPartition, str]:
        return _owners(self.lists)


@dataclass(frozen=True)
class Quality:
    """One assignment, seen against what there was before it."""

    before: Before
    after: After

    @cached_property
    def new(self) -> int:
        """Partitions that nobody had before."""
        return len(self.after.owner) - self._had_and_have

    @cached_property
    def withheld(self) -> int:
        """Had an owner before and have none now, though somebody subscribes to them."""
        wanted = self.before.subscribed
        ownerless = self.before.owner.keys() - self.after.owner.keys()
        return sum(topic in wanted for topic, _ in ownerless)

    @cached_property
    def moved(self) -> int:
        """Partitions with an owner before and another one now, orphaned ones included."""
        return self._had_and_have - self.kept

    @cached_property
    def _had_and_have(self) -> int:
        return len(self.before.owner.keys() & self.after.owner.keys())

    @cached_property
    def kept(self) -> int:
        return len(self.before.owner.items() & self.after.owner.items())

    @cached_property
    def stickiness(self) -> float | None:
        """Kept of those that could be kept; None if there were none."""
        keepable = len(self.before.keepable)
        return self.kept / keepable if keepable else None

    @cached_property
    def rack_locality(self) -> float | None:
        """Assigned partitions with a replica in the owner's rack, of those where both are known."""
        local = known = 0
        for member in filter(_rack, self.after.members):
            for topic, partition in self.after.lists.get(member.member_id, ()):
                racks = {r for r in self._racks(topic, partition) if r is not None}
                known += bool(racks)
                local += member.rack in racks
        return local / known if known else None

    def _racks(self, topic: str, partition: int) -> Collection[str | None]:
        if partition >= self.before.topics.partitions.get(topic, 0):
            return ()
        return tuple(partition_racks(self.before.topics, topic)[partition])
