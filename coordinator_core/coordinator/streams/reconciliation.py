"""Leads a member to its target, step by step (streams' CurrentAssignmentBuilder)."""

from __future__ import annotations

from collections.abc import Callable

from coordinator_core.coordinator.streams.group import StreamsGroup, StreamsMember
from coordinator_core.coordinator.streams.owners import STANDBY, WARMUP
from coordinator_core.coordinator.streams.rules import StreamsRules
from coordinator_core.coordinator.streams.states import StreamsMemberState
from coordinator_core.coordinator.streams.tasks import (
    NOTHING,
    ActiveTasks,
    AssignedTasks,
    Replicas,
    TargetTasks,
    has_any,
    of,
)

_Partitions = dict[str, set[int]]
_Active = dict[str, dict[int, int]]
_IsUnreleased = Callable[[str, int], bool]


def reconciled(
    rules: StreamsRules,
    group: StreamsGroup,
    member: StreamsMember,
    epoch: int,
    target: TargetTasks,
    owned: TargetTasks | None,
) -> StreamsMember | None:
    """The member after one step towards the target of this epoch. The member is None if it is
    fenced.

    ``owned`` has the tasks that the request reports, or None if it reports none.  A member with a
    state that this version of Kafka does not know is fenced, unless it reports an empty list of
    tasks.
    """
    step = _Step(rules, group, member, epoch, target, owned)
    if member.state is StreamsMemberState.STABLE:
        return member if member.epoch == epoch else step.next(member.epoch)
    if member.state is StreamsMemberState.UNREVOKED_TASKS:
        return member if step.has_not_released(member.pending) else step.next(member.epoch + 1)
    if member.state is StreamsMemberState.UNRELEASED_TASKS:
        return step.next(member.epoch)
    if owned is None or any(owned):
        return None
    return step.next(epoch)


class _Step:
    """The tasks that a member keeps, gives up and gets."""

    def __init__(
        self,
        rules: StreamsRules,
        group: StreamsGroup,
        member: StreamsMember,
        epoch: int,
        target: TargetTasks,
        owned: TargetTasks | None,
    ) -> None:
        self._rules, self._member, self._epoch = rules, member, epoch
        self._target, self._owned = target, owned
        self._owners = group.owners

    def has_not_released(self, tasks: AssignedTasks) -> bool:
        return self._owned is None or has_any(self._owned, tasks)

    def next(self, epoch: int) -> StreamsMember:
        """``epoch`` has the member's if it has to revoke tasks first."""
        active = _ActiveDifference(self._member.assigned.active, self._target.active, self._epoch)
        standby = _Difference(self._member.assigned.standby, self._target.standby)
        warmup = _Difference(self._member.assigned.warmup, self._target.warmup)
        waits = _withhold(active.new, self._is_active_unreleased)
        waits = _withhold(standby.new, self._is_standby_unreleased) or waits
        waits = _withhold(warmup.new, self._is_warmup_unreleased) or waits
        if self._rules.keeps_promoted_replicas:
            self._change_roles(active, standby, warmup)
        pending = AssignedTasks(active.revoked, standby.frozen_revoked(), warmup.frozen_revoked())
        kept = AssignedTasks(active.kept, standby.frozen_kept(), warmup.frozen_kept())
        if pending.has_tasks() and self.has_not_released(pending):
            return self._moved(StreamsMemberState.UNREVOKED_TASKS, epoch, kept, pending)
        state = StreamsMemberState.UNRELEASED_TASKS if waits else StreamsMemberState.STABLE
        all_tasks = AssignedTasks(active.all(), standby.all(), warmup.all())
        return self._moved(state, self._epoch, all_tasks, NOTHING)

    def _moved(
        self, state: StreamsMemberState, epoch: int, assigned: AssignedTasks, pending: AssignedTasks
    ) -> StreamsMember:
        member = self._member
        return member._replace(
            state=state,
            epoch=epoch,
            previous_epoch=member.epoch,
            assigned=assigned,
            pending=pending,
        )

    # -- tasks that other members own

    def _is_active_unreleased(self, subtopology: str, partition: int) -> bool:
        return (
            self._owners.active_process(subtopology, partition) is not None
            or self._is_replica_elsewhere(STANDBY, subtopology, partition)
            or self._is_replica_elsewhere(WARMUP, subtopology, partition)
        )

    def _is_standby_unreleased(self, subtopology: str, partition: int) -> bool:
        return (
            self._is_active_here(subtopology, partition)
            or self._is_held_here(STANDBY, subtopology, partition)
            or self._is_replica_elsewhere(WARMUP, subtopology, partition)
        )

    def _is_warmup_unreleased(self, subtopology: str, partition: int) -> bool:
        process_id = self._owners.active_process(subtopology, partition)
        return (
            process_id == self._member.process_id
            or self._is_replica_elsewhere(STANDBY, subtopology, partition)
            or self._is_held_here(WARMUP, subtopology, partition)
        )

    def _is_active_here(self, subtopology: str, partition: int) -> bool:
        """Returns whether a member of this process, from 4.2 on another one, has the active
        task.
        """
        process_id = self._owners.active_process(subtopology, partition)
        is_own = self._member.assigned.has_active(subtopology, partition)
        is_other = not (self._rules.keeps_promoted_replicas and is_own)
        return process_id == self._member.process_id and is_other

    def _is_held_here(self, role: int, subtopology: str, partition: int) -> bool:
        """Returns whether a member of this process has the replica."""
        return self._owners.has_replica(role, self._member.process_id, subtopology, partition)

    def _is_replica_elsewhere(self, role: int, subtopology: str, partition: int) -> bool:
        """Returns whether a member of this process, from 4.2 on another one, has the replica."""
        if not self._is_held_here(role, subtopology, partition):
            return False
        own = self._member.assigned.standby if role == STANDBY else self._member.assigned.warmup
        return not (self._rules.keeps_promoted_replicas and partition in of(own, subtopology))

    # -- changes of roles on the same member

    def _change_roles(
        self, active: _ActiveDifference, standby: _Difference, warmup: _Difference
    ) -> None:
        """A task that only changes its role on this member does not wait for itself."""
        assigned = self._member.assigned
        for subtopology, partitions in assigned.active.items():
            for partition in partitions:
                standby.grant(subtopology, partition)
        _convert(assigned.standby, standby, warmup)
        _convert(assigned.warmup, warmup, standby)
        for replicas, difference in ((assigned.standby, standby), (assigned.warmup, warmup)):
            for subtopology, partition in self._promoted(replicas):
                _discard(difference.revoked, subtopology, partition)
        pending = AssignedTasks(active.revoked, standby.frozen_revoked(), warmup.frozen_revoked())
        revokes = pending.has_tasks() and self.has_not_released(pending)
        for replicas, difference in ((assigned.standby, standby), (assigned.warmup, warmup)):
            for subtopology, partition in self._promoted(replicas):
                if revokes or partition not in active.new.get(subtopology, ()):
                    difference.kept.setdefault(subtopology, set()).add(partition)

    def _promoted(self, replicas: Replicas) -> list[tuple[str, int]]:
        """The member's replicas that are to become its active tasks."""
        return [
            (subtopology, partition)
            for subtopology, partitions in replicas.items()
            for partition in partitions
            if partition in of(self._target.active, subtopology)
        ]


