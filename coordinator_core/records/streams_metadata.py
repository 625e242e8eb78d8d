"""User data of Kafka Streams' members under the classic protocol (assignor ``stream``).

An application's consumers subscribe with the layout of ConsumerProtocol; the partitions of their
assignments are the partitions of their active tasks.  The user data holds the rest.  Subscription:
the process, and the tasks with state on its disk.  Assignment: the task of each partition, standby
tasks, and when to join again.  A version above the newest known one is not read.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from coordinator_core.records.compiler import MessageCodec, compile_message
from coordinator_core.records.errors import BadRecord, Misfit
from coordinator_core.records.primitives import number_reader
from schemas.record_layouts import layout

ASSIGNOR = "stream"
NEWEST_VERSION = 11
NEVER_MS = 0x7FFF_FFFF_FFFF_FFFF
"""The next rebalance time of an assignment that schedules none."""
AT_ONCE_MS = 0
"""The next rebalance time of a member that must join again when it has revoked its tasks."""
ACTIVE_OFFSET_SUM = -2
"""The offset sum of a task that was active and is complete."""

Task = tuple[str, int]
"""Subtopology and partition; a subtopology with a topology name has that name and two
underscores before it."""

_read_int32 = number_reader("int32")


@dataclass(frozen=True, slots=True)
class SubscriptionInfo:
    """``offset_sums`` say how much state of each task the process has on disk, summed over its
    changelogs; ACTIVE_OFFSET_SUM for active tasks, and 0 for other tasks in versions before 7,
    which lack the sums.  ``endpoint``: application.server, or None if empty or before version 2."""

    version: int
    process_id: str
    endpoint: str | None
    offset_sums: dict[Task, int]
    error_code: int = 0


@dataclass(frozen=True, slots=True)
class AssignmentInfo:
    """``active`` has one task per assigned partition, in the order of topic and partition.
    ``standby`` has the partitions (topic, partition) by task.  ``next_rebalance_ms`` is a time
    since the epoch, AT_ONCE_MS or NEVER_MS, also before version 7.
    """

    version: int
    active: list[Task]
    standby: dict[Task, list[tuple[str, int]]]
    error_code: int = 0
    next_rebalance_ms: int = NEVER_MS


def _versions(name: str) -> dict[int, MessageCodec]:
    versioned = layout(name)
    return {n: compile_message(versioned, n) for n in range(1, NEWEST_VERSION + 1)}


_SUBSCRIPTION = _versions("StreamsSubscriptionInfo")
_ASSIGNMENT = _versions("StreamsAssignmentInfo")


def decode_subscription_info(data: bytes) -> SubscriptionInfo:
    """Raises BadRecord, also for an unknown version."""
    fields = _read(_SUBSCRIPTION, data)
    endpoint = fields.get("user_end_point", b"").decode("utf-8", "replace")
    return SubscriptionInfo(
        fields["version"],
        _java_uuid(fields["process_id"]),
        endpoint or None,
        _offset_sums(fields),
        fields.get("error_code", 0),
    )


def decode_assignment_info(data: bytes) -> AssignmentInfo:
    """Raises BadRecord, also for an unknown version."""
    fields = _read(_ASSIGNMENT, data)
    standby = {
        _task(each): [(at["topic"], at["partition"]) for at in each["partitions"]]
        for each in fields["standby_tasks"]
    }
    return AssignmentInfo(
        fields["version"],
        [_task(each) for each in fields["active_tasks"]],
        standby,
        fields.get("error_code", 0),
        fields.get("next_rebalance_ms", NEVER_MS),
    )


def _read(messages: dict[int, MessageCodec], data: bytes) -> dict[str, Any]:
    name = messages[1].name
    try:
        version, _ = _read_int32(data, 0)
    except Misfit as misfit:
        raise BadRecord(name, None, "version", 0, misfit.reason) from None
    if version not in messages:
        reason = f"expected a version from 1 to {NEWEST_VERSION}"
        raise BadRecord(name, version, "version", 0, reason)
    fields, _ = messages[version].read(data, 0)
    return fields


def _offset_sums(fields: dict[str, Any]) -> dict[Task, int]:
    sums = {_task(each): ACTIVE_OFFSET_SUM for each in fields.get("prev_tasks", ())}
    sums |= {_task(each): 0 for each in fields.get("standby_tasks", ())}
    for each in fields.get("task_offset_sums", ()):
        if "partition" in each:
            sums[_task(each)] = each["offset_sum"]
        for at in each.get("partition_to_offset_sum", ()):
            sums[str(each["topic_group_id"]), at["partition"]] = at["offset_sum"]
    return sums


def _task(fields: dict[str, Any]) -> Task:
    name = fields.get("named_topology") or ""
    if isinstance(name, list):
        name = b"".join(unit.to_bytes(2) for unit in name).decode("utf-16-be", "replace")
    subtopology = str(fields["topic_group_id"])
    return (f"{name}__{subtopology}" if name else subtopology), fields["partition"]


def _java_uuid(text: str) -> str:
    """A process id in the form of its log lines; ``text``: Kafka's form."""
    return str(UUID(bytes=urlsafe_b64decode(text + "==")))
