"""Message -> `ParsedEvent`: a coordinator's line without its date, level and logger."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from coordinator_core.log_lines.reasons import UNKNOWN_CAUSE, client_cause_of, parse_reason
from coordinator_core.log_lines.templates import DIGITS, Template
from coordinator_core.log_lines.truncated import find_truncated
from coordinator_core.log_lines.wordings import Wording, line_index

PREFIX = re.compile(
    rf"\[GroupCoordinator (-?{DIGITS})\]: "
    rf"|\[GroupCoordinator id=(-?{DIGITS})(?: topic=(\S+) partition=(\d+))?\] "
    rf"|\[GroupMetadataManager brokerId=(-?{DIGITS})\] "
    rf"|\[Group Metadata Manager on Broker (-?{DIGITS})\]: "
    r"|\[group-coordinator-event-processor-\d+\]: "
    # From this logger, only the line about a group is read.
    rf"|\[DynamicConfigPublisher broker id=(-?{DIGITS})\] (?=Updating group )"
    # From this logger, only exceptions of requests of groups are read.
    rf"|\[KafkaApi-(-?{DIGITS})\] (?=(?:Error when|Unexpected error) handling request\b"
    r"(?:(?!\[KafkaApi-).)*?\bapi(?:Key)?=(?:JOIN_GROUP|SYNC_GROUP|HEARTBEAT|LEAVE_GROUP|OFFSET_COMMIT)\b)"
)


class ParsedEvent(NamedTuple):
    """The event of one message.  A field is None (or empty) if the wording does not have it.

    ``event``: REBALANCE_START, JOIN_COMPLETE, ASSIGNMENT_RECEIVED, GROUP_EMPTY, GROUP_DEAD,
    REBALANCE_SKIPPED, NOBODY_REJOINED, DROPPED_NOT_REJOINED, LEADER_REPLACED, LEADER_LOST,
    HEARTBEAT_EXPIRED, PENDING_EXPIRED, EXPIRED_UNKNOWN, LEFT, MEMBER_JOIN, STATIC_NEW,
    STATIC_REPLACED, STATIC_NO_REBALANCE, STATIC_FENCED, EMPTY_ASSIGNMENTS, SYNC_TIMEOUT,
    STORE_FAILED, LOADED, UNLOADED, PARTITION_LOAD, PARTITION_UNLOAD, OFFSETS_EXPIRED,
    OFFSETS_DELETED, TOMBSTONES, ADMIN_DELETE, SIMPLE_GROUP; for modern groups (KIP-848,
    KIP-932, KIP-1071) FENCED, EPOCH_BUMP, TARGET, RECONCILE, CONVERT, SUBSCRIPTION, GROUP_CONFIG;
    and OTHER for the loggers' remaining known lines (start, stop, settings).

    ``step`` distinguishes lines of one event: MEMBER_JOIN id_required, direct, static, pending;
    LEFT member, pending, temporarily; LOADED group, member; EMPTY_ASSIGNMENTS set, sent;
    STORE_FAILED too_large, unexpected, append, empty, static; PARTITION_LOAD scheduled, started,
    finished, skipped, failed, elected, resigned; PARTITION_UNLOAD scheduled, started, finished,
    skipped, failed; OTHER starting_up, startup_complete, shutting_down, shutdown_complete,
    sync_expired_state, sync_expired_generation, subscription_unreadable, request_failed.
    """

    event: str
    group_id: str | None = None
    generation: int | None = None
    member_id: str | None = None
    instance_id: str | None = None
    state: str | None = None
    reason: str | None = None  # reason as printed, including the client's reason
    client_reason: str | None = None  # KIP-800; reason that the client sent; None without one
    cause: str | None = None  # class of the reason; never None in a REBALANCE_START event
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
    # consumer, classic, share or streams, if a KIP-848 line names the protocol
    protocol: str | None = None
    assignor: str | None = None
    error: str | None = None
    operation: str | None = None  # STATIC_FENCED
    step: str | None = None
    duration_ms: int | None = None
    scheduler_ms: int | None = None
    count: int | None = None  # type: ignore[assignment]  # hides tuple.count: offsets expired or deleted, tombstones, records loaded
    # leader epoch of the offsets partition, or group epoch of a KIP-848 group
    epoch: int | None = None


_PLACES = {name: place for place, name in enumerate(ParsedEvent._fields)}
_NO_FIELDS = (*ParsedEvent(event="")[1:], None)  # The last entry is for text that is not a field.
_REASON_FIELDS = ("member_id", "instance_id", "members", "error", "client_reason")
_STEP, _PROTOCOL = _PLACES["step"], _PLACES["protocol"]
_CAUSE, _CLIENT_CAUSE = _PLACES["cause"], _PLACES["client_cause"]
_REASON, _CLIENT_REASON = _PLACES["reason"], _PLACES["client_reason"]


def parse_message(message: str, *, may_be_truncated: bool = False) -> ParsedEvent | None:
    """The event of a message, with or without its prefix, or None if no wording fits.

    ``may_be_truncated``: also read a truncated message, if only one event can begin with it.
    """
    prefix = parse_prefix(message)
    bare = message[prefix.end :] if prefix else message
    return parse_bare_message(bare, may_be_truncated=may_be_truncated)


def parse_bare_message(bare: str, *, may_be_truncated: bool) -> ParsedEvent | None:
    """`parse_message` of a message without its prefix."""
    match = line_index().find(bare)
    if match is not None:
        wording, values = match
        return _event(wording, _of_template(wording.template.text), values)
    if not may_be_truncated:
        return None
    truncated = find_truncated(line_index().beginning_like(bare), bare)
    if truncated is None:
        return None
    wording, fields = truncated
    return _event(wording, _FieldPlaces.of(fields), fields.values())


class Prefix(NamedTuple):
    """The values that a message's prefix contains; ``end`` is the position at which the message
    continues.
    """

    broker_id: int | None
    topic_partition: str | None
    end: int


def parse_prefix(message: str) -> Prefix | None:
    """The prefix that a message begins with, if any."""
    if not message.startswith("["):
        return None
    # Neighboring lines share their prefix, which ends after its bracket and at most two characters.
    common = _common_prefix(message[: message.find("]") + 3])
    return common or prefix_of(PREFIX.match(message))


def prefix_of(match: re.Match[str] | None) -> Prefix | None:
    """A match of PREFIX as a Prefix."""
    if match is None:
        return None
    broker_id = next((int(digits) for digits in match.group(1, 2, 5, 6, 7, 8) if digits), None)
    return Prefix(broker_id, f"{match[3]}-{match[4]}" if match[3] else None, match.end())


@lru_cache(maxsize=1024)
def _common_prefix(beginning: str) -> Prefix | None:
    return prefix_of(PREFIX.match(beginning))


class _FieldPlaces(NamedTuple):
    """Names of values, and their places in ParsedEvent, or after its end if a value is not a
    field.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]

    @staticmethod
    def of(names: Iterable[str]) -> _FieldPlaces:
        named = tuple(names)
        return _FieldPlaces(named, tuple(_PLACES.get(name, len(_PLACES)) for name in named))


