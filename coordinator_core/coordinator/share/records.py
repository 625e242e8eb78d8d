"""The records of share groups (GroupCoordinatorRecordHelpers)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from coordinator_core.assignors.simple import TopicIdAssignment
from coordinator_core.coordinator.era import ModernRules
from coordinator_core.coordinator.modern.records import Fields, ModernRecord
from coordinator_core.coordinator.share.group import InitTopics, ShareGroup, ShareMember
from coordinator_core.jvm.strings import java_sorted

MEMBER = "ShareGroupMemberMetadata"
GROUP = "ShareGroupMetadata"
TARGET = "ShareGroupTargetAssignmentMetadata"
MEMBER_TARGET = "ShareGroupTargetAssignmentMember"
CURRENT = "ShareGroupCurrentMemberAssignment"
STATES = "ShareGroupStatePartitionMetadata"
_STABLE = 0


def member_record(group_id: str, member: ShareMember) -> ModernRecord:
    value = {
        "rack_id": member.rack_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": java_sorted(member.topics),
    }
    return ModernRecord(MEMBER, {"group_id": group_id, "member_id": member.member_id}, value)


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> ModernRecord:
    value = {"epoch": epoch, "metadata_hash": metadata_hash}
    return ModernRecord(GROUP, {"group_id": group_id}, value)


def target_record(rules: ModernRules, group_id: str, epoch: int, now_ms: int) -> ModernRecord:
    value = {"assignment_epoch": epoch}
    if rules.has_assignment_interval:
        value["assignment_timestamp"] = now_ms
    return ModernRecord(TARGET, {"group_id": group_id}, value)


def member_target_record(group_id: str, member_id: str, target: TopicIdAssignment) -> ModernRecord:
    value = {"topic_partitions": _rows(target)}
    return ModernRecord(MEMBER_TARGET, {"group_id": group_id, "member_id": member_id}, value)


def current_record(group_id: str, member: ShareMember) -> ModernRecord:
    value = {
        "member_epoch": member.epoch,
        "previous_member_epoch": member.previous_epoch,
        "state": _STABLE,
        "assigned_partitions": _rows(member.assigned),
    }
    return ModernRecord(CURRENT, {"group_id": group_id, "member_id": member.member_id}, value)


def states_record(
    group_id: str, initializing: InitTopics, initialized: InitTopics, deleting: Mapping[str, str]
) -> ModernRecord:
    """``deleting`` has names of topics by id."""
    value = {
        "initializing_topics": _init_rows(initializing),
        "initialized_topics": _init_rows(initialized),
        "deleting_topics": [
            {"topic_id": topic_id, "topic_name": name} for topic_id, name in deleting.items()
        ],
    }
    return ModernRecord(STATES, {"group_id": group_id}, value)


def member_tombstones(group_id: str, member_ids: Iterable[str], *names: str) -> list[ModernRecord]:
    return [
        ModernRecord(name, {"group_id": group_id, "member_id": member_id}, None)
        for name in names
        for member_id in member_ids
    ]


def group_tombstones(group_id: str, member_ids: Iterable[str]) -> list[ModernRecord]:
    """All records of the group, as its deletion writes them."""
    members = [*member_ids]
    key = {"group_id": group_id}
    return [
        *member_tombstones(group_id, members, CURRENT, MEMBER_TARGET),
        ModernRecord(TARGET, key, None),
        *member_tombstones(group_id, members, MEMBER),
        ModernRecord(STATES, key, None),
        ModernRecord(GROUP, key, None),
    ]


def _rows(assignment: TopicIdAssignment) -> list[Fields]:
    return [
        {"topic_id": topic_id, "partitions": list(partitions)}
        for topic_id, partitions in assignment.items()
    ]


def _init_rows(topics: InitTopics) -> list[Fields]:
    return [
        {"topic_id": topic_id, "topic_name": topic.name, "partitions": list(topic.partitions)}
        for topic_id, topic in topics.items()
    ]


def tombstones(group: ShareGroup) -> list[ModernRecord]:
    """Tombstones of all records of an empty group."""
    return group_tombstones(group.group_id, group.order)
