"""The changes of each process: its departures and arrivals, matched."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from coordinator_core.client.libraries import keeps_member_id
from coordinator_core.episodes.evidence import (
    CLIENT_FENCED,
    CRASH_RESTART,
    FENCED,
    FROZEN,
    FULL,
    MEMBER_NEW,
    NOT_REJOINED,
    RESTART,
    SESSION_EXPIRED,
    SESSION_LOST,
    SLOW_POLL,
    SLOW_REVOKE,
    STATIC_LEAVE,
    STOP,
    STOP_OR_SESSION_EXPIRED,
    TAKEOVER,
    Activity,
    Cause,
)
from coordinator_core.episodes.grouping import by, candidates, cut_at_gaps, within
from coordinator_core.lives.processes import RESTART_MS
from coordinator_core.protocol.processes import process_key, process_name

# Changes within this time count as simultaneous, because heartbeats differ by up to 3 s.
AT_ONCE_MS = 5_000
# A removed process may return up to this much later, because somebody restarts the application by
# hand.
RETURN_MS = 10 * 60_000
# A process that starts within RESTART_MS after another process ended replaces that process. Soon
# after the group's start, only processes that start close to that end count.
GROUP_START_MS = 60_000
_CLOSE_MS = 10_000
# Longest session timeout of a member whose session timeout no record shows
# (group.*.max.session.timeout.ms).
LONGEST_SESSION_MS = 60_000
# By default, Kafka's clients take at most this long to close.
_CLOSE_LIMIT_MS = 30_000
_SLACK_MS = 3_500  # a heartbeat interval plus the delay of a log line
# A session that began when the group was loaded ends at most this much later.
_LOAD_SLACK_MS = 1_500
# A process that restarted within this time looks like a client that lost its session.
_SESSION_LOST_CONFIDENCE = 0.7
_LEAST_SURGE = 4  # at least two arrivals, each followed by a leave

Pair = tuple[Cause, Cause]  # the cause of a departure and the cause of an arrival


class What(Enum):
    """What happened to a process; KILLED: it was back before its session expired."""

    STARTED = "started"
    STOPPED = "stopped"
    RESTARTED = "restarted"
    REPLACED = "replaced"  # replaced by a process with another name
    KILLED = "killed"
    EXPIRED = "session expired"
    FROZEN = "frozen"  # the session expired, and the process came back with its old state
    SLOW_POLL = "slow poll"
    SESSION_LOST = "session lost"  # the group had no coordinator; the process ran on
    TAKEOVER = "takeover"  # a second process has its group.instance.id
    REFUSED = "refused"  # the group had its maximum size


@dataclass(kw_only=True, eq=False)
class ProcessChange:
    """``departure`` is None if the process only started, ``arrival`` if it did not come back.

    ``process`` is its name; of a replaced process the old name.  ``by`` is the name of the new
    process.
    """

    what: What
    process: str
    host: str
    departure: Cause | None
    arrival: Cause | None
    confidence: float = 1.0
    by: str | None = None
    causes: list[Cause] = field(init=False)

    def __post_init__(self) -> None:
        self.causes = [each for each in (self.departure, self.arrival) if each is not None]
        if len(self.causes) > 1:
            self.causes.sort(key=at)

    @property
    def from_ms(self) -> int:
        causes = self.causes
        return at(causes[0]) if len(causes) == 1 else min(map(at, causes))

    @property
    def to_ms(self) -> int:
        causes = self.causes
        return at(causes[0]) if len(causes) == 1 else max(map(at, causes))

    @property
    def recorded_process(self) -> str:
        """The process as in generation_members; its name if only lines show the member.

        For a replacement, the old process, because in a surge it leaves after the new process has
        joined.
        """
        causes = [self.departure] if self.departure else []
        recorded = (each.process for each in (*causes, *self.causes) if each.process)
        return next(recorded, self.process)

    @property
    def may_be_restart(self) -> bool:
        """Returns whether its session expired, as also after a close, and it was back soon
        after.
        """
        departure, arrival = self.departure, self.arrival
        if self.what not in (What.EXPIRED, What.KILLED) or departure is None or arrival is None:
            return False
        is_soon = at(arrival) - self.departed_ms <= RESTART_MS
        return (
            departure.story == STOP_OR_SESSION_EXPIRED and departure.instance_id is None and is_soon
        )

    @property
    def may_be_frozen(self) -> bool:
        """Returns whether the process was back after its session expired, and nothing shows its
        end.
        """
        departure, arrival = self.departure, self.arrival
        if self.what is not What.EXPIRED or departure is None or arrival is None:
            return False
        return not self.was_fenced and at(departure) <= at(arrival)

    @property
    def is_identified(self) -> bool:
        """Returns whether it is known which process left or joined, and that the same process did
        both.
        """
        return all(each.is_identified for each in self.causes)

    @property
    def is_named(self) -> bool:
        """Returns whether ``process`` is a name, and not the member id of one of several
        members.
        """
        first = self.causes[0]
        return first.process is not None or self.process != first.member_id

    @property
    def departed_ms(self) -> int:
        """The time at which the process ended; for an expired session, a session timeout before the
        expiry.
        """
        if self.departure is None:
            return self.from_ms
        expired_ms = self.departure.session_timeout_ms if self.departure.is_expiry else 0
        return at(self.departure) - expired_ms

    @property
    def was_fenced(self) -> bool:
        """Returns whether the process ended because the coordinator had fenced its instance id."""
        return self.departure is not None and self.departure.story == CLIENT_FENCED

    @property
    def is_surge(self) -> bool:
        """Returns whether the new process began before the old process left."""
        departure, arrival = self.departure, self.arrival
        if self.what is not What.REPLACED or departure is None or arrival is None:
            return False
        return at(arrival) < at(departure)

    @property
    def double_span(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """The generation in which the new process joined, and the generation in which the old
        process left, or None if the group never has both processes.  It has both from the first
        generation until right before the second.
        """
        departure, arrival = self.departure, self.arrival
        if not self.is_surge or departure is None or arrival is None:
            return None
        joined, left = ((c.incarnation, c.generation) for c in (arrival, departure))
        return (joined, left) if joined < left else None

    def split(self) -> ProcessChange:
        """Takes the return away: it belongs to another episode."""
        back = ProcessChange(
            what=What.RESTARTED,
            process=self.process,
            host=self.host,
            departure=None,
            arrival=self.arrival,
            confidence=self.confidence,
        )
        self.arrival = None
        self.causes = [each for each in (self.departure,) if each is not None]
        return back

    @property
    def since_ms(self) -> int:
        """Time since which the process did not work: its application did not poll, or it sent no
        heartbeat.
        """
        polled_ms = self.from_ms
        if self.what is What.SLOW_POLL and self.departure is not None:
            polled_ms -= max(self.departure.rebalance_timeout_ms, 0)
        return min(self.from_ms, self.departed_ms, polled_ms)


def at(cause: Cause) -> int:
    assert cause.at_ms is not None  # the activity's causes have a time
    return cause.at_ms


def process_changes(activity: Activity) -> list[ProcessChange]:
    """Changes are in order of time.  Rejoins are causes of rebalances, but change no process."""
    return sorted(_Matching(activity).changes(), key=lambda each: (each.from_ms, each.process))


class _Matching:
    """Each departure is matched with at most one arrival."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        hosts = _hosts(activity.causes)
        self._keys = _keys(activity.causes, hosts)
        self._names = _names(activity.causes, hosts)
        in_order = sorted(activity.causes, key=at)
        events, self._repeated = _once(c for c in in_order if c.is_departure or c.is_arrival)
        events, self._joined_again = _without_forgotten(events, self._keys, activity.loads)
        self._departures = [each for each in events if each.is_departure]
        self._arrivals = [each for each in events if each.is_arrival]
        self._departures_of = by(self._keys, self._departures)
        self._arrivals_of = by(self._keys, self._arrivals)
        self._first_generations = {each.id for each in activity.rebalances if each.was_empty}
        self._arrival_of = self._matched_arrivals()
        self._group_starts_ms = [each.from_ms for each in activity.rebalances if each.was_empty]
        self._refused = [each for each in in_order if each.is_refused]
        self._without_place = [each for each in in_order if each.story == FULL]

    def changes(self) -> list[ProcessChange]:
        """A leave that a coordinator did not store before it failed is repeated as an expiry."""
        changes = self._matched()
        changes = _with_fenced(changes)
        changes += self._conflicts(changes)
        changes += [self._change(What.REFUSED, None, each, 1.0) for each in self._without_place]
        for each in changes:
            if each.arrival is not None:
                each.causes += self._joined_again.get(id(each.arrival), [])
        departed, arrived = _by_departed(changes), _by_arrived(changes)
        for cause in self._repeated:
            of_member = departed if cause.is_departure else arrived
            for each in of_member.get(cause.member_id, ()):
                each.causes.append(cause)
        return changes

    def _matched(self) -> list[ProcessChange]:
        changes = [self._departed(each) for each in self._departures]
        matched = set(map(id, self._arrival_of.values()))
        rest = (each for each in self._arrivals if id(each) not in matched)
        arrived = [self._arrived(each) for each in rest]
        first = [each for each in arrived if self._starts_group(each.causes[0])]
        later = [each for each in arrived if not self._starts_group(each.causes[0])]
        return first + _with_replaced(changes, later, self._replaced_within_ms)

    def _starts_group(self, arrival: Cause) -> bool:
        return (arrival.incarnation, arrival.generation) in self._first_generations

    def _conflicts(self, changes: Iterable[ProcessChange]) -> list[ProcessChange]:
        """Refused joins: a second process, unless the member's session expires soon after.  In this
        case this member had been killed, and its next life could not join yet.
        """
        conflicts = []
        departed = _by_departed(changes) if self._refused else {}
        for refused in self._refused:
            own = departed.get(refused.member_id, ())
            killed = next((each for each in own if _is_killed(each, refused)), None)
            if killed is None:
                conflicts.append(self._change(What.TAKEOVER, None, refused, 0.95))
            else:
                killed.what, killed.confidence = What.KILLED, 0.9
                killed.causes.append(refused)
        return conflicts

    def _replaced_within_ms(self, started: ProcessChange) -> int:
        from_ms = started.from_ms
        starts = self._group_starts_ms
        is_group_start = any(0 <= from_ms - each <= GROUP_START_MS for each in starts)
        return _CLOSE_MS if is_group_start else RESTART_MS

    def _departed(self, departure: Cause) -> ProcessChange:
        arrival = self._arrival_of.get(id(departure))
        what, confidence = _what(departure, arrival, self._activity.loads)
        change = self._change(what, departure, arrival, confidence)
        if what is What.REPLACED and arrival is not None:
            change.by = self._names(arrival)
        return change

    def _arrived(self, arrival: Cause) -> ProcessChange:
        if arrival.story == TAKEOVER:
            return self._change(What.TAKEOVER, None, arrival, 0.95)
        if arrival.story == SESSION_LOST:
            return self._change(What.SESSION_LOST, None, arrival, _SESSION_LOST_CONFIDENCE)
        # A static member returned and was replaced by its next process.
        if arrival.story == SLOW_POLL:
            return self._change(What.SLOW_POLL, None, arrival, 0.7)
        # The session of the previous member has not expired yet.
        if arrival.story == CRASH_RESTART:
            return self._change(What.KILLED, None, arrival, 0.9)
        if arrival.cause in ("STATIC_REPLACED", "STATIC_RETURN") or arrival.story == RESTART:
            # A static member does not leave: only its return is logged.
            has_new_id = arrival.cause == MEMBER_NEW
            return self._change(What.RESTARTED, None, arrival, 0.5 if has_new_id else 0.7)
        return self._change(What.STARTED, None, arrival, 0.9 if arrival.is_identified else 0.7)

    def _change(
        self, what: What, departure: Cause | None, arrival: Cause | None, confidence: float
    ) -> ProcessChange:
        first = departure or arrival
        assert first is not None
        name = self._names(first)
        return ProcessChange(
            what=what,
            process=name,
            host=first.client_host or "",
            departure=departure,
            arrival=arrival,
            confidence=confidence,
        )

    def _matched_arrivals(self) -> dict[int, Cause]:
        """The arrival of each departed process, by id of the departure: the first one.  If several
        processes have the same client id, the processes nearest in time belong together.
        """
        arrival_of: dict[int, Cause] = {}
        used = set[int]()
        for key, departures in self._departures_of.items():
            pairs = self._returns(key, departures)
            if all(map(_is_shared, departures)):
                pairs.sort(key=_apart)
                arrivals = self._arrivals_of.get(key, ())
                back = {id(new) for old, new in pairs if old.is_expiry}
                started = (
                    each
                    for each in arrivals
                    if id(each) not in back and not self._starts_group(each)
                )
                pairs = [*_surged(departures, started), *pairs]
            for departure, arrival in pairs:
                if id(departure) not in arrival_of and id(arrival) not in used:
                    arrival_of[id(departure)] = arrival
                    used.add(id(arrival))
        return arrival_of

    def _returns(self, key: Key, departures: Sequence[Cause]) -> list[Pair]:
        """Departures with arrivals of the same process since its last contact, in time; before its
        session expired, the arrival beside the expiry comes first.
        """
        arrivals = [each for each in self._arrivals_of.get(key, ()) if each.story != TAKEOVER]
        arrived_ms, departed_ms = list(map(at, arrivals)), list(map(at, departures))
        spans = [self._away(each, departed_ms) for each in departures]

        def fits(n: int, m: int) -> bool:
            (since_ms, until_ms), new = spans[n], arrivals[m]
            is_in_time = new.story == CRASH_RESTART or since_ms <= arrived_ms[m] <= until_ms
            return is_in_time and _may_follow(new, departures[n])

        possible = [
            within(arrived_ms, min(since_ms, at(old) - _longest_beside_ms(old)), until_ms)
            for old, (since_ms, until_ms) in zip(departures, spans, strict=True)
        ]
        return [
            (departures[n], arrivals[m])
            for n, ms in candidates(possible, fits)
            for m in sorted(ms, key=lambda m: arrivals[m].story != CRASH_RESTART)
        ]

    def _away(self, departure: Cause, departures_ms: Sequence[int]) -> tuple[int, int]:
        """``departures_ms``: all departures of the process, in order."""
        departed_ms = at(departure)
        stopped = departure.story in (RESTART, STOP)
        until_ms = departed_ms + (RESTART_MS if stopped else RETURN_MS)
        if not departure.is_expiry:
            return departed_ms, until_ms
        # By the next departure, the process was back, even if no record shows it.
        following = departures_ms[bisect_right(departures_ms, departed_ms) :][:1]
        return self._last_contact_ms(departure), min([until_ms, *following])

    def _last_contact_ms(self, expiry: Cause) -> int:
        """The earliest possible one: a member that waits for a rebalance needs no heartbeat."""
        contact_ms = at(expiry) - (expiry.session_timeout_ms or LONGEST_SESSION_MS) - _SLACK_MS
        waited = (
            each.from_ms
            for each in self._activity.rebalances
            if contact_ms <= each.to_ms and each.from_ms < at(expiry)
        )
        return min([contact_ms, *waited])


