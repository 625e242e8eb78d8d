"""Quality of an assignment: balance, moves beyond the forced minimum, racks, idle members.

The caller chooses the member ids: to follow a static member through restarts, pass its instance
id. All counts are in partitions.
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
    """Owner per partition; a partition in two lists has no owner."""
    owner = _owners(lists)
    if len(owner) == sum(map(len, lists.values())):
        return owner
    claims = Counter(tp for partitions in lists.values() for tp in partitions)
    return {tp: member_id for tp, member_id in owner.items() if claims[tp] == 1}


def _owners(lists: Lists) -> dict[TopicPartition, str]:
    return {tp: member_id for member_id, partitions in lists.items() for tp in partitions}


@dataclass(frozen=True)
class PreviousOwners:
    """The situation before an assignment, shared by all assignments that are compared with it.

    ``previous_owner`` may contain members that left and partitions that no longer exist;
    ``members`` are the current members.
    """

    topics: Topics
    members: Sequence[Member]
    previous_owner: Mapping[TopicPartition, str]

    @cached_property
    def owner(self) -> Mapping[TopicPartition, str]:
        """Previous owner of each partition that still exists."""
        existing = set(self.topics.table)
        if existing.issuperset(self.previous_owner):
            return self.previous_owner
        return {tp: member for tp, member in self.previous_owner.items() if tp in existing}

    @cached_property
    def subscribed(self) -> set[str]:
        return subscribed(self.members)

    @cached_property
    def keepable(self) -> dict[TopicPartition, str]:
        """Partitions whose owner is still a member and still subscribed."""
        topics_of = {member.member_id: frozenset(member.topics) for member in self.members}
        return {
            tp: member for tp, member in self.owner.items() if tp[0] in topics_of.get(member, ())
        }

    @cached_property
    def orphaned(self) -> int:
        """Number of partitions of subscribed topics whose owner left or unsubscribed."""
        owned = len(self.owner)
        if not self.subscribed.issuperset(self.topics.partitions):
            owned = sum(topic in self.subscribed for topic, _ in self.owner)
        return owned - len(self.keepable)

    @cached_property
    def moves_forced(self) -> int:
        """Fewest moves of any assignment with the lowest balance score the subscriptions allow.

        Orphaned partitions must move, and as many other partitions as the best balance needs.
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
class NewAssignment:
    """An assignment to ``members``, without regard to previous owners."""

    members: Sequence[Member]
    lists: Lists

    @cached_property
    def imbalance(self) -> int:
        """Kafka's balance score: the sum of load differences of all pairs of members; 0 is best."""
        return balance_score(self._counts)

    @cached_property
    def spread(self) -> int:
        """Highest minus lowest number of partitions of a member."""
        return max(self._counts, default=0) - min(self._counts, default=0)

    @cached_property
    def assigned(self) -> int:
        """Number of assigned partitions; a partition in two lists counts twice."""
        return sum(map(len, self.lists.values()))

    @cached_property
    def idle(self) -> list[str]:
        """Members with a subscription but without partitions."""
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
    """One assignment compared with the situation before it."""

    before: PreviousOwners
    after: NewAssignment

    @cached_property
    def new(self) -> int:
        """Number of assigned partitions without a previous owner."""
        return len(self.after.owner) - self._owned_before_and_after

    @cached_property
    def withheld(self) -> int:
        """Number of partitions of subscribed topics with a previous owner but no owner now."""
        unowned = self.before.owner.keys() - self.after.owner.keys()
        return sum(topic in self.before.subscribed for topic, _ in unowned)

    @cached_property
    def moved(self) -> int:
        """Number of partitions whose owner changed, including orphaned partitions."""
        return self._owned_before_and_after - self.kept

    @cached_property
    def _owned_before_and_after(self) -> int:
        return len(self.before.owner.keys() & self.after.owner.keys())

    @cached_property
    def kept(self) -> int:
        return len(self.before.owner.items() & self.after.owner.items())

    @cached_property
    def stickiness(self) -> float | None:
        """Kept partitions divided by keepable ones, or None without keepable partitions."""
        keepable = len(self.before.keepable)
        return self.kept / keepable if keepable else None

    @cached_property
    def rack_locality(self) -> float | None:
        """Share of partitions with a replica in the owner's rack, where both racks are known."""
        local = with_racks = 0
        for member in filter(_rack, self.after.members):
            for topic, partition in self.after.lists.get(member.member_id, ()):
                racks = {r for r in self._racks(topic, partition) if r is not None}
                with_racks += bool(racks)
                local += member.rack in racks
        return local / with_racks if with_racks else None

    def _racks(self, topic: str, partition: int) -> Collection[str | None]:
        if partition >= self.before.topics.partitions.get(topic, 0):
            return ()
        return tuple(partition_racks(self.before.topics, topic)[partition])
