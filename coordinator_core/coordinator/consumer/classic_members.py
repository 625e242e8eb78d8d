"""Members of the classic protocol in a consumer group: join, sync, heartbeat, leave.

The coordinator assigns partitions to classic members as to all other members.  The generation of a
classic member is its member epoch.  A join is answered at once, without a leader, and its SyncGroup
is answered with the assignment.  A heartbeat tells a member to join again when it must revoke
partitions or can get new ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from coordinator_core.assignors.model import AssignorError
from coordinator_core.coordinator.classic.handlers import join
from coordinator_core.coordinator.consumer import downgrade, fencing, regexes, timers, upgrade
from coordinator_core.coordinator.consumer.checks import check_size, check_static
from coordinator_core.coordinator.consumer.draft import Draft
from coordinator_core.coordinator.consumer.group import (
    ClassicMetadata,
    ConsumerGroup,
    ConsumerMember,
    Partitions,
)
from coordinator_core.coordinator.consumer.heartbeat import (
    MemberChange,
    join_static,
    joined,
    partitions_of,
    reconcile,
    update_group,
    update_member,
)
from coordinator_core.coordinator.consumer.records import tombstones
from coordinator_core.coordinator.consumer.states import ConsumerMemberState
from coordinator_core.coordinator.consumer.target import Target, update_target
from coordinator_core.coordinator.era import ModernRules
from coordinator_core.coordinator.modern.configuration import rules_of
from coordinator_core.coordinator.modern.order import copied_partitions
from coordinator_core.coordinator.modern.timers import JOIN, SYNC
from coordinator_core.coordinator.modern.writing import answer, write
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    Leaver,
    LeaveResponse,
    SyncGroup,
    SyncResponse,
)
from coordinator_core.records import Subscription

_CONSUMER = "consumer"


# -- join ----------------------------------------------------------------------------------------


def handle_join(turn: Turn, group: ConsumerGroup, request: JoinGroup) -> None:
    error = join.check(turn, request)
    if error is not Errors.NONE:
        join.refuse(turn, request, request.member_id, error)
    elif group.is_empty():
        _join_empty_group(turn, group, request)
    else:
        _join(turn, group, request)


def _join_empty_group(turn: Turn, group: ConsumerGroup, request: JoinGroup) -> None:
    """The group becomes classic; it is back if its records cannot be written."""
    turn.groups.modern.pop(group.group_id)
    turn.groups.unwritten_removals[group.group_id] = group
    turn.groups.keep_offsets(group.group_id, group.offsets)
    turn.effects.modern_event("CONVERT", group.group_id, step="empty_to_classic")

    def revert() -> None:
        turn.groups.modern[group.group_id] = group

    removed = [record.encoded() for record in tombstones(group)]
    join.handle_replacing(turn, request, removed, revert)


def _join(turn: Turn, group: ConsumerGroup, request: JoinGroup) -> None:
    assert turn.era.modern is not None
    if turn.era.modern.classic_joins_need_migration and not _may_migrate(turn, group):
        _refuse(turn, request, Errors.INCONSISTENT_GROUP_PROTOCOL)
        return
    member_id = request.member_id or turn.member_ids(group.group_id, request.client_id)
    error = check_size(turn, group, member_id, request.instance_id)
    if error is Errors.NONE and not group.supports(request.protocol_type, request.protocols):
        error = Errors.INCONSISTENT_GROUP_PROTOCOL
    if error is not Errors.NONE:
        _refuse(turn, request, error)
    elif _needs_known_id(request):
        fields = {"member_id": member_id, "step": "id_required", "protocol": "consumer"}
        turn.effects.modern_event("MEMBER_JOIN", group.group_id, **fields)
        response = JoinResponse(
            error=Errors.MEMBER_ID_REQUIRED, protocol_name="", member_id=member_id
        )
        turn.log.answer(request, response)
    else:
        _join_with_id(turn, group, request, member_id)


def _may_migrate(turn: Turn, group: ConsumerGroup) -> bool:
    settings = turn.config.modern
    if settings.upgrades_online or settings.downgrades_online:
        return True
    turn.effects.modern_event("OTHER", group.group_id, step="migration_disabled")
    return False


def _needs_known_id(request: JoinGroup) -> bool:
    is_unknown = not request.member_id and request.instance_id is None
    return is_unknown and request.requires_known_member_id


def _refuse(turn: Turn, request: JoinGroup, error: Errors) -> None:
    turn.log.answer(request, _refusal(error))


def _refusal(error: Errors) -> JoinResponse:
    return JoinResponse(error=error, protocol_name="")


def _join_with_id(turn: Turn, group: ConsumerGroup, request: JoinGroup, member_id: str) -> None:
    draft = Draft(turn, group, [])
    before, error = _member_of(draft, request, member_id)
    if error is not Errors.NONE:
        _refuse(turn, request, error)
        return
    replaced = group.static_member(request.instance_id)
    downgrades = replaced is not None and downgrade.may_downgrade(
        turn, group, [replaced], replaced=True
    )
    subscription = upgrade.read_subscription(request.protocols[0][1])
    if subscription is None:
        _refuse(turn, request, _malformed(draft))
        return
    after = _updated(draft.rules, before, request, subscription)
    change = update_member(draft, before, after)
    update_group(draft, after, bumps=change.subscription)
    owned = _owned(turn, subscription)
    if downgrades:
        # Kafka finds the replaced member by its instance id, which the member may have changed.
        if replaced is not None and replaced.instance_id != request.instance_id:
            _refuse(turn, request, Errors.UNKNOWN_SERVER_ERROR)
        else:
            _downgrade(draft, request, after, owned, change)
        return
    try:
        target = update_target(draft, after)
    except AssignorError:
        _refuse(turn, request, Errors.UNKNOWN_SERVER_ERROR)
        return
    member = reconcile(draft, after, target, owned, subscription_changed=change.subscription)
    if draft.rules.classic_joins_refresh_regexes:
        regexes.resolve_later(draft, before, after)
    write(turn, group.group_id, draft.records)
    _answer(turn, request, member)


def _malformed(draft: Draft) -> Errors:
    if draft.rules.names_malformed_subscriptions:
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    return Errors.UNKNOWN_SERVER_ERROR


def _member_of(draft: Draft, request: JoinGroup, member_id: str) -> tuple[ConsumerMember, Errors]:
    if request.instance_id is None:
        joined(draft, member_id, "classic")
        return draft.group.members.get(member_id) or ConsumerMember(
            member_id=member_id
        ), Errors.NONE
    if not request.member_id:
        return join_static(draft, member_id, request.instance_id, "classic")
    error = check_static(draft.turn, draft.group, member_id, request.instance_id)
    return draft.group.members.get(member_id) or ConsumerMember(member_id=member_id), error


def _updated(
    rules: ModernRules, member: ConsumerMember, request: JoinGroup, subscription: Subscription
) -> ConsumerMember:
    rack_id = subscription.rack_id or None
    return member._replace(
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if rack_id is None else rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=frozenset(subscription.topics),
        regex="" if rules.classic_joins_refresh_regexes else member.regex,
        client_id=request.client_id,
        client_host=request.client_host,
        classic=ClassicMetadata(request.session_timeout_ms, request.protocols),
    )


def _owned(turn: Turn, subscription: Subscription) -> Partitions:
    topics = turn.image.topics
    rows = [
        (topics[name].topic_id, tuple(partitions))
        for name, partitions in subscription.owned_partitions
        if name in topics
    ]
    return partitions_of(tuple(rows)) or {}


def _downgrade(
    draft: Draft,
    request: JoinGroup,
    after: ConsumerMember,
    owned: Partitions,
    change: MemberChange,
) -> None:
    """The last consumer member is replaced by a classic one: the group becomes classic."""
    group, turn = draft.group, draft.turn
    is_stale = group.assignment_epoch < draft.epoch
    if not draft.rules.downgrades_stale_assignments:
        is_stale = change.subscription
    member = after
    if not is_stale:
        target = Target(group.assignment_epoch, group.target_of(after))
        member = reconcile(draft, after, target, owned, subscription_changed=change.subscription)
    downgrade.downgrade_with(turn, group, member, draft.records, rebalances=is_stale)
    response = _joined(member)
    answer(turn, request, response, _refusal)
    turn.modern_timers.cancel((JOIN, group.group_id, member.member_id))


def _joined(member: ConsumerMember) -> JoinResponse:
    assert member.classic is not None
    protocol = member.classic.protocols[0][0]
    return JoinResponse(
        error=Errors.NONE,
        generation=member.epoch,
        protocol_type=_CONSUMER,
        protocol_name=protocol,
        leader="",
        member_id=member.member_id,
    )


def _answer(turn: Turn, request: JoinGroup, member: ConsumerMember) -> None:
    """Answer once the records are in the log; then the member has a session, and must sync."""
    group_id, member_id = request.group_id, member.member_id

    def stored() -> None:
        turn.modern_timers.cancel((JOIN, group_id, member_id))
        timers.start_session(turn, group_id, member_id, request.session_timeout_ms)
        timers.start_sync(turn, group_id, member_id, request.rebalance_timeout_ms)

    turn.log.after_appends(request.group_id, stored)
    answer(turn, request, _joined(member), _refusal)


# -- sync ----------------------------------------------------------------------------------------


def handle_sync(turn: Turn, group: ConsumerGroup, request: SyncGroup) -> None:
    member, error = _classic_member(turn, group, request.member_id, request.instance_id)
    if error is Errors.NONE:
        error = _check_sync(turn, group, member, request)
    if error is not Errors.NONE:
        turn.log.answer(request, SyncResponse(error))
        return
    assert member.classic is not None
    turn.modern_timers.cancel((SYNC, group.group_id, member.member_id))
    session_timeout_ms = member.classic.session_timeout_ms
    timers.start_session(turn, group.group_id, member.member_id, session_timeout_ms)
    assigned: Mapping[str, Collection[int]] = member.assigned
    if rules_of(turn).writes_assignment_epochs:  # Kafka copies partitions with epochs
        assigned = {topic_id: copied_partitions(epochs) for topic_id, epochs in assigned.items()}
    data = downgrade.assignment_bytes(turn, assigned, member.classic.protocols[0][1])
    response = SyncResponse(Errors.NONE, request.protocol_type, request.protocol_name, data)
    turn.log.answer(request, response)


def _classic_member(
    turn: Turn, group: ConsumerGroup, member_id: str, instance_id: str | None
) -> tuple[ConsumerMember, Errors]:
    if instance_id is not None:
        error = check_static(turn, group, member_id, instance_id)
        if error is not Errors.NONE:
            return ConsumerMember(member_id=member_id), error
    member = group.members.get(member_id)
    if member is None or member.classic is None:
        return ConsumerMember(member_id=member_id), Errors.UNKNOWN_MEMBER_ID
    return member, Errors.NONE


def _check_sync(
    turn: Turn, group: ConsumerGroup, member: ConsumerMember, request: SyncGroup
) -> Errors:
    assert member.classic is not None
    if request.generation != member.epoch:
        return Errors.ILLEGAL_GENERATION
    protocol = member.classic.protocols[0][0]
    if request.protocol_type not in (None, _CONSUMER) or request.protocol_name not in (
        None,
        protocol,
    ):
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    assert turn.era.modern is not None
    has_interval = turn.era.modern.has_assignment_interval
    newest = group.assignment_epoch if has_interval else group.epoch
    if newest > member.epoch and member.state is not ConsumerMemberState.UNREVOKED_PARTITIONS:
        timers.start_join(turn, group.group_id, member)
        return Errors.REBALANCE_IN_PROGRESS
    return Errors.NONE


# -- heartbeat -----------------------------------------------------------------------------------


def handle_heartbeat(turn: Turn, group: ConsumerGroup, request: Heartbeat) -> None:
    member, error = _classic_member(turn, group, request.member_id, request.instance_id)
    if error is Errors.NONE and request.generation != member.epoch:
        error = Errors.ILLEGAL_GENERATION
    if error is not Errors.NONE:
        turn.log.answer(request, HeartbeatResponse(error))
        return
    assert member.classic is not None
    session_timeout_ms = member.classic.session_timeout_ms
    timers.start_session(turn, group.group_id, member.member_id, session_timeout_ms)
    if _has_to_rejoin(turn, group, member):
        timers.start_join(turn, group.group_id, member)
        error = Errors.REBALANCE_IN_PROGRESS
    turn.log.answer(request, HeartbeatResponse(error))


def _has_to_rejoin(turn: Turn, group: ConsumerGroup, member: ConsumerMember) -> bool:
    """A newer target, partitions to revoke, or partitions that are free by now."""
    assert turn.era.modern is not None
    has_interval = turn.era.modern.has_assignment_interval
    newest = group.assignment_epoch if has_interval else group.epoch
    if member.epoch < newest or member.state is ConsumerMemberState.UNREVOKED_PARTITIONS:
        return True
    is_unreleased = member.state is ConsumerMemberState.UNRELEASED_PARTITIONS
    return is_unreleased and not group.waits_for_others(member)


# -- leave ---------------------------------------------------------------------------------------


def handle_leave(turn: Turn, group: ConsumerGroup, request: LeaveGroup) -> None:
    members: dict[str, ConsumerMember] = {}
    results = []
    for leaver in request.members:
        member, error = _leaver(turn, group, leaver)
        results.append((leaver.member_id, leaver.instance_id, error))
        if error is Errors.NONE:
            members[member.member_id] = member
            _log_leave(turn, group, leaver)
    fencing.fence_members(turn, group, list(members.values()))
    response = LeaveResponse(Errors.NONE, tuple(results))
    answer(turn, request, response, LeaveResponse)


def _leaver(turn: Turn, group: ConsumerGroup, leaver: Leaver) -> tuple[ConsumerMember, Errors]:
    unknown = ConsumerMember(member_id=leaver.member_id)
    if leaver.instance_id is None:
        member = group.members.get(leaver.member_id)
    else:
        member = group.static_member(leaver.instance_id)
        if member is not None and leaver.member_id:
            error = check_static(turn, group, leaver.member_id, leaver.instance_id)
            return member, error
    return (unknown, Errors.UNKNOWN_MEMBER_ID) if member is None else (member, Errors.NONE)


def _log_leave(turn: Turn, group: ConsumerGroup, leaver: Leaver) -> None:
    turn.effects.modern_event(
        "LEFT",
        group.group_id,
        step="classic",
        member_id=leaver.member_id,
        instance_id=leaver.instance_id,
        client_reason=leaver.reason,
    )
