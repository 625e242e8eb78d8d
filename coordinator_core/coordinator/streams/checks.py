"""Finds errors of a StreamsGroupHeartbeat."""

from __future__ import annotations

from collections.abc import Mapping

from coordinator_core.coordinator.streams.group import (
    LEFT_FOR_A_WHILE,
    StreamsGroup,
    StreamsMember,
)
from coordinator_core.coordinator.streams.rules import StreamsRules
from coordinator_core.coordinator.streams.tasks import TargetTasks, are_assigned
from coordinator_core.coordinator.streams.topology import ConfiguredSubtopology
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import StreamsGroupHeartbeat

_INVALID = Errors.INVALID_REQUEST


def check_request(rules: StreamsRules, request: StreamsGroupHeartbeat) -> Errors:
    """Returns the error of the request itself."""
    owned_roles = {row[0] for row in request.owned or () if row[2]}
    if rules.refuses_warmups and "warmup" in owned_roles:
        return _INVALID
    if request.instance_id is not None and not rules.has_static_members:
        return _INVALID
    if not request.member_id or not request.group_id:
        return _INVALID
    if request.instance_id == "" or request.rack_id == "":
        return _INVALID
    if request.member_epoch == 0:
        return _check_join(request)
    needs_instance = request.member_epoch == LEFT_FOR_A_WHILE and request.instance_id is None
    is_invalid = needs_instance or request.member_epoch < LEFT_FOR_A_WHILE
    return _INVALID if is_invalid or request.topology is not None else Errors.NONE


def _check_join(request: StreamsGroupHeartbeat) -> Errors:
    if request.rebalance_timeout_ms == -1 or request.owned or request.topology is None:
        return _INVALID
    changelogs = [each.changelog_topics for each in request.topology.subtopologies]
    if any(count for topics in changelogs for _, count in topics):
        return Errors.STREAMS_INVALID_TOPOLOGY
    return Errors.NONE


def check_size(
    rules: StreamsRules, group: StreamsGroup, request: StreamsGroupHeartbeat, max_size: int
) -> Errors:
    """Returns whether a joining member finds room."""
    if len(group.members) < max_size:
        return Errors.NONE
    is_member = request.member_id in group.members
    is_static = group.static_member(request.instance_id) is not None
    if not rules.counts_rejoining_members and (is_member or is_static):
        return Errors.NONE
    return Errors.GROUP_MAX_SIZE_REACHED


def check_static(member: StreamsMember | None, member_id: str) -> Errors:
    """This checks a request with an instance id that does not join; ``member`` is the member with
    the instance id.
    """
    if member is None:
        return Errors.UNKNOWN_MEMBER_ID
    return Errors.NONE if member.member_id == member_id else Errors.FENCED_INSTANCE_ID


def check_epoch(
    rules: StreamsRules, member: StreamsMember, epoch: int, owned: TargetTasks | None
) -> Errors:
    """An epoch must be the member's; the previous one, too, if its last answer may be lost."""
    if epoch == member.epoch or (epoch == 0 and rules.takes_epoch_zero):
        return Errors.NONE
    is_previous = epoch < member.epoch and epoch == member.previous_epoch
    if is_previous and are_assigned(owned, member.assigned):
        return Errors.NONE
    return Errors.FENCED_MEMBER_EPOCH


def check_owned(
    subtopologies: Mapping[str, ConfiguredSubtopology], owned: TargetTasks | None
) -> Errors:
    """Returns whether the tasks exist that the member says it has."""
    for role in owned or ():
        for subtopology, partitions in role.items():
            configured = subtopologies.get(subtopology)
            if configured is None or not partitions.issubset(range(configured.tasks)):
                return _INVALID
    return Errors.NONE
