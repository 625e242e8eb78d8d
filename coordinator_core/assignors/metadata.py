"""What the coordinator's own assignors ask for first: metadata of every subscribed topic."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator_core.assignors.members import same_topics, subscribed
from coordinator_core.assignors.model import Member, PartitionAssignorError, Topics


def require_metadata(topics: Topics, members: Sequence[Member]) -> None:
    """The coordinator's assignors refuse a subscription to a topic that does not exist."""
    wanted = subscribed(members[:1] if same_topics(members) else members)
    for topic in wanted - topics.partitions.keys() - topics.without_partitions:
        raise PartitionAssignorError(f"{topic} is subscribed and has no metadata")
