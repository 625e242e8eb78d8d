"""Commits as stimuli: whoever owned a partition by the last record committed its offset."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from coordinator_core.incident.evidence import GroupRecord, Incarnation, Row
from coordinator_core.incident.stimuli import Basis, Stimulus, StimulusKind


class CommittedOffset(NamedTuple):
    """One offset of one request, from a row of committed_offsets."""

    log_offset: int
    at_ms: int
    topic: str
    partition: int
    offset: int
    where: str


def commits(rows: Iterable[Row]) -> list[CommittedOffset]:
    """``at_ms`` of a row is its commit_time; tombstones and transactions are passed over."""
    kept = [row for row in rows if not row["tombstone"] and row["outcome"] == "plain"]
    return [
        CommittedOffset(
            row["log_offset"],
            row["at_ms"],
            row["topic"],
            row["partition"],
            row["committed_offset"],
            f"{row['topic_partition']}@{row['log_offset']}",
        )
        for row in sorted(kept, key=lambda each: each["log_offset"])
    ]


def commit_stimuli(life: Incarnation, taken: list[CommittedOffset]) -> list[Stimulus]:
    """In the order of the log.  Of a partition that nobody owned nothing is said."""
    records = [record for record in life.records if record.generation > 0]
    places = [record.log_offset for record in records]
    owners = [{partition: owner for owner, partition in each.assigned} for each in records]
    found = []
    for place, group in groupby(taken, key=lambda each: bisect_right(places, each.log_offset) - 1):
        if place < 0 or not records[place].members:
            continue
        of = owners[place]
        for (at_ms, member_id), same in groupby(
            group, key=lambda each: (each.at_ms, of.get((each.topic, each.partition)))
        ):
            if member_id is not None:
                found.append(_stimulus(records[place], at_ms, member_id, list(same)))
    return found


def _stimulus(
    record: GroupRecord, at_ms: int, member_id: str, same: list[CommittedOffset]
) -> Stimulus:
    return Stimulus(
        StimulusKind.COMMIT,
        max(at_ms, record.at_ms),  # it lies behind the record in the log
        at_ms,
        at_ms,
        same[0].where,
        Basis.RECORD,
        record.generation,
        member_id,
        record.by_id[member_id].instance_id,
        offsets=tuple([(each.topic, each.partition, each.offset) for each in same]),
    )
