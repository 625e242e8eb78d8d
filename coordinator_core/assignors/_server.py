"""What the coordinator's own assignors share: checked metadata, and sets printed in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from coordinator_core.assignors.members import in_one_step, same_topics, subscribed
from coordinator_core.assignors.model import Assignment, Member, PartitionAssignorError, Topics


def require_metadata(topics: Topics, members: Sequence[Member]) -> None:
    """The coordinator's assignors refuse a subscription to a topic that does not exist."""
    for topic in subscribed(members[:1] if same_topics(members) else members):
        if topic not in topics.partitions and topic not in topics.without_partitions:
            raise PartitionAssignorError(f"{topic} is subscribed and has no metadata")


def in_topic_order(topics: Topics, codes: Mapping[str, Sequence[int]]) -> Assignment:
    """Kafka answers with a set of partitions per topic: topics as given, partitions ascending."""
    table = topics.table
    return {m: [*in_one_step(table, in_id_order(topics, held))] for m, held in codes.items()}


def in_id_order(topics: Topics, codes: Iterable[int]) -> list[int]:
    """By topic as given, which is by topic id, then by partition."""
    if topics.place_by_id is None:
        return sorted(codes)
    return sorted(codes, key=topics.place_by_id.__getitem__)
