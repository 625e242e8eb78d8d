"""The effect of each record on a share group."""

from __future__ import annotations

from collections.abc import Mapping

from coordinator_core.coordinator.group_handlers import Replay
from coordinator_core.coordinator.modern.configuration import rules_of
from coordinator_core.coordinator.modern.records import Fields
from coordinator_core.coordinator.modern.replaying import (
    group_of,
    put,
    put_member_back,
    set_field,
    set_target,
)
from coordinator_core.coordinator.offsets import OffsetStore
from coordinator_core.coordinator.share import records
from coordinator_core.coordinator.share.group import (
    LEFT,
    NOTHING,
    InitTopic,
    InitTopics,
    ShareGroup,
    ShareMember,
    ShareStates,
    as_read,
    topic_names,
)
from coordinator_core.coordinator.turn import Turn
from coordinator_core.jvm.hash_codes import uuid_hash
from coordinator_core.jvm.hash_tables import HashTable, copied_ints


def _group(turn: Turn, key: Fields, value: Fields | None) -> ShareGroup | None:
    return group_of(turn, ShareGroup, key, value, new_group)


def new_group(turn: Turn, group_id: str) -> ShareGroup:
    """A group that is not registered yet."""
    offsets = OffsetStore(turn.era.partition_order())
    return ShareGroup(
        group_id, turn.log.partition_of(group_id), offsets, rules_of(turn).first_epoch
    )


def _replay_group(turn: Turn, key: Fields, value: Fields | None) -> None:
    group = _group(turn, key, value)
    if group is None:
        return
    if value is None:
        turn.groups.remove_modern(group)
        return
    set_field(turn, group, "epoch", value["epoch"])
    set_field(turn, group, "metadata_hash", value["metadata_hash"])


def _replay_member(turn: Turn, key: Fields, value: Fields | None) -> None:
    group = _group(turn, key, value)
    if group is None:
        return
    member_id = key["member_id"]
    if value is None:
        _put_member(turn, group, member_id, None)
        return
    member = group.members.get(member_id) or ShareMember(member_id=member_id)
    changed = member._replace(
        rack_id=value["rack_id"],
        client_id=value["client_id"],
        client_host=value["client_host"],
        topics=topic_names(value["subscribed_topic_names"]),
    )
    _put_member(turn, group, member_id, changed)


def _replay_current(turn: Turn, key: Fields, value: Fields | None) -> None:
    group, member_id = _group(turn, key, value), key["member_id"]
    if group is None:
        return
    member = group.members.get(member_id)
    if value is not None:
        assigned = as_read(_rows(value["assigned_partitions"]))
        changed = (member or ShareMember(member_id=member_id))._replace(
            epoch=value["member_epoch"],
            previous_epoch=value["previous_member_epoch"],
            assigned=assigned,
        )
        _put_member(turn, group, member_id, changed)
    elif member is not None:
        left = member._replace(epoch=LEFT, previous_epoch=LEFT, assigned=NOTHING)
        _put_member(turn, group, member_id, left)


def _put_member(turn: Turn, group: ShareGroup, member_id: str, member: ShareMember | None) -> None:
    before = group.members.get(member_id)
    group.put_member(member_id, member)

    def revert() -> None:
        put_member_back(turn, group, member_id, before)

    turn.log.reverts.append(revert)


def _replay_target(turn: Turn, key: Fields, value: Fields | None) -> None:
    group = _group(turn, key, value)
    if group is not None:
        set_target(turn, group, value)


def _replay_member_target(turn: Turn, key: Fields, value: Fields | None) -> None:
    group = _group(turn, key, value)
    if group is not None:
        target = None if value is None else as_read(_rows(value["topic_partitions"]))
        put(turn, group.targets, key["member_id"], target)


def _rows(rows: list[Fields]) -> list[tuple[str, list[int]]]:
    return [(row["topic_id"], row["partitions"]) for row in rows]


def _replay_states(turn: Turn, key: Fields, value: Fields | None) -> None:
    group = _group(turn, key, value)
    if group is not None:
        states = None
        if value is not None:
            states = ShareStates(
                _init_topics(value["initializing_topics"], turn.now_ms),
                _init_topics(value["initialized_topics"], turn.now_ms),
                tuple([row["topic_id"] for row in value["deleting_topics"]]),
            )
        set_field(turn, group, "states", states)


def _init_topics(rows: list[Fields], now_ms: int) -> InitTopics:
    table = HashTable[str, InitTopic](uuid_hash)
    for row in rows:
        partitions = copied_ints(row["partitions"]).keys()
        table.put(row["topic_id"], InitTopic(row["topic_name"], partitions, now_ms))
    return dict(table.items())


REPLAYS: Mapping[str, Replay[Turn]] = {
    records.GROUP: _replay_group,
    records.MEMBER: _replay_member,
    records.CURRENT: _replay_current,
    records.TARGET: _replay_target,
    records.MEMBER_TARGET: _replay_member_target,
    records.STATES: _replay_states,
}
