"""The observed figures of a group, from its evidence alone."""

from __future__ import annotations

from coordinator_core.incident.evidence import MetadataRecord
from coordinator_core.incident.generation_evidence import GenerationEvidence
from coordinator_core.protocol.messages import TopicPartition
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.figures import Figures


def observed(baseline: Baseline, unavailable_partition_ms: int) -> Figures:
    """Where the start of a rebalance is not logged, its join is assumed to last one heartbeat.

    ``unavailable_partition_ms`` is the group's partition downtime within the evaluated period,
    which follows from more evidence than a baseline has.
    """
    return _Observer(baseline).figures(unavailable_partition_ms)


class _Observer:
    def __init__(self, baseline: Baseline) -> None:
        self._baseline = baseline
        self._rebalances = self._not_stable_ms = self._moved = 0

    def figures(self, unavailable_partition_ms: int) -> Figures:
        clients, owners = self._baseline.clients(), dict[TopicPartition, str]()
        for explained in self._baseline.explained.incarnations:
            generations = [
                each.evidence for each in explained.generations if each.evidence.generation > 0
            ]
            # Incarnations of types other than classic have no generations here.
            followers = [*generations[1:], None] if generations else []
            for evidence, following in zip(generations, followers, strict=True):
                self._count(evidence, following)
                for record in evidence.records:
                    self._count_moves(record, clients, owners, _assigned_ms(evidence, record))
        return Figures(self._rebalances, self._not_stable_ms, self._moved, unavailable_partition_ms)

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

    def _began_ms(self, evidence: GenerationEvidence, record: MetadataRecord | None) -> int | None:
        if evidence.start is not None:
            return evidence.start.at_ms
        return None if record is None else record.joined_ms - self._baseline.heartbeat_ms

    def _count_moves(
        self,
        record: MetadataRecord,
        clients: dict[str, str],
        owners: dict[TopicPartition, str],
        at_ms: int,
    ) -> None:
        counts = self._baseline.from_ms <= at_ms <= self._baseline.to_ms
        for member_id, partition in record.assigned:
            owner = clients.get(member_id, member_id)
            self._moved += counts and owners.get(partition, owner) != owner
            owners[partition] = owner


def _assigned_ms(evidence: GenerationEvidence, record: MetadataRecord | None) -> int:
    line = evidence.first("ASSIGNMENT_RECEIVED")
    if line is not None and (record is None or record is evidence.records[0]):
        return line.at_ms
    return evidence.ends_ms if record is None else record.at_ms
