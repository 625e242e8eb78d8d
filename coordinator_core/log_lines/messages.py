"""Message -> `ParsedEvent`: a coordinator's line without its date, level and logger."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from coordinator_core.log_lines.reasons import UNKNOWN_CAUSE, client_cause_of, parse_reason
from coordinator_core.log_lines.templates import Fields
from coordinator_core.log_lines.truncated import find_truncated
from coordinator_core.log_lines.wordings import Wording, line_index

PREFIX = re.compile(
    r"\[GroupCoordinator (-?\d+)\]: "
    r"|\[GroupCoordinator id=(-?\d+)(?: topic=(\S+) partition=(\d+))?\] "
    r"|\[GroupMetadataManager brokerId=(-?\d+)\] "
    r"|\[Group Metadata Manager on Broker (-?\d+)\]: "
    r"|\[group-coordinator-event-processor-\d+\]: "
)


class ParsedEvent(NamedTuple):
    """The event of one message.  A field is None (or empty) if the wording does not have it.

    ``event``: REBALANCE_START, JOIN_COMPLETE, ASSIGNMENT_RECEIVED, GROUP_EMPTY, GROUP_DEAD,
    REBALANCE_SKIPPED, NOBODY_REJOINED, DROPPED_NOT_REJOINED, LEADER_REPLACED, LEADER_LOST,
    HEARTBEAT_EXPIRED, PENDING_EXPIRED, EXPIRED_UNKNOWN, LEFT, MEMBER_JOIN, STATIC_NEW,
    STATIC_REPLACED, STATIC_NO_REBALANCE, STATIC_FENCED, EMPTY_ASSIGNMENTS, SYNC_TIMEOUT,
    STORE_FAILED, LOADED, UNLOADED, PARTITION_LOAD, PARTITION_UNLOAD, OFFSETS_EXPIRED,
    OFFSETS_DELETED, TOMBSTONES, ADMIN_DELETE, SIMPLE_GROUP; for the new protocols (KIP-848,
    KIP-932, KIP-1071) FENCED, EPOCH_BUMP, TARGET, RECONCILE, CONVERT, SUBSCRIPTION; and OTHER for
    the loggers' remaining known lines (start, stop, settings).

    ``step`` distinguishes lines of one event: MEMBER_JOIN id_required, direct, static, pending;
    LEFT member, pending, temporarily; LOADED group, member; EMPTY_ASSIGNMENTS set, sent;
    STORE_FAILED too_large, unexpected, append, empty, static; PARTITION_LOAD scheduled, started,
    finished, skipped, failed, elected, resigned; PARTITION_UNLOAD scheduled, started, finished,
    skipped, failed; OTHER starting_up, startup_complete, shutting_down, shutdown_complete,
    sync_expired_state, sync_expired_generation, subscription_unreadable.
    """

    event: str
    group_id: str | None = None
    generation: int | None = None
    member_id: str | None = None
    instance_id: str | None = None
    state: str | None = None
    reason: str | None = None  # as printed, client reason included
    client_reason: str | None = None  # KIP-800; None where not provided
    cause: str | None = None  # class of the reason; never None for REBALANCE_START
    client_cause: str | None = None  # class of the client's reason
    members: tuple[str, ...] = ()  # members that were removed, left or unassigned together
    groups: tuple[str, ...] = ()  # ADMIN_DELETE
    member_count: int | None = None
    static_member_count: int | None = None
    old_member_id: str | None = None  # STATIC_REPLACED: replaced id; STATIC_FENCED: current id
    new_leader_id: str | None = None  # LEADER_REPLACED
    client_id: str | None = None
    client_host: str | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    protocols: tuple[str, ...] = ()  # names of the assignors that a member supports
    topic_partition: str | None = None
    protocol: str | None = None  # consumer, classic, share, streams, if a KIP-848 line names it
    assignor: str | None = None
    error: str | None = None
    operation: str | None = None  # STATIC_FENCED
    step: str | None = None
    duration_ms: int | None = None
    scheduler_ms: int | None = None
    count: int | None = None  # type: ignore[assignment]  # hides tuple.count: offsets expired or deleted, tombstones, records loaded
    epoch: int | None = None  # leader epoch of the offsets partition, or epoch of a KIP-848 group


_FIELDS = frozenset(ParsedEvent._fields)


def parse_message(message: str, *, may_be_truncated: bool = False) -> ParsedEvent | None:
    """The event of a message, with or without its prefix; None if no wording fits.

    ``may_be_truncated``: also read a truncated message, if only one event can begin with it.
    """
    prefix = PREFIX.match(message)
    bare = message[prefix.end() :] if prefix else message
    match = line_index().find(bare)
    if match is None and may_be_truncated:
        match = find_truncated(line_index().beginning_like(bare), bare)
    return None if match is None else _event(*match)


def _event(wording: Wording, values: Fields) -> ParsedEvent:
    fields: dict[str, Any] = {name: value for name, value in values.items() if name in _FIELDS}
    if wording.step is not None:
        fields["step"] = wording.step
    if wording.protocol is not None:
        fields["protocol"] = wording.protocol
    if wording.cause is not None:
        fields["cause"] = wording.cause
    if "reason" in fields:
        _add_reason(fields)
    elif wording.event == "REBALANCE_START":
        fields["cause"] = UNKNOWN_CAUSE
    elif "client_reason" in fields:
        fields["client_cause"] = client_cause_of(fields["client_reason"])
    return ParsedEvent(wording.event, **fields)


def _add_reason(fields: dict[str, Any]) -> None:
    """Add the fields of the reason that the line itself does not have."""
    reason = parse_reason(fields["reason"])
    for name in ("cause", "member_id", "instance_id", "members", "error", "client_reason"):
        fields.setdefault(name, getattr(reason, name))
    fields["client_cause"] = reason.client_cause
