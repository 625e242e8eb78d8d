"""Offset commits as stimuli: the owner of a partition by the last record committed its offset."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from coordinator_core.incident.evidence import Incarnation, MetadataRecord, Row
from coordinator_core.incident.stimuli import Basis, Stimulus, StimulusKind


class CommitRow(NamedTuple):
    """A row of committed_offsets: one partition of an OffsetCommit request."""

    log_offset: int
    at_ms: int
    topic: str
    partition: int
    offset: int
    where: str


def commits(rows: Iterable[Row]) -> list[CommitRow]:
    """``at_ms`` of a row is its commit_time; tombstones and transactional commits are skipped."""
    plain = [row for row in rows if not row["tombstone"] and row["outcome"] == "plain"]
    return [
        CommitRow(
            row["log_offset"],
            row["at_ms"],
            row["topic"],
            row["partition"],
            row["committed_offset"],
            f"{row['topic_partition']}@{row['log_offset']}",
        )
        for row in sorted(plain, key=lambda each: each["log_offset"])
    ]


def commit_stimuli(incarnation: Incarnation, offsets: list[CommitRow]) -> list[Stimulus]:
    """Stimuli are in the order of the log.  Commits of unowned partitions have no stimulus."""
    records = [record for record in incarnation.records if record.generation > 0]
    log_offsets = [record.log_offset for record in records]
    owners = [{partition: owner for owner, partition in each.assigned} for each in records]
    stimuli = []
    for place, group in groupby(
        offsets, key=lambda each: bisect_right(log_offsets, each.log_offset) - 1
    ):
        if place < 0 or not records[place].members:
            continue
        owner_of = owners[place]
        for (at_ms, member_id), same in groupby(
            group, key=lambda each: (each.at_ms, owner_of.get((each.topic, each.partition)))
        ):
            if member_id is not None:
                stimuli.append(_stimulus(records[place], at_ms, member_id, list(same)))
    return stimuli


def _stimulus(
    record: MetadataRecord, at_ms: int, member_id: str, same: list[CommitRow]
) -> Stimulus:
    return Stimulus(
        kind=StimulusKind.COMMIT,
        at_ms=max(at_ms, record.at_ms),  # the commit follows the record in the log
        earliest_ms=at_ms,
        latest_ms=at_ms,
        evidence=same[0].where,
        basis=Basis.RECORD,
        generation=record.generation,
        member_id=member_id,
        instance_id=record.by_id[member_id].instance_id,
        offsets=tuple([(each.topic, each.partition, each.offset) for each in same]),
    )
