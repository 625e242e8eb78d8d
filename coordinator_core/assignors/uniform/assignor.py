"""UniformAssignor: chooses the builder for equal or for different subscriptions."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator_core.assignors.members import in_hash_order, same_topics
from coordinator_core.assignors.metadata import require_metadata
from coordinator_core.assignors.model import Assignment, Member, Topics
from coordinator_core.assignors.uniform import equal as _uniform_equal
from coordinator_core.assignors.uniform import unequal as _uniform_unequal


def assign(topics: Topics, members: Sequence[Member], hashed: bool = False) -> Assignment:
    """Source: UniformAssignor, homogeneous and heterogeneous builders (KIP-848)."""
    if not members:
        return {}
    if hashed:
        members = in_hash_order(members)
    if same_topics(members):
        require_metadata(topics, members[:1])
        return _uniform_equal.assign(topics.only(members[0].topics), members)
    return _uniform_unequal.assign(topics, members)
