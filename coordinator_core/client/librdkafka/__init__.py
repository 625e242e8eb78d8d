"""librdkafka's consumer.

Its main thread joins, syncs, commits and sends heartbeats, whether or not the application polls;
poll only runs rebalance callbacks and reports errors.  If a callback has to run, the member's
rebalance, and with it the group's, waits for the next poll.  Source: rdkafka_cgrp.c and
rdkafka_assignment.c of 2.x.

- ``consumer``: the main thread and its timers.  ``main_loop`` says when it wakes up.
- ``states``: join states and the member states that they map to.
- ``group``: the transitions between join states.
- ``partitions``: the application's partitions, their commits and offset fetches.
- ``heartbeat``: heartbeats and the session.
- ``responses``, ``offset_responses``: a handler per request type.
"""
