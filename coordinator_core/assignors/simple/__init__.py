"""Simple: the assignor of share groups (KIP-932), where several members may share a partition.

Unlike the consumers of a consumer group, share consumers of one partition take turns with its
records.  So the assignor gives every member about the same number of partitions, and every
partition to about the same number of members; with more members than partitions, each partition
goes to several members.  The assignor is sticky to the previous target assignment.

Kafka 4.1 (``hashed``) places members by the hash code of their ids and then evens out.  Since 4.2
there are quotas: members above their quota give up partitions, then the free places are filled, for
equal (``equal``) or different (``unequal``) subscriptions.

Topics are topic ids, since the previous assignment may have topics that were deleted and created
again.  The results depend on the order of Java's hash tables, so members are taken in the order of
the coordinator's map, and previous assignments in the order in which a broker reads them.

- model:    the classes ShareMember and ShareTopics, the result
- assignor: chooses
- filling: previous and new assignment of each member; assigns the free places
- equal:    SimpleHomogeneousAssignmentBuilder
- unequal:  SimpleHeterogeneousAssignmentBuilder
- hashed:   SimpleAssignor of 4.1
"""

from coordinator_core.assignors.simple.assignor import assign, assign_by_hash
from coordinator_core.assignors.simple.model import ShareSubscriber, ShareTopics, TopicIdAssignment

__all__ = ["ShareSubscriber", "ShareTopics", "TopicIdAssignment", "assign", "assign_by_hash"]
