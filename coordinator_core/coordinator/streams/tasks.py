"""Sets of tasks by role.  A task is a subtopology and a partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from coordinator_core.protocol.messages import TaskRows

ActiveTasks = Mapping[str, Mapping[int, int]]  # subtopology -> partition -> epoch of assignment
Replicas = Mapping[str, frozenset[int]]  # subtopology -> partitions
NONE: Replicas = MappingProxyType({})
NO_ACTIVE: ActiveTasks = MappingProxyType({})
_NO_PARTITIONS: frozenset[int] = frozenset()

ROLES = ("active", "standby", "warmup")


class TargetTasks(NamedTuple):
    """The tasks of a target assignment, or the tasks that a member reports."""

    active: Replicas = NONE
    standby: Replicas = NONE
    warmup: Replicas = NONE


class AssignedTasks(NamedTuple):
    """Tasks that a member has or must give up; active tasks with the epoch of their assignment."""

    active: ActiveTasks = NO_ACTIVE
    standby: Replicas = NONE
    warmup: Replicas = NONE

    def has_tasks(self) -> bool:
        """A truth value of its own would be ignored by mypyc, for which a tuple's length counts."""
        return bool(self.active or self.standby or self.warmup)

    def has_active(self, subtopology: str, partition: int) -> bool:
        return partition in self.active.get(subtopology, ())

    def rows(self) -> TaskRows:
        return rows_of(self.active, self.standby, self.warmup)


NOTHING = AssignedTasks()
NO_TARGET = TargetTasks()


def of(replicas: Replicas, subtopology: str) -> frozenset[int]:
    return replicas.get(subtopology, _NO_PARTITIONS)


def rows_of(active: ActiveTasks | Replicas, standby: Replicas, warmup: Replicas) -> TaskRows:
    by_role = zip(ROLES, (active, standby, warmup), strict=True)
    return tuple(
        [
            (role, subtopology, tuple(sorted(partitions)))
            for role, tasks in by_role
            for subtopology, partitions in sorted(tasks.items())
        ]
    )


def from_rows(rows: TaskRows) -> TargetTasks:
    return TargetTasks(*[_of_role(rows, role) for role in ROLES])


def _of_role(rows: TaskRows, role: str) -> Replicas:
    return {row[1]: frozenset(row[2]) for row in rows if row[0] == role}


def has_any(owned: TargetTasks, tasks: AssignedTasks) -> bool:
    """Returns whether one of the tasks is owned, in the same role."""
    roles: Iterable[tuple[Replicas, ActiveTasks | Replicas]] = zip(owned, tasks, strict=True)
    return any(
        not partitions.isdisjoint(ours.get(subtopology, ()))
        for mine, ours in roles
        for subtopology, partitions in mine.items()
    )


def are_assigned(owned: TargetTasks | None, assigned: AssignedTasks) -> bool:
    """Returns whether a member has all tasks that it says it has; ``owned`` is None if the member
    did not report it.
    """
    if owned is None:
        return False
    roles: Iterable[tuple[Replicas, ActiveTasks | Replicas]] = zip(owned, assigned, strict=True)
    return all(
        subtopology in ours and partitions.issubset(ours[subtopology])
        for mine, ours in roles
        for subtopology, partitions in mine.items()
    )


def same_tasks(target: TargetTasks, assigned: AssignedTasks) -> bool:
    active = {each: frozenset(partitions) for each, partitions in assigned.active.items()}
    return TargetTasks(active, assigned.standby, assigned.warmup) == target
