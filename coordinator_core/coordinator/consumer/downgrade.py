"""A consumer group becomes a classic group (downgrade): its last consumer member is gone.

The members keep their target assignments.  One append has tombstones of all records of the consumer
group, and the record of the classic group.  Source: KIP-848, GroupMetadataManager.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from coordinator_core.coordinator.classic.group import CONSUMER, ClassicGroup, ClassicMember
from coordinator_core.coordinator.classic.group_records import group_record as classic_record
from coordinator_core.coordinator.classic.rebalance import prepare
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.classic.subscriptions import subscribed_topics
from coordinator_core.coordinator.consumer.group import ConsumerGroup, ConsumerMember
from coordinator_core.coordinator.consumer.records import tombstones
from coordinator_core.coordinator.modern.order import in_order_of_ids
from coordinator_core.coordinator.modern.records import ModernRecord
from coordinator_core.coordinator.modern.timers import Failed
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.records import Assignment, encode_assignment


def may_downgrade(
    turn: Turn, group: ConsumerGroup, leaving: list[ConsumerMember], *, replaced: bool = False
) -> bool:
    """Returns whether the group becomes classic without these members, or if one of them is
    replaced.
    """
    if not group.all_classic_except(leaving):
        return False
    size = len(group.members) - (0 if replaced else len(leaving))
    if size <= 0:
        return False
    if not turn.config.modern.downgrades_online:
        step = "disabled"
    elif size > turn.config.group_max_size:
        step = "too_large"
    else:
        return True
    turn.effects.modern_event("OTHER", group.group_id, step=f"downgrade_{step}")
    return False


def downgrade_without(
    turn: Turn,
    group: ConsumerGroup,
    leaving: list[ConsumerMember],
    failed: Failed | None,
) -> None:
    """Make the group classic without these members, and rebalance it."""
    gone = {member.member_id for member in leaving}
    members = [member for member in group.in_order() if member.member_id not in gone]
    cause = {"cause": "CONVERT", "reason_step": "leave"}
    _downgrade(turn, group, members, {}, tombstones(group), cause, failed)


def downgrade_with(
    turn: Turn,
    group: ConsumerGroup,
    joining: ConsumerMember,
    records: list[ModernRecord],
    *,
    rebalances: bool,
) -> None:
    """Make the group classic, with a classic member in place of the last consumer member."""
    replaced = group.static_member(joining.instance_id)
    old_id = joining.member_id if replaced is None else replaced.member_id
    members = [member for member in group.in_order() if member.member_id != old_id]
    members.append(joining)
    aliases = {joining.member_id: old_id}
    assert turn.era.modern is not None
    step = "stale" if turn.era.modern.downgrades_stale_assignments else "static"
    cause = {"cause": "CONVERT", "reason_step": step} if rebalances else None
    removed = records + tombstones(group, renamed={old_id: joining.member_id})
    _downgrade(turn, group, members, aliases, removed, cause, None)


def _downgrade(
    turn: Turn,
    group: ConsumerGroup,
    members: list[ConsumerMember],
    aliases: dict[str, str],
    removed: list[ModernRecord],
    cause: dict[str, str] | None,
    failed: Failed | None,
) -> None:
    """Replace the group at once; its records are not replayed."""
    turn.groups.modern.pop(group.group_id)
    classic = _classic_group(turn, group, members, aliases)
    assignments = {member.member_id: member.assignment for member in classic.in_order()}
    encoded = [record.encoded() for record in removed]
    encoded.append(classic_record(turn.era, classic, assignments))
    turn.groups.add_classic(classic)
    for member in classic.in_order():
        turn.timers.renew_session(classic, member, member.session_timeout_ms)
    if cause is not None:
        prepare(turn, classic, cause)
    turn.effects.modern_event("CONVERT", group.group_id, step="to_classic")

    def appended(error: Errors) -> None:
        if error is not Errors.NONE:
            turn.groups.remove_classic(classic)
            turn.groups.restore_modern(group)
            if failed is not None:
                failed()

    turn.log.append(classic.group_id, classic.partition, encoded, appended)


def _classic_group(
    turn: Turn, group: ConsumerGroup, members: list[ConsumerMember], aliases: dict[str, str]
) -> ClassicGroup:
    classic = turn.groups.unregistered_classic(group.group_id, turn.now_ms)
    classic.offsets = group.offsets
    classic.generation = group.epoch
    classic.protocol_type = CONSUMER
    classic.state = GroupState.STABLE
    classic.state_timestamp_ms = turn.now_ms
    for member in members:
        added = _classic_member(member)
        if added.instance_id is not None:
            classic.static_members[added.instance_id] = added.member_id
        classic.add(added, None)
    classic.protocol = turn.era.protocol_of_votes(classic.votes())
    classic.subscribed_topics = subscribed_topics(turn.era, classic)
    for added in classic.in_order():
        _set_assignment(turn, group, classic, added, aliases)
    return classic


def _classic_member(member: ConsumerMember) -> ClassicMember:
    assert member.classic is not None
    return ClassicMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.classic.session_timeout_ms,
        protocols=member.classic.protocols,
    )


def _set_assignment(
    turn: Turn,
    group: ConsumerGroup,
    classic: ClassicGroup,
    member: ClassicMember,
    aliases: dict[str, str],
) -> None:
    """The member's target, in the version of the member's subscription."""
    target = group.targets.get(aliases.get(member.member_id, member.member_id), {})
    member.assignment = assignment_bytes(turn, target, member.metadata(classic.protocol))


def assignment_bytes(
    turn: Turn, partitions: Mapping[str, Iterable[int]], subscription: bytes
) -> bytes:
    """A ConsumerProtocolAssignment in the version of the member's subscription."""
    by_id = turn.image.by_id
    rows = [
        (by_id[topic_id].name, list(partitions[topic_id]))
        for topic_id in in_order_of_ids(partitions)
        if topic_id in by_id
    ]
    version = int.from_bytes(subscription[:2], "big", signed=True)
    return encode_assignment(Assignment(version, rows))
