"""The target assignment of a share group: when it is computed, and what it becomes."""

from __future__ import annotations

from coordinator_core.assignors.simple import ShareSubscriber as Subscriber
from coordinator_core.assignors.simple import ShareTopics, TopicIdAssignment
from coordinator_core.coordinator.modern.configuration import rules_of, setting_ms
from coordinator_core.coordinator.modern.records import ModernRecord
from coordinator_core.coordinator.share.group import (
    NOTHING,
    ShareGroup,
    ShareMember,
    is_same,
    subscribed_names,
)
from coordinator_core.coordinator.share.group_type import SHARE
from coordinator_core.coordinator.share.records import member_target_record, target_record
from coordinator_core.coordinator.turn import Turn
from coordinator_core.jvm.hash_codes import string_hash
from coordinator_core.jvm.hash_tables import HashTable

ASSIGNOR = "simple"


def update_target(
    turn: Turn, group: ShareGroup, epoch: int, after: ShareMember, records: list[ModernRecord]
) -> tuple[int, TopicIdAssignment]:
    """The epoch of the target, and the member's part of it, computed if necessary.

    ``epoch`` has the group's, with this heartbeat.  Raises AssignorError if Kafka's assignor throws
    an exception.
    """
    if group.assignment_epoch >= epoch or not _may_compute(turn, group):
        return group.assignment_epoch, group.targets.get(after.member_id, NOTHING)
    members = group.with_member(after)
    targets = _assigned(turn, group, members)
    order = HashTable[str, None](string_hash)
    for member in members:
        order.put(member.member_id, None)
    for member_id in order:
        target, before = targets.get(member_id, NOTHING), group.targets.get(member_id)
        if before is None or not is_same(target, before):
            records.append(member_target_record(group.group_id, member_id, target))
    records.append(target_record(rules_of(turn), group.group_id, epoch, turn.now_ms))
    turn.effects.modern_event("TARGET", group.group_id, epoch=epoch, assignor=ASSIGNOR)
    return epoch, targets.get(after.member_id, NOTHING)


def _may_compute(turn: Turn, group: ShareGroup) -> bool:
    last_ms = group.assignment_timestamp_ms
    if not rules_of(turn).has_assignment_interval or last_ms == 0:
        return True
    interval_ms = setting_ms(turn, group.group_id, SHARE, "assignment.interval.ms")
    return interval_ms == 0 or turn.now_ms >= last_ms + interval_ms


def _assigned(
    turn: Turn, group: ShareGroup, members: list[ShareMember]
) -> dict[str, TopicIdAssignment]:
    order = HashTable[str, Subscriber](string_hash)
    for member in members:
        assigned = group.targets.get(member.member_id, NOTHING)
        order.put(member.member_id, Subscriber(member.member_id, _ids(turn, member), assigned))
    counts = subscribed_names(members).values()
    homogeneous = all([count == len(members) for count in counts])
    initialized = {} if group.states is None else group.states.initialized
    partitions = {each.topic_id: each.partitions for each in turn.image.topics.values()}
    assignable = {topic_id: {*topic.partitions} for topic_id, topic in initialized.items()}
    topics = ShareTopics(partitions, assignable)
    return rules_of(turn).share.assign(topics, order.values(), homogeneous)


def _ids(turn: Turn, member: ShareMember) -> list[str]:
    topics = turn.image.topics
    return [topics[name].topic_id for name in member.topics if name in topics]
