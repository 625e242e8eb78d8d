"""Streams groups (KIP-1071): the coordinator assigns tasks of a Kafka Streams application.

A member is a thread of a process.  The first member to join brings the topology: subtopologies with
their source topics, internal topics and copartition groups.  The coordinator configures it against
the topics that exist: how many tasks each subtopology has, how many partitions each internal topic
needs, which internal topics are missing.  Until all is there the group is NotReady, no task is
assigned, and answers say why (status codes) and name the internal topics to create.

As in consumer groups, a member is led to its target step by step: it revokes tasks before it gets
new ones (UNREVOKED_TASKS), and waits for tasks that another member still has (UNRELEASED_TASKS).
A process never has the same task twice.  From 4.2 on, a replica on the member that gets the active
task stays until then; a new group waits for members before its first assignment (initial delay),
and there are static members.

tasks           sets of tasks
group           StreamsGroup and its members, immutable
records         the records that a streams group writes
loading         the reaction to each record
topology        configures the topology against the topics
target          the target assignment, its interval and the initial delay
owners          the processes that have each task
reconciliation  leads a member to its target
timers          sessions, revocations; the removal of members
heartbeat       StreamsGroupHeartbeat
checks          what is wrong with a heartbeat
endpoints       which tasks are behind the members' endpoints
requests        the other requests
rules           what differs between eras
"""
