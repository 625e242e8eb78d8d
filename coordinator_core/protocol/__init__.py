"""The classic group protocol as values: requests, responses and errors, and the engine's effects.

A consumer finds its group coordinator, joins (JoinGroup), gets its assignment (SyncGroup), and then
sends a Heartbeat every few seconds; heartbeats renew its session, and their answers announce the
next rebalance.  It commits offsets (OffsetCommit), reads them back (OffsetFetch), and leaves
(LeaveGroup).  Administrators describe, list and delete groups.  Every request carries the group id;
requests of a member also carry its member id, its generation and, for a static member (KIP-345),
its instance id.  A response carries an error code, NONE for success.

Values here are what the coordinator's code sees after a broker has decoded a request: version
numbers appear only where the coordinator itself treats versions differently.  ``request_id``
connects a request to its response, which may come much later: a join is answered when the rebalance
completes, a sync when the leader's assignment is in the log.

The coordinator's work on one request, timer or finished append is a list of effects (``Respond``,
``Append``, ``Event``), to be performed in their order.  An error that a client may receive is a
value of ``Errors``; an exception is a bug of the engine (``CoordinatorBug``), or Kafka's own
IllegalStateException (``UnexpectedState``).

messages      requests, responses and effects
errors        Kafka's error codes, and the engine's exceptions
processes     consumer processes behind members: their names, and when a killed one ended
client_times  default intervals of clients' requests, and how exactly evidence shows them
"""