def _surged(departures: Iterable[Cause], started: Iterable[Cause]) -> Iterator[Pair]:
    """Processes that left after other processes had started in their place: an arrival and a leave
    in turn, twice or more.  ``started`` has arrivals, except arrivals of processes whose session
    expired.
    """
    leaves = (each for each in departures if each.story in (RESTART, STOP))
    for run in cut_at_gaps(sorted([*leaves, *started], key=at), RESTART_MS, when=at):
        is_in_turn = all(each.is_arrival == (n % 2 == 0) for n, each in enumerate(run))
        if is_in_turn and len(run) >= _LEAST_SURGE and len(run) % 2 == 0:
            yield from zip(run[1::2], run[::2], strict=True)


def _by_departed(changes: Iterable[ProcessChange]) -> dict[str | None, list[ProcessChange]]:
    """The changes with a departure, by its member id."""
    of_member: dict[str | None, list[ProcessChange]] = {}
    for each in changes:
        if each.departure is not None:
            of_member.setdefault(each.departure.member_id, []).append(each)
    return of_member


def _by_arrived(changes: Iterable[ProcessChange]) -> dict[str | None, list[ProcessChange]]:
    """The changes with an arrival, by its member id."""
    of_member: dict[str | None, list[ProcessChange]] = {}
    for each in changes:
        if each.arrival is not None:
            of_member.setdefault(each.arrival.member_id, []).append(each)
    return of_member


