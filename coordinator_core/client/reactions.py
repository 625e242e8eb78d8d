"""What a consumer does about every answer: one table for each kind of library.

A row is an error, a column the request it answers.  NETWORK_EXCEPTION is no broker's answer: it
stands for a lost connection and for a request that timed out.  Errors without a row are ``OTHER``.
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
    """What is done; the value explains it."""

    GO_ON = "goes on"
    RETRY = "tries again after the backoff"
    FIND = "looks for the coordinator and tries again, after the backoff"
    REJOIN = "joins again at once as the member it is"
    RESET = "forgets the generation, keeps the member id, joins again; what it owned is lost"
    RENEW = "forgets generation and member id, joins again as a new member; what it owned is lost"
    ADOPT = "takes the member id it is given and joins again at once"
    FAIL = "gives this request up and stays a member"
    RAISE = "raises it to the application"
    FENCED = "raises it as fatal: another process has its instance id"
    IGNORE = "does nothing"

    __hash__ = object.__hash__


GO_ON, RETRY, FIND, REJOIN, RESET, RENEW, ADOPT, FAIL, RAISE, FENCED, IGNORE = Reaction

OTHER = None
E = Errors  # in the tables
COLUMNS = (FindCoordinator, JoinGroup, SyncGroup, Heartbeat, OffsetCommit, OffsetFetch, LeaveGroup)
Row = Mapping[type, Reaction]
Table = Mapping[Errors | None, Row]


def row(*reactions: Reaction) -> Row:
    """One reaction per column; a short row fails at import."""
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


def reaction(table: Table, request: object, error: Errors) -> Reaction:
    found = table.get(error)
    return (table[OTHER] if found is None else found)[type(request)]


def error_of(response: ClientResponse | None) -> Errors:
    """The error that counts; None is an answer that never came."""
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
