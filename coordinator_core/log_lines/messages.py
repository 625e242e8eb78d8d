"""Message -> event: what a line of the coordinator says, without its date, level and logger."""

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
    """What one message says.  A field is None (or empty) where the wording does not carry it.

    ``event``: REBALANCE_START, JOIN_COMPLETE, ASSIGNMENT_RECEIVED, GROUP_EMPTY, GROUP_DEAD,
    REBALANCE_SKIPPED, NOBODY_REJOINED, DROPPED_NOT_REJOINED, LEADER_REPLACED, LEADER_LOST,
    HEARTBEAT_EXPIRED, PENDING_EXPIRED, EXPIRED_UNKNOWN, LEFT, MEMBER_JOIN, STATIC_NEW,
    STATIC_REPLACED, STATIC_NO_REBALANCE, STATIC_FENCED, EMPTY_ASSIGNMENTS, SYNC_TIMEOUT,
    STORE_FAILED, LOADED, UNLOADED, PARTITION_LOAD, PARTITION_UNLOAD, OFFSETS_EXPIRED,
    OFFSETS_DELETED, TOMBSTONES, ADMIN_DELETE, SIMPLE_GROUP; of the new protocols (KIP-848,
    KIP-932, KIP-1071) FENCED, EPOCH_BUMP, TARGET, RECONCILE, CONVERT, SUBSCRIPTION; and OTHER for
    the loggers' remaining known lines (start, stop, settings).

    ``step`` tells an event's several lines apart: MEMBER_JOIN id_required, direct, static, pending;
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
    cause: str | None = None  # class of the reason; of REBALANCE_START never None
    client_cause: str | None = None  # class of the client's reason
    members: tuple[str, ...] = ()  # dropped, left or unassigned together, as printed
    groups: tuple[str, ...] = ()  # ADMIN_DELETE
    member_count: int | None = None
    static_member_count: int | None = None
    old_member_id: str | None = None  # STATIC_REPLACED: replaced; STATIC_FENCED: the current one
    new_leader_id: str | None = None  # LEADER_REPLACED
    client_id: str | None = None
    client_host: str | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    protocols: tuple[str, ...] = ()  # assignors' names a member supports
    topic_partition: str | None = None
    protocol: str | None = None  # consumer, classic, share, streams where a KIP-848 line says which
    assignor: str | None = None
    error: str | None = None
    operation: str | None = None  # STATIC_FENCED
    step: str | None = None
    duration_ms: int | None = None
    scheduler_ms: int | None = None
    count: int | None = None  # type: ignore[assignment]  # hides tuple.count: offsets expired or deleted, tombstones, records loaded
    epoch: int | None = None  # of the offsets partition's leader, or of a KIP-848 group


_FIELDS = frozenset(ParsedEvent._fields)


def parse_message(message: str, *, may_be_truncated: bool = False) -> ParsedEvent | None:
    """The event of a message, with or without its prefix; None where no wording fits.

    ``may_be_cut``: a message that breaks off is read as far as it goes, if what is left of it can
    mean one event only.
    """
    prefix = PREFIX.match(message)
    bare = message[prefix.end() :] if prefix else message
    found = line_index().find(bare)
    if found is None and may_be_truncated:
        found = find_truncated(line_index().beginning_like(bare), bare)
    return None if found is None else _event(*found)


def _event(wording: Wording, values: Fields) -> ParsedEvent:
    known: dict[str, Any] = {name: value for name, value in values.items() if name in _FIELDS}
    if wording.step is not None:
        known["step"] = wording.step
    if wording.protocol is not None:
        known["protocol"] = wording.protocol
    if wording.cause is not None:
        known["cause"] = wording.cause
    if "reason" in known:
        _add_reason(known)
    elif wording.event == "REBALANCE_START":
        known["cause"] = UNKNOWN_CAUSE
    elif "client_reason" in known:
        known["client_cause"] = client_cause_of(known["client_reason"])
    return ParsedEvent(wording.event, **known)


def _add_reason(known: dict[str, Any]) -> None:
    """What the line itself says comes before what its reason says."""
    reason = parse_reason(known["reason"])
    for name in ("cause", "member_id", "instance_id", "members", "error", "client_reason"):
        known.setdefault(name, getattr(reason, name))
    known["client_cause"] = reason.client_cause