def _is_shared(cause: Cause) -> bool:
    """Returns whether several processes of the host have the client id: each member is a
    process.
    """
    return cause.process is not None and cause.process == cause.member_id


def _apart(pair: Pair) -> int:
    """Time from the last heartbeat of the process, or its leave, until it returned."""
    departure, arrival = pair
    session_ms = departure.session_timeout_ms if departure.is_expiry else 0
    return abs(at(arrival) - at(departure) + session_ms)


def _may_follow(arrival: Cause, departure: Cause) -> bool:
    """Returns whether the arrival may be the return of the departed process.

    A member of a type other than classic returns under its member id.  A process may also join
    while its previous member is in the group: before the session of this member expires, or before
    its LeaveGroup arrives (a client that closes during a coordinator move leaves at the next
    coordinator).
    """
    if arrival.story == CRASH_RESTART:
        is_of_previous = departure.member_id != arrival.member_id
        longest_ms = _longest_beside_ms(departure) if departure.is_expiry or is_of_previous else 0
        return 0 < at(departure) - at(arrival) <= longest_ms
    if _was_beside(departure, arrival):
        return False
    if arrival.member_id != departure.member_id:
        return True
    is_own = departure.cause == STATIC_LEAVE or departure.story == SLOW_POLL
    return at(arrival) > at(departure) or (is_own and at(arrival) == at(departure))


