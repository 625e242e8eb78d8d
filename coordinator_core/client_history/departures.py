"""One client's lines -> when and why it stopped being a member.

A client does not see the coordinator: it logs the coordinator's answers, and the outcome of its own
timers.  A member that was removed learns of it by an error, at its next heartbeat or commit.  The
log before the error shows which of the coordinator's timers removed the member: the member knew of
a rebalance and did not rejoin, or it knew of none and its session expired.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from coordinator_core.client_history.memberships import (
    UNKNOWN_MEMBER,
    ClientRow,
    by_client,
    later_by,
)
from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.coordinator.group_types import GROUP_TYPES

# A member that was removed within this time after it noticed a rebalance cannot have exceeded its
# time to rejoin, because nobody sets such a short max.poll.interval.ms.
_REJOIN_MS = 5_000
# A client that leaves gives up its partitions within this time, without waiting for its
# application.
_LEAVING_MS = 100

_REMOVED = re.compile(
    rf"{UNKNOWN_MEMBER.pattern}|not aware of this member|not known in the current generation"
    r"|not part of an active group|kicked out of|already rebalanced and assigned"
    r"|FENCED_MEMBER_EPOCH|[Ff]enced ?[Mm]ember ?[Ee]poch"
)
_FENCED = re.compile(
    r"FENCED_INSTANCE_ID|UNRELEASED_INSTANCE_ID|(?i:fenced ?instance ?id)"
    r"|fenced by (?:an)?other|instance ?id (?:(?!instance ?id ).)*(?:fenced|still used)|gets fenced"
)
_FULL = re.compile(
    r"MAX_SIZE_REACHED|MaxSizeReached|reached (?:its )?max|configured maximum number of members"
)
_POLL_TIMEOUT = re.compile(r"poll timeout|max\.poll\.interval")
_SESSION_TIMEOUT = re.compile(r"session timed out|session expired|session timeout")
_REJOINING = re.compile(r"rejoining group")
_POLL_INTERVAL = re.compile(r"interval \((\d{1,10})ms\)")
# Lines that only a thread of the application logs, when it polls, commits or rejoins.
_OF_APPLICATION = frozenset({"COMMIT_FAILED", "JOINING", "JOINED"})
# Lines of members: a consumer that uses assign() only commits under the name of the group.
_WITH_MEMBERSHIP = frozenset({"SELF_ASSIGNED", "SUBSCRIBED", "JOINING", "JOINED"})
_MEMBER_AGAIN = frozenset({"JOINED", "SYNCED", "SUBSCRIBED", "STARTED"})
_STREAM_THREAD = "StreamThread"


class DepartureKind(Enum):
    """The reason why a client stopped being a member, or never became a member."""

    LEFT = "left"
    SLOW_POLL = "poll timeout"
    NOT_REJOINED = "did not rejoin in time"
    EXPIRED = "session expired"
    FENCED = "fenced"
    FULL = "group is full"


@dataclass(kw_only=True)
class ClientDeparture:
    """Times are from the client's clock, in ms since the epoch; ``group_type`` is the type of the
    group by its protocol.

    ``generation`` is the client's last generation, or 0 if its log does not name it.  ``known_ms``
    is the time since when the client knew of a rebalance that it had not joined.  ``back_ms`` is
    the time of the application's next line after a poll timeout.  ``exceeded_ms`` is the time
    beyond max.poll.interval.ms that the line names, or the time without an answer from the
    coordinator.  ``quiet_ms`` is the time without any line in the log before the departure.
    ``together`` has clients of the process that logged a failure within a second of the departure.
    """

    client: tuple[str, ...]
    kind: DepartureKind
    generation: int
    at_ms: int
    group_type: str
    client_id: str | None
    instance_id: str | None
    member_id: str | None
    known_ms: int | None = None
    back_ms: int | None = None
    exceeded_ms: int | None = None
    poll_interval_ms: int | None = None
    quiet_ms: int | None = None
    together: int = 1

    @property
    def is_end(self) -> bool:
        """Returns whether the client had been a member."""
        return self.kind is not DepartureKind.FULL

    @property
    def is_classic(self) -> bool:
        return not GROUP_TYPES[self.group_type].has_epochs


def departures(lines: Iterable[ClientRow]) -> list[ClientDeparture]:
    """The departures of one client, from its lines in log order."""
    client = _Client()
    for line in lines:
        client.read(line)
    client.end()
    return client.departures


def departure_moved_by(departure: ClientDeparture, ms: int) -> ClientDeparture:
    """The departure with all times later by ``ms``."""
    return replace(
        departure,
        at_ms=departure.at_ms + ms,
        known_ms=later_by(ms, departure.known_ms),
        back_ms=later_by(ms, departure.back_ms),
    )


class _Client:
    """The state of a client after the lines read so far.

    ``_lost`` is a line that says that the session expired by the client's own timer.
    """

    def __init__(self) -> None:
        self.departures: list[ClientDeparture] = []
        self._generation = 0
        self._group_type = CLASSIC.name
        self._member_id: str | None = None
        self._known_ms: int | None = None
        self._lost: ClientRow | None = None
        self._departed: ClientDeparture | None = None
        self._is_member = True

    def read(self, line: ClientRow) -> None:
        if line.event == "LEADER_ASSIGNED":  # This line may name another member.
            return
        if line.event in _WITH_MEMBERSHIP:
            self._is_member = line.event != "SELF_ASSIGNED"
        if not self._is_member:
            return
        kind = _kind(line)
        if _is_timer(line):  # A client's timers run only while it is a member.
            self._departed = None
        self._follow(line)
        if kind is not None:
            self._depart(kind, line)
        elif line.tells_of_rebalance:
            self._known_ms = self._known_ms if self._known_ms is not None else line.time_ms
        elif line.event == "SESSION_EXPIRED" or _SESSION_TIMEOUT.search(line.reason or ""):
            self._lost = self._lost or line
        elif line.event == "JOINING" and self._departed is None:
            self._known_ms = None

    def end(self) -> None:
        """Handle the end of the log: a lost session that the client did not regain has expired."""
        if self._lost is not None:
            self._depart(DepartureKind.EXPIRED, self._lost)

    def _follow(self, line: ClientRow) -> None:
        """Follow the client's generation and member id, and whether it polls again."""
        departed = self._departed
        if departed is not None and departed.kind is DepartureKind.SLOW_POLL:
            self._resumed(departed, line)
        if line.event in _MEMBER_AGAIN:
            self._rejoined(line)
        self._group_type = CONSUMER.name if line.epoch is not None else self._group_type
        number = line.generation or line.epoch or 0
        self._generation = number if number > 0 else self._generation
        self._member_id = line.member_id or self._member_id

    def _resumed(self, departed: ClientDeparture, line: ClientRow) -> None:
        if line.event == "POLL_RESUMED" and line.duration_ms is not None:
            departed.exceeded_ms = line.duration_ms
        is_later = line.time_ms - departed.at_ms >= _LEAVING_MS
        if departed.back_ms is None and line.event in _OF_APPLICATION and is_later:
            departed.back_ms = line.time_ms

    def _rejoined(self, line: ClientRow) -> None:
        """A client that joins again under its member id was never removed."""
        is_same = line.member_id is not None and line.member_id == self._member_id
        if self._lost is not None and line.event == "JOINED" and not is_same:
            self._depart(DepartureKind.EXPIRED, self._lost)
        if line.event in ("SUBSCRIBED", "STARTED") or self._departed is not None:
            self._member_id = None
        self._known_ms = self._lost = self._departed = None

    def _depart(self, kind: DepartureKind, line: ClientRow) -> None:
        """Several lines may be about one departure, which has the time of the first line."""
        if kind is DepartureKind.FULL:
            self._add(kind, line)
            return
        if self._departed is not None:
            self._departed.member_id = self._departed.member_id or self._member_id
            return
        first = line
        if kind is DepartureKind.EXPIRED:
            known_ms = self._known_ms
            if self._lost is not None:
                first = self._lost
            elif known_ms is not None and line.time_ms - known_ms >= _REJOIN_MS:
                kind = DepartureKind.NOT_REJOINED
        self._lost = None
        self._departed = self._add(kind, first)

    def _add(self, kind: DepartureKind, line: ClientRow) -> ClientDeparture:
        unknown = UNKNOWN_MEMBER.search(line.reason or "")
        interval = _POLL_INTERVAL.search(line.text or "")
        known_ms = self._known_ms
        departure = ClientDeparture(
            client=line.client,
            kind=kind,
            generation=self._generation,
            at_ms=line.time_ms,
            group_type=self._group_type,
            client_id=line.client_id,
            instance_id=line.instance_id,
            member_id=self._member_id or (unknown[1] if unknown else None) or None,
            known_ms=known_ms if known_ms is not None and known_ms < line.time_ms else None,
            exceeded_ms=line.duration_ms if line.event in _WITH_DURATION else None,
            poll_interval_ms=int(interval[1]) if interval else None,
            quiet_ms=None if line.event in _WITH_DURATION else line.duration_ms,
            together=line.together,
        )
        self.departures.append(departure)
        return departure