@lru_cache(maxsize=1024)
def _of_template(text: str) -> _FieldPlaces:
    return _FieldPlaces.of(Template(text).group_fields)


def _event(wording: Wording, fields_read: _FieldPlaces, values: Iterable[object]) -> ParsedEvent:
    names, places = fields_read
    fields: list[Any] = [wording.event, *_NO_FIELDS]
    for place, value in zip(places, values, strict=True):
        fields[place] = value
    if wording.step is not None:
        fields[_STEP] = wording.step
    if wording.protocol is not None:
        fields[_PROTOCOL] = wording.protocol
    if wording.cause is not None:
        fields[_CAUSE] = wording.cause
    if "reason" in names:
        _add_reason(fields, wording, names)
    elif wording.event == "REBALANCE_START":
        fields[_CAUSE] = UNKNOWN_CAUSE
    elif "client_reason" in names:
        fields[_CLIENT_CAUSE] = client_cause_of(fields[_CLIENT_REASON])
    fields.pop()
    return ParsedEvent._make(fields)


def _add_reason(fields: list[Any], wording: Wording, names: tuple[str, ...]) -> None:
    """Add the fields of the reason that the line itself does not have."""
    reason = parse_reason(fields[_REASON])
    for name in _REASON_FIELDS:
        if name not in names:
            fields[_PLACES[name]] = getattr(reason, name)
    if wording.cause is None:
        fields[_CAUSE] = reason.cause
    fields[_CLIENT_CAUSE] = reason.client_cause
