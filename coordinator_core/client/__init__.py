"""The consumer's half of the group protocols, without network, clock or application.

This page describes the classic protocol; ``modern`` has members of consumer, share and streams
groups.

Input: calls of the application (subscribe, poll, close) and responses of brokers.  Output: effects,
such as requests to send and rebalance listener calls to run.

The poll loop.  A consumer finds the group's coordinator (FindCoordinator), joins (JoinGroup),
receives its assignment (SyncGroup), then sends heartbeats.  Any response can start the next
rebalance: a heartbeat returns REBALANCE_IN_PROGRESS when another member joined or left.  The leader
of the group also receives all subscriptions with the JoinGroup response, runs the assignor, and
sends the assignments of all members with its SyncGroup.

Member states.  UNJOINED; PREPARING_REBALANCE while JoinGroup is in flight; COMPLETING_REBALANCE
while SyncGroup is in flight; STABLE with an assignment.  Only a STABLE member may commit.

Listener calls.  An eager member revokes all partitions before it joins (onPartitionsRevoked), and
onPartitionsAssigned has its whole assignment.  A cooperative member (KIP-429) keeps its partitions
while it joins, revokes those that the new assignment lacks, and joins once more so that they can be
assigned to others.  onPartitionsLost replaces onPartitionsRevoked if the member lost its generation
or member id: others may own the partitions already, and their offsets cannot be committed.

Java and librdkafka.  In the Java client everything but heartbeats happens inside ``poll``; a second
thread sends heartbeats (KIP-62) and leaves the group if the application does not poll within
max.poll.interval.ms.  In librdkafka the main thread joins, syncs, commits and sends heartbeats;
``poll`` only runs the callbacks.

Errors.  Every library reacts to each pair of request and error in a fixed way: retry, find the
coordinator again, rejoin, reset the generation, raise to the application.

Modules:

- ``libraries``: the client libraries, how they differ, and how their members are recognised.
- ``config``: consumer settings.
- ``consumer``: ``Consumer``, the public interface.
- ``messages``: requests, responses and effects.  ``metrics``: counters.
- ``context``: requests in flight, timers and member state, common to all libraries.
- ``reactions``: the two tables of errors, JAVA and LIBRDKAFKA.
- ``subscription``: the contents of JoinGroup, and the leader's assignment.
- ``java/``: the application's thread, the heartbeat thread, rebalance, commits, metadata.
- ``modern/``: members of consumer, share and streams groups, of both libraries.
- ``librdkafka/``: the main thread, join states, partitions, responses.
"""

from coordinator_core.client.config import ConsumerConfig
from coordinator_core.client.consumer import Consumer, no_jitter
from coordinator_core.client.libraries import LIBRARIES, ClientLibrary
from coordinator_core.client.messages import (
    ClientEffect,
    ClientRequest,
    ClientResponse,
    Closed,
    Disconnect,
    FindCoordinator,
    FindCoordinatorResponse,
    ListenerCall,
    Measured,
    MemberState,
    MemberStateChanged,
    Metadata,
    MetadataResponse,
    Raised,
    Send,
)
from coordinator_core.client.metrics import Metrics

__all__ = [
    "LIBRARIES",
    "ClientEffect",
    "ClientLibrary",
    "ClientRequest",
    "ClientResponse",
    "Closed",
    "Consumer",
    "ConsumerConfig",
    "Disconnect",
    "FindCoordinator",
    "FindCoordinatorResponse",
    "ListenerCall",
    "Measured",
    "MemberState",
    "MemberStateChanged",
    "Metadata",
    "MetadataResponse",
    "Metrics",
    "Raised",
    "Send",
    "no_jitter",
]