def _longest_beside_ms(departure: Cause) -> int:
    """The longest time that the next process of a departed member was in the group before."""
    if departure.is_expiry:
        return max(departure.session_timeout_ms, LONGEST_SESSION_MS) + _SLACK_MS
    return _CLOSE_LIMIT_MS if departure.story in (RESTART, STOP) else 0


def _was_beside(expiry: Cause, arrival: Cause) -> bool:
    """Returns whether the expired member was another process, which still ran when this one joined.

    A rebalance of a classic group does not complete before all members rejoined or were removed.
    """
    if not expiry.is_expiry or at(arrival) >= at(expiry):
        return False
    if expiry.is_of_classic:
        return arrival.generation < expiry.generation
    return None not in (expiry.process, arrival.process) and expiry.process != arrival.process


def _with_fenced(changes: list[ProcessChange]) -> list[ProcessChange]:
    """A coordinator that knows a static member by an older id fences the process, and then waits
    for the session of that id, which no process has.
    """
    fenced = [each for each in changes if each.departure and each.departure.story == FENCED]
    if not fenced:
        return changes
    rest = []
    of_process = by(lambda each: each.process, fenced)
    for each in changes:
        same = of_process.get(each.process, ())
        own = next((other for other in same if _is_older_id(each, other)), None)
        if own is None:
            rest.append(each)
        else:
            own.causes += each.causes
    return rest


