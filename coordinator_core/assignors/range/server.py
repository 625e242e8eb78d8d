"""RangeAssignor of the group coordinator."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator_core.assignors.members import static_first
from coordinator_core.assignors.metadata import require_metadata
from coordinator_core.assignors.model import Assignment, Member, Topics
from coordinator_core.assignors.range.client import assign_ranges


def assign(topics: Topics, members: Sequence[Member], hashed: bool = False) -> Assignment:
    """Source: group-coordinator's RangeAssignor (KIP-848); ignores racks."""
    require_metadata(topics, members)
    return assign_ranges(topics, static_first(members), _by_id)


def _by_id(topics: Topics, *, others: bool = True) -> list[str]:
    return list(topics.partitions)
