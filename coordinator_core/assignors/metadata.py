"""The coordinator's check, before it assigns, that subscribed topics exist."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator_core.assignors.members import same_topics, subscribed
from coordinator_core.assignors.model import Member, PartitionAssignorError, Topics


def require_metadata(topics: Topics, members: Sequence[Member]) -> None:
    """Raises PartitionAssignorError if a subscribed topic does not exist."""
    names = subscribed(members[:1] if same_topics(members) else members)
    for topic in names - topics.partitions.keys() - topics.without_partitions:
        raise PartitionAssignorError(f"{topic} is subscribed and has no metadata")
