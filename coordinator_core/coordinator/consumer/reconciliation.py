"""Leads a member to its target: first the member revokes partitions, then it takes free partitions.

The grid names the reaction of each member state to what the heartbeat says.  A member has three
kinds of partitions: assigned partitions, pending partitions that it must revoke, and partitions of
its target that it waits for.  The member gets a partition only when no other member has it,
assigned or pending.

Source: CurrentAssignmentBuilder (KIP-848).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coordinator_core.coordinator.consumer.group import (
    ConsumerGroup,
    ConsumerMember,
    Owned,
    Partitions,
)
from coordinator_core.coordinator.consumer.states import ConsumerMemberState, Report
from coordinator_core.coordinator.era import ModernRules
from coordinator_core.coordinator.modern.order import (
    copied_partitions,
    in_order_of_ids,
    in_order_of_ints,
    in_order_of_table,
)
from coordinator_core.jvm.hash_tables import capacity_of_copy, capacity_of_map_copy
from coordinator_core.jvm.java_maps import FIRST_CAPACITY, LOAD_FACTOR
from coordinator_core.protocol.errors import CoordinatorBug


class Goal:
    """The target to which a member is led, and the content of its heartbeat.

    ``owned`` has the partitions that it says it owns, None if it does not say.  ``subscribed`` has
    ids of the topics to which the member subscribes, or None in eras that use the target unchanged.
    ``names_topics`` say whether it subscribes to any, even if they do not exist.
    """

    __slots__ = (
        "epoch",
        "group",
        "names_topics",
        "owned",
        "rules",
        "subscribed",
        "subscription_changed",
        "target",
    )

    def __init__(
        self,
        *,
        rules: ModernRules,
        group: ConsumerGroup,
        epoch: int,
        target: Partitions,
        owned: Partitions | None,
        subscribed: frozenset[str] | None,
        names_topics: bool,
        subscription_changed: bool,
    ) -> None:
        self.rules = rules
        self.names_topics = names_topics
        self.group = group
        self.epoch = epoch
        self.target = target
        self.owned = owned
        self.subscribed = subscribed
        self.subscription_changed = subscription_changed

    def keeps(self, topic_id: str) -> bool:
        return self.subscribed is None or topic_id in self.subscribed

    def still_owns(self, pending: Owned) -> bool:
        """Returns whether the member has, or may have, some of these partitions."""
        if self.owned is None:
            return True
        return any(
            not partitions.isdisjoint(pending.get(topic_id, ()))
            for topic_id, partitions in self.owned.items()
        )


Reaction = Callable[[ConsumerMember, Goal], ConsumerMember]


def report(member: ConsumerMember, goal: Goal) -> Report:
    if member.state is ConsumerMemberState.STABLE:
        is_ready = member.epoch != goal.epoch
    elif member.state is ConsumerMemberState.UNREVOKED_PARTITIONS:
        is_ready = not goal.still_owns(member.pending)
    else:
        is_ready = True
    if is_ready:
        return Report.READY
    changed = goal.subscription_changed and goal.subscribed is not None
    return Report.SUBSCRIPTION_CHANGED if changed else Report.UNCHANGED


def stay(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    return member


def drop_unsubscribed(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    """Take topics away that the member no longer subscribes to, before any new target."""
    dropped = {t: epochs for t, epochs in member.assigned.items() if not goal.keeps(t)}
    if not dropped and (goal.names_topics or member.pending):
        # for a member without any subscription, Kafka takes the empty assignment for changed
        return member
    kept = {t: epochs for t, epochs in member.assigned.items() if goal.keeps(t)}
    if goal.names_topics or member.pending:
        pending = _with_dropped(goal, member.pending, dropped)
    else:
        pending = dropped
    is_previous = goal.rules.dropped_topics_end_epochs
    previous_epoch = member.epoch if is_previous else member.previous_epoch
    if not pending or not goal.still_owns(pending):
        return member._replace(previous_epoch=previous_epoch, assigned=kept)
    return member._replace(
        state=ConsumerMemberState.UNREVOKED_PARTITIONS,
        previous_epoch=previous_epoch,
        assigned=kept,
        pending=pending,
    )


def _with_dropped(goal: Goal, before: Owned, dropped: Owned) -> Owned:
    pending = {t: dict(epochs) for t, epochs in before.items()}
    for topic_id, epochs in dropped.items():
        pending[topic_id] = _merged(goal, pending.get(topic_id, {}), epochs)
    return _after_merges(pending, before)


def _after_merges(pending: dict[str, dict[int, int]], before: Owned) -> dict[str, dict[int, int]]:
    """The partitions in the order of a copy of ``before``: ``HashMap.merge`` puts new keys first in
    their bins.

    The copy also grows its table one entry late.
    """
    capacity = capacity_of_map_copy(len(before))
    while len(pending) - 1 > int(capacity * LOAD_FACTOR):
        capacity *= 2
    merged = [topic_id for topic_id in reversed(pending) if topic_id not in before]
    return {each: pending[each] for each in in_order_of_table([*merged, *before], capacity)}


def _merged(goal: Goal, before: Mapping[int, int], added: Mapping[int, int]) -> dict[int, int]:
    """Partitions of one topic in the order of Kafka's copy of the pending partitions."""
    if not before:
        return dict(added)
    epochs = {**before, **added}
    in_order = in_order_of_ints(epochs, _capacity(goal, len(before)))
    return {partition: epochs[partition] for partition in in_order}