def _is_older_id(change: ProcessChange, fenced: ProcessChange) -> bool:
    expiry, departure = change.departure, fenced.departure
    if expiry is None or departure is None or not expiry.is_expiry:
        return False
    return abs(at(expiry) - at(departure)) <= LONGEST_SESSION_MS


def _is_killed(change: ProcessChange, refused: Cause) -> bool:
    departure = change.departure
    if departure is None or not departure.is_expiry or departure.member_id != refused.member_id:
        return False
    return 0 <= at(departure) - at(refused) <= LONGEST_SESSION_MS


def _once(causes: Iterable[Cause]) -> tuple[list[Cause], list[Cause]]:
    """Arrivals and departures of each member alternate; the second result has causes that repeat
    the previous cause, because a join that a superseded rebalance did not complete is also a cause
    of the next rebalance.
    """
    once, repeated = list[Cause](), list[Cause]()
    was_departure: dict[str, bool] = {}
    for each in causes:
        is_repeated = was_departure.get(each.member_id or "") == each.is_departure
        (repeated if each.member_id and is_repeated else once).append(each)
        was_departure[each.member_id or ""] = each.is_departure
    return once, repeated


def _without_forgotten(
    events: Iterable[Cause], key: Callable[[Cause], Key], loads: Sequence[int]
) -> tuple[list[Cause], dict[int, list[Cause]]]:
    """The events, and by ``id`` of an arrival the later joins of its process: a coordinator that
    loads the group forgets a member that joined since the last record, and the client joins again.
    """
    kept: list[Cause] = []
    again: dict[int, list[Cause]] = {}
    last: dict[Key, Cause] = {}
    for each in events:
        before = last.get(key(each))
        if before is not None and each.is_arrival and _is_forgotten(before, each, loads):
            again[id(before)] = [each]
        else:
            kept.append(each)
        last[key(each)] = each
    return kept, again


