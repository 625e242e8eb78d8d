"""Plays the lines about one incarnation of a group of which no record is known.

At the default level a coordinator logs joins, leaves, group epochs and targets, but neither
assignments nor the epochs that members reach.  Therefore a generation is a target assignment with
its time and its cause.  Its outcome is unknown, and its members are known only if the log begins
with the group's first epoch.  A departure from a share or streams group counts up the epoch without
a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.modern_history import causes
from coordinator_core.modern_history.causes import EpochChange
from coordinator_core.modern_history.evidence import SAME_REQUEST_MS, LoggedDeparture
from coordinator_core.modern_history.history import EpochBump, Generation, History

# A group whose first logged epoch is at most this was created within the log.
_FIRST_EPOCHS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedGroupLine:
    """``event`` is as in group_events; ``group_type`` is the type that the line names;
    ``departure`` is the departure in a line about a member that left or was removed permanently.
    """

    time_ms: int
    event: str
    group_type: str | None = None
    epoch: int | None = None
    member_id: str | None = None
    old_member_id: str | None = None
    assignor: str | None = None
    departure: LoggedDeparture | None = None


def replay_lines(lines: Sequence[LoggedGroupLine]) -> History:
    """The generations and epochs of one incarnation; ``lines`` in their order."""
    player = _Player()
    for line, group_type in zip(lines, _types(lines), strict=True):
        if group_type is not None and group_type != CLASSIC.name:
            player.play(line, group_type)
        elif group_type is not None:
            player.convert(line)
    return player.history


def _types(lines: Sequence[LoggedGroupLine]) -> list[str | None]:
    """The type of the group at each line: the last one named, else the first one, or None before a
    conversion, or if no line names one.
    """
    first = next((each for each in lines if each.group_type), None)
    last = None if first is None or first.event == "CONVERT" else first.group_type
    types = []
    for line in lines:
        last = line.group_type or last
        types.append(last)
    return types


class _Player:
    def __init__(self) -> None:
        self.history = History()
        self._position = 0
        self._reset()

    def _reset(self) -> None:
        self._epoch = 0
        self._changes: list[EpochChange] = []
        self._bumps: list[EpochBump] = []  # epoch bumps since the last target
        self._members = set[str]()
        self._is_complete = self._was_converted = False

    def play(self, line: LoggedGroupLine, group_type: str) -> None:
        self._position += 1
        if line.event == "CONVERT":
            self._was_converted = True
        elif line.event == "EPOCH_BUMP" and line.epoch is not None:
            self._bump(line, line.epoch, self._cause(line))
        elif line.event == "TARGET" and line.epoch is not None:
            self._target(line, line.epoch, group_type)
        elif line.departure is not None:
            self._depart(line, line.departure, group_type)
        elif line.event == "STATIC_REPLACED":
            self._members.discard(line.old_member_id or "")
            self._members.add(line.member_id or "")
        elif line.event == "MEMBER_JOIN" and line.member_id and line.member_id not in self._members:
            self._members.add(line.member_id)
            self._changes.append(_change(causes.MEMBER_NEW, line))

    def convert(self, line: LoggedGroupLine) -> None:
        """The group is classic now: its records have its members and epochs."""
        self._end(line.time_ms)
        self._reset()

    def _depart(self, line: LoggedGroupLine, departure: LoggedDeparture, group_type: str) -> None:
        self._members.discard(departure.member_id)
        change = _change(causes.of_departure(departure), line)
        if group_type == CONSUMER.name:
            self._changes.append(change)
        elif self._epoch:
            self._bump(line, self._epoch + 1, change)

    def _bump(self, line: LoggedGroupLine, epoch: int, change: EpochChange) -> None:
        if epoch <= self._epoch:
            return
        if not self._epoch:
            # No second line names the members of the previous classic group.
            is_first = epoch <= _FIRST_EPOCHS and not self._was_converted
            self._is_complete = is_first and change.cause == causes.MEMBER_NEW
        self._epoch, self._changes = epoch, []
        self._end(line.time_ms)
        bump = EpochBump(
            epoch=epoch,
            time_ms=line.time_ms,
            position=self._position,
            cause=change.cause,
            member_id=change.member_id,
            process=None,
            has_log=True,
        )
        self.history.bumps.append(bump)
        self._bumps.append(bump)
        if self._is_complete and not self._members:
            # No line mentions a target of a group that becomes empty.
            for each in self._bumps:
                each.has_target = False
            self._bumps = []

    def _cause(self, line: LoggedGroupLine) -> EpochChange:
        """The first change that was logged with the epoch, by the same request."""
        near = (c for c in self._changes if line.time_ms - c.time_ms <= SAME_REQUEST_MS)
        return next(near, _change(causes.UNKNOWN, line))

    def _target(self, line: LoggedGroupLine, epoch: int, group_type: str) -> None:
        generations = self.history.generations
        if generations and epoch <= generations[-1].number:
            return
        first = self._bumps[0] if self._bumps else None
        self._epoch = max(self._epoch, epoch)
        is_known = first is not None and first.cause != causes.UNKNOWN
        generations.append(
            Generation(
                number=epoch,
                group_type=group_type,
                preparing_ms=line.time_ms if first is None else first.time_ms,
                joined_ms=line.time_ms,
                position=self._position,
                assignor=line.assignor,
                cause=first.cause if first is not None and is_known else None,
                culprit=None if first is None else first.member_id,
                member_count=len(self._members) if self._is_complete else None,
                has_log=True,
            )
        )
        self._bumps = []

    def _end(self, time_ms: int) -> None:
        generations = self.history.generations
        if generations and generations[-1].ended_ms is None:
            generations[-1].ended_ms = time_ms


def _change(cause: str, line: LoggedGroupLine) -> EpochChange:
    member_id = None if cause == causes.UNKNOWN else line.member_id
    return EpochChange(cause, member_id, None, line.time_ms, has_log=True)
