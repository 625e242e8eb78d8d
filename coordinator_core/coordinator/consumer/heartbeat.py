"""ConsumerGroupHeartbeat: a member joins, stays, or leaves.

``_stay`` has the steps in the order of Kafka's GroupMetadataManager, each with the records that it
writes.  ``classic_members`` uses the same steps for a JoinGroup.
"""

from __future__ import annotations

from coordinator_core.assignors.model import AssignorError
from coordinator_core.coordinator.consumer import fencing, regexes, timers, upgrade
from coordinator_core.coordinator.consumer.checks import (
    check_epoch,
    check_request,
    check_size,
    check_static,
)
from coordinator_core.coordinator.consumer.draft import Draft
from coordinator_core.coordinator.consumer.group import (
    LEFT_FOR_A_WHILE,
    ConsumerMember,
    Partitions,
)
from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.coordinator.consumer.reconciliation import Goal, reconciled
from coordinator_core.coordinator.consumer.records import (
    current_record,
    member_record,
    member_target_record,
    removal_records,
    rows_of,
)
from coordinator_core.coordinator.consumer.states import ConsumerMemberState
from coordinator_core.coordinator.consumer.subscriptions import (
    Subscriptions,
    next_assignor,
    preferred_assignor,
    update_epoch,
    with_member,
)
from coordinator_core.coordinator.consumer.target import Target, default_assignor, update_target
from coordinator_core.coordinator.modern.configuration import setting_ms
from coordinator_core.coordinator.modern.timers import REBALANCE
from coordinator_core.coordinator.modern.writing import answer, write
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    ConsumerGroupHeartbeat,
    MemberHeartbeatResponse,
    TopicRows,
)


def handle(turn: Turn, request: ConsumerGroupHeartbeat) -> None:
    error = check_request(turn, request)
    if error is not Errors.NONE:
        turn.effects.respond(request.request_id, MemberHeartbeatResponse(error))
    elif request.member_epoch < 0:
        fencing.leave(turn, request)
    else:
        error = _stay(turn, request)
        if error is not Errors.NONE:
            turn.log.answer(request, MemberHeartbeatResponse(error))


def _stay(turn: Turn, request: ConsumerGroupHeartbeat) -> Errors:
    """A member joins or stays: collect the records of each step in a draft, write them, answer.

    Returns an error, and writes nothing, if the heartbeat is refused.
    """
    joins = request.member_epoch == 0

    # 0. Find the group and the member; a classic group may become a consumer group (upgrade). This
    # writes the records of the upgrade, or of the static member that this member replaces.
    draft, error = upgrade.consumer_group(turn, request.group_id, joins)
    if draft is None:
        return error
    group, group_id = draft.group, draft.group_id
    member_id = request.member_id or turn.member_ids(group_id, request.client_id)
    error = check_size(turn, group, request.member_id, request.instance_id)
    if error is not Errors.NONE:
        return error
    owned = partitions_of(request.owned)
    before, error = member_of(draft, request, member_id, owned)
    if error is not Errors.NONE:
        return error

    # 1. Create or update the member: writes ConsumerGroupMemberMetadata, and the tombstone of a
    #    ConsumerGroupRegularExpression that the member was the last to use.
    after = _updated(before, request)
    error = regexes.check(group, before, after)
    if error is not Errors.NONE:
        return error
    change = update_member(draft, before, after)

    # 2. Bump the group epoch if the subscriptions, their topics or the preferred assignor changed:
    #    writes ConsumerGroupMetadata.
    votes_change = draft.rules.votes_bump_epoch and _vote_changes(draft, after)
    update_group(draft, after, bumps=change.bumps_epoch or votes_change)

    # 3. Compute the target assignment if the group epoch is ahead of it: writes a
    #    ConsumerGroupTargetAssignmentMember per changed member, then
    #    ConsumerGroupTargetAssignmentMetadata.
    try:
        target = update_target(draft, after)
    except AssignorError:
        return Errors.UNKNOWN_SERVER_ERROR

    # 4. Reconcile the member with its target: writes ConsumerGroupCurrentMemberAssignment, and
    #    starts or ends the wait for its revocations.
    member = reconcile(draft, after, target, owned, subscription_changed=change.subscription)

    # 5. Restart the session, and resolve regular expressions in the background.
    timers.start_session(turn, group_id, member_id)
    regexes.resolve_later(draft, before, after)

    # 6. Write the records, and answer once they are in the log.  The response has the assignment if
    # it changed, or if the member does not know it yet.
    interval_ms = setting_ms(turn, group_id, CONSUMER, "heartbeat.interval.ms")
    shows = joins or _is_full(request) or before.assigned != member.assigned
    rows = tuple([(t, tuple(sorted(p))) for t, p in member.assigned.items()]) if shows else None
    write(turn, group_id, draft.records)
    response = MemberHeartbeatResponse(Errors.NONE, member_id, member.epoch, interval_ms, rows)
    answer(turn, request, response, MemberHeartbeatResponse)
    return Errors.NONE