def _is_forgotten(before: Cause, again: Cause, loads: Sequence[int]) -> bool:
    """Returns whether no record has the earlier member, so that its action is unknown, and a broker
    loaded the group between the two joins.
    """
    is_dynamic = before.instance_id is None and again.instance_id is None
    is_recorded = before.story is not None or again.story is None
    if not before.is_arrival or not is_dynamic or is_recorded:
        return False
    return any(at(before) <= each <= at(again) for each in loads)


def _what(departure: Cause, arrival: Cause | None, loads: Sequence[int]) -> tuple[What, float]:
    if departure.story == SLOW_POLL:
        return What.SLOW_POLL, _slow_poll_confidence(departure, arrival)
    if departure.story == SLOW_REVOKE:
        return What.SLOW_POLL, 0.95
    if departure.story == FENCED:
        return What.TAKEOVER, 0.9
    if departure.is_expiry:
        return _expired(departure, arrival, loads)
    if departure.story in NOT_REJOINED:
        return What.SLOW_POLL, 0.9 if departure.is_logged_by_client else 0.5
    if arrival is None:
        return What.STOPPED, 0.9 if departure.is_identified else 0.7
    if at(arrival) < at(departure):
        return What.REPLACED, 0.8
    if arrival.kept_state and departure.client_reason is None:
        return What.SLOW_POLL, 0.9
    return What.RESTARTED, 0.9 if _is_same_process(departure, arrival) else 0.7


def _is_same_process(departure: Cause, arrival: Cause) -> bool:
    return departure.is_identified and arrival.is_identified


def _slow_poll_confidence(departure: Cause, arrival: Cause | None) -> float:
    """Only a member that unsubscribes and subscribes again also leaves and comes back under its
    id.
    """
    if departure.cause == "LEAVE_POLL_TIMEOUT":
        return 1.0
    is_own = arrival is not None and arrival.member_id == departure.member_id
    return 0.95 if is_own and not departure.is_expiry else 0.8


def _expired(expiry: Cause, arrival: Cause | None, loads: Sequence[int]) -> tuple[What, float]:
    """Only a process that is back before its session expires, or without the state that it would
    have kept, is known to have been killed.  However, it may have left while no broker was the
    coordinator.
    """
    if expiry.story == CLIENT_FENCED:
        return What.EXPIRED, 0.9
    if expiry.was_closed and not (arrival and arrival.kept_state):
        return (What.STOPPED if arrival is None else What.RESTARTED), 0.8
    if expiry.story == FROZEN and expiry.is_logged_by_client:
        return What.FROZEN, 0.9 if expiry.client_details else 0.7
    if arrival is None:
        return What.EXPIRED, 0.7
    if expiry.story == FROZEN or arrival.member_id == expiry.member_id:
        # Commits show whether a member was slow to poll; log lines alone do not.
        return What.FROZEN, 0.9 if expiry.is_identified else 0.5
    if not _is_same_process(expiry, arrival):
        return What.EXPIRED, 0.7
    is_unheard = is_unheard_since_load(expiry, loads)
    if arrival.story == SESSION_LOST and (is_unheard or at(arrival) < at(expiry)):
        return What.SESSION_LOST, _SESSION_LOST_CONFIDENCE
    if at(arrival) < at(expiry):
        return (What.RESTARTED, 0.6) if is_unheard else (What.KILLED, 0.95)
    if arrival.kept_state is None:
        return (What.KILLED, 0.9) if _is_new_client(expiry, arrival) else (What.EXPIRED, 0.7)
    return (What.FROZEN, 0.95) if arrival.kept_state else (What.KILLED, 0.9)


