"""The target assignment: when it is computed, and by which assignor."""

from __future__ import annotations

from collections.abc import Mapping

from coordinator_core.assignors.model import Member, TopicPartition, Topics
from coordinator_core.assignors.range import assign_on_server
from coordinator_core.assignors.uniform import equal, unequal
from coordinator_core.coordinator.consumer.draft import Draft
from coordinator_core.coordinator.consumer.group import ConsumerMember, Partitions
from coordinator_core.coordinator.consumer.records import member_target_record, target_record
from coordinator_core.coordinator.consumer.subscriptions import (
    Subscriptions,
    next_assignor,
    with_member,
)
from coordinator_core.coordinator.modern.order import in_order_of_ids
from coordinator_core.coordinator.turn import Turn
from coordinator_core.jvm.java_maps import hash_order

_Assigned = dict[str, list[TopicPartition]]


class Target:
    """A member's part of a target assignment, and the target's epoch."""

    __slots__ = ("epoch", "partitions")

    def __init__(self, epoch: int, partitions: Partitions) -> None:
        self.epoch = epoch
        self.partitions = partitions


def default_assignor(turn: Turn) -> str:
    """The first of group.consumer.assignors."""
    return assignors(turn)[0]


def assignors(turn: Turn) -> list[str]:
    """The names of group.consumer.assignors that are built into Kafka."""
    names = turn.config.modern.consumer.other("assignors", "uniform,range")
    return [name.strip() for name in names.split(",")]


def update_target(draft: Draft, after: ConsumerMember) -> Target:
    """The target of ``after``, computed if the group's epoch is ahead and the interval over.

    Raises AssignorError where Kafka's assignor throws.
    """
    group = draft.group
    if draft.epoch <= group.assignment_epoch or not _may_compute(draft):
        return Target(group.assignment_epoch, group.target_of(after))
    members = with_member(group, after)
    present = _present_targets(draft, members, after)
    targets = _assigned(draft, members, present, after)
    for member in members:
        target = targets[member.member_id]
        if target != present.get(member.member_id):
            draft.records.append(member_target_record(draft.group_id, member.member_id, target))
    now_ms = draft.turn.now_ms
    draft.records.append(target_record(draft.rules, draft.group_id, draft.epoch, now_ms))
    return Target(draft.epoch, targets[after.member_id])


def _may_compute(draft: Draft) -> bool:
    if not draft.rules.has_assignment_interval:
        return True
    turn, last_ms = draft.turn, draft.group.assignment_timestamp_ms
    interval_ms = turn.setting_ms(draft.group_id, "consumer", "assignment.interval.ms")
    return last_ms == 0 or interval_ms == 0 or turn.now_ms >= last_ms + interval_ms


def _present_targets(
    draft: Draft, members: list[ConsumerMember], after: ConsumerMember
) -> dict[str, Partitions]:
    """The targets of the members by now; a returning static member has that of the replaced one."""
    targets = draft.group.targets
    present = {
        each.member_id: targets[each.member_id] for each in members if each.member_id in targets
    }
    replaced = draft.group.static_members.get(after.instance_id or "")
    if replaced is not None and replaced in targets:
        present[after.member_id] = targets[replaced]
    return present


def _assigned(
    draft: Draft,
    members: list[ConsumerMember],
    present: Mapping[str, Partitions],
    after: ConsumerMember,
) -> dict[str, Partitions]:
    """The new targets of all members."""
    turn = draft.turn
    name = next_assignor(draft.group, after, default_assignor(turn))
    by_id = {member.member_id: member for member in members}
    specs = [
        _spec(draft, by_id[member_id], present.get(member_id, {}))
        for member_id in hash_order(by_id)
    ]
    topics = _topics(turn, specs)
    if name == "range":
        assigned = assign_on_server(topics, specs)
    elif Subscriptions(draft.group, members).are_equal():
        assigned = equal.assign(topics, specs)
    else:
        assigned = unequal.assign(topics, specs)
    turn.modern_event("TARGET_COMPUTED", draft.group_id, epoch=draft.epoch, assignor=name)
    return {member_id: _by_id(turn, assigned.get(member_id, [])) for member_id in by_id}


def _spec(draft: Draft, member: ConsumerMember, present: Partitions) -> Member:
    """The member as the assignor sees it: topics that exist, and its present target."""
    image = draft.turn.image
    owned = [
        (image.by_id[topic_id].name, sorted(present[topic_id]))
        for topic_id in in_order_of_ids(present)
        if topic_id in image.by_id
    ]
    topics = [name for name in sorted(draft.group.topics_of(member)) if name in image.topics]
    return Member(member.member_id, topics, owned, instance_id=member.instance_id)


def _topics(turn: Turn, specs: list[Member]) -> Topics:
    """The subscribed topics in the order of a HashMap of their ids."""
    image = turn.image
    names = {name for spec in specs for name in spec.topics}
    ids = in_order_of_ids(sorted(image.topics[name].topic_id for name in names))
    return Topics({image.by_id[each].name: image.by_id[each].partitions for each in ids})


def _by_id(turn: Turn, partitions: list[TopicPartition]) -> Partitions:
    targets: dict[str, set[int]] = {}
    for topic, partition in partitions:
        targets.setdefault(turn.image.topics[topic].topic_id, set()).add(partition)
    return {topic_id: frozenset(numbers) for topic_id, numbers in targets.items()}
