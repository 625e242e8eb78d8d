"""The effect of each record on a consumer group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coordinator_core.coordinator.consumer.group import (
    LEFT,
    ClassicMetadata,
    ConsumerGroup,
    ConsumerMember,
    Owned,
    ResolvedRegex,
)
from coordinator_core.coordinator.consumer.states import ConsumerMemberState
from coordinator_core.coordinator.group_handlers import Replay
from coordinator_core.coordinator.metadata_image import MetadataImage, TopicImage
from coordinator_core.coordinator.modern.configuration import rules_of
from coordinator_core.coordinator.modern.order import (
    copied_partitions,
    in_order_of_ids,
    in_order_of_ints,
)
from coordinator_core.coordinator.modern.records import Fields
from coordinator_core.coordinator.modern.replaying import group_of, put, set_field, set_target
from coordinator_core.coordinator.turn import Turn

_STATES = {state.value: state for state in ConsumerMemberState}


def _group(turn: Turn, key: Fields, value: Fields | None) -> ConsumerGroup | None:
    return group_of(turn, ConsumerGroup, key, value, new_group, replaces_simple=True)


def new_group(turn: Turn, group_id: str) -> ConsumerGroup:
    """A group that is not registered yet, with the offsets that the group id has."""
    rules = rules_of(turn)
    partition, offsets = turn.log.partition_of(group_id), turn.groups.offsets_for(group_id)
    group = ConsumerGroup(group_id, partition, offsets, rules.first_epoch)
    group.frees_instance_ids = rules.frees_instance_ids
    return group


def _replay_group(turn: Turn, key: Fields, value: Fields | None) -> None:
    group = _group(turn, key, value)
    if group is None:
        return
    if value is None:
        turn.groups.remove_modern(group)
        return
    set_field(turn, group, "epoch", value["epoch"])
    if not rules_of(turn).writes_topics:
        set_field(turn, group, "metadata_hash", value.get("metadata_hash", 0))


def _replay_partition_metadata(turn: Turn, key: Fields, value: Fields | None) -> None:
    """Written before 4.1 only: the group's topics, now a hash in the group's record."""
    group = _group(turn, key, value)
    if group is None:
        return
    set_field(turn, group, "has_partition_metadata", value is not None)
    if rules_of(turn).writes_topics:
        rows = [] if value is None else value["topics"]
        set_field(turn, group, "metadata_hash", _hash_of(rows))


def _hash_of(rows: list[dict[str, Any]]) -> int:
    topics = {
        row["topic_name"]: TopicImage(row["topic_name"], row["topic_id"], row["num_partitions"])
        for row in rows
    }
    return MetadataImage(topics).group_hash(topics)


def _replay_target(turn: Turn, key: Fields, value: Fields | None) -> None:
    group = _group(turn, key, value)
    if group is not None:
        set_target(turn, group, value)


def _replay_member_target(turn: Turn, key: Fields, value: Fields | None) -> None:
    group = _group(turn, key, value)
    if group is not None:
        target = None
        if value is not None:
            rows = value["topic_partitions"]
            target = {row["topic_id"]: copied_partitions(row["partitions"]) for row in rows}
        put(turn, group.targets, key["member_id"], target)


def _replay_regex(turn: Turn, key: Fields, value: Fields | None) -> None:
    group = _group(turn, key, value)
    if group is not None:
        resolved = None
        if value is not None:
            topics = frozenset(value["topics"])
            resolved = ResolvedRegex(topics, value["version"], value["timestamp"])
        regex, before = key["regular_expression"], group.regexes.get(key["regular_expression"])
        group.put_regex(regex, resolved)
        turn.log.reverts.append(lambda: group.put_regex(regex, before))


def _replay_member(turn: Turn, key: Fields, value: Fields | None) -> None:
    group = _group(turn, key, value)
    if group is None:
        return
    before = group.members.get(key["member_id"])
    if value is None:
        _put_member(turn, group, key["member_id"], before, None)
        return
    member = before or ConsumerMember(member_id=key["member_id"])
    classic = value.get("classic_member_metadata")
    changed = member._replace(
        instance_id=value["instance_id"],
        rack_id=value["rack_id"],
        client_id=value["client_id"],
        client_host=value["client_host"],
        topics=frozenset(value["subscribed_topic_names"]),
        regex=value["subscribed_topic_regex"] or "",
        rebalance_timeout_ms=value["rebalance_timeout_ms"],
        assignor=value["server_assignor"],
        classic=None if classic is None else _classic(classic),
    )
    _put_member(turn, group, key["member_id"], before, changed)


def _classic(fields: Mapping[str, Any]) -> ClassicMetadata:
    protocols = [(each["name"], each["metadata"]) for each in fields["supported_protocols"]]
    return ClassicMetadata(fields["session_timeout_ms"], tuple(protocols))


def _replay_current(turn: Turn, key: Fields, value: Fields | None) -> None:
    group = _group(turn, key, value)
    if group is None:
        return
    before = group.members.get(key["member_id"])
    if value is not None:
        member = before or ConsumerMember(member_id=key["member_id"])
        epoch = value["member_epoch"]
        changed = member._replace(
            epoch=epoch,
            previous_epoch=value["previous_member_epoch"],
            state=_STATES[value["state"]],
            assigned=_owned(value["assigned_partitions"], epoch),
            pending=_owned(value["partitions_pending_revocation"], epoch),
        )
    elif before is not None:
        changed = before._replace(epoch=LEFT, previous_epoch=LEFT, assigned={}, pending={})
    else:
        return
    _put_member(turn, group, key["member_id"], before, changed)


def _owned(rows: list[dict[str, Any]], member_epoch: int) -> Owned:
    """Partitions with the epochs at which they were assigned, the member's if not written."""
    owned: dict[str, dict[int, int]] = {}
    for row in rows:
        epochs = row.get("assignment_epochs") or [member_epoch] * len(row["partitions"])
        pairs = dict(zip(row["partitions"], epochs, strict=False))
        owned[row["topic_id"]] = {each: pairs[each] for each in in_order_of_ints(pairs)}
    return {topic_id: owned[topic_id] for topic_id in in_order_of_ids(owned)}


def _put_member(
    turn: Turn,
    group: ConsumerGroup,
    member_id: str,
    before: ConsumerMember | None,
    after: ConsumerMember | None,
) -> None:
    static = dict(group.static_members)
    if after is not None:
        group.put_member(after)
    elif before is not None:
        group.drop_member(member_id)

    def revert() -> None:
        if before is not None:
            group.reverted[member_id] = None
        if after is not None:
            group.drop_member(member_id)
        if before is not None:
            group.put_member(before)
        group.static_members = static

    turn.log.reverts.append(revert)


REPLAYS: Mapping[str, Replay[Turn]] = {
    "ConsumerGroupMetadata": _replay_group,
    "ConsumerGroupPartitionMetadata": _replay_partition_metadata,
    "ConsumerGroupMemberMetadata": _replay_member,
    "ConsumerGroupTargetAssignmentMetadata": _replay_target,
    "ConsumerGroupTargetAssignmentMember": _replay_member_target,
    "ConsumerGroupCurrentMemberAssignment": _replay_current,
    "ConsumerGroupRegularExpression": _replay_regex,
}
