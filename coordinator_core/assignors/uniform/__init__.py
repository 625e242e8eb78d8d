"""Uniform: the coordinator's default assignor (KIP-848), balanced and sticky.

The coordinator runs it when a group's epoch changes; the result is the new target assignment.
Sticky here means sticky to the previous target assignment, not to the partitions that members
currently own.  Members converge to the target by themselves, and each member revokes partitions
before another member gets them.

All members subscribe to the same topics (``equal``): every member keeps up to its quota of its
previous partitions, and the free partitions are assigned in order, which gives consecutive runs.
Members subscribe to different topics (``unequal``): fill topic by topic, then balance topic by
topic, in rounds.

Members are taken in the given order, which is the order of the coordinator's member map; topics in
the order of their ids, which is the order of ``Topics.partitions``. Instance ids, racks and
generations have no influence.

- assignor: chooses between the two builders
- equal:     UniformHomogeneousAssignmentBuilder
- unequal:   UniformHeterogeneousAssignmentBuilder
"""

from coordinator_core.assignors.uniform.assignor import assign

__all__ = ["assign"]
