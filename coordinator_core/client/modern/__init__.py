"""Members of consumer, share and streams groups: the client's half of KIP-848, -932 and -1071.

One request does everything: the heartbeat.  With epoch 0 a member joins, with -1 it leaves, and
with -2 a static member leaves temporarily.  The client makes its member id itself (KIP-1082) and
keeps it for the process' life.  Each response has the heartbeat interval and, if it changed, the
assignment.

Reconciliation.  A member that gets another assignment first gives up what the assignment lacks (the
callback *revoked*), then takes what is new (*assigned*).  Its next heartbeat, which it sends at
once, has what it owns, and thereby acknowledges the assignment.  Only then does the coordinator
assign the revoked partitions to other members, with their next heartbeat.

Fencing.  UNKNOWN_MEMBER_ID and FENCED_MEMBER_EPOCH: the coordinator has removed the member.  Its
partitions are *lost*, and it joins again with epoch 0 and its member id.  Errors such as
UNRELEASED_INSTANCE_ID are fatal: the application has to create another consumer.

Java.  The background thread sends heartbeats and leaves when the application does not poll within
max.poll.interval.ms.  Reconciliation begins when the application polls (with automatic commits:
they come first), and callbacks run on the application's thread, which looks for them each 100 ms
while it waits for records.  Source: AsyncKafkaConsumer, AbstractHeartbeatRequestManager,
AbstractMembershipManager.

librdkafka.  The main thread sends heartbeats; ``poll`` only runs the callbacks.  When the
application does not poll in time, heartbeats stop.  The leave is sent only when the application
polls again and has received the callback that its partitions are lost.  Source: rdkafka_cgrp.c.

- ``reactions``: the tables of errors of both libraries.
- ``member_ids``: member ids in both libraries' form.
- ``member_protocols``: heartbeats and assignments of the three group types.
- ``membership``, ``heartbeats``, ``offsets``, ``java_consumer``: the Java client.
- ``librdkafka_group``, ``librdkafka_consumer``: librdkafka.

Share consumers and streams members work as in the Java client.  Share consumers have no callbacks
and nothing to commit or revoke.  The callbacks of streams members have active tasks: the
subtopology's id in place of a topic.
"""
