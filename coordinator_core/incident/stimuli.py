"""Stimuli of the coordinator: requests and takeovers of the group, and sessions that expired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from coordinator_core.protocol.errors import Errors


class StimulusKind(Enum):
    """A request of a client or an administrator, or a change of the group's coordinator."""

    ASK_ID = "JoinGroup without a member id, answered with MEMBER_ID_REQUIRED"
    JOIN = "JoinGroup of a new member"
    REJOIN = "JoinGroup of a known member"
    SYNC = "SyncGroup"
    LEAVE = "LeaveGroup"
    COMMIT = "OffsetCommit"
    DELETE = "DeleteGroups"
    LOAD = "a broker loads the group and becomes its coordinator"
    UNLOAD = "a broker unloads the group"


class Basis(Enum):
    """The evidence from which a stimulus is inferred."""

    LOG = "a log line shows this event"
    RECORD = "a record requires this event"
    ASSUMED = (
        "no log line or record shows this event; it is the simplest explanation of the evidence"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stimulus:
    """``at_ms`` says when the replay sends it; production sent it in earliest_ms .. latest_ms.  All
    times are in ms since the epoch.

    ``member_id`` is the sender; for a join without an id, the id that the broker assigned.
    ``generation`` is the generation it leads to, whose record has the member's metadata.
    """

    kind: StimulusKind
    at_ms: int
    earliest_ms: int
    latest_ms: int
    evidence: str
    basis: Basis
    generation: int
    member_id: str = ""
    instance_id: str | None = None
    changed: bool = False  # the metadata differ from the member's previous metadata
    leavers: tuple[str, ...] = ()
    assignments: Mapping[str, bytes] | None = None  # assignments in a leader's SyncGroup request
    append_error: Errors = Errors.NONE  # error with which the append of the resulting record fails
    reason: str | None = None  # the client's reason (KIP-800)
    offsets: tuple[tuple[str, int, int], ...] = ()  # topic, partition and committed offset

    @property
    def uncertainty_ms(self) -> int:
        return self.latest_ms - self.earliest_ms


@dataclass(frozen=True, slots=True)
class ExpiredSession:
    """A member whose session expired; its last contact was one session timeout before."""

    member_id: str
    last_contact_ms: int
    evidence: str
