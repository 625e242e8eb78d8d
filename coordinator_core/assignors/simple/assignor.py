"""SimpleAssignor: chooses the builder for equal or for different subscriptions."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator_core.assignors.simple import equal as _equal
from coordinator_core.assignors.simple import hashed as _hashed
from coordinator_core.assignors.simple import unequal as _unequal
from coordinator_core.assignors.simple.model import ShareSubscriber, ShareTopics, TopicIdAssignment


def assign(
    topics: ShareTopics, members: Sequence[ShareSubscriber], homogeneous: bool
) -> dict[str, TopicIdAssignment]:
    """Source: SimpleAssignor of 4.2 and later.  ``homogeneous`` is the group's subscription type.

    The result may omit a member, whose assignment is then empty.
    """
    if not members:
        return {}
    if homogeneous:
        return _equal.assign(topics, members)
    return _unequal.assign(topics, members)


def assign_by_hash(
    topics: ShareTopics, members: Sequence[ShareSubscriber], homogeneous: bool
) -> dict[str, TopicIdAssignment]:
    """Source: SimpleAssignor of 4.1 (KIP-932)."""
    if not members:
        return {}
    if homogeneous:
        return _hashed.assign_equal(topics, members)
    return _hashed.assign_unequal(topics, members)
