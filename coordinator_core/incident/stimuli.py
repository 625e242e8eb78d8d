"""What reached the coordinator, as far as evidence tells: requests of clients, loads, silences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from coordinator_core.protocol.errors import Errors


class StimulusKind(Enum):
    """What a client, an administrator or the cluster did."""

    ASK_ID = "asked to join, without a member id"
    JOIN = "joined"
    REJOIN = "rejoined"
    SYNC = "synced"
    LEAVE = "left"
    COMMIT = "committed offsets"
    DELETE = "deleted the group"
    LOAD = "the coordinator took the group over"
    UNLOAD = "the coordinator gave the group up"


class Basis(Enum):
    """What tells of a stimulus."""

    LOG = "a log line says it"
    RECORD = "a record cannot be without it"
    ASSUMED = "nothing says it; it is the plainest way to what is known"


@dataclass(frozen=True, slots=True)
class Stimulus:
    """``at_ms``: when it is played, in ms since the epoch; it was between the other two.

    ``member_id``: who did it; of a join without an id, the id that the broker gave.
    ``generation``: the generation that it leads to, whose record has the member's metadata.
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
    changed: bool = False  # brings other metadata than before
    leavers: tuple[str, ...] = ()
    assignments: Mapping[str, bytes] | None = None  # a leader's sync has them
    append_error: Errors = Errors.NONE  # what becomes of the record it makes
    reason: str | None = None  # the client's own words
    offsets: tuple[tuple[str, int, int], ...] = ()  # committed: topic, partition, offset

    @property
    def uncertainty_ms(self) -> int:
        return self.latest_ms - self.earliest_ms


@dataclass(frozen=True, slots=True)
class ExpiredSession:
    """A member that expired: heard of for the last time a session timeout before."""

    member_id: str
    last_contact_ms: int
    evidence: str