def _is_new_client(expiry: Cause, arrival: Cause) -> bool:
    """Returns whether the member id shows a new client of a consumer, share or streams group."""
    return not expiry.is_of_classic and keeps_member_id(arrival.member_id or "")


def is_unheard_since_load(expiry: Cause, loads: Sequence[int]) -> bool:
    """Returns whether the member sent nothing after a broker had loaded the group: its session
    began with the load.
    """
    began_ms = at(expiry) - expiry.session_timeout_ms
    return any(abs(began_ms - each) <= _LOAD_SLACK_MS for each in loads)


# -- which process a member belongs to -----------------------------------------------------------

Key = tuple[str, ...]


Hosts = Mapping[str, set[str]]


def _keys(causes: Sequence[Cause], hosts: Hosts) -> Callable[[Cause], Key]:
    """The instance id, else client id and host.  A member without a record has only its id, which
    begins with its instance id or client id: it counts as on the first host of this client.  A
    member that returns under its id is one process, even if another client sent requests with this
    id.
    """
    instances = {each.instance_id for each in causes}
    of_member: dict[str, Key] = {}
    first_host = {client: min(names) for client, names in hosts.items()}

    def key(cause: Cause) -> Key:
        instance_id = cause.instance_id or (cause.client if cause.client in instances else None)
        host = cause.client_host or first_host.get(cause.client, "")
        own = process_key(instance_id, cause.client, host)
        return of_member.setdefault(cause.member_id, own) if cause.member_id else own

    return key


def _hosts(causes: Iterable[Cause]) -> dict[str, set[str]]:
    """By client id."""
    hosts: dict[str, set[str]] = {}
    for cause in causes:
        if cause.client_host is not None:
            hosts.setdefault(cause.client, set()).add(cause.client_host)
    return hosts


def _names(causes: Sequence[Cause], hosts: Hosts) -> Callable[[Cause], str]:
    """The instance id, else the client id.  The name has the host if several hosts have the id, and
    the member id if several processes of a host have it, or several members that only lines show.
    """
    shared = _shared_clients(causes)

    def name(cause: Cause) -> str:
        if cause.instance_id is not None:
            return cause.instance_id
        if (
            _is_shared(cause)
            or not cause.client
            or (cause.process is None and cause.client in shared)
        ):
            return cause.member_id or "a process without a name in the evidence"
        client = _process_client(cause)
        if len(hosts.get(cause.client, ())) < 2 or cause.client_host is None:
            return client
        return process_name(client, cause.client_host)

    return name


def _shared_clients(causes: Iterable[Cause]) -> set[str]:
    """Client ids that several members have at the same time, for members without a record.  A
    member that departs and was not seen to join was in the group from the beginning.
    """
    seen: dict[str, set[str]] = {}
    present: dict[str, set[str]] = {}
    shared = set[str]()
    unidentified = (each for each in causes if not each.is_identified)
    for each in sorted(unidentified, key=at):
        member_id = each.member_id
        if member_id is None or not (each.is_arrival or each.is_departure):
            continue
        before, now = (of.setdefault(each.client, set()) for of in (seen, present))
        others = now if each.is_arrival or member_id in now else before
        if others - {member_id}:
            shared.add(each.client)
        before.add(member_id)
        (now.add if each.is_arrival else now.discard)(member_id)
    return shared


def _process_client(cause: Cause) -> str:
    """The client id; of a thread of a Streams process, without the thread's suffix."""
    name = (cause.process or "").removesuffix(process_name("", cause.client_host))
    return name if name and cause.client.startswith(f"{name}-StreamThread-") else cause.client


# -- processes that another process replaced -----------------------------------------------------


