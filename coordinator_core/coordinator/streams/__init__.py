"""Streams groups (KIP-1071): the coordinator assigns tasks of a Kafka Streams application.

Members send StreamsGroupHeartbeat.  Epochs, target assignment and reconciliation work as in
consumer groups (see coordinator_core.coordinator.consumer), with tasks in place of partitions.  A
member is a thread of a process; a task is a partition of a subtopology, as active, standby or
warm-up task.  A process never has the same task twice.

The first member to join sends the topology: subtopologies with their source topics, internal topics
and copartition groups.  The coordinator configures the topology against the topics that exist: how
many tasks each subtopology has, how many partitions each internal topic needs, and which internal
topics are missing.  Until all topics exist the group is NotReady, no task is assigned, and answers
have status codes and the internal topics to create.  No record holds the configured topology, so a
loaded group configures it again.

    Empty        no members
    NotReady     the topology does not match the topics
    Assigning, Reconciling, Stable     as in consumer groups

A heartbeat, step by step (``heartbeat``)
-----------------------------------------
    1 member            StreamsGroupMemberMetadata
    2 topology          StreamsGroupTopology
    3 configuration of the topology
    4 group epoch       StreamsGroupMetadata
    5 target            StreamsGroupTargetAssignmentMember per changed member, then
                        StreamsGroupTargetAssignmentMetadata
    6 reconciliation    StreamsGroupCurrentMemberAssignment
    7 session timer, endpoints, status codes      8 append, answer

Example: subtopology 0 reads topic t with the partitions 0 and 1 (era 4.4).  Both members join
within the initial delay of 3 s, so a timer computes the first target for both.

    1 s: A, epoch 0
        member A; topology 1; epoch 2; current A 1 STABLE -> Assigning
    2 s: B, epoch 0
        member B; epoch 3; current B 1 STABLE -> Assigning
    4 s: timers
        target A 1; target B 0; target epoch 3 -> Reconciling
    5 s: A, epoch 1
        current A 3 STABLE 1 -> Reconciling
    6 s: B, epoch 1
        current B 3 STABLE 0 -> Stable

Era 4.3 added the initial delay, and records that say whether the topology matches the topics.  Era
4.4 added static members, and replicas that stay on the member that gets the active task.

Timers: session and rebalance timeout as in consumer groups; the initial delay of the group.

Where each part is
------------------
group_type      what code elsewhere asks the type      requests  handlers of its requests
group, tasks    StreamsGroup, its members, and sets of tasks; members and sets are immutable
states          member states
heartbeat       StreamsGroupHeartbeat: the steps above
checks          what is wrong with a request
topology        configures the topology against the topics
target          the target assignment, its interval, the initial delay
owners          the processes that have each task
reconciliation  leads a member to its target
endpoints       which tasks are behind the members' endpoints
timers          sessions, revocations, initial delay; the removal of members
rules           what differs between eras
records         the records                            loading   how each record changes the group
writing         writes records; a failed append also reverts what no record holds
"""
