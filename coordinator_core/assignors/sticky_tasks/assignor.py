"""StickyTaskAssignor of Kafka 4.2 and later."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter

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
)
from coordinator_core.assignors.sticky_tasks.processes import ProcessState, processes_of, result
from coordinator_core.jvm.hash_tables import PriorityQueue, table_size_for

_Queue = PriorityQueue[ProcessState]


def assign(
    subtopologies: Sequence[TaskSubtopology],
    members: Sequence[TaskAssignee],
    standbys: int,
    *,
    is_before_4_4: bool = False,
) -> dict[str, Tasks]:
    """Subtopologies by id, members in the order of the coordinator's map.

    ``standbys``: num.standby.replicas.  Raises TaskAssignorError without members.
    """
    group = _Group(subtopologies, members, standbys, is_before_4_4)
    group.assign_active(all_tasks(subtopologies))
    if standbys > 0:
        group.assign_standby(stateful_tasks(subtopologies))
    return result(members, group.processes)


class _Quota:
    """The number of tasks that a member should have; full members leave all other tasks to the
    others.
    """

    __slots__ = ("_members", "_tasks", "each")

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks, self._members = tasks, members
        self.each = per_member(tasks, members)

    def taken(self, count: int) -> None:
        """Note that a member now has this number of tasks."""
        if count == self.each:
            self._members -= 1
            self._tasks -= count
            self.each = per_member(self._tasks, self._members)


class _Group:
    def __init__(
        self,
        subtopologies: Sequence[TaskSubtopology],
        members: Sequence[TaskAssignee],
        standbys: int,
        is_before_4_4: bool,
    ) -> None:
        tasks = sum(each.tasks for each in subtopologies)
        stateful = sum(each.tasks for each in subtopologies if each.stateful)
        self._standbys = standbys
        self._active_quota = _Quota(tasks, len(members))
        self._quota = _Quota(tasks + stateful * standbys, len(members))
        self._is_before_4_4 = is_before_4_4
        capacity = table_size_for(len(members))
        self.processes = processes_of(members, capacity, is_before_4_4=is_before_4_4)
        self._had_active = {task: each for each in members for task in as_tasks(each.active)}
        self._had_standby = _standby_candidates(members)

    def assign_active(self, tasks: Sequence[Task]) -> None:
        left = sorted(tasks, key=_partition_first)
        left = [task for task in left if not self._back(task, self._had_active.get(task))]
        left = [task for task in left if not self._back(task, self._least_loaded(task, True))]
        queue = self._by_load()
        for task in sorted(left):
            process = queue.poll()
            if process is None:
                raise TaskAssignorError(f"no process for task {task}")
            self._taken(process.add_to_least_loaded(task, True))
            queue.add(process)

    def _back(self, task: Task, member: TaskAssignee | None) -> bool:
        """Returns whether the active task went to this member."""
        if member is None or self._count(member) >= self._active_quota.each:
            return False
        self._taken(self.processes[member.process_id].add(member.member_id, task, True))
        return True

    def _taken(self, count: int) -> None:
        self._active_quota.taken(count)
        self._quota.taken(count)

    def _count(self, member: TaskAssignee) -> int:
        return self.processes[member.process_id].counts[member.member_id]

    def _by_load(self) -> _Queue:
        return PriorityQueue(attrgetter("load"), self.processes.values())

    def _least_loaded(self, task: Task, active: bool) -> TaskAssignee | None:
        """The member with the least load among the members that had the standby.

        A later member is preferred only if its process and the member itself both have less load.
        Before 4.4 no member gets the standby back if the first member's process has the task.
        """
        had_standby = self._had_standby.get(task, ())
        if self._is_before_4_4 and not active and had_standby and self._has(had_standby[0], task):
            return None
        chosen, least = None, (0.0, 0)
        for member in had_standby:
            if not active and self._has(member, task):
                continue
            load = self.processes[member.process_id].load, self._count(member)
            if chosen is None or (load[0] < least[0] and load[1] < least[1]):
                chosen, least = member, load
        return chosen

    def _has(self, member: TaskAssignee, task: Task) -> bool:
        return task in self.processes[member.process_id].tasks

    def assign_standby(self, tasks: Sequence[Task]) -> None:
        left: list[tuple[Task, int]] = []
        for task in sorted(
            tasks, key=lambda task: (task.partition, task.subtopology), reverse=True
        ):
            for replica in range(self._standbys):
                if not self._standby_back(task):
                    left.append((task, self._standbys - replica))
                    break
        queue = self._by_load()
        for task, replicas in sorted(left, reverse=True):
            for _ in range(replicas):
                if not self._standby_to_least_loaded(queue, task):
                    break

    def _standby_back(self, task: Task) -> bool:
        """Returns whether a replica went to a member that had the task or its standby."""
        had_active = self._had_active.get(task)
        if had_active is not None and self._takes_standby(had_active, task):
            return True
        had_standby = self._least_loaded(task, False)
        return had_standby is not None and self._takes_standby(had_standby, task)

    def _takes_standby(self, member: TaskAssignee, task: Task) -> bool:
        process = self.processes[member.process_id]
        if task in process.tasks or self._count(member) >= self._quota.each:
            return False
        self._quota.taken(process.add(member.member_id, task, False))
        return True

    def _standby_to_least_loaded(self, queue: _Queue, task: Task) -> bool:
        """Returns whether a process did not have the task; the queue keeps all processes."""
        passed: list[ProcessState] = []
        while (process := queue.poll()) is not None:
            passed.append(process)
            if task not in process.tasks:
                self._quota.taken(process.add_to_least_loaded(task, False))
                break
        for each in reversed(passed):
            queue.add(each)
        return process is not None


def _partition_first(task: Task) -> tuple[int, str]:
    return task.partition, task.subtopology


def _standby_candidates(members: Iterable[TaskAssignee]) -> dict[Task, list[TaskAssignee]]:
    """By task: members that had the task's standby, then other members with state, those with the
    most state first.
    """
    ranked: dict[Task, list[tuple[bool, int, TaskAssignee]]] = {}
    for member in members:
        had = as_tasks(member.standby)
        offsets = {
            Task(name, n): sum_ for name, of in member.offsets.items() for n, sum_ in of.items()
        }
        for task in had:
            ranked.setdefault(task, []).append((False, -offsets.get(task, 0), member))
        for task in offsets.keys() - had:
            ranked.setdefault(task, []).append((True, -offsets[task], member))
    return {
        task: [each[2] for each in sorted(candidates, key=lambda each: each[:2])]
        for task, candidates in ranked.items()
    }
