"""The course of a rebalance, for handlers and timers: prepare, join, next generation, sync."""

from __future__ import annotations

from typing import Any

from coordinator_core.coordinator.classic.group import CONSUMER, ClassicGroup, ClassicMember
from coordinator_core.coordinator.classic.group_records import group_record, group_tombstone
from coordinator_core.coordinator.classic.reactions import move, react
from coordinator_core.coordinator.classic.states import GroupState, Input
from coordinator_core.coordinator.classic.subscriptions import subscribed_topics
from coordinator_core.coordinator.classic.timers import extended_delay
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors, UnexpectedState
from coordinator_core.protocol.messages import JoinResponse, SyncResponse

Cause = dict[str, Any]  # the rebalance's reason: its class and fields, as in log_lines

CAN_REBALANCE = frozenset({GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE})


def nothing(turn: Turn, group: ClassicGroup, subject: Any) -> None:
    """The state ignores the input."""


def prepare(turn: Turn, group: ClassicGroup, cause: Cause) -> None:
    """Begin a rebalance: wait for all members to join again."""
    if group.state is GroupState.COMPLETING_REBALANCE:
        reset_assignments(turn, group, Errors.REBALANCE_IN_PROGRESS)
    group.pending_sync.clear()
    turn.timers.check_sync(group)
    is_initial = group.state is GroupState.EMPTY and turn.era.has_initial_delay
    move(turn, group, GroupState.PREPARING_REBALANCE)
    turn.effects.event("REBALANCE_START", group, **cause)
    turn.timers.start_join(group, is_initial)


def prepare_or_check_join(turn: Turn, group: ClassicGroup, cause: Cause) -> None:
    """Begin a rebalance, or complete the running one if all members have joined."""
    if group.state in CAN_REBALANCE:
        prepare(turn, group, cause)
    else:
        turn.timers.check_join(group)


def check_join(turn: Turn, group: ClassicGroup, cause: Cause) -> None:
    turn.timers.check_join(group)


def complete_if_all_joined(turn: Turn, group: ClassicGroup, cause: Cause) -> None:
    """In 4.x, when a member fails, even an initial delay ends if all other members have joined."""
    if group.has_all_joined():
        turn.timers.cancel_join(group)
        complete_join(turn, group)


def complete_join(turn: Turn, group: ClassicGroup) -> None:
    """End the wait for joins: remove members that did not rejoin, begin the next generation."""
    _remove_not_rejoined(turn, group)
    if group.state is GroupState.DEAD:
        turn.effects.event("REBALANCE_SKIPPED", group)
    elif not _ensure_joined_leader(turn, group) and group.members:
        turn.effects.event("NOBODY_REJOINED", group)
        turn.timers.start_join(group, False)
    elif not group.members and not turn.era.has_empty_state:
        end_empty_group(turn, group)
    else:
        _next_generation(turn, group)