def advance(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    """Recompute the partitions of the member against the present target."""
    kept: dict[str, dict[int, int]] = {}
    revoked: dict[str, dict[int, int]] = {}
    missing: dict[str, list[int]] = {}
    for topic_id in _all_topics(goal.target, member.assigned):
        wanted = goal.target.get(topic_id, frozenset()) if goal.keeps(topic_id) else frozenset()
        assigned = member.assigned.get(topic_id, {})
        # Iterate in the order in which Kafka's copy of its map of assigned partitions iterates.
        for partition in in_order_of_ints(assigned, _capacity(goal, len(assigned))):
            part = kept if partition in wanted else revoked
            part.setdefault(topic_id, {})[partition] = assigned[partition]
        if new := [each for each in copied_partitions(wanted) if each not in assigned]:
            missing[topic_id] = new
    if revoked and goal.still_owns(revoked):
        has_revoked = member.state is ConsumerMemberState.UNREVOKED_PARTITIONS
        return member._replace(
            state=ConsumerMemberState.UNREVOKED_PARTITIONS,
            epoch=member.epoch + (has_revoked and goal.rules.revocation_advances_epoch),
            previous_epoch=member.epoch,
            assigned=kept,
            pending={each: revoked[each] for each in in_order_of_ids(revoked)},
        )
    kept, is_complete = _with_free(member, goal, missing, kept)
    unreleased = ConsumerMemberState.UNRELEASED_PARTITIONS
    return member._replace(
        state=ConsumerMemberState.STABLE if is_complete else unreleased,
        epoch=goal.epoch,
        previous_epoch=member.epoch,
        assigned=kept,
        pending={},
    )


def _capacity(goal: Goal, entries: int) -> int:
    """The capacity of a copy of the assigned partitions: with epochs a map, else a set."""
    has_epochs = goal.rules.writes_assignment_epochs
    return capacity_of_map_copy(entries) if has_epochs else capacity_of_copy(entries)


def _all_topics(target: Partitions, assigned: Owned) -> list[str]:
    """The topics of both maps, in the iteration order of a copy of the first map's keys."""
    added = [topic_id for topic_id in assigned if topic_id not in target]
    return in_order_of_ids([*target, *added], capacity_of_copy(len(target)))


def _with_free(
    member: ConsumerMember,
    goal: Goal,
    missing: Mapping[str, list[int]],
    kept: dict[str, dict[int, int]],
) -> tuple[dict[str, dict[int, int]], bool]:
    """``kept`` with the free partitions of ``missing``, and whether all of them are free.

    Topics that are not in ``kept`` come first: ``computeIfAbsent`` puts a new key first in its bin.
    """
    is_complete = True
    added: dict[str, dict[int, int]] = {}
    for topic_id in in_order_of_ids(missing):
        partitions = missing[topic_id]
        own = member.pending.get(topic_id, {}) if goal.rules.takes_back_pending_partitions else {}
        free = [each for each in partitions if each in own or goal.group.is_free(topic_id, each)]
        is_complete = is_complete and len(free) == len(partitions)
        if free:
            # Kafka adds the partitions to the copy, or makes a new map.
            copied = len(member.assigned.get(topic_id, ())) if topic_id in kept else 0
            capacity = _capacity(goal, copied) if copied else FIRST_CAPACITY
            epochs = kept.get(topic_id, {}) | dict.fromkeys(free, goal.epoch)
            in_order = in_order_of_ints([*kept.get(topic_id, ()), *free], capacity)
            added[topic_id] = {partition: epochs[partition] for partition in in_order}
    new = {each: added[each] for each in reversed(added) if each not in kept}
    return {**new, **kept, **added}, is_complete


def never(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    raise CoordinatorBug(f"{member.member_id} in {member.state.name} has nothing to wait for")


def row(*reactions: Reaction) -> Mapping[Report, Reaction]:
    """One reaction per report, in the order of Report; a row that is too short fails at import."""
    return dict(zip(Report, reactions, strict=True))


# fmt: off
GRID: Mapping[ConsumerMemberState, Mapping[Report, Reaction]] = {
    #                                       UNCHANGED  SUBSCRIPTION_CHANGED  READY
    ConsumerMemberState.STABLE:                row(stay,      drop_unsubscribed,    advance),
    ConsumerMemberState.UNREVOKED_PARTITIONS:  row(stay,      drop_unsubscribed,    advance),
    ConsumerMemberState.UNRELEASED_PARTITIONS: row(never,     never,                advance),
}
# fmt: on


def reconciled(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    """The member after its heartbeat; the same value if nothing changes."""
    return GRID[member.state][report(member, goal)](member, goal)
