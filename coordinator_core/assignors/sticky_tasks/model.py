"""Input and output of the streams group assignor: subtopologies, members with tasks, tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from coordinator_core.assignors.model import AssignorError
from coordinator_core.jvm.hash_codes import record_hash, string_hash

TasksBySubtopology = Mapping[str, Sequence[int]]
NO_TASKS: TasksBySubtopology = MappingProxyType({})
NO_OFFSETS: Mapping[str, Mapping[int, int]] = MappingProxyType({})


class Task(NamedTuple):
    subtopology: str
    partition: int


class TaskSubtopology(NamedTuple):
    """``stateful`` means that it has changelog topics, so its tasks get standbys."""

    subtopology_id: str
    tasks: int
    stateful: bool


class TaskAssignee(NamedTuple):
    """``active`` and ``standby`` are the member's previous tasks; ``offsets`` sums the changelog
    offsets by task.
    """

    member_id: str
    process_id: str
    active: TasksBySubtopology = NO_TASKS
    standby: TasksBySubtopology = NO_TASKS
    offsets: Mapping[str, Mapping[int, int]] = NO_OFFSETS


class Tasks(NamedTuple):
    """Tasks of a member by subtopology, with subtopologies and partitions in ascending order."""

    active: TasksBySubtopology
    standby: TasksBySubtopology


class TaskAssignorError(AssignorError):
    """No member can take an active task."""

    kafka_name = "TaskAssignorException"


def task_hash(task: Task) -> int:
    """``TaskId.hashCode``."""
    return record_hash(string_hash(task.subtopology), task.partition)


def all_tasks(subtopologies: Iterable[TaskSubtopology]) -> list[Task]:
    return [Task(each.subtopology_id, n) for each in subtopologies for n in range(each.tasks)]


def stateful_tasks(subtopologies: Iterable[TaskSubtopology]) -> list[Task]:
    return all_tasks(each for each in subtopologies if each.stateful)


def as_tasks(by_subtopology: TasksBySubtopology) -> list[Task]:
    return [Task(name, n) for name, numbers in by_subtopology.items() for n in numbers]


def by_subtopology(tasks: Iterable[Task]) -> TasksBySubtopology:
    grouped: dict[str, list[int]] = {}
    for name, number in sorted(tasks):
        grouped.setdefault(name, []).append(number)
    return grouped


def per_member(tasks: int, members: int) -> int:
    """The tasks of the fullest member if they are spread evenly."""
    return -(-tasks // members) if members else 0
