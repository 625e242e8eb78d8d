"""The tasks behind the members' endpoints (interactive queries).

Answers with this information are not modelled, but that Kafka fails on some: while the topology is
not configured, it cannot tell the partitions of an endpoint.
"""

from __future__ import annotations

from coordinator_core.coordinator.streams.group import StreamsGroup, StreamsMember
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import UnexpectedState
from coordinator_core.protocol.messages import StreamsGroupHeartbeat


def announce_endpoints(
    turn: Turn,
    group: StreamsGroup,
    request: StreamsGroupHeartbeat,
    before: StreamsMember,
    after: StreamsMember,
    replaced: StreamsMember | None,
) -> None:
    """Tell a member of endpoints that it does not know.  Raises UnexpectedState."""
    joins, has_new_tasks = request.member_epoch == 0, before.assigned != after.assigned
    if not group.rules.caches_endpoints:
        _announce_all(turn, group, request, after, joins, has_new_tasks)
        return
    has_new_endpoint = before.endpoint != after.endpoint
    is_known = group.rules.joins_announce_endpoint or not (has_new_endpoint or replaced)
    if joins or has_new_tasks or not is_known:
        group.shown_endpoints.discard(after.member_id)
    if group.rules.joins_announce_endpoint:
        is_announced = (joins or has_new_tasks) and after.endpoint is not None
    else:
        is_announced = has_new_endpoint or (has_new_tasks and after.endpoint is not None)
    if is_announced:
        group.endpoint_epoch += 1
    if group.endpoint_epoch == request.endpoint_epoch:
        return
    gone = (after.member_id, None if replaced is None else replaced.member_id)
    others = [group.members[each] for each in group.order if each not in gone]
    for member in (*others, after):
        if member.endpoint is not None and member.member_id not in group.shown_endpoints:
            _check_partitions(turn, group, member)
            group.shown_endpoints.add(member.member_id)


def _announce_all(
    turn: Turn,
    group: StreamsGroup,
    request: StreamsGroupHeartbeat,
    after: StreamsMember,
    joins: bool,
    has_new_tasks: bool,
) -> None:
    """4.1: whenever tasks changed; a member's new endpoint is not seen yet."""
    if (joins or has_new_tasks) and (not joins or after.assigned.has_tasks()):
        group.endpoint_epoch += 1
    if group.endpoint_epoch != request.endpoint_epoch:
        for member in group.members.values():
            if member.endpoint is not None:
                is_sender = member.member_id == after.member_id
                _check_partitions(turn, group, after if is_sender else member)


def _check_partitions(turn: Turn, group: StreamsGroup, member: StreamsMember) -> None:
    """Raises UnexpectedState if Kafka cannot determine the partitions of the member's tasks."""
    configured = group.configured
    if configured is None or configured.subtopologies is None:
        raise UnexpectedState("no configured topology")
    assigned = member.assigned
    roles = [assigned.active, assigned.standby]
    if group.rules.caches_endpoints:
        roles.append(assigned.warmup)
    for subtopology in {name for role in roles for name in role}:
        topics = configured.subtopologies.get(subtopology)
        if topics is None or not turn.image.topics.keys() >= set(topics.source_topics):
            raise UnexpectedState(f"no topics of subtopology {subtopology}")
