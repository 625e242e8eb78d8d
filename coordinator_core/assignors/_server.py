"""What the coordinator's own assignors share: checked metadata, and sets printed in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    if topics.names == list(topics.partitions):
        return {m: [*in_one_step(table, sorted(held))] for m, held in codes.items()}
    place = {topic: index for index, topic in enumerate(topics.partitions)}
    return {
        member_id: sorted((table[code] for code in held), key=lambda tp: (place[tp[0]], tp[1]))
        for member_id, held in codes.items()
    }
