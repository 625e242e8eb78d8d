"""Input of the inference of episodes: the rebalances of a group and their causes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.coordinator.group_types import GROUP_TYPES
from coordinator_core.protocol.processes import client_of

# Outcomes of rebalances for which the coordinator writes a record. After EMPTY the group has no
# members.
STABLE, EMPTY = _RECORDED = "stable", "empty"
UNKNOWN_OUTCOME = "unknown"
# Cause of a rebalance after the group changed its protocol.
CONVERT = "CONVERT"
MEMBER_NEW = "MEMBER_NEW"
SESSION_EXPIRY = "SESSION_EXPIRY"
TRIGGER, ABSORBED = "trigger", "absorbed"
# Actions of processes: values of a cause's `story`.
RESTART, STOP, SLOW_POLL = "restart", "stop", "slow_poll"
START, RETURN, TAKEOVER = "start", "return", "takeover"
SESSION_EXPIRED = "session_expired"
# Story of a member that does not leave when it is closed.
STOP_OR_SESSION_EXPIRED = "stop_or_session_expired"
# A static member whose session expired after its client had been fenced, which ended the client.
CLIENT_FENCED = "client_fenced"
# The client lost its session while the group had no coordinator, and joined again.
SESSION_LOST = "session_lost"
# Stories of modern groups: the member's session expired and it returned with its member id; it
# joined while its previous member was in the group; or a second process with its instance id was
# refused.
FROZEN, CRASH_RESTART, REFUSED = "frozen", "crash_restart", "refused"
# Errors in clients' logs: the member's instance id was fenced, or the group had its maximum size.
FENCED, FULL = "fenced", "group_full"
# Evidence of causes that clients logged. With evidence of a broker, the two words are joined.
CLIENTS = "clients"
# Cause of a rebalance whose leader could not assign the previous generation.
ASSIGNMENT_FAILED = "ASSIGNMENT_FAILED"
# The group was deleted, or its configuration changed.
DELETED, GROUP_CONFIG = "deleted", "group_config"
FOLLOW_UP, TOPIC_CHANGE = "follow_up", "topic_change"
SLOW_REVOKE = "slow_revoke"
NOT_REJOINED = ("slow_rejoin", "no_sync")
# Kafka Connect: connectors or tasks changed.
CONFIG_CHANGE = "CONFIG_CHANGE"
# Causes of rejoins of Connect or Streams members at a time that an earlier assignment set.
SCHEDULED_CAUSES = ("SCHEDULED_REBALANCE", "PROBING_REBALANCE")
# Cause of a rebalance of a modern group.
SUBSCRIPTION_CHANGE = "SUBSCRIPTION_CHANGE"
# Cause of a static member that closed: it stays in the group until its session expires.
STATIC_LEAVE = "STATIC_LEAVE"


class Cause(NamedTuple):
    """A cause of a rebalance, as in the table rebalance_causes.

    ``at_ms`` None: the time is not logged.  ``process`` is as in generation_members, or None for a
    member without a record.  ``kept_state`` says whether a member that joins was a member before,
    by its subscription, or None if the subscription does not show it.  ``settings`` has the changed
    settings of a static member that takes the place of its previous process.  ``group_type`` is the
    type of the generation, see Rebalance.
    """

    incarnation: int
    generation: int
    at_ms: int | None
    role: str
    cause: str
    story: str | None
    member_id: str | None = None
    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    process: str | None = None
    client_reason: str | None = None
    evidence: str = "log"
    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = 0
    kept_state: bool | None = None
    settings: Sequence[str] = ()
    group_type: str = CLASSIC.name

    @property
    def needs_no_rebalance(self) -> bool:
        """Returns whether an episode may consist of this cause alone, without a rebalance."""
        is_failure = self.cause == ASSIGNMENT_FAILED and self.role == ABSORBED
        return is_failure or self.story in (DELETED, GROUP_CONFIG)

    @property
    def is_departure(self) -> bool:
        """Returns whether the member left or was removed."""
        return self.cause in _DEPARTURES

    @property
    def is_expiry(self) -> bool:
        return self.cause == SESSION_EXPIRY

    @property
    def is_of_classic(self) -> bool:
        return not GROUP_TYPES[self.group_type].has_epochs

    @property
    def was_closed(self) -> bool:
        """Returns whether its session expired because it does not leave when it is closed."""
        return self.is_expiry and self.is_of_classic and self.story in (RESTART, STOP)

    @property
    def is_arrival(self) -> bool:
        """Returns whether a process joined under a new member id."""
        return not self.is_departure and (
            self.cause in _ARRIVALS
            or self.story in (START, RETURN, RESTART, TAKEOVER, CRASH_RESTART)
        )

    @property
    def is_refused(self) -> bool:
        """Returns whether a second process with the member's instance id could not join."""
        return self.story == REFUSED

    @property
    def is_identified(self) -> bool:
        """Returns whether the process behind the member is known: a line names a member id only,
        and several processes may have the client id that the id begins with.
        """
        return self.process is not None or self.instance_id is not None

    @property
    def is_logged_by_client(self) -> bool:
        return CLIENTS in self.evidence

    @property
    def is_of_plan(self) -> bool:
        """Returns whether only a leader's assignments show that the member joined or departed."""
        return (
            self.evidence == CLIENTS
            and self.cause in ("MEMBER_GONE", "MEMBER_NEW")
            and (self.story is None)
        )

    @property
    def client_details(self) -> list[str]:
        """Details in the client's log beside the reason, such as how long the client was slow."""
        return (self.client_reason or "").split("; ")[1:] if self.is_logged_by_client else []

    @property
    def client(self) -> str:
        """The client id, from the member id if no record has it."""
        return self.client_id or (client_of(self.member_id) if self.member_id else "")


