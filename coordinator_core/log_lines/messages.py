"""Message -> event: what a line of the coordinator says, without its date, level and logger."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ParsedEvent:
    """What one message says.  A field is None (or empty) where the wording does not carry it.

    ``event``: REBALANCE_START, JOIN_COMPLETE, ASSIGNMENT_RECEIVED, GROUP_EMPTY, GROUP_DEAD, REBALANCE_SKIPPED,
    NOBODY_REJOINED, DROPPED_NOT_REJOINED, LEADER_REPLACED, LEADER_LOST, HEARTBEAT_EXPIRED, PENDING_EXPIRED,
    EXPIRED_UNKNOWN, LEFT, MEMBER_JOIN, STATIC_NEW, STATIC_REPLACED, STATIC_NO_REBALANCE, STATIC_FENCED,
    EMPTY_ASSIGNMENTS, SYNC_TIMEOUT, STORE_FAILED, LOADED, UNLOADED, PARTITION_LOAD, PARTITION_UNLOAD,
    OFFSETS_EXPIRED, OFFSETS_DELETED, ADMIN_DELETE, SIMPLE_GROUP, TOMBSTONES; of the new protocols
    (KIP-848, KIP-932, KIP-1071) FENCED, EPOCH_BUMP, TARGET, RECONCILE, CONVERT, SUBSCRIPTION;
    and OTHER for the loggers' remaining known lines (start, stop, settings).
    """

    event: str
    group_id: str | None = None
    generation: int | None = None
    member_id: str | None = None
    instance_id: str | None = None
    state: str | None = None
    reason: str | None = None  # as printed, client reason included
    client_reason: str | None = None  # KIP-800; None where not provided
    cause: str | None = None  # class of the reason; None where the wording has no reason
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
    topic_partition: str | None = None
    protocol: str | None = None  # classic, consumer, share, streams where the wording says which
    assignor: str | None = None
    error: str | None = None
    operation: str | None = None  # STATIC_FENCED
    step: str | None = None  # MEMBER_JOIN: id_required, direct, pending; LEFT: pending
    duration_ms: int | None = None
    scheduler_ms: int | None = None
    count: int | None = None  # offsets expired or deleted, tombstones, records loaded
    epoch: int | None = None  # of the offsets partition's leader, or of a KIP-848 group


def parse_message(message: str, logger: str | None = None) -> ParsedEvent | None:
    """The event of a message, its prefix in brackets included or not; None where no wording fits.

    ``logger`` is the full logger name, or None where the line does not show it.
    """
    raise NotImplementedError
