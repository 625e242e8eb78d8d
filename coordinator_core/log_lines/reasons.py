"""Reason texts -> cause classes: why a rebalance began, in the broker's and in the client's words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ParsedReason:
    """``cause``: MEMBER_NEW, HEARTBEAT_EXPIRY, LEAVE, LEADER_REJOIN, METADATA_CHANGE, STATIC_UPDATE,
    SYNC_TIMEOUT, STORE_ERROR, JOINING_IN_PREPARE, or UNKNOWN for words no wording has."""

    cause: str
    member_id: str | None = None
    instance_id: str | None = None
    members: tuple[str, ...] = ()
    state: str | None = None
    error: str | None = None
    client_reason: str | None = None
    client_cause: str | None = None


def parse_reason(reason: str) -> ParsedReason:
    """The reason of a `Preparing to rebalance` line, as it stands between the parentheses."""
    raise NotImplementedError


def client_cause_of(client_reason: str | None) -> str | None:
    """Class of a client's own reason (KIP-800); None where the client gave none.

    POLL_TIMEOUT, CLOSING, LEAVING, MEMBER_ID_REQUIRED, ALREADY_REBALANCING, TOPICS_CHANGED, SUBSCRIPTION_CHANGED,
    COOPERATIVE_FOLLOW_UP, ASSIGNMENT_MISMATCH, ERROR_RESPONSE, COMMIT_DURING_REBALANCE, AUTHENTICATION_ERROR,
    STREAMS_FOLLOW_UP, STREAMS_TASKS_CORRUPTED, STREAMS_SHUTDOWN; OTHER for a reason of the client's own making.
    """
    raise NotImplementedError
