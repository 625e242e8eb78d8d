"""Taking over a partition of `__consumer_offsets`, and giving it up.

A coordinator that becomes responsible reads the log and goes on where the former one left off:
members as the last record of their group has them, with a new session each, and the latest offsets.
What was in no record (pending members, a rebalance that was on) is lost; clients begin it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from coordinator_core.coordinator.classic import rebalance
from coordinator_core.coordinator.classic.group import Group, Member
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.classic.subscriptions import subscribed_topics
from coordinator_core.coordinator.offsets import CommittedOffset
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Record, SyncResponse
from coordinator_core.records import decode

_NO_TIME = -1


def load(turn: Turn, records: Iterable[Record]) -> None:
    """Apply records in the order of the log, compacted or not, then let the groups live.

    Types of record that classic groups do not write are passed over.  Raises BadRecord for bytes
    that cannot be read.
    """
    known = set(turn.groups)
    for key, value in records:
        record = decode(key, value)
        if record.name == "GroupMetadata":
            _apply_group(turn, record.key["group"], record.value)
        elif record.name in ("OffsetCommit", "LegacyOffsetCommit"):
            partition = (record.key["topic"], record.key["partition"])
            _apply_offset(turn, record.key["group"], partition, record.value)
    for group in turn.all_groups():
        if group.group_id not in known:
            turn.shard_of(group.partition).unwritten.pop(group.group_id, None)
            _bring_to_life(turn, group)


def _apply_group(turn: Turn, group_id: str, value: Mapping[str, Any] | None) -> None:
    former = turn.groups.get(group_id)
    if former is not None:
        turn.remove_group(former)
    if value is None:
        return
    group = turn.new_group(group_id)
    if former is not None:
        group.offsets = former.offsets
    group.generation = value["generation"]
    group.protocol_type = value["protocol_type"] or None
    group.protocol = value["protocol"]
    group.leader = value["leader"]
    group.state_timestamp_ms = value.get("current_state_timestamp", _NO_TIME)
    for fields in value["members"]:
        _add(group, _member(group, fields))
    alive = bool(group.members) or not turn.era.has_empty_state
    group.state = GroupState.STABLE if alive else GroupState.EMPTY
    group.subscribed_topics = subscribed_topics(group)


def _member(group: Group, fields: Mapping[str, Any]) -> Member:
    """A member as recorded: it supports the protocol that was chosen, as far as is known."""
    timeout_ms = fields.get("rebalance_timeout", _NO_TIME)
    return Member(
        fields["member_id"],
        fields.get("group_instance_id"),
        fields["client_id"],
        fields["client_host"],
        fields["session_timeout"] if timeout_ms == _NO_TIME else timeout_ms,
        fields["session_timeout"],
        ((group.protocol or "", fields["subscription"]),),
        fields["assignment"],
    )


def _add(group: Group, member: Member) -> None:
    if member.instance_id is not None:
        group.static_members[member.instance_id] = member.member_id
    group.add(member, None)


def _apply_offset(
    turn: Turn, group_id: str, partition: tuple[str, int], value: Mapping[str, Any] | None
) -> None:
    group = turn.groups.get(group_id)
    if group is None and value is None:
        return
    if group is None:
        has_groups = turn.era.has_empty_state  # KAFKA-2720: offsets alone made no group
        group = turn.new_group(group_id) if has_groups else turn.make_group(group_id)
    if value is not None:
        expire_ms = value.get("expire_timestamp", _NO_TIME)
        committed = CommittedOffset(
            value["offset"],
            value["metadata"],
            value["commit_timestamp"],
            None if expire_ms == _NO_TIME else expire_ms,
        )
        group.offsets.put(partition, committed)
    elif partition in group.offsets:
        group.offsets.remove(partition)


def _bring_to_life(turn: Turn, group: Group) -> None:
    turn.event("LOADED", group, step="group", member_count=len(group.members))
    is_too_large = len(group.members) > turn.config.group_max_size
    if is_too_large and not turn.era.is_new_coordinator:
        _shed(turn, group)
    for member in group.in_order():
        turn.era.renew_session(turn, group, member, member.session_timeout_ms)
    if is_too_large and turn.era.is_new_coordinator:
        _shed(turn, group)


def _shed(turn: Turn, group: Group) -> None:
    """KIP-389: the maximal size may have been lowered meanwhile."""
    cause = {
        "cause": "OVER_CAPACITY",
        "member_count": len(group.members),
        "max_size": turn.config.group_max_size,
    }
    rebalance.prepare(turn, group, cause)


def unload(turn: Turn, partition: int | None) -> None:
    """Give up the groups of a partition, or all: who waits is told to look elsewhere."""
    error = Errors.NOT_COORDINATOR
    for group in turn.all_groups():
        if partition is None or group.partition == partition:
            turn.event("UNLOADED", group)
            _dismiss(turn, group, error)
            turn.remove_group(group)
            turn.shard_of(group.partition).unwritten.pop(group.group_id, None)


def _dismiss(turn: Turn, group: Group, error: Errors) -> None:
    was_preparing = group.state is GroupState.PREPARING_REBALANCE
    turn.move(group, GroupState.DEAD)
    for member in group.in_order():
        join, sync = group.take_join(member), member.awaiting_sync
        member.awaiting_sync = None
        if was_preparing and join is not None:
            turn.respond(join, rebalance.failed_join(turn, member.member_id, error))
        if not was_preparing and sync is not None:
            turn.respond(sync, SyncResponse(error))
    for member_id in (*group.members, *group.pending):
        turn.sessions.cancel((group.group_id, member_id))
    turn.joins.cancel(group.group_id)
    turn.syncs.cancel(group.group_id)
