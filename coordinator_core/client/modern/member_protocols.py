"""Heartbeats and assignments of the three group types.

A member owns a set of units: (topic id, partition), or (role, subtopology, partition) in streams
groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from coordinator_core.client.context import ClientContext
from coordinator_core.client.messages import ClientRequest
from coordinator_core.protocol.messages import (
    ConsumerGroupHeartbeat,
    ShareGroupHeartbeat,
    StreamsGroupHeartbeat,
    TaskRows,
    TopicPartition,
    TopicRows,
)

Unit = tuple[Any, ...]
Units = frozenset[Unit]
JOINS, LEAVES, LEAVES_FOR_A_WHILE = 0, -1, -2
NOTHING: Units = frozenset()


@dataclass(frozen=True, slots=True)
class Sent:
    """The fields of a heartbeat that are sent only when they changed; None: unchanged."""

    rebalance_timeout_ms: int | None = None
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: Units | None = None
    is_full: bool = False


class MemberProtocol:
    """The requests of members of consumer groups; subclasses: of share and streams groups.

    ``has_callbacks`` means that the application learns of revoked and assigned units by callbacks.
    ``has_offsets`` means that the member commits and fetches offsets.
    """

    name = "consumer"
    has_callbacks = True
    has_offsets = True
    leaves_for_a_while = True  # static members

    def heartbeat(self, context: ClientContext, epoch: int, sent: Sent) -> ClientRequest:
        config = context.config
        return ConsumerGroupHeartbeat(
            request_id=context.next_id(),
            group_id=config.group_id,
            member_id=config.member_id,
            member_epoch=epoch,
            instance_id=config.instance_id,
            rack_id=config.rack if sent.is_full else None,
            rebalance_timeout_ms=-1
            if sent.rebalance_timeout_ms is None
            else sent.rebalance_timeout_ms,
            client_id=config.client_id,
            client_host=config.client_host,
            topics=sent.topics,
            regex=sent.regex,
            assignor=sent.assignor,
            owned=None if sent.owned is None else rows(sent.owned),
        )

    def units(self, assignment: TopicRows | TaskRows) -> Units:
        return frozenset((each[0], n) for each in assignment for n in each[1])

    def resolved(self, units: Units, names: Mapping[str, str]) -> Units:
        """The units whose topics are known. ``names`` has the topic names by topic id."""
        return frozenset(unit for unit in units if unit[0] in names)

    def unknown_topics(self, units: Units, names: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(sorted({unit[0] for unit in units if unit[0] not in names}))

    def partitions(self, units: Iterable[Unit], names: Mapping[str, str]) -> set[TopicPartition]:
        """The units as the application sees them."""
        return {(names[unit[0]], unit[1]) for unit in units}

    def leave_epoch(self, instance_id: str | None) -> int:
        is_static = instance_id is not None and self.leaves_for_a_while
        return LEAVES_FOR_A_WHILE if is_static else LEAVES


class ShareMemberProtocol(MemberProtocol):
    name = "share"
    has_callbacks = False
    has_offsets = False
    leaves_for_a_while = False

    def heartbeat(self, context: ClientContext, epoch: int, sent: Sent) -> ClientRequest:
        config = context.config
        return ShareGroupHeartbeat(
            request_id=context.next_id(),
            group_id=config.group_id,
            member_id=config.member_id,
            member_epoch=epoch,
            rack_id=config.rack if sent.is_full else None,
            client_id=config.client_id,
            client_host=config.client_host,
            topics=sent.topics,
        )


class StreamsMemberProtocol(MemberProtocol):
    """The application commits the offsets of a streams member, independent of the group
    protocol.
    """

    name = "streams"
    has_offsets = False

    def heartbeat(self, context: ClientContext, epoch: int, sent: Sent) -> ClientRequest:
        config = context.config
        joins = sent.is_full and epoch == JOINS
        return StreamsGroupHeartbeat(
            request_id=context.next_id(),
            group_id=config.group_id,
            member_id=config.member_id,
            member_epoch=epoch,
            instance_id=config.instance_id,
            rack_id=config.rack if joins else None,
            rebalance_timeout_ms=-1
            if sent.rebalance_timeout_ms is None
            else sent.rebalance_timeout_ms,
            client_id=config.client_id,
            client_host=config.client_host,
            process_id=config.process_id if joins else None,
            topology=config.topology if joins else None,
            client_tags=() if joins else None,
            owned=None if sent.owned is None else task_rows(sent.owned),
        )

    def units(self, assignment: TopicRows | TaskRows) -> Units:
        return frozenset((*each[:2], n) for each in assignment for n in each[-1])

    def resolved(self, units: Units, names: Mapping[str, str]) -> Units:
        return units

    def unknown_topics(self, units: Units, names: Mapping[str, str]) -> tuple[str, ...]:
        return ()

    def partitions(self, units: Iterable[Unit], names: Mapping[str, str]) -> set[TopicPartition]:
        return {(unit[1], unit[2]) for unit in units if unit[0] == "active"}


MEMBER_PROTOCOLS: Mapping[str, MemberProtocol] = {
    each.name: each for each in (MemberProtocol(), ShareMemberProtocol(), StreamsMemberProtocol())
}
"""Member protocols by the name of the group type."""


def rows(units: Units) -> TopicRows:
    by_topic: dict[str, list[int]] = {}
    for topic_id, partition in sorted(units):
        by_topic.setdefault(topic_id, []).append(partition)
    return tuple((topic_id, tuple(numbers)) for topic_id, numbers in by_topic.items())


def task_rows(units: Units) -> TaskRows:
    by_task: dict[tuple[str, str], list[int]] = {}
    for role, subtopology, partition in sorted(units):
        by_task.setdefault((role, subtopology), []).append(partition)
    return tuple((*key, tuple(numbers)) for key, numbers in by_task.items())
