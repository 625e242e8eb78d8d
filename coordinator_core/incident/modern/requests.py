"""The requests that would write given records, by group type.

A request of a member that stays has the epoch PRESENT; the driver fills it in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.streams.group_type import STREAMS
from coordinator_core.incident.modern.evidence import Entry
from coordinator_core.incident.modern.stimuli import PRESENT
from coordinator_core.incident.modern.stored import Stored
from coordinator_core.incident.modern.writes import Write
from coordinator_core.modern_history.evidence import RecordKind
from coordinator_core.protocol.messages import (
    ConsumerGroupHeartbeat,
    CopartitionGroup,
    JoinGroup,
    Request,
    ShareGroupHeartbeat,
    StreamsGroupHeartbeat,
    Subtopology,
    TaskRows,
    TopicRows,
    Topology,
)

Fields = Mapping[str, Any]
JOINING, LEAVING, LEAVING_FOR_A_WHILE = 0, -1, -2
_ROLES = ("active", "standby", "warmup")


def heartbeat(
    group_type: GroupType, group_id: str, write: Write, member_id: str, stored: Stored
) -> Request:
    """The heartbeat by which the member wrote these records; ``stored``: before it."""
    joins = member_id not in stored.members or write.replaced is not None
    return _HEARTBEATS[group_type.heartbeat](group_id, write, member_id, stored, joins)


def leave(
    group_type: GroupType, group_id: str, member_id: str, stored: Stored, epoch: int = LEAVING
) -> Request:
    if not group_type.has_static_members:
        return ShareGroupHeartbeat(
            request_id="", group_id=group_id, member_id=member_id, member_epoch=epoch
        )
    member = stored.of(RecordKind.MEMBER, member_id) or {}
    kind = StreamsGroupHeartbeat if group_type.has_topology else ConsumerGroupHeartbeat
    return kind("", group_id, member_id, epoch, instance_id=member.get("instance_id"))


def _consumer(group_id: str, write: Write, member_id: str, stored: Stored, joins: bool) -> Request:
    written, member = _member(write, member_id, stored)
    if member.get("classic_member_metadata"):
        is_new_static = joins and member.get("instance_id") is not None
        return classic_join(group_id, "" if is_new_static else member_id, member)
    request = ConsumerGroupHeartbeat(
        request_id="",
        group_id=group_id,
        member_id=member_id,
        member_epoch=JOINING if joins else PRESENT,
        instance_id=member.get("instance_id"),
        client_id=member.get("client_id") or "",
        client_host=member.get("client_host") or "",
    )
    if written is not None or joins:
        request = request._replace(
            rack_id=member.get("rack_id"),
            rebalance_timeout_ms=member.get("rebalance_timeout_ms", -1),
            topics=tuple(member.get("subscribed_topic_names") or ()),
            regex=member.get("subscribed_topic_regex") or "",
            assignor=member.get("server_assignor"),
        )
    owned: TopicRows | None = () if joins else _owned_partitions(write, member_id, stored)
    return request._replace(owned=owned)


def _member(write: Write, member_id: str, stored: Stored) -> tuple[Entry | None, Fields]:
    """The member's record among these, and the member's metadata after it."""
    written = write.last(RecordKind.MEMBER)
    return written, (written and written.value) or stored.of(RecordKind.MEMBER, member_id) or {}


def static_join(group_id: str, member_id: str, member: Fields) -> ConsumerGroupHeartbeat:
    """A join under the instance id of ``member``, with what that one subscribes to."""
    return ConsumerGroupHeartbeat(
        request_id="",
        group_id=group_id,
        member_id=member_id,
        member_epoch=JOINING,
        instance_id=member["instance_id"],
        rebalance_timeout_ms=member["rebalance_timeout_ms"],
        client_id=member["client_id"],
        client_host=member["client_host"],
        topics=tuple(member["subscribed_topic_names"]),
        regex=member["subscribed_topic_regex"] or "",
        assignor=member["server_assignor"],
        owned=(),
    )


def _owned_partitions(write: Write, member_id: str, stored: Stored) -> TopicRows | None:
    """What the member reported to own, or None if it may not have reported it."""
    reported = _reported(write, member_id, stored, CONSUMER.unrevoked_state)
    if reported is None:
        return None
    before, written = reported
    kept = _by("topic_id", before["assigned_partitions"])
    if written is not None:
        after = _by("topic_id", written["assigned_partitions"])
        kept = {each: kept[each] & after.get(each, set()) for each in kept}
    return tuple([(each, tuple(sorted(numbers))) for each, numbers in kept.items() if numbers])


def _reported(
    write: Write, member_id: str, stored: Stored, unrevoked: int | None
) -> tuple[Fields, Fields | None] | None:
    """The partitions that a member had before its report and has after it, or None if it did not
    report them.

    A member that is still asked to give up partitions or tasks has not reported that it did.  A
    member that continues has reported its partitions without those that it lost.  While it is asked
    again, it still has all (the second is None).
    """
    before, written = stored.of(RecordKind.CURRENT, member_id), write.last(RecordKind.CURRENT)
    if before is None or written is None or written.value is None:
        return None
    if written.value["state"] != unrevoked:
        return before, written.value
    return (before, None) if before["state"] == unrevoked else None


def _by(key: str, rows: list[Fields]) -> dict[str, set[int]]:
    return {row[key]: set(row["partitions"]) for row in rows}


def classic_join(group_id: str, member_id: str, member: Fields) -> JoinGroup:
    """``member`` is its ConsumerGroupMemberMetadata; a new static member has no id yet."""
    classic = member["classic_member_metadata"]
    return JoinGroup(
        request_id="",
        group_id=group_id,
        member_id=member_id,
        instance_id=member.get("instance_id"),
        client_id=member["client_id"],
        client_host=member["client_host"],
        session_timeout_ms=classic["session_timeout_ms"],
        rebalance_timeout_ms=member["rebalance_timeout_ms"],
        protocol_type="consumer",
        protocols=tuple(
            [(each["name"], each["metadata"]) for each in classic["supported_protocols"]]
        ),
        requires_known_member_id=True,
    )


def _share(group_id: str, write: Write, member_id: str, stored: Stored, joins: bool) -> Request:
    written, member = _member(write, member_id, stored)
    request = ShareGroupHeartbeat(
        request_id="",
        group_id=group_id,
        member_id=member_id,
        member_epoch=JOINING if joins else PRESENT,
        client_id=member.get("client_id") or "",
        client_host=member.get("client_host") or "",
    )
    if written is None and not joins:
        return request
    topics = tuple(member.get("subscribed_topic_names") or ())
    return request._replace(rack_id=member.get("rack_id"), topics=topics)


def _streams(group_id: str, write: Write, member_id: str, stored: Stored, joins: bool) -> Request:
    written, member = _member(write, member_id, stored)
    request = StreamsGroupHeartbeat(
        request_id="",
        group_id=group_id,
        member_id=member_id,
        member_epoch=JOINING if joins else PRESENT,
        instance_id=member.get("instance_id"),
        client_id=member.get("client_id") or "",
        client_host=member.get("client_host") or "",
    )
    if written is not None or joins:
        endpoint = member.get("user_endpoint")
        tags = member.get("client_tags") or ()
        request = request._replace(
            rack_id=member.get("rack_id"),
            rebalance_timeout_ms=member.get("rebalance_timeout_ms", -1),
            process_id=member.get("process_id"),
            client_tags=tuple([(each["key"], each["value"]) for each in tags]),
            endpoint=None if endpoint is None else (endpoint["host"], endpoint["port"]),
        )
    if not joins:
        return request._replace(owned=_owned_tasks(write, member_id, stored))
    written = write.last(RecordKind.TOPOLOGY)
    value = (written and written.value) or stored.of(RecordKind.TOPOLOGY)
    if value is None:
        return request._replace(owned=())
    topology = topology_of(value)._replace(epoch=member.get("topology_epoch", value["epoch"]))
    return request._replace(owned=(), topology=topology)


def _owned_tasks(write: Write, member_id: str, stored: Stored) -> TaskRows | None:
    reported = _reported(write, member_id, stored, STREAMS.unrevoked_state)
    if reported is None:
        return None
    before, written = reported
    rows = []
    for role in _ROLES:
        before_role = _by("subtopology_id", before[f"{role}_tasks"])
        after = before_role if written is None else _by("subtopology_id", written[f"{role}_tasks"])
        for subtopology, numbers in before_role.items():
            kept = numbers & after.get(subtopology, set())
            if kept:
                rows.append((role, subtopology, tuple(sorted(kept))))
    return tuple(rows)


def topology_of(value: Fields) -> Topology:
    """``value``: a StreamsGroupTopology."""
    return Topology(value["epoch"], tuple([_subtopology(each) for each in value["subtopologies"]]))


def _subtopology(value: Fields) -> Subtopology:
    return Subtopology(
        value["subtopology_id"],
        tuple(value["source_topics"]),
        tuple(value["repartition_sink_topics"]),
        tuple([(each["name"], each["partitions"]) for each in value["repartition_source_topics"]]),
        tuple([(each["name"], each["partitions"]) for each in value["state_changelog_topics"]]),
        tuple(
            [
                CopartitionGroup(
                    tuple(each["source_topics"]), tuple(each["repartition_source_topics"])
                )
                for each in value["copartition_groups"]
            ]
        ),
    )


_HEARTBEATS: Mapping[type[Request], Callable[[str, Write, str, Stored, bool], Request]] = {
    ConsumerGroupHeartbeat: _consumer,
    ShareGroupHeartbeat: _share,
    StreamsGroupHeartbeat: _streams,
}