def initial_delay_ended(turn: Turn, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
    """End the wait for joins (KIP-134), or extend it if members joined and time remains."""
    if not (group.new_member_added and remaining_ms):
        complete_join(turn, group)
        return
    group.new_member_added = False
    configured_ms = turn.config.group_initial_rebalance_delay_ms
    delays_ms = extended_delay(configured_ms, delay_ms, remaining_ms)
    turn.timers.start_initial_join(group, *delays_ms)


def _remove_not_rejoined(turn: Turn, group: ClassicGroup) -> None:
    late = [
        member
        for member in group.in_order()
        if member.awaiting_join is None and member.instance_id is None
    ]
    for member in late:
        forget(turn, group, member.member_id)
        if turn.era.ends_sessions_of_dropped:
            member.is_leaving = True
            turn.timers.end_session(group, member.member_id)
    if late:
        turn.effects.event("DROPPED_NOT_REJOINED", group, members=tuple(m.member_id for m in late))


def _ensure_joined_leader(turn: Turn, group: ClassicGroup) -> bool:
    """KAFKA-8220: replace a static leader that did not rejoin.

    Returns False if no member rejoined.
    """
    if group.leader is None:
        return False
    leader = group.members[group.leader]
    if leader.awaiting_join is not None:
        return True
    joined = next((each for each in group.in_order() if each.awaiting_join is not None), None)
    lost = {"member_id": leader.member_id, "instance_id": leader.instance_id}
    if joined is None:
        turn.effects.event("LEADER_LOST", group, **lost)
        return False
    group.leader = joined.member_id
    turn.effects.event("LEADER_REPLACED", group, **lost, **_new_leader_fields(group, joined))
    return True


def _new_leader_fields(group: ClassicGroup, member: ClassicMember) -> dict[str, Any]:
    """The fields of LEADER_REPLACED that its log line prints."""
    return {
        "new_leader_id": member.member_id,
        "new_leader_instance_id": member.instance_id,
        "new_leader_client_id": member.client_id,
        "new_leader_client_host": member.client_host,
        "new_leader_session_timeout_ms": member.session_timeout_ms,
        "new_leader_rebalance_timeout_ms": member.rebalance_timeout_ms,
        "new_leader_protocol_type": group.protocol_type,
        "new_leader_protocols": tuple(name for name, _ in member.protocols),
    }


def _next_generation(turn: Turn, group: ClassicGroup) -> None:
    group.generation += 1
    group.protocol = turn.era.protocol_of_votes(group.votes()) if group.members else None
    _read_subscriptions(turn, group)
    if group.subscribed_topics is None and group.protocol_type == CONSUMER and group.members:
        fields = {"protocol_type": group.protocol_type, "protocol_name": group.protocol}
        turn.effects.event("SUBSCRIPTION_UNREADABLE", group, **fields)
    if group.members:
        move(turn, group, GroupState.COMPLETING_REBALANCE)
        group.pending_sync.clear()
        _answer_joins(turn, group)
    else:
        move(turn, group, GroupState.EMPTY)
        group.pending_sync.clear()
        turn.effects.event("GROUP_EMPTY", group)
        record = group_record(turn.era, group, {})
        turn.log.append(
            group.group_id,
            group.partition,
            [record],
            lambda error: _empty_stored(turn, group, error),
        )


def _read_subscriptions(turn: Turn, group: ClassicGroup) -> None:
    """The topics of the next generation; if that fails, the group stays in its state."""
    try:
        group.subscribed_topics = subscribed_topics(turn.era, group)
    except UnexpectedState:
        turn.effects.event("STATE", group)  # the line shows the new generation
        raise


def _empty_stored(turn: Turn, group: ClassicGroup, error: Errors) -> None:
    """On failure the previous generation stays in the log; once loaded, its members expire."""
    if error is not Errors.NONE:
        mapped = turn.era.group_store_errors.get(error, error)
        turn.effects.event("STORE_FAILED", group, step="empty", error=mapped.name)


def _answer_joins(turn: Turn, group: ClassicGroup) -> None:
    turn.effects.event("JOIN_COMPLETE", group, member_count=len(group.members))
    era = turn.era
    for member in group.in_order():
        request_id = group.take_join(member)
        if request_id is not None:
            turn.effects.respond(request_id, joined(turn, group, member))
        turn.timers.renew_session(group, member, member.session_timeout_ms)
        member.is_new = False
        if era.has_pending_sync:
            group.pending_sync[member.member_id] = None
    if era.has_pending_sync:
        turn.timers.start_sync(group)


def joined(
    turn: Turn, group: ClassicGroup, member: ClassicMember, *, as_leader: bool | None = None
) -> JoinResponse:
    """The answer to a join of the current generation; the leader gets the list of members."""
    is_leader = group.leader == member.member_id if as_leader is None else as_leader
    return JoinResponse(
        error=Errors.NONE,
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=group.leader,
        member_id=member.member_id,
        members=_member_metadata(turn, group) if is_leader else (),
    )


def _member_metadata(turn: Turn, group: ClassicGroup) -> tuple[tuple[str, str | None, bytes], ...]:
    order = turn.era.joined_order([member.member_id for member in group.in_order()])
    members = [group.members[member_id] for member_id in order]
    return tuple([(m.member_id, m.instance_id, m.metadata(group.protocol)) for m in members])


def reset_assignments(turn: Turn, group: ClassicGroup, error: Errors) -> None:
    """Clear all assignments and fail the syncs that wait, with ``error``."""
    for member in group.in_order():
        member.assignment = b""
    answer_syncs(turn, group, error)


def answer_syncs(turn: Turn, group: ClassicGroup, error: Errors) -> None:
    """Answer the syncs that wait, and renew the sessions of their members."""
    ok = error is Errors.NONE
    protocol_type, protocol = (group.protocol_type, group.protocol) if ok else (None, None)
    for member in group.in_order():
        if ok and not member.assignment:
            turn.effects.event("EMPTY_ASSIGNMENTS", group, step="sent", member_id=member.member_id)
        request_id = member.awaiting_sync
        if request_id is not None:
            member.awaiting_sync = None
            turn.effects.respond(
                request_id, SyncResponse(error, protocol_type, protocol, member.assignment)
            )
            # The member's session timer may have fired without effect while the sync waited: set a
            # new timer.
            turn.timers.renew_session(group, member, member.session_timeout_ms)


def answer_joins_and_syncs(turn: Turn, group: ClassicGroup, error: Errors) -> None:
    """Fail all joins and syncs that wait; the group is about to change its type."""
    for member in group.in_order():
        request_id = group.take_join(member)
        if request_id is not None:
            turn.effects.respond(request_id, failed_join(turn, member.member_id, error))
    for member in group.in_order():
        if member.awaiting_sync is not None:
            turn.effects.respond(member.awaiting_sync, SyncResponse(error))
            member.awaiting_sync = None


def forget(turn: Turn, group: ClassicGroup, member_id: str) -> None:
    """Remove every trace of a member or pending member from the group."""
    member = group.remove(member_id)
    if member is not None and member.instance_id is not None:
        group.static_members.pop(member.instance_id, None)
    group.pending.pop(member_id, None)
    group.pending_sync.pop(member_id, None)


def remove_member(turn: Turn, group: ClassicGroup, member: ClassicMember) -> None:
    """Remove a member; its join, if one waits, is answered UNKNOWN_MEMBER_ID."""
    if turn.era.times_out_first_joins:
        request_id = group.take_join(member)
        if request_id is not None:
            turn.effects.respond(request_id, failed_join(turn, "", Errors.UNKNOWN_MEMBER_ID))
    forget(turn, group, member.member_id)


def failed_join(turn: Turn, member_id: str, error: Errors) -> JoinResponse:
    era = turn.era
    return JoinResponse(
        error=error,
        generation=era.failed_join_generation,
        protocol_name=era.failed_join_protocol,
        member_id=member_id,
    )


def session_expired(turn: Turn, group: ClassicGroup, member: ClassicMember) -> None:
    """Remove a member that sent no request within its session timeout."""
    turn.effects.event("HEARTBEAT_EXPIRED", group, member_id=member.member_id)
    remove_member(turn, group, member)
    cause = {"cause": "SESSION_EXPIRY", "member_id": member.member_id}
    react(turn, Input.MEMBER_FAILED, group, cause)


def pending_expired(turn: Turn, group: ClassicGroup, member_id: str) -> None:
    """Remove a pending member that did not join with its id in time."""
    turn.effects.event("PENDING_EXPIRED", group, member_id=member_id)
    forget(turn, group, member_id)
    react(turn, Input.PENDING_MEMBER_FAILED, group, {})


def sync_expired(turn: Turn, group: ClassicGroup, generation: int) -> None:
    """KAFKA-12890: the rebalance timeout passed without syncs of all members."""
    if generation == group.generation:
        react(turn, Input.SYNC_EXPIRED, group, None)


def remove_unsynced(turn: Turn, group: ClassicGroup, subject: None) -> None:
    """Remove members without a sync in this generation, and rebalance."""
    late = tuple(group.pending_sync)
    if not late:
        return
    for member_id in late:
        forget(turn, group, member_id)
        turn.timers.end_session(group, member_id)
    turn.effects.event("SYNC_TIMEOUT", group, members=late)
    prepare(turn, group, {"cause": "SYNC_TIMEOUT", "members": late})


def end_empty_group(turn: Turn, group: ClassicGroup) -> None:
    """Before KAFKA-2720 a group died with its last member."""
    move(turn, group, GroupState.DEAD)
    turn.groups.remove_classic(group)
    turn.log.append(
        group.group_id, group.partition, [group_tombstone(group.group_id)], lambda error: None
    )
    turn.effects.event("GROUP_DEAD", group)
