"""Common theory of consumer, share and streams groups: the coordinator assigns partitions.

A member of such a group sends one kind of request, a heartbeat with its epoch, its subscription if
it changed, and the partitions that it owns.  The coordinator keeps three numbers.  The group epoch
goes up when members, subscriptions or topics change.  The assignment epoch is the group epoch for
which the target assignment was computed.  A member's epoch is the epoch of the target assignment
that it has reached: each member is led to its target by itself, without a barrier for the group.

The state of such a group is only what its records say.  A request or timer computes records;
``write`` replays them onto the groups and appends them to the log.  A failed append reverts them.
Loading a log replays its records in the same way.

group          ``ModernGroup``: what the groups of all three types have
handlers       the handlers of the three types together
records        ``GroupRecord``: a record as its key's and value's fields; its bytes
writing        writes records: replay, append, answer, revert
replaying      changes that a replayed record makes, each with its revert
offsets        tombstones of committed offsets        topics    the cluster's topics changed
refusals       answers to requests of classic groups  order     orders of Java's hash maps
timers         timers of members that retry when their append fails
settings       Kafka's settings of the broker         configuration  of one group, else the broker's
"""
