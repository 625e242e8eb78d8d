"""Partition assignors with Kafka's own results, list order included, under one signature.

An assignor divides the partitions of the subscribed topics among the members of a group.  With
the classic protocol a client runs it: the coordinator chooses the assignor that all members
support, sends all subscriptions to the leader, and distributes the leader's result (SyncGroup).
With the consumer protocol (KIP-848) the coordinator runs it itself.

Input: ``Topics`` (partition counts, replica racks) and ``Member``s (subscribed topics, owned
partitions with the generation of that claim, instance id, rack).  Output: a list of partitions
per member id.

Eager and cooperative.  With an eager assignor (range, roundrobin, sticky) every member revokes all
partitions before it rejoins, so a partition may move at once.  A cooperative assignor
(cooperative-sticky, KIP-429) lets members keep consuming: a partition that moves is first withheld
from all members; its owner revokes it and rejoins, and a second rebalance assigns it.

Order matters.  A member's list keeps the order in which Kafka adds partitions, because the wire
format and the member's next claim, and therefore the next assignment, depend on this order.
Kafka's assignors iterate over HashMaps of member ids and topics, so where two results are equally
good, hash buckets decide; the hash orders are in ``coordinator_core.jvm``.  ``hashed=False`` is for
callers whose maps keep the members' own order, such as the coordinator.

Inside the assignors an integer (the code of ``Topics``) stands for a partition, and an integer (the
rank in a sorted list) stands for a member.

- range/:         range (client) and server-range; racks in KIP-881
- roundrobin:     roundrobin
- sticky/:        sticky and cooperative-sticky
- librdkafka_sticky: librdkafka's own cooperative-sticky, as its consumers use it
- uniform/:       the coordinator's uniform assignor
- simple/:        the coordinator's assignor of share groups, of topic ids
- sticky_tasks/:  the coordinator's assignor of streams groups, of tasks
- model:          the classes Topics, Member and Assignment, the signature, the errors
- members:        orders of members; which members subscribe to a topic
- subscriptions:  owned partitions as consumers send them and as assignors read them
- racks: when racks count, and which members' racks hold a partition
- metadata:       the coordinator's check that subscribed topics exist
- quality:        balance, moves, stickiness and rack locality of an assignment
- fewest_moves:   the minimum number of moves with different subscriptions
"""

from __future__ import annotations

from coordinator_core.assignors import librdkafka_sticky, range, roundrobin, sticky, uniform
from coordinator_core.assignors.model import (
    NO_GENERATION,
    Assignment,
    Assignor,
    AssignorError,
    Member,
    TopicPartition,
    Topics,
)

CLIENT_ASSIGNORS: dict[str, Assignor] = {
    "range": range.assign,
    "roundrobin": roundrobin.assign,
    "sticky": sticky.assign,
    "cooperative-sticky": sticky.assign_cooperative,
}
LIBRDKAFKA_ASSIGNORS: dict[str, Assignor] = {
    "range": range.assign,
    "roundrobin": roundrobin.assign,
    "cooperative-sticky": librdkafka_sticky.assign_cooperative,
}
# KafkaJS assigns as Kafka's roundrobin assignor does if all members subscribe to the same topics.
KAFKAJS_ASSIGNORS: dict[str, Assignor] = {"RoundRobinAssigner": roundrobin.assign}
# Assignors of the clients that the client model simulates.
SIMULATED_ASSIGNORS: dict[str, Assignor] = CLIENT_ASSIGNORS | KAFKAJS_ASSIGNORS
SERVER_ASSIGNORS: dict[str, Assignor] = {
    "uniform": uniform.assign,
    "server-range": range.assign_on_server,
}
ASSIGNORS: dict[str, Assignor] = CLIENT_ASSIGNORS | SERVER_ASSIGNORS

__all__ = [
    "ASSIGNORS",
    "CLIENT_ASSIGNORS",
    "KAFKAJS_ASSIGNORS",
    "LIBRDKAFKA_ASSIGNORS",
    "NO_GENERATION",
    "SERVER_ASSIGNORS",
    "SIMULATED_ASSIGNORS",
    "Assignment",
    "Assignor",
    "AssignorError",
    "Member",
    "TopicPartition",
    "Topics",
]
