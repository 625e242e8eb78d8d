"""Finds partitions that change their process, and what each change waited for.

A partition that a target gives to another member may wait three times.  The old member learns of
the target at its next heartbeat and gives up the partition (revocation), or is gone until its
session expires (session).  Then the new member learns at its next heartbeat that the partition is
free (heartbeat).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from coordinator_core.modern_history.evidence import SESSION_EXPIRED, Partition
from coordinator_core.modern_history.history import Generation, Handover, Owned
from coordinator_core.modern_history.members import ModernMember

REVOCATION, SESSION, HEARTBEAT = "revocation", "session", "heartbeat"
ACTIVE = "active"


@dataclass(frozen=True, slots=True)
class Release:
    """The last owner of each partition, and when it gave the partition up; ``how`` as in Departure,
    None: revoked.
    """

    member_id: str
    process: str
    time_ms: int
    how: str | None
    has_log: bool


@dataclass(slots=True)
class Handovers:
    """The handovers of an incarnation; partitions of share groups have several owners, so none."""

    handovers: list[Handover] = field(default_factory=list)
    _held: dict[str, frozenset[Partition]] = field(default_factory=dict)
    _released: dict[Partition, Release] = field(default_factory=dict)
    _asked: dict[Partition, tuple[str, int]] = field(default_factory=dict)

    def target(self, owned: Iterable[Owned], time_ms: int) -> None:
        """A new target: each partition is asked for when it first has another owner there."""
        for each in owned:
            for partition in each.partitions:
                if self._asked.get(partition, ("", 0))[0] != each.member_id:
                    self._asked[partition] = each.member_id, time_ms

    def step(
        self,
        member: ModernMember,
        pending: frozenset[Partition],
        time_ms: int,
        generation: Generation | None,
    ) -> None:
        """A current assignment of the member."""
        held = frozenset(each for each in member.assigned | pending if each[0] == ACTIVE)
        before = self._held.get(member.member_id, frozenset())
        self._release(member, before - held, time_ms, None, has_log=False)
        if generation is not None:
            for partition in sorted(held - before - pending, key=str):
                self._take(member, partition, time_ms, generation)
        self._held[member.member_id] = held

    def depart(self, member: ModernMember, time_ms: int, how: str | None) -> None:
        """The member is gone."""
        held = self._held.pop(member.member_id, frozenset())
        self._release(member, held, time_ms, how or "left", has_log=how is not None)

    def _release(
        self,
        member: ModernMember,
        partitions: Iterable[Partition],
        time_ms: int,
        how: str | None,
        *,
        has_log: bool,
    ) -> None:
        for partition in partitions:
            self._released[partition] = Release(
                member.member_id, member.process, time_ms, how, has_log
            )

    def _take(
        self, member: ModernMember, partition: Partition, time_ms: int, generation: Generation
    ) -> None:
        release = self._released.pop(partition, None)
        if release is None or release.process == member.process:
            return
        asked_ms = self._asked.get(partition, (member.member_id, generation.joined_ms))[1]
        self.handovers.append(
            Handover(
                partition=partition,
                generation=generation.number,
                from_member=release.member_id,
                from_process=release.process,
                to_member=member.member_id,
                to_process=member.process,
                asked_ms=asked_ms,
                released_ms=release.time_ms,
                assigned_ms=time_ms,
                waited_for=_waited_for(asked_ms, release, time_ms),
                has_log=release.has_log,
            )
        )


def _waited_for(asked_ms: int, release: Release, assigned_ms: int) -> str:
    until_released_ms = release.time_ms - asked_ms
    if until_released_ms <= assigned_ms - max(release.time_ms, asked_ms):
        return SESSION if release.how == SESSION_EXPIRED else HEARTBEAT
    if release.how is None:
        return REVOCATION
    return SESSION if release.how == SESSION_EXPIRED else HEARTBEAT
