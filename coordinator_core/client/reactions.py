"""The consumer's reaction to every response, by request and error: one table per kind of library.

Rows are errors, columns are requests.  NETWORK_EXCEPTION stands for a lost connection or a request
timeout.  Errors without a row use ``OTHER``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from coordinator_core.client.messages import ClientResponse, FindCoordinator, MetadataResponse
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    CommitResponse,
    FetchResponse,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    LeaveResponse,
    OffsetCommit,
    OffsetFetch,
    SyncGroup,
)


class Reaction(Enum):
    """An action of the consumer; the value describes it."""

    GO_ON = "continues"
    RETRY = "retries after the backoff"
    FIND = "finds the coordinator again, then retries after the backoff"
    REJOIN = "rejoins at once with its member id"
    RESET = "resets the generation, keeps the member id and rejoins; its partitions are lost"
    RENEW = "resets generation and member id and joins as a new member; its partitions are lost"
    ADOPT = "takes the member id of the response and rejoins at once"
    FAIL = "drops the request and stays a member"
    RAISE = "raises the error to the application"
    FENCED = "raises a fatal error: another process uses its instance id"
    IGNORE = "does nothing"
    FATAL = "raises a fatal error: the consumer cannot be used any more"

    __hash__ = object.__hash__


GO_ON, RETRY, FIND, REJOIN, RESET, RENEW, ADOPT, FAIL, RAISE, FENCED, IGNORE, FATAL = Reaction

OTHER = None
E = Errors  # in the tables
COLUMNS = (FindCoordinator, JoinGroup, SyncGroup, Heartbeat, OffsetCommit, OffsetFetch, LeaveGroup)
Row = Mapping[type, Reaction]
Table = Mapping[Errors | None, Row]


def row(*reactions: Reaction) -> Row:
    """One reaction per column; a row with another number of reactions fails at import."""
    return dict(zip(COLUMNS, reactions, strict=True))


# fmt: off
JAVA: Table = {
    #                                   FIND    JOIN    SYNC    BEAT    COMMIT  FETCH   LEAVE
    E.NONE:                         row(GO_ON,  GO_ON,  GO_ON,  GO_ON,  GO_ON,  GO_ON,  GO_ON),
    E.NETWORK_EXCEPTION:            row(RETRY,  FIND,   FIND,   FIND,   FIND,   FIND,   IGNORE),
    E.COORDINATOR_LOAD_IN_PROGRESS: row(RETRY,  RETRY,  RAISE,  RETRY,  RETRY,  RETRY,  IGNORE),
    E.COORDINATOR_NOT_AVAILABLE:    row(RETRY,  FIND,   FIND,   FIND,   FIND,   RAISE,  IGNORE),
    E.NOT_COORDINATOR:              row(RETRY,  FIND,   FIND,   FIND,   FIND,   FIND,   IGNORE),
    E.REQUEST_TIMED_OUT:            row(RETRY,  RAISE,  RAISE,  RETRY,  FIND,   RAISE,  IGNORE),
    E.MEMBER_ID_REQUIRED:           row(RAISE,  ADOPT,  RAISE,  RETRY,  FAIL,   RAISE,  IGNORE),
    E.REBALANCE_IN_PROGRESS:        row(RAISE,  REJOIN, REJOIN, REJOIN, REJOIN, RAISE,  IGNORE),
    E.ILLEGAL_GENERATION:           row(RAISE,  RAISE,  RESET,  RESET,  RESET,  RAISE,  IGNORE),
    E.UNKNOWN_MEMBER_ID:            row(RAISE,  RENEW,  RENEW,  RENEW,  RENEW,  RAISE,  IGNORE),
    E.FENCED_INSTANCE_ID:           row(RAISE,  FENCED, FENCED, FENCED, FENCED, RAISE,  IGNORE),
    E.UNKNOWN_TOPIC_OR_PARTITION:   row(RETRY,  RAISE,  RAISE,  RETRY,  RETRY,  RAISE,  IGNORE),
    E.UNSTABLE_OFFSET_COMMIT:       row(RETRY,  RAISE,  RAISE,  RETRY,  FAIL,   RETRY,  IGNORE),
    OTHER:                          row(RAISE,  RAISE,  RAISE,  RETRY,  FAIL,   RAISE,  IGNORE),
}

LIBRDKAFKA: Table = {
    #                                   FIND    JOIN    SYNC    BEAT    COMMIT  FETCH   LEAVE
    E.NONE:                         row(GO_ON,  GO_ON,  GO_ON,  GO_ON,  GO_ON,  GO_ON,  GO_ON),
    E.NETWORK_EXCEPTION:            row(RETRY,  RETRY,  RETRY,  FIND,   FIND,   FIND,   IGNORE),
    E.COORDINATOR_LOAD_IN_PROGRESS: row(RETRY,  RETRY,  RETRY,  RETRY,  RETRY,  RETRY,  IGNORE),
    E.COORDINATOR_NOT_AVAILABLE:    row(RETRY,  FIND,   FIND,   FIND,   FIND,   FIND,   IGNORE),
    E.NOT_COORDINATOR:              row(RETRY,  FIND,   FIND,   FIND,   FIND,   FIND,   IGNORE),
    E.REQUEST_TIMED_OUT:            row(RETRY,  RETRY,  RETRY,  RETRY,  FIND,   RETRY,  IGNORE),
    E.MEMBER_ID_REQUIRED:           row(RAISE,  ADOPT,  REJOIN, IGNORE, FAIL,   RAISE,  IGNORE),
    E.REBALANCE_IN_PROGRESS:        row(RAISE,  RAISE,  REJOIN, REJOIN, FAIL,   RAISE,  IGNORE),
    E.ILLEGAL_GENERATION:           row(RAISE,  RESET,  RESET,  RESET,  RESET,  RAISE,  IGNORE),
    E.UNKNOWN_MEMBER_ID:            row(RAISE,  RENEW,  RENEW,  RENEW,  RENEW,  RAISE,  IGNORE),
    E.FENCED_INSTANCE_ID:           row(RAISE,  FENCED, FENCED, FENCED, FENCED, RAISE,  IGNORE),
    E.UNKNOWN_TOPIC_OR_PARTITION:   row(RAISE,  RAISE,  REJOIN, IGNORE, RETRY,  RAISE,  IGNORE),
    E.UNSTABLE_OFFSET_COMMIT:       row(RAISE,  RAISE,  REJOIN, IGNORE, FAIL,   RETRY,  IGNORE),
    OTHER:                          row(RAISE,  RAISE,  REJOIN, IGNORE, FAIL,   RAISE,  IGNORE),
}
# fmt: on


def reaction_to(table: Table, request: object, error: Errors) -> Reaction:
    return table.get(error, table[OTHER])[type(request)]


def error_of(response: ClientResponse | None) -> Errors:
    """The error of a response, or its first error if it has several; None stands for no
    response.
    """
    match response:
        case None:
            return Errors.NETWORK_EXCEPTION
        case CommitResponse(partitions):
            return next((error for *_, error in partitions if error), Errors.NONE)
        case FetchResponse(error, partitions):
            return error or next((error for *_, error in partitions if error), Errors.NONE)
        case LeaveResponse(error, members):
            return error or next((error for *_, error in members if error), Errors.NONE)
        case MetadataResponse():
            return Errors.NONE
        case _:
            return response.error
