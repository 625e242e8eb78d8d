"""The member's reaction to every response, by request and error: one table per library.

Rows are errors, columns are requests.  NETWORK_EXCEPTION stands for a lost connection or a request
timeout.  Errors without a row use ``OTHER``.  The answer to a leave is ignored.
"""

from __future__ import annotations

from coordinator_core.client.messages import FindCoordinator
from coordinator_core.client.reactions import OTHER, Reaction, Row, Table
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    ConsumerGroupHeartbeat,
    OffsetCommit,
    OffsetFetch,
    ShareGroupHeartbeat,
    StreamsGroupHeartbeat,
)

GO_ON, RETRY, FIND, RESET = Reaction.GO_ON, Reaction.RETRY, Reaction.FIND, Reaction.RESET
FAIL, RAISE, FATAL = Reaction.FAIL, Reaction.RAISE, Reaction.FATAL

E = Errors  # in the tables
HEARTBEATS = (ConsumerGroupHeartbeat, ShareGroupHeartbeat, StreamsGroupHeartbeat)
COLUMNS = (FindCoordinator, *HEARTBEATS, OffsetCommit, OffsetFetch)


def row(*reactions: Reaction) -> Row:
    """One reaction per column; a row with another number of reactions fails at import."""
    return dict(zip(COLUMNS, reactions, strict=True))


# fmt: off
JAVA_MODERN: Table = {
    #                                   FIND   CONSUMER SHARE  STREAMS COMMIT FETCH
    E.NONE:                         row(GO_ON, GO_ON,   GO_ON, GO_ON,  GO_ON, GO_ON),
    E.NETWORK_EXCEPTION:            row(RETRY, FIND,    FIND,  FIND,   FIND,  FIND),
    E.COORDINATOR_LOAD_IN_PROGRESS: row(RETRY, RETRY,   RETRY, RETRY,  RETRY, RETRY),
    E.COORDINATOR_NOT_AVAILABLE:    row(RETRY, FIND,    FIND,  FIND,   FIND,  FIND),
    E.NOT_COORDINATOR:              row(RETRY, FIND,    FIND,  FIND,   FIND,  FIND),
    E.REQUEST_TIMED_OUT:            row(RETRY, FATAL,   FATAL, FATAL,  FIND,  RETRY),
    E.UNKNOWN_MEMBER_ID:            row(RAISE, RESET,   RESET, RESET,  FAIL,  RETRY),
    E.FENCED_MEMBER_EPOCH:          row(RAISE, RESET,   RESET, RESET,  FAIL,  RAISE),
    E.STALE_MEMBER_EPOCH:           row(RAISE, FATAL,   FATAL, FATAL,  RETRY, RETRY),
    E.TOPIC_AUTHORIZATION_FAILED:   row(RAISE, RAISE,   RAISE, RAISE,  FAIL,  RAISE),
    E.UNKNOWN_TOPIC_OR_PARTITION:   row(RAISE, FATAL,   FATAL, FATAL,  RETRY, RAISE),
    E.UNSTABLE_OFFSET_COMMIT:       row(RAISE, FATAL,   FATAL, FATAL,  FAIL,  RETRY),
    OTHER:                          row(RAISE, FATAL,   FATAL, FATAL,  FAIL,  RAISE),
}

LIBRDKAFKA_MODERN: Table = {
    #                                   FIND   CONSUMER SHARE  STREAMS COMMIT FETCH
    E.NONE:                         row(GO_ON, GO_ON,   GO_ON, GO_ON,  GO_ON, GO_ON),
    E.NETWORK_EXCEPTION:            row(RETRY, FIND,    FIND,  FIND,   FIND,  FIND),
    E.COORDINATOR_LOAD_IN_PROGRESS: row(RETRY, RETRY,   RETRY, RETRY,  RETRY, RETRY),
    E.COORDINATOR_NOT_AVAILABLE:    row(RETRY, FIND,    FIND,  FIND,   FIND,  FIND),
    E.NOT_COORDINATOR:              row(RETRY, FIND,    FIND,  FIND,   FIND,  FIND),
    E.REQUEST_TIMED_OUT:            row(RETRY, RETRY,   RETRY, RETRY,  FIND,  RETRY),
    E.UNKNOWN_MEMBER_ID:            row(RAISE, RESET,   RESET, RESET,  FAIL,  RETRY),
    E.FENCED_MEMBER_EPOCH:          row(RAISE, RESET,   RESET, RESET,  FAIL,  RAISE),
    E.STALE_MEMBER_EPOCH:           row(RAISE, FATAL,   FATAL, FATAL,  RETRY, RETRY),
    E.TOPIC_AUTHORIZATION_FAILED:   row(RAISE, RAISE,   RAISE, RAISE,  FAIL,  RAISE),
    E.UNKNOWN_TOPIC_OR_PARTITION:   row(RAISE, FATAL,   FATAL, FATAL,  RETRY, RAISE),
    E.UNSTABLE_OFFSET_COMMIT:       row(RAISE, FATAL,   FATAL, FATAL,  FAIL,  RETRY),
    OTHER:                          row(RAISE, FATAL,   FATAL, FATAL,  FAIL,  RAISE),
}
# fmt: on
