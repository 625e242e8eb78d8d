"""Plays the records of one incarnation of a group in their order."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.coordinator.group_types import GROUP_TYPES
from coordinator_core.modern_history import causes
from coordinator_core.modern_history.causes import EpochChange
from coordinator_core.modern_history.evidence import (
    SAME_REQUEST_MS,
    GroupRecord,
    LoggedDeparture,
    Partition,
    RecordKind,
    TargetLine,
)
from coordinator_core.modern_history.handovers import Handovers
from coordinator_core.modern_history.history import (
    EpochBump,
    Generation,
    GenerationMember,
    History,
    Owned,
)
from coordinator_core.modern_history.members import AWAY, ModernMember, Processes, state_name
from coordinator_core.modern_history.memberships import Memberships, MemberStep
from coordinator_core.modern_history.targets import TargetInputs

Line = TypeVar("Line", LoggedDeparture, TargetLine)


def replay(
    records: Sequence[GroupRecord],
    departures: Sequence[LoggedDeparture] = (),
    line_times_ms: Sequence[int] = (),
    target_lines: Sequence[TargetLine] = (),
) -> History:
    """The history of one incarnation; ``records`` in the order of the log.

    ``line_times_ms`` has times of lines about epochs, targets and members.
    """

    def played(processes: Processes) -> History:
        player = _Player(departures, line_times_ms, target_lines, processes)
        for record in records:
            player.play(record)
        return player.finish()

    processes = Processes()
    history = played(processes)
    shared_since = processes.shared_since
    return played(Processes(shared_since)) if shared_since else history


class _Player:
    def __init__(
        self,
        departures: Iterable[LoggedDeparture],
        line_times_ms: Iterable[int],
        target_lines: Iterable[TargetLine],
        processes: Processes,
    ) -> None:
        self.history = History()
        self._target_lines = sorted(target_lines, key=lambda each: each.time_ms)
        self._line_times_ms = sorted(line_times_ms)
        self._lines: dict[str, list[LoggedDeparture]] = {}
        for departure in sorted(departures, key=lambda each: each.time_ms):
            self._lines.setdefault(departure.member_id, []).append(departure)
        self._members: dict[str, ModernMember] = {}
        self._targets: dict[str, frozenset[Partition]] = {}
        self._processes = processes
        self._handovers = Handovers()
        self._memberships = Memberships()
        self._group_epoch = self._target_epoch = 0
        self._hash: int | None = None
        self._topology_epoch: int | None = None
        self._time_ms = 0
        self._changes: list[EpochChange] = []
        self._gone_instances: dict[str, tuple[str, int]] = {}
        self._left: list[GenerationMember] = []
        self._regexes: set[str] = set()
        self._first_bump: EpochBump | None = None
        self._bumps_since_target: list[EpochBump] = []
        self._is_empty = False
        self._generation: Generation | None = None
        self._unreached: set[str] = set()
        self._reconciling_since: int | None = None
        self._converted_ms: int | None = None
        self._inputs = TargetInputs()

    # Records

    def play(self, record: GroupRecord) -> None:
        if record.time_ms != self._time_ms:
            self._account()
            self._time_ms = record.time_ms
        if record.kind is RecordKind.CLASSIC:
            self._classic(record)
        elif record.kind is RecordKind.GROUP:
            self._group(record)
        elif record.kind is RecordKind.MEMBER:
            self._member(record)
        elif record.kind is RecordKind.TARGET_MEMBER and record.member_id is not None:
            if record.is_tombstone:
                self._targets.pop(record.member_id, None)
            else:
                self._targets[record.member_id] = record.assigned
        elif record.kind is RecordKind.TARGET:
            self._target(record)
        elif record.kind is RecordKind.CURRENT:
            self._current(record)
        elif record.kind is RecordKind.REGEX:
            self._regex(record)
        elif record.kind is RecordKind.TOPOLOGY:
            self.history.topology.update(record.subtopologies)
        elif record.kind is RecordKind.STATE_PARTITIONS:
            reason = causes.STATE_INITIALIZED
            self._change(causes.TOPIC_CHANGE, None, record.time_ms, reason=reason)
        if record.type is CONSUMER:
            self._inputs.play(record)

    def _regex(self, record: GroupRecord) -> None:
        """Resolved for the first time, or again because topics changed."""
        regex = record.regex or ""
        is_new = regex not in self._regexes
        if record.is_tombstone:
            self._regexes.discard(regex)
            return
        self._regexes.add(regex)
        reason = causes.REGEX_RESOLVED if is_new else None
        self._change(causes.REGEX, None, record.time_ms, reason=reason)

    def _classic(self, record: GroupRecord) -> None:
        """The group is, or becomes, classic: a tombstone is the first record of an upgrade."""
        self._inputs = TargetInputs(is_complete=True)
        if record.is_tombstone:
            self._converted_ms = record.time_ms
        elif self._generation is not None:
            self._memberships.convert(record.members, record.time_ms)
            self._end(record.time_ms)
            if not self._members:
                self._drop_bumps()
            self._bump(record.epoch or 0, record, causes.CONVERSION, None)
            self._reset()

    def _group(self, record: GroupRecord) -> None:
        if record.is_tombstone:
            self._end(record.time_ms)
            return
        epoch = record.epoch or 0
        if self._converted_ms == record.time_ms and not self._group_epoch:
            change = EpochChange(causes.CONVERSION, None, None, record.time_ms)
            self._changes.clear()
        else:
            change = self._with_reason(self._cause(record), record)
        self._group_epoch, self._hash = epoch, record.metadata_hash
        self._topology_epoch = record.topology_epoch
        bump = self._bump(epoch, record, change.cause, change)
        if change.cause != causes.CONVERSION:
            self._end(record.time_ms)
            if self._is_empty:  # Up to 4.3 there is no target for the group without members.
                self._drop_bumps()
            self._first_bump = self._first_bump or bump
            self._is_empty = not self._members

    def _member(self, record: GroupRecord) -> None:
        member_id = record.member_id or ""
        member = self._members.get(member_id)
        if record.is_tombstone:
            if member is not None:
                self._depart(member, record)
        elif member is None:
            self._join(member_id, record)
        else:
            if cause := causes.of_update(member.metadata, record):
                self._change(cause, member, record.time_ms)
            member.metadata = record

    def _join(self, member_id: str, record: GroupRecord) -> None:
        member = ModernMember(
            member_id=member_id,
            metadata=record,
            process=self._processes.join(record, member_id, self._members),
            joined_ms=record.time_ms,
            change="joined",
        )
        self._members[member_id] = member
        self._memberships.join(member)
        self._unreached.add(member_id)
        old_id, gone_ms = self._gone_instances.get(record.instance_id or "", ("", -1))
        if gone_ms == record.time_ms:
            self._replace(old_id, member)
        else:
            self._change(causes.MEMBER_NEW, member, record.time_ms)
        if self._converted_ms == record.time_ms and record.is_classic:
            member.change = "retained"

    def _replace(self, old_id: str, member: ModernMember) -> None:
        """A static member has a new id; the generation continues with the new id."""
        self._changes = [each for each in self._changes if each.member_id != old_id]
        self._change(causes.STATIC_RETURN, member, member.joined_ms)
        member.change = "replaced"
        self._memberships.replace(old_id)
        for row in self._left:
            if row.member_id == old_id:
                row.left_how = "replaced"
        if self._generation is None:
            return
        if (old := self._generation.members.get(old_id)) is not None:
            old.left_how = "replaced"
        self._generation.actual.pop(old_id, None)
        self._generation.members[member.member_id] = self._row(member, "replaced")
        member.change = "retained"

    def _depart(self, member: ModernMember, record: GroupRecord) -> None:
        member_id = member.member_id
        del self._members[member_id]
        self._unreached.discard(member_id)
        departure = self._line(member_id, record.time_ms)
        cause = causes.of_departure(departure)
        how = departure.how if departure else None
        self._handovers.depart(member, record.time_ms, how)
        self._memberships.depart(member, record.time_ms, how)
        self._change(cause, member, record.time_ms, departure is not None)
        if member.metadata.instance_id:
            self._gone_instances[member.metadata.instance_id] = member_id, record.time_ms
        row = self._generation.members.get(member_id) if self._generation else None
        if row is None or row.is_gone:
            row = self._row(member, member.change)
            self._left.append(row)
        row.is_gone, row.left_ms = True, record.time_ms
        if departure is not None:
            row.left_how, row.left_ms = departure.how, departure.time_ms
            row.left_reason = departure.reason

    def _target(self, record: GroupRecord) -> None:
        if record.is_tombstone:
            return
        epoch = record.epoch or 0
        self._target_epoch = epoch
        is_conversion = self._converted_ms == record.time_ms and self._first_bump is None
        self._unreached = {
            member_id
            for member_id, member in self._members.items()
            if not member.has_reached(epoch)
        }
        if not is_conversion:
            self._begin(epoch, record)

    def _current(self, record: GroupRecord) -> None:
        member = self._members.get(record.member_id or "")
        if member is None or record.is_tombstone:
            return
        if self._converted_ms != record.time_ms:
            self._processes.writes(member)
        is_leaving = record.epoch == AWAY and member.epoch != AWAY
        member.epoch, member.state = record.epoch, state_name(record.state, record.type)
        member.assigned = record.assigned
        if is_leaving:
            self._change(causes.STATIC_LEAVE, member, record.time_ms)
        if member.has_reached(self._target_epoch):
            self._unreached.discard(member.member_id)
        else:
            self._unreached.add(member.member_id)
        generation = self._generation
        if record.type.revokes:
            self._handovers.step(member, record.pending, record.time_ms, generation)
        if generation is not None:
            generation.actual[member.member_id] = self._owned(member, member.assigned)
            generation.last_position = record.position
        step = MemberStep(
            member_id=member.member_id,
            process=member.process,
            epoch=record.epoch or 0,
            previous_epoch=record.previous_epoch,
            state=member.state,
            assigned=record.assigned,
            pending=record.pending,
            time_ms=record.time_ms,
            position=record.position,
            generation=self._target_epoch or None,
        )
        self._memberships.step(step)
        self.history.steps.append(step)

    # Generations

    def _begin(self, epoch: int, record: GroupRecord) -> None:
        bump = self._first_bump
        before = self._generation
        self._end(record.time_ms)
        assignor, is_assumed = self._assignor(record)
        generation = Generation(
            number=epoch,
            group_type=record.group_type,
            preparing_ms=record.time_ms if bump is None else bump.time_ms,
            joined_ms=record.time_ms,
            position=record.position,
            assignor=assignor,
            cause=None if bump is None else bump.cause,
            culprit=None if bump is None else bump.member_id,
            member_count=len(self._members),
            last_position=record.position,
            has_log=self._has_line(record.time_ms),
            is_assumed=is_assumed,
            input=self._inputs.at(record) if record.type is CONSUMER else None,
        )
        for row in self._left:
            generation.members[row.member_id] = row
        for member in self._members.values():
            generation.members[member.member_id] = self._row(member, member.change)
            member.change = "retained"
            if member.assigned:
                generation.actual[member.member_id] = self._owned(member, member.assigned)
        generation.targets = [
            self._owned(self._members[member_id], partitions)
            for member_id, partitions in sorted(self._targets.items())
            if member_id in self._members
        ]
        self._handovers.target(generation.targets, record.time_ms)
        if not self._members:
            generation.outcome = "empty"
        if before is not None and before.outcome == "unknown":
            before.outcome = "superseded"
        self._left, self._first_bump, self._generation = [], None, generation
        self._bumps_since_target = []
        self._is_empty = False
        self.history.generations.append(generation)

    def _account(self) -> None:
        """Notes after each batch whether the group is Reconciling or Stable."""
        generation = self._generation
        is_assigned = self._group_epoch <= self._target_epoch and bool(self._members)
        is_reconciling = is_assigned and bool(self._unreached)
        if not is_reconciling:
            self._stop_reconciling(self._time_ms)
        elif self._reconciling_since is None and generation is not None:
            self._reconciling_since = self._time_ms
        is_stable = is_assigned and not self._unreached
        if is_stable and generation is not None and generation.outcome == "unknown":
            generation.stable_ms, generation.outcome = self._time_ms, "stable"

    def _drop_bumps(self) -> None:
        """No target includes the epochs since the last target."""
        for bump in self._bumps_since_target:
            bump.has_target = False
        self._bumps_since_target, self._first_bump = [], None

    def _stop_reconciling(self, time_ms: int) -> None:
        if self._reconciling_since is not None and self._generation is not None:
            self._generation.reconciling_ms += time_ms - self._reconciling_since
        self._reconciling_since = None

    def _end(self, time_ms: int) -> None:
        """The generation ends with the next epoch, with the conversion or with the group."""
        self._stop_reconciling(time_ms)
        if self._generation is not None and self._generation.ended_ms is None:
            self._generation.ended_ms = time_ms

    def _reset(self) -> None:
        self._members, self._targets, self._unreached = {}, {}, set()
        self._group_epoch = self._target_epoch = 0
        self._generation = self._first_bump = None
        self._changes, self._left = [], []

    def finish(self) -> History:
        """Time in Reconciling counts up to the last record."""
        self._account()
        self._stop_reconciling(self._time_ms)
        self.history.handovers = self._handovers.handovers
        self.history.memberships = self._memberships.memberships
        return self.history

    # Causes

    def _change(
        self,
        cause: str,
        member: ModernMember | None,
        time_ms: int,
        has_log: bool = False,
        reason: str | None = None,
    ) -> None:
        member_id, process = (member.member_id, member.process) if member else (None, None)
        self._changes.append(EpochChange(cause, member_id, process, time_ms, has_log, reason))

    def _cause(self, record: GroupRecord) -> EpochChange:
        """The first change in the bump's batch; else an older one that needed no bump at once: a
        member whose regular expression had to be resolved, or new topics."""
        changes, self._changes = self._changes, []
        bumping = [each for each in changes if each.cause not in causes.WITHOUT_EPOCH]
        of_members = [each for each in bumping if each.member_id is not None]
        in_batch = [each for each in of_members if each.time_ms == record.time_ms]
        for change in (*in_batch, *of_members, *bumping):
            return self._without_target(change)
        if record.metadata_hash != self._hash or record.topology_epoch != self._topology_epoch:
            return EpochChange(causes.TOPIC_CHANGE, None, None, record.time_ms)
        return EpochChange(causes.UNKNOWN, None, None, record.time_ms)

    def _without_target(self, change: EpochChange) -> EpochChange:
        """A member that is in a target already causes another one by its regular expression."""
        generation = self._generation
        has_target = (
            generation is not None
            and change.member_id in generation.members
            and change.time_ms <= generation.joined_ms
        )
        if has_target and change.cause == causes.MEMBER_NEW:
            return replace(change, cause=causes.REGEX, reason=causes.REGEX_RESOLVED)
        return change

    def _with_reason(self, change: EpochChange, record: GroupRecord) -> EpochChange:
        """A topology is validated when all of its internal topics exist."""
        is_validated = record.topology_epoch is not None and self._topology_epoch is None
        if is_validated and change.cause == causes.TOPIC_CHANGE:
            return replace(change, reason=causes.TOPOLOGY_VALIDATED)
        return change

    def _bump(
        self, epoch: int, record: GroupRecord, cause: str, change: EpochChange | None
    ) -> EpochBump:
        bump = EpochBump(
            epoch=epoch,
            time_ms=record.time_ms,
            position=record.position,
            cause=cause,
            member_id=change.member_id if change else None,
            process=change.process if change else None,
            has_log=bool(change and change.has_log),
            reason=change.reason if change else None,
        )
        self.history.bumps.append(bump)
        self._bumps_since_target.append(bump)
        return bump

    def _line(self, member_id: str, time_ms: int) -> LoggedDeparture | None:
        """The departure's line next to its records, if there is one."""
        return _nearest(self._lines.get(member_id, []), time_ms)

    def _has_line(self, time_ms: int) -> bool:
        at = bisect_left(self._line_times_ms, time_ms - SAME_REQUEST_MS)
        return at < len(self._line_times_ms) and (
            self._line_times_ms[at] <= time_ms + SAME_REQUEST_MS
        )

    # Rows

    def _assignor(self, target: GroupRecord) -> tuple[str | None, bool]:
        """The assignor, and whether it is assumed: by the log, else the one that most members
        prefer (`ModernGroup.computePreferredServerAssignor`), else the broker's default.
        """
        if not self._members:
            return None, False
        if (line := _nearest(self._target_lines, target.time_ms)) is not None:
            return line.assignor, False
        votes = Counter(
            member.metadata.server_assignor
            for member in self._members.values()
            if member.metadata.server_assignor
        )
        if not votes:
            return GROUP_TYPES[target.group_type].default_assignor, True
        assignor, most = max(votes.items(), key=lambda vote: vote[1])
        return assignor, list(votes.values()).count(most) > 1

    def _row(self, member: ModernMember, change: str) -> GenerationMember:
        metadata = member.metadata
        return GenerationMember(
            member_id=member.member_id,
            process=member.process,
            instance_id=metadata.instance_id,
            client_id=metadata.client_id,
            client_host=metadata.client_host,
            session_timeout_ms=metadata.session_timeout_ms,
            rebalance_timeout_ms=metadata.rebalance_timeout_ms,
            topics=metadata.topics,
            change=change,
        )

    @staticmethod
    def _owned(member: ModernMember, partitions: frozenset[Partition]) -> Owned:
        return Owned(member.member_id, member.process, partitions)


def _nearest(lines: Sequence[Line], time_ms: int) -> Line | None:
    """The line of the request that wrote a record at this time; ``lines`` by time."""
    at = bisect_left(lines, time_ms, key=lambda each: each.time_ms)
    near = [
        each
        for each in lines[max(at - 1, 0) : at + 1]
        if abs(each.time_ms - time_ms) <= SAME_REQUEST_MS
    ]
    return min(near, key=lambda each: abs(each.time_ms - time_ms), default=None)
