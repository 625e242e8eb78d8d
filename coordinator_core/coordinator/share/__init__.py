"""Share groups (KIP-932): consumers that take records of the same partitions in turns.

Members send ShareGroupHeartbeat.  Epochs and target assignment work as in consumer groups (see
coordinator_core.coordinator.consumer), but a partition may have several members.  Therefore members
never revoke, and each member takes its part of the target with its next heartbeat.  A group is
Empty or Stable, also while members are behind the target.  There are no static members and no
classic members.

The state of a share partition says which member has taken which record.  Another coordinator, the
share coordinator, stores it, and it must be initialised before the partition is assigned.  A
heartbeat that subscribes to a new topic writes the topic as initializing.  Once the states exist,
the coordinator writes the topic as initialized; the next heartbeat bumps the group epoch and
assigns the partitions.  Before a group is deleted, its topics are written as deleting.  Regroup
initialises and deletes states at once.

A heartbeat, step by step (``heartbeat``)
-----------------------------------------
    1 member            ShareGroupMemberMetadata
    2 group epoch       ShareGroupMetadata
    3 target            ShareGroupTargetAssignmentMember per changed member, then
                        ShareGroupTargetAssignmentMetadata
    4 assignment        ShareGroupCurrentMemberAssignment
    5 session timer
    6 missing states    ShareGroupStatePartitionMetadata      7 append, answer

Example: topic t has the partitions 0 and 1 (era 4.4).  The last record of the first heartbeat asks
for the states; the background work has them.

    1 s: A, epoch 0
        member A; epoch 2; target A; target epoch 2; current A 2 STABLE; initializing t 0 1;
        initialized t 0 1 -> Stable
    2 s: A, epoch 2
        epoch 3; target A 0 1; target epoch 3; current A 3 STABLE 0 1 -> Stable
    7 s: B, epoch 0
        member B; epoch 4; target A 0; target B 1; target epoch 4; current B 4 STABLE 1 -> Stable
    8 s: A, epoch 3
        current A 4 STABLE 0 -> Stable

Between 7 s and 8 s partition 1 has two members, which is allowed here.

Timers: the session of each member.

Where each part is
------------------
group_type      what code elsewhere asks the type      requests  handlers of its requests
group           ShareGroup and its members; members are immutable
heartbeat       ShareGroupHeartbeat: the steps above
initialisation  which topics' states are initialised
target          the target assignment: partitions are spread over the members
sessions        the sessions of members; their removal
rules           what differs between eras
records         the records                            loading   how each record changes the group
"""
