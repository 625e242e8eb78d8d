"""Range assigns, per topic, consecutive partitions to the members in order.

For each topic, the subscribers in sorted order get ``count // members`` consecutive partitions
each, and the first ``count % members`` subscribers get one more partition.  Therefore partition p
of topics with equal counts and equal subscribers goes to the same member (co-partitioning, which
joins need), but the first members get the extra partition of every topic.

The assignor remembers nothing, so a leaving member shifts the ranges of all members after it.
Static members come first, by instance id (KIP-345), which keeps their ranges through a restart.

Racks (KIP-881, since 3.5).  A topic uses them if some subscriber's rack has a replica and its
partitions' racks differ.  Then co-partitioned topics are assigned together, to members in a rack
with all replicas.  After that each topic's ranges within racks are assigned, and finally the rest
as plain ranges.

The lists have topics in the order of two of Kafka's HashMaps, except in the coordinator's range
assignor (KIP-848), which goes by topic id and ignores racks.

- client:  RangeAssignor of the clients
- server:  RangeAssignor of the group coordinator
- racks: assignment by racks, for topics that need racks
"""

from coordinator_core.assignors.range.client import assign
from coordinator_core.assignors.range.server import assign as assign_on_server

__all__ = ["assign", "assign_on_server"]
