"""The Java client's consumer (and kafka-python's, which is made after it).

Two threads work on one member: the application's, which does everything inside poll, and the one
that sends heartbeats.  Source: AbstractCoordinator and ConsumerCoordinator.
"""
