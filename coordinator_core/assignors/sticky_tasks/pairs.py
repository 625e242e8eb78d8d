"""StickyTaskAssignor of Kafka 4.1: spreads tasks so that the same two tasks seldom meet on a
process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from coordinator_core.assignors.sticky_tasks.model import (
    Task,
    TaskAssignee,
    TaskAssignorError,
    Tasks,
    TaskSubtopology,
    all_tasks,
    as_tasks,
    per_member,
    stateful_tasks,
    task_hash,
)
from coordinator_core.assignors.sticky_tasks.processes import ProcessState, processes_of, result
from coordinator_core.jvm.hash_tables import HashTable
from coordinator_core.jvm.java_maps import FIRST_CAPACITY

Choice = Callable[[Task, Sequence[str]], str]


def first(task: Task, candidates: Sequence[str]) -> str:
    return candidates[0]


def assign_avoiding_pairs(
    subtopologies: Sequence[TaskSubtopology],
    members: Sequence[TaskAssignee],
    standbys: int,
    choose: Choice = first,
) -> dict[str, Tasks]:
    """As ``assignor.assign``.

    ``choose`` replaces Kafka's random choice of a process, or of a member of a process, among
    equally good ones.
    """
    group = _Group(subtopologies, members, choose)
    group.assign_active(_hash_order(all_tasks(subtopologies)))
    for task in _hash_order(stateful_tasks(subtopologies)):
        for _ in range(standbys):
            if not group.assign_standby(task):
                break
    return result(members, group.processes)


def _hash_order(tasks: Iterable[Task]) -> list[Task]:
    table = HashTable[Task, None](task_hash)
    for task in tasks:
        table.put(task, None)
    return table.keys()


class _Group:
    def __init__(
        self,
        subtopologies: Sequence[TaskSubtopology],
        members: Sequence[TaskAssignee],
        choose: Choice,
    ) -> None:
        self._choose = choose
        self._tasks = sum(each.tasks for each in subtopologies)
        self._members = len(members)
        self._quota = per_member(self._tasks, self._members)
        self._pairs: set[frozenset[Task]] = set()
        self._all_pairs = self._tasks * (self._tasks - 1) // 2
        self.processes = processes_of(members, FIRST_CAPACITY, is_before_4_4=True)
        self._process_of = {each.member_id: each.process_id for each in members}
        self._had_active = {
            task: each.member_id for each in members for task in as_tasks(each.active)
        }
        self._had_standby: dict[Task, list[str]] = {}
        for member in members:
            for task in as_tasks(member.standby):
                self._had_standby.setdefault(task, []).append(member.member_id)

    def assign_active(self, tasks: Iterable[Task]) -> None:
        left = [task for task in tasks if not self._back(task, self._had_active.get(task))]
        left = [task for task in left if not self._back(task, self._had_standby_of(task))]
        for task in left:
            process_id = self._least_loaded_process(task, self.processes.keys())
            if process_id is None:
                raise TaskAssignorError(f"no process for task {task}")
            self._add(self.processes[process_id].least_loaded(), task, True)

    def _back(self, task: Task, member_id: str | None) -> bool:
        """Returns whether the active task went to this member."""
        if member_id is None or self._process(member_id).counts[member_id] >= self._quota:
            return False
        self._add(member_id, task, True)
        return True

    def assign_standby(self, task: Task) -> bool:
        """Assign a standby to a process without the task; returns whether such a process exists."""
        free = [each for each in self.processes if task not in self.processes[each].tasks]
        if not free:
            return False
        member_id = self._had_active.get(task)
        if member_id is None or not self._is_best_standby(task, member_id, free):
            self._had_standby[task] = [
                each for each in self._had_standby.get(task, ()) if self._process_of[each] in free
            ]
            member_id = self._had_standby_of(task)
            if member_id is None or not self._is_load_balanced(self._process(member_id)):
                process_id = self._least_loaded_process(task, free)
                member_id = self.processes[process_id or free[0]].least_loaded()
        self._add(member_id, task, False)
        return True

    def _is_best_standby(self, task: Task, member_id: str, free: Sequence[str]) -> bool:
        process = self._process(member_id)
        return (
            self._process_of[member_id] in free
            and self._is_load_balanced(process)
            and self._has_new_pair(task, process)
        )

    def _is_load_balanced(self, process: ProcessState) -> bool:
        if process.has_capacity():
            return True
        return all(process.load <= other.load for other in self.processes.values())

    def _process(self, member_id: str) -> ProcessState:
        return self.processes[self._process_of[member_id]]

    def _had_standby_of(self, task: Task) -> str | None:
        """The member with the task's standby on the process with the least load."""
        had = self._had_standby.get(task, ())
        process_id = self._least_loaded_process(task, [self._process_of[each] for each in had])
        on_process = [each for each in had if self._process_of[each] == process_id]
        return self._choose(task, on_process) if on_process else None

    def _least_loaded_process(self, task: Task, process_ids: Sequence[str]) -> str | None:
        """Prefers a process on which the task meets another task for the first time."""
        new = [each for each in process_ids if self._has_new_pair(task, self.processes[each])]
        loads = {each: self.processes[each].load for each in new or process_ids}
        least = min(loads.values(), default=None)
        candidates = [each for each, load in loads.items() if load == least]
        return self._choose(task, candidates) if candidates else None

    def _has_new_pair(self, task: Task, process: ProcessState) -> bool:
        if len(self._pairs) == self._all_pairs:
            return False
        if not process.tasks:
            return True
        return any(frozenset((task, each)) not in self._pairs for each in process.tasks)

    def _add(self, member_id: str, task: Task, active: bool) -> None:
        process = self._process(member_id)
        process.add(member_id, task, active)
        self._pairs.update(frozenset((task, each)) for each in process.tasks if each != task)
        if active and process.active_count() == self._quota:
            self._members -= 1
            self._tasks -= self._quota
            self._quota = per_member(self._tasks, self._members)
