"""Each member of a group from its first record to its last, and its steps."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from coordinator_core.modern_history.evidence import Partition
from coordinator_core.modern_history.members import AWAY, ModernMember


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberStep:
    """A current assignment.

    ``generation`` is the target at that time, or None before the first.
    """

    member_id: str
    process: str
    epoch: int
    previous_epoch: int | None
    state: str
    assigned: frozenset[Partition]
    pending: frozenset[Partition]
    time_ms: int
    position: int
    generation: int | None


@dataclass(slots=True, eq=False, kw_only=True)
class ModernMembership:
    """A member from its first record to its last; ``process`` is the process at the end of the
    membership.

    ``ended_ms`` is the time of the member's tombstones, or of the group's conversion. It is None
    while the member is in the group. ``how`` it ended: left, expired, dropped, replaced or
    converted, or None without a log line. ``refused_ms`` says when another process with its
    instance id was refused (log).
    """

    member_id: str
    process: str
    instance_id: str | None
    joined_ms: int
    session_timeout_ms: int | None
    rebalance_timeout_ms: int | None
    steps: list[MemberStep] = field(default_factory=list)
    ended_ms: int | None = None
    how: str | None = None
    has_log: bool = False
    refused_ms: tuple[int, ...] = ()

    @property
    def last_step(self) -> MemberStep | None:
        return self.steps[-1] if self.steps else None

    @property
    def last_heartbeat(self) -> MemberStep | None:
        """The last step, unless it is the leave of a static member."""
        return next((each for each in reversed(self.steps) if each.epoch != AWAY), None)

    @property
    def away_ms(self) -> int | None:
        """The time at which a static member closed temporarily, or None if it has not."""
        last = self.last_step
        return last.time_ms if last is not None and last.epoch == AWAY else None


@dataclass(slots=True)
class Memberships:
    """The memberships of an incarnation, in the order of their begin."""

    memberships: list[ModernMembership] = field(default_factory=list)
    _last: dict[str, ModernMembership] = field(default_factory=dict)

    def join(self, member: ModernMember) -> None:
        metadata = member.metadata
        membership = ModernMembership(
            member_id=member.member_id,
            process=member.process,
            instance_id=metadata.instance_id,
            joined_ms=member.joined_ms,
            session_timeout_ms=metadata.session_timeout_ms,
            rebalance_timeout_ms=metadata.rebalance_timeout_ms,
        )
        self.memberships.append(membership)
        self._last[member.member_id] = membership

    def step(self, step: MemberStep) -> None:
        if (membership := self._last.get(step.member_id)) is not None:
            membership.steps.append(step)
            membership.process = step.process

    def depart(self, member: ModernMember, time_ms: int, how: str | None) -> None:
        """``how`` by the log, if it has a line."""
        if (membership := self._last.get(member.member_id)) is not None:
            membership.process, membership.ended_ms = member.process, time_ms
            membership.how, membership.has_log = how, how is not None

    def replace(self, old_id: str) -> None:
        """A static member came back with a new id."""
        if (membership := self._last.get(old_id)) is not None:
            membership.how = "replaced"

    def convert(self, member_ids: Container[str], time_ms: int) -> None:
        """These are members of the classic group from now on."""
        for member_id, membership in self._last.items():
            if membership.ended_ms == time_ms and member_id in member_ids:
                membership.how = "converted"
