"""Uniform: the coordinator's default assignor (KIP-848), balanced and sticky.

The coordinator runs it when a group's epoch changes; the result is the new target assignment.
Sticky here means sticky to the previous target assignment, not to what members own at the moment:
members converge to the target by themselves, each revoking before another one gets a partition.

All members subscribe to the same topics (``equal``): every member keeps up to its quota of the
partitions that it had; the free ones are handed out in order, which gives consecutive runs.
Different topics (``unequal``): fill topic by topic, then balance topic by topic, in rounds.

Members are taken in the given order, which is the order of the coordinator's member map; topics
in the order of their ids, which is the order of ``Topics.partitions``. Instance ids, racks and
generations play no part.

- assignor:  chooses between the two
- equal:     UniformHomogeneousAssignmentBuilder
- unequal:   UniformHeterogeneousAssignmentBuilder
"""

from coordinator_core.assignors.uniform.assignor import assign

__all__ = ["assign"]
