"""Sticky and cooperative-sticky: balanced first, then as few moves as possible.

Both compute an assignment in the same way (Kafka's AbstractStickyAssignor):

1. Claims.  Every member claims the partitions that it owned; ``claims`` settles conflicts.  The
   claim of the higher generation wins; a partition claimed twice in one generation goes to
   neither.
2. Equal subscriptions (``equal``).  The quotas are known from the start. ``low = total //
   members``, and ``total % members`` members get one partition more.  Members keep claims up to
   their quota; free partitions are assigned in turn to the members below their quota.
3. Different subscriptions (``unequal``).  Members keep all claims; free partitions go to the
   least loaded subscriber, topics with few subscribers first.  Then ``balancing`` moves
   partitions from loaded to less loaded members until a pass changes nothing.  ``moves`` prefers
   to return a partition of the same topic to the member that it came from.

Sticky is eager: it returns the assignment unchanged (KIP-54, KIP-341).  Cooperative-sticky
withholds every partition that another member still owns; the owner revokes it, rejoins, and the
next rebalance assigns it (KIP-429).  Both are rack-aware since 3.5 (KIP-881).

Some results depend on bugs and on HashMap orders of Kafka's implementation; the code follows
them, and the errors in ``assignors.model`` name what Kafka throws.

Partitions are codes of ``Topics``, members are ranks in the order of member ids.

- assignor:   the two assignors; orders of Kafka's maps
- claims:     owned partitions after conflicts are settled
- equal:      ConstrainedAssignmentBuilder
- unequal:    the builder GeneralAssignmentBuilder, up to balancing
- balancing:  GeneralAssignmentBuilder's balancing
- moves:      PartitionMovements
"""

from coordinator_core.assignors.sticky.assignor import assign, assign_cooperative

__all__ = ["assign", "assign_cooperative"]
