"""The records of streams groups (StreamsCoordinatorRecordHelpers)."""

from __future__ import annotations

from collections.abc import Mapping

from coordinator_core.coordinator.era import ModernRules
from coordinator_core.coordinator.modern.records import Fields, ModernRecord
from coordinator_core.coordinator.streams.group import StreamsGroup, StreamsMember
from coordinator_core.coordinator.streams.tasks import ActiveTasks, Replicas, TargetTasks
from coordinator_core.protocol.messages import Subtopology, Topology

MEMBER = "StreamsGroupMemberMetadata"
GROUP = "StreamsGroupMetadata"
TARGET = "StreamsGroupTargetAssignmentMetadata"
MEMBER_TARGET = "StreamsGroupTargetAssignmentMember"
CURRENT = "StreamsGroupCurrentMemberAssignment"
TOPOLOGY = "StreamsGroupTopology"
# Replication factor of internal topics, whose replicas and topic settings are not modelled.
_REPLICATION_FACTOR = 1


def member_record(group_id: str, member: StreamsMember) -> ModernRecord:
    endpoint = member.endpoint
    value = {
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "topology_epoch": member.topology_epoch,
        "process_id": member.process_id,
        "user_endpoint": None if endpoint is None else {"host": endpoint[0], "port": endpoint[1]},
        "client_tags": _key_values(dict(sorted(member.client_tags.items()))),
    }
    return ModernRecord(MEMBER, _key(group_id, member.member_id), value)


def epoch_record(
    rules: ModernRules,
    group: StreamsGroup,
    epoch: int,
    metadata_hash: int,
    validated_epoch: int,
    configs: Mapping[str, str],
) -> ModernRecord:
    value: Fields = {"epoch": epoch, "metadata_hash": metadata_hash}
    if rules.streams.writes_validated_epoch:
        value["validated_topology_epoch"] = validated_epoch
        value["last_assignment_configs"] = _key_values(configs)
    return ModernRecord(GROUP, {"group_id": group.group_id}, value)


def target_record(rules: ModernRules, group_id: str, epoch: int, now_ms: int) -> ModernRecord:
    value = {"assignment_epoch": epoch}
    if rules.has_assignment_interval:
        value["assignment_timestamp"] = now_ms
    return ModernRecord(TARGET, {"group_id": group_id}, value)


def member_target_record(group_id: str, member_id: str, target: TargetTasks) -> ModernRecord:
    value = {
        "active_tasks": _task_ids(target.active),
        "standby_tasks": _task_ids(target.standby),
        "warmup_tasks": _task_ids(target.warmup),
    }
    return ModernRecord(MEMBER_TARGET, _key(group_id, member_id), value)


def current_record(rules: ModernRules, group_id: str, member: StreamsMember) -> ModernRecord:
    with_epochs = rules.streams.writes_task_epochs
    value = {
        "member_epoch": member.epoch,
        "previous_member_epoch": member.previous_epoch,
        "state": member.state.value,
        "active_tasks": _active_ids(member.assigned.active, with_epochs),
        "standby_tasks": _task_ids(member.assigned.standby),
        "warmup_tasks": _task_ids(member.assigned.warmup),
        "active_tasks_pending_revocation": _active_ids(member.pending.active, with_epochs),
        "standby_tasks_pending_revocation": _task_ids(member.pending.standby),
        "warmup_tasks_pending_revocation": _task_ids(member.pending.warmup),
    }
    return ModernRecord(CURRENT, _key(group_id, member.member_id), value)


def topology_record(group_id: str, topology: Topology) -> ModernRecord:
    value = {
        "epoch": topology.epoch,
        "subtopologies": [_subtopology(each) for each in topology.subtopologies],
    }
    return ModernRecord(TOPOLOGY, {"group_id": group_id}, value)


def _subtopology(subtopology: Subtopology) -> Fields:
    return {
        "subtopology_id": subtopology.subtopology_id,
        "source_topics": list(subtopology.source_topics),
        "source_topic_regex": [],
        "state_changelog_topics": _topic_infos(subtopology.changelog_topics),
        "repartition_sink_topics": list(subtopology.repartition_sink_topics),
        "repartition_source_topics": _topic_infos(subtopology.repartition_source_topics),
        "copartition_groups": [
            {
                "source_topics": list(group.source_topics),
                "source_topic_regex": [],
                "repartition_source_topics": list(group.repartition_source_topics),
            }
            for group in subtopology.copartition_groups
        ],
    }


def _topic_infos(topics: tuple[tuple[str, int], ...]) -> list[Fields]:
    return [
        {
            "name": name,
            "partitions": count,
            "replication_factor": _REPLICATION_FACTOR,
            "topic_configs": [],
        }
        for name, count in topics
    ]


def member_tombstones(group_id: str, member_id: str) -> list[ModernRecord]:
    return [
        ModernRecord(name, _key(group_id, member_id), None)
        for name in (CURRENT, MEMBER_TARGET, MEMBER)
    ]


def tombstones(group: StreamsGroup) -> list[ModernRecord]:
    """Tombstones of all records of an empty group."""
    key = {"group_id": group.group_id}
    return [ModernRecord(name, key, None) for name in (TARGET, GROUP, TOPOLOGY)]


def _key(group_id: str, member_id: str) -> Fields:
    return {"group_id": group_id, "member_id": member_id}


def _key_values(values: Mapping[str, str]) -> list[Fields]:
    return [{"key": key, "value": value} for key, value in values.items()]


def _task_ids(tasks: Replicas) -> list[Fields]:
    return [
        {"subtopology_id": subtopology, "partitions": sorted(partitions)}
        for subtopology, partitions in sorted(tasks.items())
    ]


def _active_ids(tasks: ActiveTasks, with_epochs: bool) -> list[Fields]:
    rows = []
    for subtopology, epochs in sorted(tasks.items()):
        row: Fields = {"subtopology_id": subtopology, "partitions": sorted(epochs)}
        if with_epochs:
            row["assignment_epochs"] = [epochs[partition] for partition in sorted(epochs)]
        rows.append(row)
    return rows
