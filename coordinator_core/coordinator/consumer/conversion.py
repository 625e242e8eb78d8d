"""A group changes its protocol: classic groups become consumer groups (upgrade), and back.

Both directions keep the members and their assignments, and happen in one append: tombstones of all
records of the one kind, and records of the other.  Source: KIP-848, GroupMetadataManager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from coordinator_core.coordinator.classic.group import CONSUMER, ClassicGroup, ClassicMember
from coordinator_core.coordinator.classic.group_records import group_record as classic_record
from coordinator_core.coordinator.classic.rebalance import answer_joins_and_syncs, prepare
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.classic.subscriptions import subscribed_topics, topics_in
from coordinator_core.coordinator.consumer import timers
from coordinator_core.coordinator.consumer.draft import Draft
from coordinator_core.coordinator.consumer.group import (
    ClassicMetadata,
    ConsumerGroup,
    ConsumerMember,
)
from coordinator_core.coordinator.consumer.loading import new_group
from coordinator_core.coordinator.consumer.records import (
    current_record,
    group_record,
    member_record,
    member_target_record,
    rows_of,
    target_record,
    tombstones,
)
from coordinator_core.coordinator.modern.order import in_order_of_ids
from coordinator_core.coordinator.modern.records import GroupRecord
from coordinator_core.coordinator.turn import Turn
from coordinator_core.jvm.hash_tables import copied_ints
from coordinator_core.protocol.errors import Errors, UnexpectedState
from coordinator_core.records import (
    Assignment,
    BadRecord,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)

_NOT_FOUND = Errors.GROUP_ID_NOT_FOUND


class _CannotUpgrade(Exception):
    """A classic member's metadata or assignment cannot be taken over."""


def consumer_group(turn: Turn, group_id: str, joins: bool) -> tuple[Draft | None, Errors]:
    """The consumer group for a heartbeat: the present one, a new one, or a converted classic one.

    ``joins``: the heartbeat may create or convert the group.
    """
    group = turn.modern.get(group_id)
    if group is not None:
        if not isinstance(group, ConsumerGroup):
            return None, _NOT_FOUND
        return Draft(turn, group, []), Errors.NONE
    classic = turn.groups.get(group_id)
    if not joins:
        return None, _NOT_FOUND
    if classic is None:
        return Draft(turn, new_group(turn, group_id), []), Errors.NONE
    if classic.state is GroupState.EMPTY:
        turn.modern_event("CONVERT", group_id, step="empty_to_consumer")
        return Draft(turn, new_group(turn, group_id), [classic_tombstone(group_id)]), Errors.NONE
    if not _may_upgrade(turn, classic):
        return None, _NOT_FOUND
    return _upgraded(turn, classic)


def classic_tombstone(group_id: str) -> GroupRecord:
    return GroupRecord("GroupMetadata", {"group": group_id}, None)


# -- upgrade -------------------------------------------------------------------------------------


def _may_upgrade(turn: Turn, group: ClassicGroup) -> bool:
    settings = turn.config.modern
    if not settings.upgrades_online:
        step = "disabled"
    elif group.protocol_type != CONSUMER:
        step = "other_protocol"
    elif len(group.members) > settings.consumer.max_size:
        step = "too_large"
    else:
        return True
    turn.modern_event("OTHER", group.group_id, step=f"upgrade_{step}")
    return False


def _upgraded(turn: Turn, classic: ClassicGroup) -> tuple[Draft | None, Errors]:
    """The members as classic members of a consumer group whose epoch is the generation.

    Requests that wait are answered REBALANCE_IN_PROGRESS first, even if the conversion fails then.
    """
    answer_joins_and_syncs(turn, classic, Errors.REBALANCE_IN_PROGRESS)
    group = new_group(turn, classic.group_id)
    group.epoch = group.assignment_epoch = classic.generation
    try:
        for member in classic.in_order():
            converted = _consumer_member(turn, classic, member)
            group.put_member(converted)
            group.targets[member.member_id] = {
                topic_id: frozenset(epochs) for topic_id, epochs in converted.assigned.items()
            }
    except _CannotUpgrade:
        turn.modern_event("UPGRADE_FAILED", classic.group_id)
        return None, _NOT_FOUND
    group.metadata_hash = turn.image.group_hash(group.subscribed_topics())
    draft = Draft(turn, group, [classic_tombstone(classic.group_id)])
    draft.records += _records_of(draft)
    for each in _in_order(group):
        if each.classic is not None:
            timeout_ms = each.classic.session_timeout_ms
            timers.start_session(turn, group.group_id, each.member_id, timeout_ms)
    turn.modern_event("CONVERT", classic.group_id, step="to_consumer")
    return draft, Errors.NONE


def _consumer_member(turn: Turn, group: ClassicGroup, member: ClassicMember) -> ConsumerMember:
    topics: dict[str, dict[int, int]] = {}
    for name, partitions in _assigned(member):
        if name in turn.image.topics and partitions:
            epochs = topics.setdefault(turn.image.topics[name].topic_id, {})
            epochs.update(dict.fromkeys(partitions, group.generation))
    if group.protocol is None:
        raise UnexpectedState(f"{group.group_id} has no protocol yet")
    metadata = member.metadata(group.protocol)
    topics_in(turn.era, metadata)  # raises where Kafka's parser throws
    subscription = read_subscription(metadata)
    if subscription is None:
        raise _CannotUpgrade
    return ConsumerMember(
        member.member_id,
        group.generation,
        group.generation,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client_id,
        client_host=member.client_host,
        topics=frozenset(subscription.topics),
        assigned=topics,
        classic=ClassicMetadata(member.session_timeout_ms, member.protocols),
    )