def _with_replaced(
    changes: list[ProcessChange],
    started: list[ProcessChange],
    within_ms: Callable[[ProcessChange], int],
) -> list[ProcessChange]:
    """A process that left and a process that started near that time are one replacement.

    Match the nearest in time first, and processes with the same client id before others.  If more
    sessions expired at once than processes started, nothing shows which of the expired processes a
    new process replaces.
    """
    if not changes or not started:
        return changes + started
    last_ms = {each.process: each.from_ms for each in sorted(changes, key=lambda c: c.from_ms)}
    expired = [each for each in changes if each.what is What.EXPIRED and each.arrival is None]
    expired_ms = sorted(each.from_ms for each in expired)
    started = sorted(started, key=_started_ms)
    started_ms = [_started_ms(each) for each in started]
    ended = [
        each
        for each in changes
        if each.what is What.STOPPED or _is_replaceable(each, expired_ms, started_ms)
        if each.from_ms == last_ms[each.process] and each.arrival is None
    ]
    ended_ms = [each.departed_ms for each in ended]
    most_ms = [within_ms(each) for each in started]
    spans = _Spans([*changes, *started])

    def fits(n: int, m: int) -> bool:
        is_near = abs(started_ms[m] - ended_ms[n]) <= most_ms[m]
        return is_near and spans.may_replace(ended[n], started[m])

    longest_ms = max(most_ms)
    possible = [within(started_ms, each - longest_ms, each + longest_ms) for each in ended_ms]
    pairs = sorted(
        (_differs(ended[n], started[m]), abs(started_ms[m] - ended_ms[n]), n, m)
        for n, ms in candidates(possible, fits)
        for m in ms
    )
    gone, used = set[int](), set[int]()
    replaced = []
    for differs, _, n, m in pairs:
        if n not in gone and m not in used:
            gone.add(n)
            used.add(m)
            replaced.append(_replacement(ended[n], started[m], 0.6 if differs else 0.8))
    replaced_ids = {id(ended[n]) for n in gone}
    rest = [each for each in changes if id(each) not in replaced_ids]
    new = [each for m, each in enumerate(started) if m not in used]
    return rest + new + replaced


def _is_replaceable(
    change: ProcessChange, expired_ms: Sequence[int], started_ms: Sequence[int]
) -> bool:
    """The times are in order."""
    if change.what is not What.EXPIRED or not change.is_identified:
        return False
    from_ms, departed_ms = change.from_ms, change.departed_ms
    together = within(expired_ms, from_ms - AT_ONCE_MS, from_ms + AT_ONCE_MS)
    near = within(started_ms, departed_ms - RESTART_MS, departed_ms + RESTART_MS)
    return len(together) <= len(near)


def _differs(old: ProcessChange, new: ProcessChange) -> bool:
    return _cause_of(old).client != _cause_of(new).client


def _cause_of(change: ProcessChange) -> Cause:
    return change.causes[0]


def _started_ms(change: ProcessChange) -> int:
    return at(change.causes[-1])


class _Spans:
    """When members joined last and departed first."""

    def __init__(self, changes: Sequence[ProcessChange]) -> None:
        self._began_ms: dict[str | None, int] = {}
        self._ended_ms: dict[str | None, int] = {}
        for each in changes:
            if (new := each.arrival) is not None:
                joined_ms = self._began_ms.get(new.member_id, at(new))
                self._began_ms[new.member_id] = max(joined_ms, at(new))
            if (old := each.departure) is not None:
                gone_ms = self._ended_ms.get(old.member_id, each.departed_ms)
                self._ended_ms[old.member_id] = min(gone_ms, each.departed_ms)

    def may_replace(self, old: ProcessChange, new: ProcessChange) -> bool:
        """Returns whether ``new`` began after ``old``, and outlives it."""
        if new.what is not What.STARTED:
            return False
        # If a process's members leave when it is closed, it cannot have ended after its successor
        # began.
        departure, arrival = old.departure, new.arrival
        leaves = (
            departure is not None
            and departure.story == SESSION_EXPIRED
            and departure.instance_id is None
        )
        if leaves and _was_beside(_cause_of(old), _cause_of(new)):
            return False
        began_ms = self._began_ms.get(departure.member_id if departure else None)
        ended_ms = self._ended_ms.get(arrival.member_id if arrival else None)
        is_newer = began_ms is None or began_ms < _started_ms(new)
        return is_newer and (ended_ms is None or ended_ms > old.departed_ms)


def _replacement(old: ProcessChange, new: ProcessChange, confidence: float) -> ProcessChange:
    change = ProcessChange(
        what=What.REPLACED,
        process=old.process,
        host=old.host,
        departure=old.departure,
        arrival=new.arrival,
        confidence=confidence,
    )
    change.by = new.process
    return change
