"""A classic group becomes a consumer group (upgrade); ``downgrade`` handles the other direction.

Both directions keep the members and their assignments, and need one append: tombstones of all
records of one type, and records of the other type.  Source: KIP-848, GroupMetadataManager.
"""

from __future__ import annotations

from coordinator_core.coordinator.classic.group import CONSUMER, ClassicGroup, ClassicMember
from coordinator_core.coordinator.classic.rebalance import answer_joins_and_syncs
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.classic.subscriptions import topics_in
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
    partition_metadata_record,
    rows_of,
    target_record,
)
from coordinator_core.coordinator.consumer.subscriptions import topics_as_kept
from coordinator_core.coordinator.modern.order import copied_partitions
from coordinator_core.coordinator.modern.records import ModernRecord, classic_tombstone
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors, UnexpectedState
from coordinator_core.records import (
    BadRecord,
    Subscription,
    decode_assignment,
    decode_subscription,
)

_NOT_FOUND = Errors.GROUP_ID_NOT_FOUND


class _CannotUpgrade(Exception):
    """A classic member's metadata or assignment cannot be taken over."""


def consumer_group(turn: Turn, group_id: str, joins: bool) -> tuple[Draft | None, Errors]:
    """The consumer group for a heartbeat: the present one, a new one, or a converted classic one.

    ``joins`` means that the heartbeat may create or convert the group.
    """
    group = turn.groups.modern.get(group_id)
    if group is not None:
        if not isinstance(group, ConsumerGroup):
            return None, _NOT_FOUND
        return Draft(turn, group, []), Errors.NONE
    classic = turn.groups.classic.get(group_id)
    if not joins:
        return None, _NOT_FOUND
    if classic is None:
        return Draft(turn, new_group(turn, group_id), []), Errors.NONE
    if classic.state is GroupState.EMPTY:
        turn.effects.modern_event("CONVERT", group_id, step="empty_to_consumer")
        return Draft(turn, new_group(turn, group_id), [classic_tombstone(group_id)]), Errors.NONE
    if not _may_upgrade(turn, classic):
        return None, _NOT_FOUND
    return _upgraded(turn, classic)


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
    turn.effects.modern_event("OTHER", group.group_id, step=f"upgrade_{step}")
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
                topic_id: epochs.keys() for topic_id, epochs in converted.assigned.items()
            }
    except _CannotUpgrade:
        turn.effects.modern_event("UPGRADE_FAILED", classic.group_id)
        return None, _NOT_FOUND
    group.metadata_hash = turn.image.group_hash(group.subscribed_topics())
    draft = Draft(turn, group, [classic_tombstone(classic.group_id)])
    draft.records += _records_of(draft)
    for each in group.in_order():
        if each.classic is not None:
            timeout_ms = each.classic.session_timeout_ms
            timers.start_session(turn, group.group_id, each.member_id, timeout_ms)
    turn.effects.modern_event("CONVERT", classic.group_id, step="to_consumer")
    return draft, Errors.NONE


def _consumer_member(turn: Turn, group: ClassicGroup, member: ClassicMember) -> ConsumerMember:
    topics: dict[str, dict[int, int]] = {}
    for name, partitions in _assigned(member):
        if name in turn.image.topics and partitions:
            epochs = dict.fromkeys(copied_partitions(partitions), group.generation)
            topics[turn.image.topics[name].topic_id] = epochs
    if group.protocol is None:
        raise UnexpectedState(f"group {group.group_id} has no protocol yet")
    metadata = member.metadata(group.protocol)
    topics_in(turn.era, metadata)  # This raises an error where Kafka's parser throws an exception.
    subscription = read_subscription(metadata)
    if subscription is None:
        raise _CannotUpgrade
    return ConsumerMember(
        member_id=member.member_id,
        epoch=group.generation,
        previous_epoch=group.generation,
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
        raise _CannotUpgrade  # The upgrade would lose the user data of a custom assignor.
    return assignment.partitions


def read_subscription(data: bytes) -> Subscription | None:
    """Returns None for unreadable bytes."""
    try:
        return decode_subscription(data)
    except BadRecord:
        return None


def _records_of(draft: Draft) -> list[ModernRecord]:
    group, rules, group_id = draft.group, draft.rules, draft.group_id
    members = group.in_order()
    records = [member_record(group_id, member) for member in members]
    if rules.writes_topics:
        topics = topics_as_kept(group.subscribed_topics(), draft.turn.image)
        records.append(partition_metadata_record(group_id, topics))
    records.append(group_record(rules, group_id, group.epoch, group.metadata_hash))
    for member in members:
        rows = rows_of(group.targets[member.member_id])
        records.append(member_target_record(group_id, member.member_id, rows))
    records.append(target_record(rules, group_id, group.epoch, group.assignment_timestamp_ms))
    records += [current_record(rules, group_id, member) for member in members]
    return records
