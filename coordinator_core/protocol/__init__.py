"""The group protocols as values: requests, responses and errors, and the coordinator's effects.

Classic groups.  A consumer finds its group coordinator, joins (JoinGroup), gets its assignment
(SyncGroup), and then sends a Heartbeat every few seconds.  Heartbeats renew its session, and their
answers announce the next rebalance.  The group commits offsets (OffsetCommit), reads them back
(OffsetFetch), and leaves (LeaveGroup).

Modern groups.  A member of a consumer group (KIP-848), share group (KIP-932) or streams group
(KIP-1071) sends one kind of request for all of this: a heartbeat with its member epoch, with what
changed of its subscription, and with what it owns.  The answer has the member epoch and, if it
changed, the assignment.  With epoch 0 a member joins, with -1 it leaves, and with -2 a static
member leaves temporarily.  Members of consumer and streams groups commit offsets as in classic
groups, with the member epoch in place of the generation.  Members of share groups acknowledge
records instead.

Administrators describe, list and delete groups of all types.  Every request carries the group id.
Requests of a member also carry its member id, its generation or member epoch and, for a static
member (KIP-345), its instance id.  A response carries an error code, NONE for success.

These values are what the coordinator's code sees after a broker has decoded a request.  Version
numbers appear only where the coordinator itself treats versions differently.  ``request_id``
connects a request to its response, which may come much later: a join is answered when the rebalance
completes, a sync when the leader's assignment is in the log.

The coordinator's work on one request, timer or finished append is a list of effects (``Respond``,
``Append``, ``Event``), to be performed in their order.  An error that a client may receive is a
value of ``Errors``.  An exception is a bug of the engine (``CoordinatorBug``), or Kafka's own
IllegalStateException (``UnexpectedState``).

Example
-------
A consumer joins an empty group under era 4.4.  Its join is answered after the initial rebalance
delay of 3 s, and its sync after the group's record is in the log.  The Java coordinator also writes
a record when a group is created; the caller reports each append.

>>> coordinator = Coordinator(CoordinatorConfig(), ERAS["4.4"], lambda group, client: "a-1")
>>> join = JoinGroup("1", "g", "", None, "a", "/h", 45_000, 300_000, "consumer", PROTOCOLS)
>>> effects = coordinator.handle(join, now_ms=0)
>>> [created] = [effect for effect in effects if isinstance(effect, Append)]
>>> answers(effects), answers(coordinator.appended(created, Errors.NONE, now_ms=2))
([], [])
>>> [joined] = answers(coordinator.advance(now_ms=3_000))
>>> joined.error.name, joined.generation, joined.leader
('NONE', 1, 'a-1')
>>> sync = SyncGroup("2", "g", "a-1", 1, assignments={"a-1": ASSIGNMENT})
>>> effects = coordinator.handle(sync, now_ms=3_010)
>>> [append] = [effect for effect in effects if isinstance(effect, Append)]
>>> answers(effects), append.partition, len(append.records)
([], 3, 1)
>>> [synced] = answers(coordinator.appended(append, Errors.NONE, now_ms=3_012))
>>> synced.error.name, synced.assignment == ASSIGNMENT
('NONE', True)
>>> [late] = answers(coordinator.handle(Heartbeat("3", "g", "a-1", 0), now_ms=6_000))
>>> late.error.name
'ILLEGAL_GENERATION'

Where each part is
------------------
messages      requests, responses and effects
errors        Kafka's error codes, and the engine's exceptions
processes     consumer processes behind members: their names, and when a killed one ended
client_times  default intervals of clients' requests, and how exactly evidence shows them
"""
