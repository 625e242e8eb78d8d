"""The observed figures of a group, from its evidence alone.

Revocations are neither logged nor recorded, so their time is estimated.  Under an eager protocol a
member revokes its partitions at its next heartbeat after the rebalance started; heartbeats of
members that received their assignment at the same time coincide.  Under a cooperative protocol a
member revokes the partitions that it loses when it receives the assignment.
"""

from __future__ import annotations

from typing import NamedTuple

from coordinator_core.incident.evidence import GroupRecord
from coordinator_core.incident.generation_evidence import GenerationEvidence
from coordinator_core.lives import ProcessLife
from coordinator_core.protocol.messages import TopicPartition
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.figures import Figures
from coordinator_core.whatif.ownership import owned_within
from coordinator_core.whatif.settings import COOPERATIVE


def observed(baseline: Baseline) -> Figures:
    """Where the start of a rebalance is not logged, its join is assumed to last one heartbeat."""
    return _Observer(baseline).figures()


_IN_STEP_MS = 60_000
_REVOKE, _ASSIGN = range(2)  # the order within one millisecond


class _OwnershipChange(NamedTuple):
    """A member is assigned these partitions, or revokes all other partitions."""

    at_ms: int
    order: int
    member_id: str
    partitions: set[TopicPartition]


class _Observer:
    def __init__(self, baseline: Baseline) -> None:
        self._baseline = baseline
        self._lives = {
            member_id: (life, life.member_ids[-1] == member_id)
            for process in baseline.processes
            for life in process.lives
            for member_id in life.member_ids
        }
        self._owned = owned_within(baseline.from_ms, baseline.to_ms, baseline.idle)
        self._changes: list[_OwnershipChange] = []
        self._assigned_ms = 0
        self._rebalances = self._not_stable_ms = self._moved = 0

    def figures(self) -> Figures:
        clients, owners = self._baseline.clients(), dict[TopicPartition, str]()
        for explained in self._baseline.explained.incarnations:
            generations = [
                each.evidence for each in explained.generations if each.evidence.generation > 0
            ]
            for evidence, following in zip(generations, [*generations[1:], None], strict=True):
                self._count(evidence, following)
                for record in evidence.records:
                    self._count_moves(record, clients, owners, _assigned_ms(evidence, record))
                    self._change_owners(evidence, record)
        for member_id, (life, is_last) in self._lives.items():
            self._end_ownership(member_id, life, is_last=is_last)
        for change in sorted(self._changes, key=lambda each: (each.at_ms, each.order)):
            self._apply(change)
        self._owned.close(self._baseline.to_ms)
        return Figures(self._rebalances, self._not_stable_ms, self._moved, self._owned.unowned_ms)

    def _count(self, evidence: GenerationEvidence, following: GenerationEvidence | None) -> None:
        baseline = self._baseline
        record = next((each for each in evidence.records if each.members), None)
        ended_ms = None
        if record is not None or evidence.first("ASSIGNMENT_RECEIVED") is not None:
            ended_ms = _assigned_ms(evidence, record)
            self._rebalances += baseline.from_ms <= ended_ms <= baseline.to_ms
        elif (emptied := evidence.first("GROUP_EMPTY")) is not None:
            ended_ms = emptied.at_ms
        elif following is not None:
            ended_ms = following.begins_ms
        began_ms = self._began_ms(evidence, record)
        if began_ms is not None:
            until_ms = baseline.to_ms if ended_ms is None else min(ended_ms, baseline.to_ms)
            self._not_stable_ms += max(until_ms - max(began_ms, baseline.from_ms), 0)

    def _began_ms(self, evidence: GenerationEvidence, record: GroupRecord | None) -> int | None:
        if evidence.start is not None:
            return evidence.start.at_ms
        return None if record is None else record.joined_ms - self._baseline.heartbeat_ms

    def _count_moves(
        self,
        record: GroupRecord,
        clients: dict[str, str],
        owners: dict[TopicPartition, str],
        at_ms: int,
    ) -> None:
        counts = self._baseline.from_ms <= at_ms <= self._baseline.to_ms
        for member_id, partition in record.assigned:
            owner = clients.get(member_id, member_id)
            self._moved += counts and owners.get(partition, owner) != owner
            owners[partition] = owner

    def _change_owners(self, evidence: GenerationEvidence, record: GroupRecord) -> None:
        """Add the revocations and assignments of a record."""
        at_ms = _assigned_ms(evidence, record)
        is_cooperative = record.protocol == COOPERATIVE
        revoked_ms = at_ms
        if not is_cooperative:
            began_ms = self._began_ms(evidence, record) or at_ms
            revoked_ms = min(self._next_heartbeat_ms(began_ms), at_ms)
        self._assigned_ms = at_ms
        assigned: dict[str, set[TopicPartition]] = {m.member_id: set() for m in record.members}
        for member_id, partition in record.assigned:
            assigned[member_id].add(partition)
        for member_id, partitions in assigned.items():
            if record is evidence.records[0]:
                kept = partitions if is_cooperative else set()
                self._changes.append(_OwnershipChange(revoked_ms, _REVOKE, member_id, kept))
            if self._is_alive(member_id, at_ms):
                self._changes.append(_OwnershipChange(at_ms, _ASSIGN, member_id, partitions))

    def _next_heartbeat_ms(self, began_ms: int) -> int:
        """The first heartbeat after the start; on average half an interval after it, once the
        members' heartbeats no longer coincide.
        """
        heartbeat_ms, since_ms = self._baseline.heartbeat_ms, began_ms - self._assigned_ms
        if since_ms > _IN_STEP_MS:
            return began_ms + heartbeat_ms // 2
        return began_ms - since_ms % -heartbeat_ms

    def _is_alive(self, member_id: str, at_ms: int) -> bool:
        """Whether the process runs: a dead member is assigned partitions until it is removed."""
        if member_id not in self._lives:
            return True
        life, _ = self._lives[member_id]
        return life.ended is None or at_ms < life.ended.at_ms

    def _end_ownership(self, member_id: str, life: ProcessLife, *, is_last: bool) -> None:
        """At the end of the process; after a slow poll, when the application polls again."""
        ended_ms = None if life.ended is None else life.ended.at_ms
        if not is_last:
            back = life.slow_polls[life.member_ids.index(member_id)].to
            ended_ms = None if back is None else back.at_ms
        if ended_ms is not None:
            self._changes.append(_OwnershipChange(ended_ms, _REVOKE, member_id, set()))

    def _apply(self, change: _OwnershipChange) -> None:
        if change.order == _ASSIGN:
            for partition in change.partitions:
                self._owned.assigned(change.member_id, partition, change.at_ms)
            return
        for partition in self._owned.owned_by(change.member_id):
            if partition not in change.partitions:
                self._owned.revoked(change.member_id, partition, change.at_ms)


def _assigned_ms(evidence: GenerationEvidence, record: GroupRecord | None) -> int:
    line = evidence.first("ASSIGNMENT_RECEIVED")
    if line is not None and (record is None or record is evidence.records[0]):
        return line.at_ms
    return evidence.ends_ms if record is None else record.at_ms