def _assigned(member: ClassicMember) -> list[tuple[str, list[int]]]:
    if not member.assignment:
        return []
    try:
        assignment = decode_assignment(member.assignment)
    except BadRecord:
        raise _CannotUpgrade from None
    if assignment.user_data:
        raise _CannotUpgrade  # of a custom assignor, and would be lost
    return assignment.partitions


def read_subscription(data: bytes) -> Subscription | None:
    """None for unreadable bytes."""
    try:
        return decode_subscription(data)
    except BadRecord:
        return None


def _records_of(draft: Draft) -> list[GroupRecord]:
    group, rules, group_id = draft.group, draft.rules, draft.group_id
    members = _in_order(group)
    records = [member_record(group_id, member) for member in members]
    records.append(group_record(group_id, group.epoch, group.metadata_hash))
    for member in members:
        rows = rows_of(group.targets[member.member_id])
        records.append(member_target_record(group_id, member.member_id, rows))
    records.append(target_record(rules, group_id, group.epoch, group.assignment_timestamp_ms))
    records += [current_record(rules, group_id, member) for member in members]
    return records


# -- downgrade -----------------------------------------------------------------------------------


def may_downgrade(
    turn: Turn, group: ConsumerGroup, leaving: list[ConsumerMember], *, replaced: bool = False
) -> bool:
    """Whether the group becomes classic without these members, or with one of them replaced."""
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
    turn.modern_event("OTHER", group.group_id, step=f"downgrade_{step}")
    return False


def downgrade_without(
    turn: Turn,
    group: ConsumerGroup,
    leaving: list[ConsumerMember],
    failed: Callable[[], None] | None,
) -> None:
    """Make the group classic without these members, and rebalance it."""
    gone = {member.member_id for member in leaving}
    members = [member for member in _in_order(group) if member.member_id not in gone]
    cause = {"cause": "CONVERT", "reason_step": "leave"}
    _downgrade(turn, group, members, {}, tombstones(group), cause, failed)


def downgrade_with(
    turn: Turn,
    group: ConsumerGroup,
    joining: ConsumerMember,
    records: list[GroupRecord],
    *,
    rebalances: bool,
) -> None:
    """Make the group classic, with a classic member in place of the last consumer member."""
    replaced = group.static_member(joining.instance_id)
    old_id = joining.member_id if replaced is None else replaced.member_id
    members = [member for member in _in_order(group) if member.member_id != old_id]
    members.append(joining)
    aliases = {joining.member_id: old_id}
    assert turn.era.modern is not None
    step = "stale" if turn.era.modern.downgrades_stale_assignments else "static"
    cause = {"cause": "CONVERT", "reason_step": step} if rebalances else None
    removed = records + tombstones(group, renamed={old_id: joining.member_id})
    _downgrade(turn, group, members, aliases, removed, cause, None)


def _in_order(group: ConsumerGroup) -> list[ConsumerMember]:
    return [group.members[member_id] for member_id in group.order]


def _downgrade(
    turn: Turn,
    group: ConsumerGroup,
    members: list[ConsumerMember],
    aliases: dict[str, str],
    removed: list[GroupRecord],
    cause: dict[str, str] | None,
    failed: Callable[[], None] | None,
) -> None:
    """Replace the group at once; its records are not replayed."""
    turn.modern.pop(group.group_id)
    classic = _classic_group(turn, group, members, aliases)
    assignments = {member.member_id: member.assignment for member in classic.in_order()}
    encoded = [record.encoded() for record in removed]
    encoded.append(classic_record(turn.era, classic, assignments))
    turn.register(classic)
    for member in classic.in_order():
        turn.timers.renew_session(classic, member, member.session_timeout_ms)
    if cause is not None:
        prepare(turn, classic, cause)
    turn.modern_event("CONVERT", group.group_id, step="to_classic")

    def appended(error: Errors) -> None:
        if error is not Errors.NONE:
            turn.remove_group(classic)
            turn.modern[group.group_id] = turn.put_back[group.group_id] = group
            if failed is not None:
                failed()

    turn.append(classic, encoded, appended)


def _classic_group(
    turn: Turn, group: ConsumerGroup, members: list[ConsumerMember], aliases: dict[str, str]
) -> ClassicGroup:
    classic = turn.make_group(group.group_id)
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
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        member.classic.session_timeout_ms,
        member.classic.protocols,
    )


def _set_assignment(
    turn: Turn,
    group: ConsumerGroup,
    classic: ClassicGroup,
    member: ClassicMember,
    aliases: dict[str, str],
) -> None:
    """The member's target, in the version of its subscription."""
    target = group.targets.get(aliases.get(member.member_id, member.member_id), {})
    member.assignment = assignment_bytes(turn, target, member.metadata(classic.protocol))


def assignment_bytes(
    turn: Turn, partitions: Mapping[str, Iterable[int]], subscription: bytes
) -> bytes:
    """A ConsumerProtocolAssignment in the version of the member's subscription."""
    by_id = turn.image.by_id
    rows = [
        (by_id[topic_id].name, copied_ints(sorted(partitions[topic_id])).keys())
        for topic_id in in_order_of_ids(partitions)
        if topic_id in by_id
    ]
    version = int.from_bytes(subscription[:2], "big", signed=True)
    return encode_assignment(Assignment(version, rows))
