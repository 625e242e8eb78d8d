"""The target assignment of a streams group: when it is computed, and what it becomes."""

from __future__ import annotations

from collections.abc import Mapping

from coordinator_core.assignors.sticky_tasks import TaskAssignee as Assignee
from coordinator_core.assignors.sticky_tasks import Tasks, TaskSubtopology
from coordinator_core.coordinator.modern.configuration import rules_of, setting, setting_ms
from coordinator_core.coordinator.modern.records import ModernRecord
from coordinator_core.coordinator.streams.group import StreamsGroup, StreamsMember
from coordinator_core.coordinator.streams.group_type import STREAMS
from coordinator_core.coordinator.streams.records import member_target_record, target_record
from coordinator_core.coordinator.streams.tasks import NO_TARGET, Replicas, TargetTasks
from coordinator_core.coordinator.streams.timers import is_delayed
from coordinator_core.coordinator.streams.topology import ConfiguredTopology
from coordinator_core.coordinator.turn import Turn
from coordinator_core.jvm.hash_codes import string_hash
from coordinator_core.jvm.hash_tables import HashTable

ASSIGNOR = "sticky"
STANDBYS = "num.standby.replicas"
TAGS = "rack.aware.assignment.tags"

Targets = Mapping[str, TargetTasks]


def assignment_configs(turn: Turn, group_id: str) -> dict[str, str]:
    """The settings that the assignment depends on; a change triggers a rebalance."""
    configs = {STANDBYS: setting(turn, group_id, STREAMS, STANDBYS)}
    tags = setting(turn, group_id, STREAMS, TAGS)
    if tags:
        configs[TAGS] = tags
    return configs


def update_target(
    turn: Turn,
    group: StreamsGroup,
    epoch: int,
    after: StreamsMember | None,
    configured: ConfiguredTopology,
    configs: Mapping[str, str],
    records: list[ModernRecord],
    *,
    only_refined: bool = False,
) -> tuple[int, Targets, bool]:
    """The target's epoch, the targets by member id, and whether the assignment is delayed.

    ``epoch`` has the group's, with this heartbeat; ``after`` is the member that sent it, None if a
    timer computes the target.  ``only_refined`` means that the epoch went up without a change of
    the target. Raises AssignorError if Kafka's assignor throws an exception.
    """
    if is_delayed(turn, group.group_id):
        return max(group.assignment_epoch, 1), {}, True
    targets = group.targets_with(after)
    if group.assignment_epoch >= epoch:
        return group.assignment_epoch, targets, False
    rules, group_id = rules_of(turn), group.group_id
    if only_refined and group.assignment_epoch >= group.epoch:
        records.append(target_record(rules, group_id, epoch, group.assignment_timestamp_ms))
        return epoch, targets, False
    if not _may_compute(turn, group):
        return group.assignment_epoch, targets, True
    members = group.with_member(after)
    assigned = _assigned(turn, members, targets, configured, configs)
    for member_id, target in assigned.items():
        if targets.get(member_id) != target:
            records.append(member_target_record(group_id, member_id, target))
    records.append(target_record(rules, group_id, epoch, turn.now_ms))
    turn.effects.modern_event("TARGET", group_id, epoch=epoch, assignor=ASSIGNOR)
    return epoch, assigned, False


def _may_compute(turn: Turn, group: StreamsGroup) -> bool:
    last_ms = group.assignment_timestamp_ms
    if not rules_of(turn).has_assignment_interval or last_ms == 0:
        return True
    interval_ms = setting_ms(turn, group.group_id, STREAMS, "assignment.interval.ms")
    return interval_ms == 0 or turn.now_ms >= last_ms + interval_ms


def _assigned(
    turn: Turn,
    members: list[StreamsMember],
    targets: Targets,
    configured: ConfiguredTopology,
    configs: Mapping[str, str],
) -> dict[str, TargetTasks]:
    order = HashTable[str, StreamsMember](string_hash)
    for member in members:
        order.put(member.member_id, member)
    if not configured.is_ready or configured.subtopologies is None:
        return dict.fromkeys(order, NO_TARGET)
    rules = rules_of(turn).streams
    subtopologies = [
        TaskSubtopology(subtopology_id, each.tasks, each.is_stateful)
        for subtopology_id, each in configured.subtopologies.items()
    ]
    assignees = [
        _assignee(member, None if rules.assigns_from_current else _of(targets, member))
        for member in order.values()
    ]
    tasks = rules.assign(subtopologies, assignees, int(configs[STANDBYS]))
    return {member_id: _target(tasks[member_id]) for member_id in order}


def _assignee(member: StreamsMember, target: TargetTasks | None) -> Assignee:
    if target is None:
        return Assignee(
            member.member_id,
            member.process_id,
            {each: sorted(partitions) for each, partitions in member.assigned.active.items()},
            _sorted(member.assigned.standby),
        )
    active, standby = _sorted(target.active), _sorted(target.standby)
    return Assignee(member.member_id, member.process_id, active, standby)


def _sorted(tasks: Replicas) -> dict[str, list[int]]:
    return {subtopology: sorted(partitions) for subtopology, partitions in tasks.items()}


def _target(tasks: Tasks) -> TargetTasks:
    return TargetTasks(
        {subtopology: frozenset(numbers) for subtopology, numbers in tasks.active.items()},
        {subtopology: frozenset(numbers) for subtopology, numbers in tasks.standby.items()},
    )


def _of(targets: Targets, member: StreamsMember) -> TargetTasks:
    return targets.get(member.member_id, NO_TARGET)
