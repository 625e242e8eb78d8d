"""The records of a consumer group, made from its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from coordinator_core.coordinator.consumer.group import (
    ConsumerGroup,
    ConsumerMember,
    Owned,
    Partitions,
    ResolvedRegex,
)
from coordinator_core.coordinator.era import ModernRules
from coordinator_core.coordinator.metadata_image import TopicImage
from coordinator_core.coordinator.modern.order import in_order_of_ids
from coordinator_core.coordinator.modern.records import ModernRecord

_GROUP = "ConsumerGroupMetadata"
_PARTITION_METADATA = "ConsumerGroupPartitionMetadata"
_MEMBER = "ConsumerGroupMemberMetadata"
_TARGET = "ConsumerGroupTargetAssignmentMetadata"
_MEMBER_TARGET = "ConsumerGroupTargetAssignmentMember"
_CURRENT = "ConsumerGroupCurrentMemberAssignment"
_REGEX = "ConsumerGroupRegularExpression"


def group_record(rules: ModernRules, group_id: str, epoch: int, metadata_hash: int) -> ModernRecord:
    value = {"epoch": epoch}
    if not rules.writes_topics:
        value["metadata_hash"] = metadata_hash
    return ModernRecord(_GROUP, {"group_id": group_id}, value)


def group_tombstone(group_id: str) -> ModernRecord:
    return ModernRecord(_GROUP, {"group_id": group_id}, None)


def partition_metadata_record(group_id: str, topics: Iterable[TopicImage]) -> ModernRecord:
    rows = [
        {
            "topic_id": topic.topic_id,
            "topic_name": topic.name,
            "num_partitions": topic.partitions,
            "partition_metadata": [],
        }
        for topic in topics
    ]
    return ModernRecord(_PARTITION_METADATA, {"group_id": group_id}, {"topics": rows})


def partition_metadata_tombstone(group_id: str) -> ModernRecord:
    return ModernRecord(_PARTITION_METADATA, {"group_id": group_id}, None)


def member_record(group_id: str, member: ConsumerMember) -> ModernRecord:
    value = {
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": sorted(member.topics),
        "subscribed_topic_regex": member.regex,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "server_assignor": member.assignor,
        "classic_member_metadata": _classic_fields(member),
    }
    return ModernRecord(_MEMBER, _key(group_id, member.member_id), value)


def _classic_fields(member: ConsumerMember) -> dict[str, Any] | None:
    if member.classic is None:
        return None
    protocols = [{"name": name, "metadata": data} for name, data in member.classic.protocols]
    return {
        "session_timeout_ms": member.classic.session_timeout_ms,
        "supported_protocols": protocols,
    }


def target_record(rules: ModernRules, group_id: str, epoch: int, timestamp_ms: int) -> ModernRecord:
    """The epoch of the target assignment; eras with an assignment interval write its time."""
    value = {"assignment_epoch": epoch}
    if rules.has_assignment_interval:
        value["assignment_timestamp"] = timestamp_ms
    return ModernRecord(_TARGET, {"group_id": group_id}, value)


def target_tombstone(group_id: str) -> ModernRecord:
    return ModernRecord(_TARGET, {"group_id": group_id}, None)


def member_target_record(
    group_id: str, member_id: str, target: Iterable[tuple[str, list[int]]]
) -> ModernRecord:
    """``target`` has topic ids and partitions, in the order written."""
    rows = [{"topic_id": topic_id, "partitions": numbers} for topic_id, numbers in target]
    return ModernRecord(_MEMBER_TARGET, _key(group_id, member_id), {"topic_partitions": rows})


def rows_of(target: Partitions) -> list[tuple[str, list[int]]]:
    """A target that was read from a record, in the order of Kafka's maps."""
    return [(topic_id, list(target[topic_id])) for topic_id in in_order_of_ids(target)]


def current_record(rules: ModernRules, group_id: str, member: ConsumerMember) -> ModernRecord:
    value = {
        "member_epoch": member.epoch,
        "previous_member_epoch": member.previous_epoch,
        "state": member.state.value,
        "assigned_partitions": _owned_rows(
            rules, member.assigned, in_order_of_ids(member.assigned)
        ),
        "partitions_pending_revocation": _owned_rows(rules, member.pending, member.pending),
    }
    return ModernRecord(_CURRENT, _key(group_id, member.member_id), value)


def _owned_rows(rules: ModernRules, owned: Owned, topic_ids: Iterable[str]) -> list[dict[str, Any]]:
    return [_owned_row(rules, topic_id, owned[topic_id]) for topic_id in topic_ids]


def _owned_row(rules: ModernRules, topic_id: str, epochs: Mapping[int, int]) -> dict[str, Any]:
    row: dict[str, Any] = {"topic_id": topic_id, "partitions": list(epochs)}
    if rules.writes_assignment_epochs:
        row["assignment_epochs"] = [epochs[partition] for partition in row["partitions"]]
    return row


def removal_records(group_id: str, member_id: str) -> list[ModernRecord]:
    """Tombstones of all that a member has."""
    key = _key(group_id, member_id)
    return [ModernRecord(name, key, None) for name in (_CURRENT, _MEMBER_TARGET, _MEMBER)]


def regex_record(group_id: str, regex: str, resolved: ResolvedRegex) -> ModernRecord:
    value = {
        "topics": sorted(resolved.topics),
        "version": resolved.version,
        "timestamp": resolved.timestamp_ms,
    }
    return ModernRecord(_REGEX, _regex_key(group_id, regex), value)


def regex_tombstone(group_id: str, regex: str) -> ModernRecord:
    return ModernRecord(_REGEX, _regex_key(group_id, regex), None)


def _key(group_id: str, member_id: str) -> dict[str, Any]:
    return {"group_id": group_id, "member_id": member_id}


def _regex_key(group_id: str, regex: str) -> dict[str, Any]:
    return {"group_id": group_id, "regular_expression": regex}


def tombstones(
    group: ConsumerGroup, renamed: Mapping[str, str] | None = None
) -> list[ModernRecord]:
    """Tombstones of all records of the group, in an order in which they can be replayed.

    ``renamed`` has new ids of members by their old ids.
    """
    group_id = group.group_id
    records: list[ModernRecord] = []
    new_ids = renamed or {}
    removals = [removal_records(group_id, new_ids.get(each, each)) for each in group.members]
    records += [current for current, _, _ in removals]
    records += [target for _, target, _ in removals]
    records.append(target_tombstone(group_id))
    records += [member for _, _, member in removals]
    records += [regex_tombstone(group_id, regex) for regex in group.regexes]
    records += [partition_metadata_tombstone(group_id), group_tombstone(group_id)]
    return records
