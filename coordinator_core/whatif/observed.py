"""What a group went through, by its evidence alone.

No line and no record tells when a member hears of a rebalance and lets its partitions go.  Under an
eager protocol it does by its next heartbeat, and heartbeats of members that were given their
assignment at the same time come at the same time; under a cooperative one it lets go what it is not
given again when the assignment arrives.
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
    """Where no log has the start of a rebalance, its join is taken to last a heartbeat."""
    return _Observer(baseline).outcome()


_IN_STEP_MS = 60_000
_LET_GO, _GAIN = range(2)  # of one moment, in this order


class _Change(NamedTuple):
    """A member gains partitions, or lets go all but these."""

    at_ms: int
    order: int
    member_id: str
    partitions: set[TopicPartition]


class _Observer:
    def __init__(self, baseline: Baseline) -> None:
        self._scene = baseline
        self._lives = {
            member_id: (life, life.member_ids[-1] == member_id)
            for process in baseline.processes
            for life in process.lives
            for member_id in life.member_ids
        }
        self._owned = owned_within(baseline.from_ms, baseline.to_ms, baseline.idle)
        self._changes: list[_Change] = []
        self._assigned_ms = 0
        self._rebalances = self._not_stable_ms = self._moved = 0

    def outcome(self) -> Figures:
        clients, last = self._scene.clients(), dict[TopicPartition, str]()
        for life in self._scene.told.lives:
            parts = [each.chapter for each in life.chapters if each.chapter.generation > 0]
            for chapter, following in zip(parts, [*parts[1:], None], strict=True):
                self._count(chapter, following)
                for record in chapter.records:
                    self._moves(record, clients, last, _assigned_ms(chapter, record))
                    self._own(chapter, record)
        for member_id, (life_, is_last) in self._lives.items():
            self._go(member_id, life_, is_last=is_last)
        for change in sorted(self._changes, key=lambda each: (each.at_ms, each.order)):
            self._apply(change)
        self._owned.close(self._scene.to_ms)
        return Figures(self._rebalances, self._not_stable_ms, self._moved, self._owned.unowned_ms)

    def _count(self, chapter: GenerationEvidence, following: GenerationEvidence | None) -> None:
        baseline = self._scene
        record = next((each for each in chapter.records if each.members), None)
        ended_ms = None
        if record is not None or chapter.first("ASSIGNMENT_RECEIVED") is not None:
            ended_ms = _assigned_ms(chapter, record)
            self._rebalances += baseline.from_ms <= ended_ms <= baseline.to_ms
        elif (emptied := chapter.first("GROUP_EMPTY")) is not None:
            ended_ms = emptied.at_ms
        elif following is not None:
            ended_ms = following.begins_ms
        began_ms = self._began_ms(chapter, record)
        if began_ms is not None:
            until_ms = baseline.to_ms if ended_ms is None else min(ended_ms, baseline.to_ms)
            self._not_stable_ms += max(until_ms - max(began_ms, baseline.from_ms), 0)

    def _began_ms(self, chapter: GenerationEvidence, record: GroupRecord | None) -> int | None:
        if chapter.start is not None:
            return chapter.start.at_ms
        return None if record is None else record.joined_ms - self._scene.heartbeat_ms

    def _moves(
        self,
        record: GroupRecord,
        clients: dict[str, str],
        last: dict[TopicPartition, str],
        at_ms: int,
    ) -> None:
        counts = self._scene.from_ms <= at_ms <= self._scene.to_ms
        for member_id, partition in record.assigned:
            owner = clients.get(member_id, member_id)
            self._moved += counts and last.get(partition, owner) != owner
            last[partition] = owner

    def _own(self, chapter: GenerationEvidence, record: GroupRecord) -> None:
        """When members let go what they had, and from when on they have what a record gives."""
        at_ms = _assigned_ms(chapter, record)
        is_cooperative = record.protocol == COOPERATIVE
        heard_ms = at_ms
        if not is_cooperative:
            heard_ms = min(self._heard_ms(self._began_ms(chapter, record) or at_ms), at_ms)
        self._assigned_ms = at_ms
        given: dict[str, set[TopicPartition]] = {m.member_id: set() for m in record.members}
        for member_id, partition in record.assigned:
            given[member_id].add(partition)
        for member_id, partitions in given.items():
            if record is chapter.records[0]:
                kept = partitions if is_cooperative else set()
                self._changes.append(_Change(heard_ms, _LET_GO, member_id, kept))
            if self._is_alive(member_id, at_ms):
                self._changes.append(_Change(at_ms, _GAIN, member_id, partitions))

    def _heard_ms(self, began_ms: int) -> int:
        """The heartbeat after the start; of long ago they are in step no more."""
        heartbeat_ms, since_ms = self._scene.heartbeat_ms, began_ms - self._assigned_ms
        if since_ms > _IN_STEP_MS:
            return began_ms + heartbeat_ms // 2
        return began_ms - since_ms % -heartbeat_ms

    def _is_alive(self, member_id: str, at_ms: int) -> bool:
        """A member that is dead and not put out yet is given partitions, too."""
        if member_id not in self._lives:
            return True
        life, _ = self._lives[member_id]
        return life.ended is None or at_ms < life.ended.at_ms

    def _go(self, member_id: str, life: ProcessLife, *, is_last: bool) -> None:
        """A member ends with its process; one whose application was away, when that is back."""
        ended_ms = None if life.ended is None else life.ended.at_ms
        if not is_last:
            back = life.slow[life.member_ids.index(member_id)].to
            ended_ms = None if back is None else back.at_ms
        if ended_ms is not None:
            self._changes.append(_Change(ended_ms, _LET_GO, member_id, set()))

    def _apply(self, change: _Change) -> None:
        if change.order == _GAIN:
            for partition in change.partitions:
                self._owned.gained(change.member_id, partition, change.at_ms)
            return
        for partition in self._owned.owned_by(change.member_id):
            if partition not in change.partitions:
                self._owned.let_go(change.member_id, partition, change.at_ms)


def _assigned_ms(chapter: GenerationEvidence, record: GroupRecord | None) -> int:
    line = chapter.first("ASSIGNMENT_RECEIVED")
    if line is not None and (record is None or record is chapter.records[0]):
        return line.at_ms
    return chapter.ends_ms if record is None else record.at_ms