class _Difference:
    """Replicas that a member keeps, must give up, and will get."""

    def __init__(self, assigned: Replicas, target: Replicas) -> None:
        self.kept: _Partitions = {}
        self.revoked: _Partitions = {}
        self.new: _Partitions = {}
        for subtopology in {**target, **assigned}:
            present, wanted = of(assigned, subtopology), of(target, subtopology)
            _put(self.kept, subtopology, present & wanted)
            _put(self.revoked, subtopology, present - wanted)
            _put(self.new, subtopology, wanted - present)

    def grant(self, subtopology: str, partition: int) -> bool:
        """Take a task to get at once; whether it is one."""
        if partition not in self.new.get(subtopology, ()):
            return False
        _discard(self.new, subtopology, partition)
        self.kept.setdefault(subtopology, set()).add(partition)
        return True

    def frozen_kept(self) -> Replicas:
        return _frozen(self.kept)

    def frozen_revoked(self) -> Replicas:
        return _frozen(self.revoked)

    def all(self) -> Replicas:
        merged = {subtopology: set(partitions) for subtopology, partitions in self.kept.items()}
        for subtopology, partitions in self.new.items():
            merged.setdefault(subtopology, set()).update(partitions)
        return _frozen(merged)


class _ActiveDifference:
    """Active tasks, with the epochs at which they were assigned."""

    def __init__(self, assigned: ActiveTasks, target: Replicas, epoch: int) -> None:
        self.kept: _Active = {}
        self.revoked: _Active = {}
        self.new: _Partitions = {}
        self._epoch = epoch
        for subtopology in {**target, **assigned}:
            present, wanted = assigned.get(subtopology, {}), of(target, subtopology)
            kept = {each: present[each] for each in present if each in wanted}
            revoked = {each: present[each] for each in present if each not in wanted}
            if kept:
                self.kept[subtopology] = kept
            if revoked:
                self.revoked[subtopology] = revoked
            _put(self.new, subtopology, wanted.difference(present))

    def all(self) -> ActiveTasks:
        merged = {subtopology: dict(epochs) for subtopology, epochs in self.kept.items()}
        for subtopology, partitions in self.new.items():
            merged.setdefault(subtopology, {}).update(dict.fromkeys(partitions, self._epoch))
        return merged


def _withhold(new: _Partitions, is_unreleased: _IsUnreleased) -> bool:
    """Withhold tasks that other members still have; returns whether there were any."""
    withheld = [
        (subtopology, partition)
        for subtopology, partitions in new.items()
        for partition in partitions
        if is_unreleased(subtopology, partition)
    ]
    for subtopology, partition in withheld:
        _discard(new, subtopology, partition)
    return bool(withheld)


def _convert(replicas: Replicas, outgoing: _Difference, incoming: _Difference) -> None:
    """Convert standby tasks to warm-ups of the same member, and warm-ups to standby tasks."""
    for subtopology, partitions in replicas.items():
        for partition in partitions:
            if incoming.grant(subtopology, partition):
                _discard(outgoing.revoked, subtopology, partition)


def _put(tasks: _Partitions, subtopology: str, partitions: frozenset[int]) -> None:
    if partitions:
        tasks[subtopology] = set(partitions)


def _discard(tasks: _Partitions, subtopology: str, partition: int) -> None:
    partitions = tasks.get(subtopology, set())
    partitions.discard(partition)
    if not partitions:
        tasks.pop(subtopology, None)


def _frozen(tasks: _Partitions) -> Replicas:
    return {subtopology: frozenset(partitions) for subtopology, partitions in tasks.items()}
