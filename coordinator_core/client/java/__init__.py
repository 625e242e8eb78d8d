"""The Java client's consumer; kafka-python's works in the same way.

Two threads share one member.  The application's thread does everything inside poll: find the
coordinator, rejoin, commit, fetch offsets.  The heartbeat thread sends heartbeats and leaves the
group when the application does not poll.  Responses are handled only while one of the threads
serves the network.  Source: AbstractCoordinator and ConsumerCoordinator.

- ``consumer``: both threads and the network.
- ``application``: poll, unsubscribe and close, as generators (``threads``: what they yield).
- ``rebalance``: prepare, join, sync, complete.  ``commits`` are automatic and manual commits.
- ``heartbeat``: the heartbeat thread.
- ``member``: the state that both threads share.  ``metadata`` has topics and partition counts.
- ``responses``: a handler per request type.
"""
