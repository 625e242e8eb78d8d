"""The processes of a streams group and the tasks assigned to their members."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from coordinator_core.assignors.sticky_tasks.model import (
    Task,
    TaskAssignee,
    TaskAssignorError,
    Tasks,
    by_subtopology,
)
from coordinator_core.jvm.hash_codes import string_hash
from coordinator_core.jvm.hash_tables import HashTable, PriorityQueue


class MemberLoad:
    """A member in its process's queue."""

    __slots__ = ("member_id", "tasks")

    def __init__(self, member_id: str, tasks: int) -> None:
        self.member_id = member_id
        self.tasks = tasks


class ProcessState:
    """A process.

    ``load`` is the number of the process's tasks per member.  Source: ProcessState.
    """

    __slots__ = ("_active", "_by_load", "_standby", "counts", "load", "tasks")

    def __init__(self) -> None:
        self.counts = HashTable[str, int](string_hash)  # tasks by member id
        self.tasks: set[Task] = set()
        self.load = 0.0
        self._active: dict[str, list[Task]] = {}
        self._standby: dict[str, list[Task]] = {}
        self._by_load: PriorityQueue[MemberLoad] | None = None

    def add_member(self, member_id: str) -> None:
        self.counts.put(member_id, 0)
        self._active[member_id] = []
        self._standby[member_id] = []

    def active_count(self) -> int:
        return sum(map(len, self._active.values()))

    def add(self, member_id: str, task: Task, active: bool) -> int:
        """Assign the task to the member; returns how many tasks the member then has."""
        self._by_load = None
        return self._add(member_id, task, active)

    def add_to_least_loaded(self, task: Task, active: bool) -> int:
        if self._by_load is None:
            loads = [MemberLoad(member_id, count) for member_id, count in self.counts.items()]
            self._by_load = PriorityQueue(attrgetter("tasks"), loads)
        least = self._by_load.poll()
        if least is None:
            raise TaskAssignorError(f"no member for task {task}")
        least.tasks = self._add(least.member_id, task, active)
        self._by_load.add(least)
        return least.tasks

    def least_loaded(self) -> str:
        """The first of the members with the fewest tasks."""
        return min(self.counts.keys(), key=self.counts.__getitem__)

    def has_capacity(self) -> bool:
        """Returns whether it has fewer tasks than members."""
        return len(self.tasks) < len(self.counts)

    def tasks_of(self, member_id: str) -> Tasks:
        return Tasks(
            by_subtopology(self._active[member_id]), by_subtopology(self._standby[member_id])
        )

    def _add(self, member_id: str, task: Task, active: bool) -> int:
        (self._active if active else self._standby)[member_id].append(task)
        self.tasks.add(task)
        count = self.counts[member_id] + 1
        self.counts.put(member_id, count)
        self.load = len(self.tasks) / len(self.counts)
        return count


def processes_of(
    members: Sequence[TaskAssignee], capacity: int, *, is_before_4_4: bool
) -> HashTable[str, ProcessState]:
    """Processes with their members, in the order of a HashMap of this capacity.

    4.4 uses computeIfAbsent, which grows the map one entry later than put.
    """
    processes = HashTable[str, ProcessState](string_hash, capacity)
    for member in members:
        if is_before_4_4 and member.process_id not in processes:
            processes.put(member.process_id, ProcessState())
        elif not is_before_4_4:
            processes.compute_if_absent(member.process_id, ProcessState)
        processes[member.process_id].add_member(member.member_id)
    return processes


def result(
    members: Sequence[TaskAssignee], processes: HashTable[str, ProcessState]
) -> dict[str, Tasks]:
    return {
        member.member_id: processes[member.process_id].tasks_of(member.member_id)
        for member in members
    }