_WITH_DURATION = frozenset({"POLL_TIMEOUT", "POLL_RESUMED", "SESSION_EXPIRED", "COORDINATOR_LOST"})


def _is_timer(line: ClientRow) -> bool:
    """Returns whether the client ends its membership by its own timer, and says so once each
    time.
    """
    leaves = _REJOINING.search(line.reason or "") is not None
    return line.event == "POLL_TIMEOUT" or (line.event == "SESSION_EXPIRED" and leaves)


def _kind(line: ClientRow) -> DepartureKind | None:
    """The departure that a line is about, if any."""
    reason = line.reason or ""
    if _is_timer(line):
        is_slow = line.event == "POLL_TIMEOUT"
        return DepartureKind.SLOW_POLL if is_slow else DepartureKind.EXPIRED
    if line.event == "LEAVING" or (line.event == "STATE" and line.state in _LEAVING_STATES):
        is_slow = _POLL_TIMEOUT.search(reason) is not None
        return DepartureKind.SLOW_POLL if is_slow else DepartureKind.LEFT
    if line.event == "FENCED":
        is_of_epoch = line.epoch is not None or (line.logger or "").endswith(_STREAM_THREAD)
        return DepartureKind.EXPIRED if is_of_epoch else DepartureKind.FENCED
    if line.event == "MEMBER_RESET" and line.reason is None:
        return DepartureKind.EXPIRED
    if line.event in _ANSWERS:
        if _FENCED.search(reason):
            return DepartureKind.FENCED
        if _FULL.search(reason):
            return DepartureKind.FULL
        if _REMOVED.search(reason):
            return DepartureKind.EXPIRED
    return None


_LEAVING_STATES = ("PREPARE_LEAVING", "LEAVING")
# Events whose reason is an error of the coordinator.
_ANSWERS = frozenset(
    {"COMMIT_FAILED", "HEARTBEAT_FAILED", "JOIN_FAILED", "MEMBER_RESET", "SYNC_FAILED"}
)


def departures_of_clients(
    lines: Iterable[ClientRow],
) -> dict[tuple[str, ...], list[ClientDeparture]]:
    return {client: departures(own) for client, own in by_client(lines).items()}
