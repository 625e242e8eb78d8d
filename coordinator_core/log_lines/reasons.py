"""Reason texts -> cause classes: why a rebalance started, in the wording of broker and client."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from coordinator_core.log_lines.templates import Fields
from coordinator_core.log_lines.truncated import find_truncated
from coordinator_core.log_lines.wordings import Wording, client_reason_index, reason_index

# Cause of a reason without a class, and of a rebalance before 2.1, whose line has no reason.
UNKNOWN_CAUSE = "unknown"


class ParsedReason(NamedTuple):
    """The reason why a rebalance started, or why a member was fenced.

    ``cause``: MEMBER_NEW, SESSION_EXPIRY, LEAVE, LEADER_REJOIN, METADATA_CHANGE, STATIC_UPDATE,
    SYNC_TIMEOUT, STORE_ERROR, JOINING_IN_PREPARE, OVER_CAPACITY, CONVERT, REBALANCE_TIMEOUT; or
    unknown if no wording fits.
    """

    cause: str
    member_id: str | None = None
    instance_id: str | None = None
    members: tuple[str, ...] = ()
    state: str | None = None
    error: str | None = None
    client_reason: str | None = None
    client_cause: str | None = None


_FIELDS = frozenset(ParsedReason._fields)


def parse_reason(reason: str) -> ParsedReason:
    """The reason of a `Preparing to rebalance` line: the text between the parentheses.

    A truncated reason is classified if only one cause can begin with it.
    """
    match = reason_index().find(reason)
    if match is not None:
        wording, values = match
        return _reason(wording, dict(zip(wording.template.group_fields, values, strict=True)))
    truncated = find_truncated(reason_index().beginning_like(reason), reason)
    return ParsedReason(cause=UNKNOWN_CAUSE) if truncated is None else _reason(*truncated)


def _reason(wording: Wording, values: Fields) -> ParsedReason:
    fields: dict[str, Any] = {name: value for name, value in values.items() if name in _FIELDS}
    client_cause = client_cause_of(fields.get("client_reason"))
    return ParsedReason(cause=wording.cause or UNKNOWN_CAUSE, client_cause=client_cause, **fields)


@lru_cache(maxsize=1024)
def client_cause_of(client_reason: str | None) -> str | None:
    """Class of the client's reason (KIP-800), or None if the client gave none.

    POLL_TIMEOUT, CLOSING, UNSUBSCRIBED, ADMIN_REMOVED, LEAVING, MEMBER_ID_REQUIRED,
    ALREADY_REBALANCING, TOPICS_CHANGED, SUBSCRIPTION_CHANGED, COOPERATIVE_FOLLOW_UP,
    ASSIGNMENT_MISMATCH, ERROR_RESPONSE, COMMIT_DURING_REBALANCE, AUTHENTICATION_ERROR, ENFORCED,
    CONNECT_REJOIN, STREAMS_FOLLOW_UP, STREAMS_TASKS_CORRUPTED, STREAMS_SHUTDOWN. Returns OTHER for
    a reason that no known client library gives.
    """
    if client_reason is None or client_reason == "not provided":
        return None
    match = client_reason_index().find(client_reason)
    return "OTHER" if match is None else match[0].cause
