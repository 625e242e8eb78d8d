"""The coordinator's range assignor: per topic, consecutive partitions to the members in order."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator_core.assignors._server import in_topic_order, require_metadata
from coordinator_core.assignors.members import static_first, subscribers
from coordinator_core.assignors.model import Assignment, Member, Topics


def assign(topics: Topics, members: Sequence[Member], hashed: bool = False) -> Assignment:
    """Source: group-coordinator's RangeAssignor (KIP-848); racks play no part."""
    require_metadata(topics, members)
    ordered = static_first(members)
    owned: dict[str, list[int]] = {member.member_id: [] for member in ordered}
    for topic, ranks in zip(topics.names, subscribers(topics, ordered), strict=True):
        if not ranks:
            continue
        share, extra = divmod(topics.partitions[topic], len(ranks))
        start = topics.start[topic]
        for i, rank in enumerate(ranks if share else ranks[:extra]):
            end = start + share + (i < extra)
            owned[ordered[rank].member_id] += range(start, end)
            start = end
    return in_topic_order(topics, owned)
