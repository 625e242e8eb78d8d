"""Consumer groups (KIP-848): the coordinator assigns partitions and reconciles each member alone.

In a classic group all members wait for each other: they join, one of the members assigns, and all
members sync.  A consumer group has no such barrier.  Its members send one kind of request,
ConsumerGroupHeartbeat, with their member epoch, the changes of their subscription, and the
partitions that they own.  The answer has the member epoch and, if it changed, the assignment.  A
member whose partitions do not move never stops.

Three epochs
------------
The group epoch is the version of what the assignment depends on.  The group epoch increases by one
when subscriptions change, when topics change (the group stores a hash of its topics), or when a
member leaves or is removed.  The assignment epoch is the group epoch for which the target
assignment was computed.  Any member's heartbeat computes the target once the group epoch is ahead,
from Kafka 4.3 on at most once per group.consumer.assignment.interval.ms.  A member epoch is the
epoch of the target that the member has reached.

    group epoch > assignment epoch                 the group is Assigning
    some member is behind, or not STABLE           the group is Reconciling
    every member is STABLE at the assignment epoch the group is Stable

In a request, a member joins with epoch 0, leaves with -1, and leaves temporarily with -2 (static
members).  Another epoch than the member's is fenced (FENCED_MEMBER_EPOCH).  The previous epoch is
accepted if the member owns no more than its assignment: the last answer may have been lost.

Reconciliation
--------------
A partition has one owner, so a member revokes before another member gets the partition:

    STABLE                 the member has reached its target
    UNREVOKED_PARTITIONS   the member is asked to revoke partitions; its epoch does not change
                           before a heartbeat shows that the member no longer owns them
    UNRELEASED_PARTITIONS  the member is at the epoch of the target, but other members still have
                           some of its partitions; each heartbeat gives it those that are free

A heartbeat, step by step
-------------------------
``heartbeat`` has the steps in Kafka's order.  A step writes records; a step without news writes
none.  All records of a request are one append, and the answer waits for this append.  A failed
append reverts the group.

    1 member            ConsumerGroupMemberMetadata
    2 group epoch       ConsumerGroupMetadata
    3 target            ConsumerGroupTargetAssignmentMember per changed member, then
                        ConsumerGroupTargetAssignmentMetadata
    4 reconciliation    ConsumerGroupCurrentMemberAssignment
    5 session timer, regular expressions      6 append, answer

Example: topic t has the partitions 0 and 1, and member A is alone when B joins (era 4.4).

    1 s: A, epoch 0
        member A; epoch 2; target A 0 1; target epoch 2; current A 2 STABLE 0 1 -> Stable
    6 s: B, epoch 0
        member B; epoch 3; target A 0; target B 1; target epoch 3; current B 3 UNRELEASED
        -> Reconciling
    7 s: A, epoch 2
        current A 2 UNREVOKED 0, revokes 1 -> Reconciling
    8 s: A, epoch 2, owns 0
        current A 3 STABLE 0 -> Reconciling
    9 s: B, epoch 3
        current B 3 STABLE 1 -> Stable

Partition 0 stayed with A all the time, and only partition 1 had no owner, for one second.

Timers
------
session     restarted by each heartbeat of the member; when it ends, the member is removed and the
            group epoch goes up
rebalance   the member's rebalance timeout, from the request to revoke; removes the member unless
            its epoch has changed
join, sync  of members that use the classic protocol

Static members
--------------
A member with a group.instance.id that leaves with epoch -2 keeps its partitions until its session
ends.  A new member with this instance id takes over: the coordinator writes tombstones for the old
member id, and copies of its records for the new member id, without a new epoch.  While the old
member has not left, the new member is refused (UNRELEASED_INSTANCE_ID).

Online migration
----------------
A heartbeat that joins a classic group of consumers converts the group (upgrade): the members stay,
each with its partitions, and the group epoch starts at the generation.  They continue with
JoinGroup, SyncGroup and Heartbeat, whose generation is the member epoch; REBALANCE_IN_PROGRESS
tells them to join again.  When the last member of the consumer protocol leaves, the group becomes
classic (downgrade). group.consumer.migration.policy allows each direction.

Where each part is
------------------
group_type       what code elsewhere asks the type      requests  handlers of its requests
group            ConsumerGroup and its members; members are immutable
states           member states, and what a heartbeat reports
checks           what is wrong with a request
heartbeat        ConsumerGroupHeartbeat: the steps above
draft            the records that a request will write, and values on the way
subscriptions    topics, votes for the server assignor, a new group epoch
regexes          subscriptions by regular expression, resolved in the background
target           the target assignment and its assignor
reconciliation   the grid: member state x report -> reaction
fencing          members leave or are removed           timers   the timers of members
upgrade          from a classic group                   downgrade  to a classic group
classic_members  members of the classic protocol
offsets          OffsetCommit, OffsetFetch              describe   ConsumerGroupDescribe, deletion
records          the records                            loading    how each record changes the group
"""