_DEPARTURES = frozenset(
    {
        "LEAVE",
        "LEAVE_POLL_TIMEOUT",
        "MEMBER_GONE",
        "NOT_REJOINED",
        "REBALANCE_TIMEOUT",
        SESSION_EXPIRY,
        "STATIC_FENCED",
        STATIC_LEAVE,
        "SYNC_TIMEOUT",
    }
)
_ARRIVALS = frozenset({MEMBER_NEW, "STATIC_REPLACED", "STATIC_RETURN"})


class Rebalance(NamedTuple):
    """A generation and the rebalance that made it; times in ms since the epoch.

    ``not_stable_ms`` None: without a log; ``partitions_moved`` None: without records.
    ``continues`` means that it belongs to the same logical rebalance as the previous generation.
    ``group_type`` is classic, consumer, share or streams.  ``member_count`` is, in consumer, share
    and streams groups, the number of processes in the group at the end of the rebalance.
    ``was_empty`` means that the group had no members before it.  ``is_first_seen``: the evidence
    begins with it, although it is not the first generation.  ``hosts`` have the number of members
    by host. ``settings`` are settings that changed since the generation that is named first.
    ``open_ms`` says how long the rebalance had lasted when the clients' logs ended, if they end
    before the rebalance does.  ``expires_when_slow`` means that the members' client sends no
    heartbeats while it handles a record.
    """

    incarnation: int
    generation: int
    from_ms: int
    to_ms: int
    outcome: str
    not_stable_ms: int | None = None
    partitions_moved: int | None = None
    member_count: int = 0
    continues: bool = False
    group_type: str = CLASSIC.name
    was_empty: bool = False
    is_first_seen: bool = False
    hosts: Sequence[tuple[str, int]] = ()
    settings: Sequence[tuple[int, str]] = ()
    open_ms: int | None = None
    expires_when_slow: bool = False

    @property
    def id(self) -> tuple[int, int]:
        return self.incarnation, self.generation

    @property
    def counts(self) -> bool:
        """Returns whether the generation counts as a rebalance, as in view rebalance_counts."""
        if GROUP_TYPES[self.group_type].has_epochs:
            return self.outcome != EMPTY
        return self.outcome == STABLE

    @property
    def is_recorded(self) -> bool:
        """Returns whether a record shows the members and their assignment."""
        return self.partitions_moved is not None

    @property
    def lacks_record(self) -> bool:
        """Returns whether its record is missing in the evidence: a rebalance that did not complete
        has none.
        """
        return self.outcome in _RECORDED and not self.is_recorded


class Activity(NamedTuple):
    """Rebalances and causes of a group without a long pause between them, in order.

    ``loads`` are times at which a broker had loaded the group as its coordinator, of all
    activities.
    """

    from_ms: int
    rebalances: Sequence[Rebalance]
    causes: Sequence[Cause]
    loads: Sequence[int] = ()
