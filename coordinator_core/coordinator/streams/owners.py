"""The processes that have each task of a streams group, or must still give it up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from coordinator_core.coordinator.streams.tasks import ActiveTasks, AssignedTasks, Replicas
from coordinator_core.protocol.errors import UnexpectedState

_Task = tuple[str, int]
_Undo = Callable[[], None]

STANDBY, WARMUP = 0, 1


class TaskOwners:
    """Process ids by task.

    ``is_strict`` means that 4.1 fails on a task that a process is to release without having it, or
    to get from another process; later versions go on.
    """

    __slots__ = ("_is_strict", "active", "replicas")

    def __init__(self, is_strict: bool) -> None:
        self._is_strict = is_strict
        self.active: dict[_Task, str] = {}
        self.replicas: tuple[dict[_Task, set[str]], dict[_Task, set[str]]] = ({}, {})

    def active_process(self, subtopology: str, partition: int) -> str | None:
        return self.active.get((subtopology, partition))

    def has_replica(self, role: int, process_id: str, subtopology: str, partition: int) -> bool:
        return process_id in self.replicas[role].get((subtopology, partition), ())

    def release(self, tasks: AssignedTasks, process_id: str, undo: list[_Undo]) -> None:
        """Raises UnexpectedState in 4.1 if the process does not have one of the tasks."""
        for task in _tasks(tasks.active):
            owner = self.active.get(task)
            if owner == process_id:
                self._set_active(task, None, undo)
            elif self._is_strict:
                raise UnexpectedState(f"{task} is owned by {owner}")
        for role, replicas in ((STANDBY, tasks.standby), (WARMUP, tasks.warmup)):
            for task in _tasks(replicas):
                owners = self.replicas[role].get(task)
                if owners is not None and process_id in owners:
                    owners.discard(process_id)  # a failed append does not revert this change
                elif self._is_strict:
                    raise UnexpectedState(f"{task} has no replica on {process_id}")

    def take(self, tasks: AssignedTasks, process_id: str, undo: list[_Undo]) -> None:
        """Raises UnexpectedState in 4.1 if another process has one of the active tasks."""
        for task in _tasks(tasks.active):
            if self._is_strict and task in self.active:
                raise UnexpectedState(f"{task} is still owned by {self.active[task]}")
            self._set_active(task, process_id, undo)
        for role, replicas in ((STANDBY, tasks.standby), (WARMUP, tasks.warmup)):
            for task in _tasks(replicas):
                self._add_replica(self.replicas[role], task, process_id, undo)

    def _set_active(self, task: _Task, process_id: str | None, undo: list[_Undo]) -> None:
        before = self.active.get(task)
        _put(self.active, task, process_id)
        undo.append(lambda: _put(self.active, task, before))

    def _add_replica(
        self, replicas: dict[_Task, set[str]], task: _Task, process_id: str, undo: list[_Undo]
    ) -> None:
        if task not in replicas:
            replicas[task] = set()
            undo.append(lambda: _drop(replicas, task))
        replicas[task].add(process_id)  # A failed append does not revert this change.


def _drop(replicas: dict[_Task, set[str]], task: _Task) -> None:
    replicas.pop(task, None)


def _put(owners: dict[_Task, str], task: _Task, process_id: str | None) -> None:
    if process_id is None:
        owners.pop(task, None)
    else:
        owners[task] = process_id


def _tasks(tasks: ActiveTasks | Replicas) -> list[_Task]:
    by_subtopology: Mapping[str, Collection[int]] = tasks
    return [(name, number) for name, numbers in by_subtopology.items() for number in numbers]
