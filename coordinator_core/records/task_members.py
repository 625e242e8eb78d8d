"""The tasks of each member of a Kafka Connect or Kafka Streams group, by a group's record.

Connect and Streams rebalance by the classic protocol and put what they assign into bytes of their
own: `connect_protocol`, `streams_metadata`.  A record of the group has these bytes of all members,
so it alone tells what each member has.

Warm-ups.  When a Streams task should move to a process that has not restored the task's state, the
leader leaves the task with a process that has, lets the other process restore it, and schedules a
probing rebalance (KIP-441).  In the bytes such a warm-up is a standby task like any other.  Here,
standby tasks are warm-ups if a rebalance is scheduled and the task has more standby tasks than
num.standby.replicas, which is estimated as the smallest number that a task with state has.  Among a
task's standby tasks, those with the least state on disk are the warm-ups.  A task that no member
has as active is being revoked; its next owner keeps it as standby until then, which is no warm-up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from coordinator_core.records.connect_protocol import (
    CONNECTOR,
    PROTOCOL_TYPE,
    ConnectorTask,
    decode_worker_assignment,
    decode_worker_state,
)
from coordinator_core.records.consumer_protocol import decode_assignment, decode_subscription
from coordinator_core.records.errors import BadRecord
from coordinator_core.records.streams_metadata import (
    ACTIVE_OFFSET_SUM,
    ASSIGNOR,
    NEVER_MS,
    AssignmentInfo,
    SubscriptionInfo,
    Task,
    decode_assignment_info,
    decode_subscription_info,
)

ACTIVE, STANDBY, WARMUP, CONNECTOR_ROLE, TASK = "active", "standby", "warmup", "connector", "task"
CONSUMER = "consumer"


class AssignedTask(NamedTuple):
    """Connect: ``topic`` is the connector, ``partition`` the task's number, CONNECTOR (-1) for the
    connector itself.  Streams: a partition that the task reads, or would if it was active."""

    role: str
    subtopology: str | None
    topic: str
    partition: int


@dataclass(slots=True, kw_only=True)
class TaskMember:
    """One member's own metadata, or None if its framework or version lacks the field.

    ``config_offset``: Connect: what the worker had read when it joined; ``assigned_config_offset``
    says what its assignment is for.  ``delay_ms``: Connect: after this time the workers join
    again. ``next_rebalance_ms``: Streams: time at which the member joins again, 0 for at once.
    ``unreadable`` says why the metadata, or a part of it, could not be read.
    """

    member_id: str
    version: int | None = None
    process_id: str | None = None
    endpoint: str | None = None
    config_offset: int | None = None
    assigned_config_offset: int | None = None
    delay_ms: int | None = None
    next_rebalance_ms: int | None = None
    error_code: int | None = None
    tasks: list[AssignedTask] = field(default_factory=list)
    revoked: list[AssignedTask] = field(default_factory=list)
    unreadable: str | None = None


def has_task_members(protocol_type: str | None, protocol: str | None) -> bool:
    """Returns whether a group is one of Connect's or of Streams', and has members."""
    if protocol is None:
        return False
    return protocol_type == PROTOCOL_TYPE or (protocol_type == CONSUMER and protocol == ASSIGNOR)


def task_members(
    protocol_type: str | None, protocol: str | None, members: Iterable[Mapping[str, Any]]
) -> list[TaskMember] | None:
    """The members of a decoded GroupMetadata value, in its order, or None for other groups.

    ``members`` have member_id, subscription and assignment each.
    """
    if not has_task_members(protocol_type, protocol):
        return None
    if protocol_type == PROTOCOL_TYPE:
        return [_worker(member) for member in members]
    return _streams_members(members)


# Connect --------------------------------------------------------------------------------------


def _worker(member: Mapping[str, Any]) -> TaskMember:
    worker = TaskMember(member_id=member["member_id"])
    try:
        state = decode_worker_state(member["subscription"])
        worker.version, worker.endpoint = state.version, state.url
        worker.config_offset = state.config_offset
        # A worker without an assignment from the leader has no tasks.
        if member["assignment"]:
            assignment = decode_worker_assignment(member["assignment"])
            worker.assigned_config_offset = assignment.config_offset
            worker.delay_ms, worker.error_code = assignment.delay_ms, assignment.error
            worker.tasks = _worker_tasks(assignment.after(state.current))
            worker.revoked = _worker_tasks(assignment.revoked)
    except BadRecord as error:
        worker.unreadable = str(error)
    return worker


def _worker_tasks(tasks: Iterable[ConnectorTask]) -> list[AssignedTask]:
    return [
        AssignedTask(CONNECTOR_ROLE if task == CONNECTOR else TASK, None, connector, task)
        for connector, task in tasks
    ]


# Streams --------------------------------------------------------------------------------------


def _streams_members(members: Iterable[Mapping[str, Any]]) -> list[TaskMember]:
    read = [_streams_member(member) for member in members]
    warmups = _warmups([(subscribed, assigned) for _, subscribed, assigned in read])
    for number, (member, _, assigned) in enumerate(read):
        for task, partitions in assigned.standby.items() if assigned else ():
            role = WARMUP if (number, task) in warmups else STANDBY
            member.tasks += [AssignedTask(role, task[0], *at) for at in sorted(partitions)]
    return [member for member, _, _ in read]


def _streams_member(
    member: Mapping[str, Any],
) -> tuple[TaskMember, SubscriptionInfo | None, AssignmentInfo | None]:
    """The member with its active tasks.  A partition without a readable task has no subtopology."""
    thread, subscribed, assigned = TaskMember(member_id=member["member_id"]), None, None
    partitions: list[tuple[str, int]] = []
    try:
        if member["assignment"]:
            assignment = decode_assignment(member["assignment"])
            partitions = sorted(
                (topic, number) for topic, numbers in assignment.partitions for number in numbers
            )
            assigned = decode_assignment_info(assignment.user_data or b"")
            _add_assignment(thread, assigned)
    except BadRecord as error:
        thread.unreadable = str(error)
    try:
        subscribed = decode_subscription_info(
            decode_subscription(member["subscription"]).user_data or b""
        )
        thread.version, thread.process_id = subscribed.version, subscribed.process_id
        thread.endpoint = subscribed.endpoint
    except BadRecord as error:
        thread.unreadable = thread.unreadable or str(error)
    active = assigned.active if assigned else []
    if assigned and len(active) != len(partitions):
        thread.unreadable = f"{len(active)} active tasks for {len(partitions)} partitions"
        active = []
    thread.tasks = [
        AssignedTask(ACTIVE, active[number][0] if active else None, *at)
        for number, at in enumerate(partitions)
    ]
    return thread, subscribed, assigned


def _add_assignment(thread: TaskMember, assigned: AssignmentInfo) -> None:
    never = assigned.next_rebalance_ms == NEVER_MS
    thread.next_rebalance_ms = None if never else assigned.next_rebalance_ms
    thread.error_code = assigned.error_code


def _warmups(
    members: list[tuple[SubscriptionInfo | None, AssignmentInfo | None]],
) -> set[tuple[int, Task]]:
    """Standby tasks that warm up, each with the number of its member."""
    assignments = [assigned for _, assigned in members if assigned is not None]
    if all(each.next_rebalance_ms == NEVER_MS for each in assignments):
        return set()
    copies = Counter(task for each in assignments for task in each.standby)
    with_state = {subtopology for subtopology, _ in copies}
    active = {task for each in assignments for task in each.active if task[0] in with_state}
    replicas = min((copies[task] for task in active | copies.keys()), default=0)
    sums = _offset_sums(members)
    warming = set()
    for task, count in copies.items():
        holders = [
            number for number, (_, assigned) in enumerate(members)
            if assigned is not None and task in assigned.standby
        ]  # fmt: skip
        holders.sort(key=lambda number: (sums.get((_process(members, number), task), -1), number))
        further = count - replicas - (task not in active)
        warming |= {(number, task) for number in holders[: max(further, 0)]}
    return warming


def _offset_sums(
    members: list[tuple[SubscriptionInfo | None, AssignmentInfo | None]],
) -> dict[tuple[str | None, Task], int]:
    """The state of each task on each process's disk; one that was active is complete."""
    sums: dict[tuple[str | None, Task], int] = {}
    for subscribed, _ in members:
        for task, total in subscribed.offset_sums.items() if subscribed else ():
            key = subscribed.process_id if subscribed else None, task
            sums[key] = max(sums.get(key, -1), NEVER_MS if total == ACTIVE_OFFSET_SUM else total)
    return sums


def _process(
    members: list[tuple[SubscriptionInfo | None, AssignmentInfo | None]], number: int
) -> str | None:
    subscribed = members[number][0]
    return subscribed.process_id if subscribed else None