def _is_full(request: ConsumerGroupHeartbeat) -> bool:
    subscribes = request.topics is not None or request.regex is not None
    return request.rebalance_timeout_ms != -1 and subscribes and request.owned is not None


def partitions_of(rows: TopicRows | None) -> Partitions | None:
    if rows is None:
        return None
    owned: dict[str, frozenset[int]] = {}
    for topic_id, partitions in rows:
        owned[topic_id] = owned.get(topic_id, frozenset()).union(partitions)
    return owned


# -- the member ----------------------------------------------------------------------------------


def member_of(
    draft: Draft, request: ConsumerGroupHeartbeat, member_id: str, owned: Partitions | None
) -> tuple[ConsumerMember, Errors]:
    """The existing member, a new member, or the static member that it replaces."""
    joins = request.member_epoch == 0
    unknown = ConsumerMember(member_id=member_id)
    if request.instance_id is not None:
        if joins:
            return join_static(draft, member_id, request.instance_id, "consumer")
        error = check_static(draft.turn, draft.group, member_id, request.instance_id)
        if error is not Errors.NONE:
            return unknown, error
    member = draft.group.members.get(member_id)
    if member is None and not joins:
        return unknown, Errors.UNKNOWN_MEMBER_ID
    member = member or unknown
    error = check_epoch(draft.rules, member, request.member_epoch, owned)
    if error is Errors.NONE and joins:
        joined(draft, member_id, "consumer")
    return member, error


def joined(draft: Draft, member_id: str, protocol: str, instance_id: str | None = None) -> None:
    fields = {"member_id": member_id, "instance_id": instance_id, "protocol": protocol}
    draft.turn.effects.modern_event("MEMBER_JOIN", draft.group_id, step="direct", **fields)


def join_static(
    draft: Draft, member_id: str, instance_id: str, protocol: str
) -> tuple[ConsumerMember, Errors]:
    """A new static member, or a member that takes the place of the member with its instance id."""
    existing = draft.group.static_member(instance_id)
    if existing is None and instance_id in draft.group.static_members:
        return ConsumerMember(
            member_id=member_id
            # In 4.1 the instance id may still belong to a member that left.
        ), Errors.UNKNOWN_MEMBER_ID
    if existing is None:
        joined(draft, member_id, protocol, instance_id)
        return draft.group.members.get(member_id) or ConsumerMember(
            member_id=member_id
        ), Errors.NONE
    is_released = existing.epoch == LEFT_FOR_A_WHILE or existing.classic is not None
    fields = {
        "member_id": member_id,
        "instance_id": instance_id,
        "old_member_id": existing.member_id,
    }
    if protocol == "consumer" and not is_released:
        draft.turn.effects.modern_event("STATIC_FENCED", draft.group_id, step="join", **fields)
        return existing, Errors.UNRELEASED_INSTANCE_ID
    member = existing._replace(member_id=member_id, epoch=0, previous_epoch=0)
    _replace(draft, existing, member)
    draft.turn.effects.modern_event("STATIC_REPLACED", draft.group_id, **fields, protocol=protocol)
    return member, Errors.NONE


def _replace(draft: Draft, old: ConsumerMember, new: ConsumerMember) -> None:
    """Write the new member's records in place of the old one's; its timers find nobody."""
    group_id = draft.group_id
    draft.records += removal_records(group_id, old.member_id)
    draft.records.append(member_record(group_id, new))
    target = draft.group.targets.get(old.member_id, {})
    draft.records.append(member_target_record(group_id, new.member_id, rows_of(target)))
    draft.records.append(current_record(draft.rules, group_id, new))


def _updated(member: ConsumerMember, request: ConsumerGroupHeartbeat) -> ConsumerMember:
    """The member with what the heartbeat says; what it leaves out stays."""
    timeout_ms = request.rebalance_timeout_ms
    return member._replace(
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        assignor=member.assignor if request.assignor is None else request.assignor,
        topics=member.topics if request.topics is None else frozenset(request.topics),
        regex=member.regex if request.regex is None else request.regex,
        client_id=request.client_id,
        client_host=request.client_host,
        classic=None,
    )


class MemberChange:
    """With ``subscription``, the member's subscription changed; ``bumps_epoch`` bumps at once."""

    __slots__ = ("bumps_epoch", "subscription")

    def __init__(self, *, subscription: bool, bumps_epoch: bool) -> None:
        self.subscription = subscription
        self.bumps_epoch = bumps_epoch


def update_member(draft: Draft, before: ConsumerMember, after: ConsumerMember) -> MemberChange:
    """Write the member's record if any field of the member changed."""
    if after != before:
        draft.records.append(member_record(draft.group_id, after))
    names_change = after.topics != before.topics
    regex = regexes.change_of(draft, before, after)
    return MemberChange(
        subscription=names_change or regex is not regexes.RegexChange.NONE,
        bumps_epoch=names_change or regex is regexes.RegexChange.RESOLVED,
    )


# -- the group -----------------------------------------------------------------------------------


def _vote_changes(draft: Draft, after: ConsumerMember) -> bool:
    """Returns whether the members' choice of a server assignor changes."""
    default = default_assignor(draft.turn)
    present = preferred_assignor(draft.group, default)
    return next_assignor(draft.group, after, default) != present


def update_group(draft: Draft, after: ConsumerMember, *, bumps: bool) -> None:
    """Bump the group's epoch if needed, or if the topics changed since they were looked at."""
    group = draft.group
    bumps = bumps or group.epoch == 0  # in 4.1, a new group leaves epoch 0
    if bumps or group.needs_refresh(draft.turn.now_ms):
        update_epoch(draft, Subscriptions(group, with_member(group, after)), bumps=bumps)


# -- the assignment -----------------------------------------------------------------------------


def reconcile(
    draft: Draft,
    member: ConsumerMember,
    target: Target,
    owned: Partitions | None,
    *,
    subscription_changed: bool,
) -> ConsumerMember:
    """Lead the member towards the target; writes its record if that changes anything."""
    goal = Goal(
        rules=draft.rules,
        group=draft.group,
        epoch=target.epoch,
        target=target.partitions,
        owned=owned,
        subscribed=_subscribed_ids(draft, member),
        names_topics=bool(draft.group.topics_of(member)),
        subscription_changed=subscription_changed,
    )
    after = reconciled(member, goal)
    if after == member:
        return member
    draft.records.append(current_record(draft.rules, draft.group_id, after))
    if after.classic is None:
        if after.state is ConsumerMemberState.UNREVOKED_PARTITIONS:
            timers.start_rebalance(draft.turn, draft.group_id, after)
        else:
            draft.turn.modern_timers.cancel((REBALANCE, draft.group_id, after.member_id))
    return after


def _subscribed_ids(draft: Draft, member: ConsumerMember) -> frozenset[str] | None:
    if not draft.rules.follows_subscription_at_once:
        return None
    topics = draft.turn.image.topics
    names = draft.group.topics_of(member)
    return frozenset([topics[name].topic_id for name in names if name in topics])
