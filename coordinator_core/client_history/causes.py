"""Why a group's rebalances began, as its clients logged it.

A client knows why it left, joined or asked for a rebalance itself, and when the coordinator no
longer knows it.  It does not know what other members did: if no client logged a cause of a
rebalance before another client learned of the rebalance, the rebalance has no trigger here.  For
members without a log, a leader's assignments show only that they joined or departed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from coordinator_core.client_history.departures import ClientDeparture, DepartureKind
from coordinator_core.client_history.generations import (
    GroupHistory,
    Key,
    instance_of,
    name_of,
    place_of,
    unlogged_members,
)
from coordinator_core.client_history.memberships import ClientMembership
from coordinator_core.episodes.evidence import (
    ABSORBED,
    ASSIGNMENT_FAILED,
    CLIENTS,
    CRASH_RESTART,
    FENCED,
    FOLLOW_UP,
    FROZEN,
    FULL,
    RESTART,
    RETURN,
    SESSION_EXPIRY,
    SLOW_POLL,
    SLOW_REVOKE,
    START,
    STOP,
    TRIGGER,
    Cause,
)
from coordinator_core.figures import seconds
from coordinator_core.lives.processes import RESTART_MS

CONTRIBUTING = "contributing"
# Tolerance between clocks: a cause this much later than the first client that noticed the rebalance
# may still have started it.
_SLACK_MS = 1_000
_OF_PLAN = "known from the leader's assignment only"
# If at least this many consumers of a process fail at once, the process or its host did not run.
_MANY = 3

Client = tuple[str, ...]


def causes_of_clients(history: GroupHistory) -> list[Cause]:
    """Causes are in the order of incarnation, generation and time.  ``process`` is unique to each
    client.

    A departure is a cause of the next generation.  A client that the full group refused, and a
    client whose generation no log names, are causes of the current generation, or of generation 0
    without one.
    """
    return list(_Causes(history).all())


class _Causes:
    def __init__(self, history: GroupHistory) -> None:
        self._placed = history.placed
        self._departures = history.departed
        self._broker = set(history.broker)
        self._of_client: defaultdict[Client, list[tuple[Key, ClientMembership]]] = defaultdict(list)
        for key in sorted(history.placed):
            for each in history.placed[key]:
                self._of_client[each.client].append((key, each))
        for own in self._of_client.values():
            own.sort(key=lambda pair: pair[1].joined_ms)
        self._departed: defaultdict[Client, list[ClientDeparture]] = defaultdict(list)
        for _, _, departure in history.departed:
            self._departed[departure.client].append(departure)
        # Not all libraries log that they leave, and Kafka Streams does not leave when it is closed.
        self._logs_leaves = any(
            each.departure.kind is DepartureKind.LEFT for each in history.departed
        )
        placed = (each.member_id for own in self._of_client.values() for _, each in own)
        departed = (each.departure.member_id for each in history.departed)
        self._logged_ids = {*placed, *departed}
        self._names = _names([*self._of_client, *self._departed], self._of_client, self._departed)

    def all(self) -> Iterator[Cause]:
        causes: defaultdict[Key, list[Cause]] = defaultdict(list)
        for key, cause in self._of_all():
            causes[key].append(cause)
        noticed_ms = self._noticed_ms()
        for key in sorted(causes):
            yield from _with_roles(causes[key], noticed_ms.get(key))

    def _of_all(self) -> Iterator[tuple[Key, Cause]]:
        yield from self._of_departures()
        yield from self._of_memberships()
        yield from self._of_plans()

    def _noticed_ms(self) -> dict[Key, int]:
        """The time at which the first client learned that the rebalance had begun, per
        generation.
        """
        noticed_ms: dict[Key, int] = {}
        joined = (
            (key, each.known_ms)
            for key, own in self._placed.items()
            for each in own
            if each.known_ms is not None
        )
        departed = (
            (each.made, each.departure.known_ms)
            for each in self._departures
            if each.made != each.left and each.departure.known_ms is not None
        )
        for key, known_ms in (*joined, *departed):
            noticed_ms[key] = min(known_ms, noticed_ms.get(key, known_ms))
        return noticed_ms

    def _of_departures(self) -> Iterator[tuple[Key, Cause]]:
        for left, (incarnation, made), each in self._departures:
            cause, story = self._departure_classes(each)
            yield (
                (incarnation, made),
                Cause(
                    incarnation=incarnation,
                    generation=made,
                    at_ms=each.at_ms,
                    role=CONTRIBUTING if made > left[1] else ABSORBED,
                    cause=cause,
                    story=story,
                    member_id=each.member_id,
                    instance_id=each.instance_id or instance_of(each.member_id, each.client_id),
                    client_id=each.client_id,
                    process=self._names[each.client],
                    client_reason=_reason(each),
                    evidence=CLIENTS,
                    rebalance_timeout_ms=each.poll_interval_ms or 0,
                ),
            )

    def _of_plans(self) -> Iterator[tuple[Key, Cause]]:
        """Members without a log that joined or departed between two assignments of leaders."""
        of_keys = ((key, unlogged_members(self._placed[key])) for key in sorted(self._placed))
        planned = [(key, *of_key) for key, of_key in of_keys if of_key is not None]
        for (before, old_plan, old), (key, plan, new) in pairwise(planned):
            if key[0] != before[0] or key in self._broker:
                continue
            at_ms = min(each.joining_ms or each.joined_ms for each in self._placed[key])
            gone = dict.fromkeys(old - plan.keys(), "MEMBER_GONE")
            joined = dict.fromkeys(new - old_plan.keys(), "MEMBER_NEW")
            for member_id, cause in sorted((gone | joined).items()):
                if member_id in self._logged_ids:  # A frozen process cannot have logged this line.
                    continue
                yield (
                    key,
                    Cause(
                        incarnation=key[0],
                        generation=key[1],
                        at_ms=at_ms,
                        role=CONTRIBUTING,
                        cause=cause,
                        story=None,
                        member_id=member_id,
                        client_reason=_OF_PLAN,
                        evidence=CLIENTS,
                    ),
                )

    def _departure_classes(self, each: ClientDeparture) -> tuple[str, str]:
        """The cause class and the action of the process."""
        if each.kind is DepartureKind.LEFT:
            return "LEAVE", RESTART if self._is_back_soon(each) else STOP
        if each.kind is DepartureKind.NOT_REJOINED:
            late = "NOT_REJOINED", "slow_rejoin"
            return late if each.is_classic else ("REBALANCE_TIMEOUT", SLOW_REVOKE)
        if each.kind is DepartureKind.EXPIRED:
            return SESSION_EXPIRY, FROZEN
        return _CLASSES[each.kind]

    def _is_back_soon(self, departure: ClientDeparture) -> bool:
        return any(
            0 <= each.joined_ms - departure.at_ms <= RESTART_MS
            for _, each in self._of_client[departure.client]
        )

    def _of_memberships(self) -> Iterator[tuple[Key, Cause]]:
        for client, own in self._of_client.items():
            previous: tuple[Key, ClientMembership] | None = None
            for key, each in own:
                cause = self._of_membership(client, key, each, previous)
                if cause is not None:
                    yield key, cause
                if previous is not None and not each.could_not_assign:
                    yield from self._of_failure(client, *previous)
                previous = key, each
            if previous is not None:
                yield from self._of_failure(client, *previous)

    def _of_failure(
        self, client: Client, key: Key, each: ClientMembership
    ) -> Iterator[tuple[Key, Cause]]:
        """A leader that could not assign, and did not begin another rebalance for this reason."""
        if each.failed_ms is not None:
            cause = self._cause_of(
                client,
                key,
                each,
                cause=ASSIGNMENT_FAILED,
                story=None,
                role=ABSORBED,
                reason=each.failed_reason,
            )
            yield key, cause._replace(at_ms=each.failed_ms)

    def _of_membership(
        self,
        client: Client,
        key: Key,
        each: ClientMembership,
        previous: tuple[Key, ClientMembership] | None,
    ) -> Cause | None:
        """The reason why the client joined this generation, or None if others began the rebalance,
        or if the log begins with this membership.
        """
        since_ms = previous[1].joined_ms if previous else 0
        departed = [
            departure
            for departure in self._departed[client]
            if departure.is_end and since_ms <= departure.at_ms <= each.joined_ms
        ]
        story = _arrival_story(each, previous[1] if previous else None, departed)
        if story is None:
            return None if each.rejoin_reason is None else self._rejoin(client, key, each)
        if story == CRASH_RESTART and not self._logs_leaves:
            story = RESTART
        is_static = story == RESTART and each.instance_id is not None
        is_same = previous is not None and previous[0] == key
        return self._cause_of(
            client,
            key,
            each,
            cause="STATIC_REPLACED" if is_static else "MEMBER_NEW",
            story=story,
            role=ABSORBED if is_static and is_same else CONTRIBUTING,
        )

    def _rejoin(self, client: Client, key: Key, each: ClientMembership) -> Cause:
        reason = each.rejoin_reason or ""
        if each.could_not_assign:
            return self._cause_of(
                client, key, each, cause=ASSIGNMENT_FAILED, story=None, reason=reason
            )
        cause = next((cause for text, cause in _REJOINS if text in reason), "METADATA_CHANGE")
        story = FOLLOW_UP if _FOLLOW_UP in reason else None
        return self._cause_of(client, key, each, cause=cause, story=story, reason=reason)

    def _cause_of(
        self,
        client: Client,
        key: Key,
        each: ClientMembership,
        *,
        cause: str,
        story: str | None,
        role: str = CONTRIBUTING,
        reason: str | None = None,
    ) -> Cause:
        return Cause(
            incarnation=key[0],
            generation=key[1],
            at_ms=each.joined_ms if each.joining_ms is None else each.joining_ms,
            role=role,
            cause=cause,
            story=story,
            member_id=each.member_id,
            instance_id=each.instance_id or instance_of(each.member_id, each.client_id),
            client_id=each.client_id,
            process=self._names[client],
            client_reason=reason,
            evidence=CLIENTS,
        )


_CLASSES = {
    DepartureKind.SLOW_POLL: ("LEAVE_POLL_TIMEOUT", SLOW_POLL),
    DepartureKind.FENCED: ("STATIC_FENCED", FENCED),
    DepartureKind.FULL: ("GROUP_FULL", FULL),
}
_FOLLOW_UP = "revoke partitions"
_REJOINS = (
    ("followup rebalance scheduled", "PROBING_REBALANCE"),
    ("not the correct coordinator", "COORDINATOR_MOVED"),
    ("NOT_COORDINATOR", "COORDINATOR_MOVED"),
)


def _arrival_story(
    each: ClientMembership, previous: ClientMembership | None, departed: Sequence[ClientDeparture]
) -> str | None:
    """How the client became a member, or None if it already was a member, or if the log does not
    show it.
    """
    if departed:
        return START if each.is_started and departed[-1].kind is DepartureKind.LEFT else RETURN
    if previous is None:
        return START if each.is_started or each.generation == 1 else None
    if not each.is_classic:
        return START if each.is_first else None
    ids = previous.member_id, each.member_id
    is_new = None not in ids and ids[0] != ids[1]
    if not is_new and previous.stay == each.stay:
        return None
    if None not in ids and not is_new:
        return None
    # The process ended without leaving the group, as a static member does when it is closed.
    return RESTART if each.instance_id is not None else CRASH_RESTART


def _reason(departure: ClientDeparture) -> str | None:
    """What the client logged, with the times that its lines show."""
    words = _WORDS.get(departure.kind)
    if words is None:
        return None
    return "; ".join([words, *_details(departure)])


_WORDS = {
    DepartureKind.SLOW_POLL: "consumer poll timeout has expired",
    DepartureKind.NOT_REJOINED: "unknown member, did not rejoin in time",
    DepartureKind.EXPIRED: "unknown member, session expired",
    DepartureKind.FENCED: "group.instance.id fenced",
    DepartureKind.FULL: "group has reached its maximum size",
}


def _details(departure: ClientDeparture) -> Iterator[str]:
    at_ms, known_ms, back_ms = departure.at_ms, departure.known_ms, departure.back_ms
    if departure.kind is DepartureKind.SLOW_POLL:
        if back_ms is not None:
            yield f"polled again {seconds(back_ms - at_ms)} later"
        elif departure.exceeded_ms is not None and departure.exceeded_ms > _SLACK_MS:
            yield f"exceeded by {seconds(departure.exceeded_ms)}"
    elif departure.exceeded_ms is not None:
        yield f"no response from the coordinator for {seconds(departure.exceeded_ms)}"
    has_waited = departure.kind in (DepartureKind.SLOW_POLL, DepartureKind.NOT_REJOINED)
    if has_waited and known_ms is not None and at_ms - known_ms >= _SLACK_MS:
        yield f"the rebalance waited {seconds(at_ms - known_ms)} for this member"
    if departure.quiet_ms is not None:
        yield f"no line in the member's log for {seconds(departure.quiet_ms)}"
    if departure.together >= _MANY:
        yield f"{departure.together} consumers of the member's process at once"


def _with_roles(causes: Sequence[Cause], known_ms: int | None) -> Iterator[Cause]:
    """Put the trigger first: the earliest cause, unless a client knew of that rebalance earlier.
    The time at which a member without a log joined or departed is unknown.

    A removal counts as early as the rebalance of which the removed member learned late.
    """

    def began_ms(cause: Cause) -> int:
        at_ms = cause.at_ms or 0
        return min(at_ms, known_ms) if cause.is_expiry and known_ms is not None else at_ms

    started = [each for each in causes if each.role != ABSORBED and not each.is_of_plan]
    first = min(started, key=began_ms, default=None)
    if first is not None and known_ms is not None and began_ms(first) > known_ms + _SLACK_MS:
        first = None
    in_order = sorted(causes, key=lambda each: (each is not first, each.at_ms or 0))
    for each in in_order:
        yield each._replace(role=TRIGGER) if each is first else each


def _names(
    clients: Iterable[Client],
    memberships: Mapping[Client, Sequence[tuple[Key, ClientMembership]]],
    departures: Mapping[Client, Sequence[ClientDeparture]],
) -> dict[Client, str]:
    """The instance id or client id of each client, with its pod or log if several clients have the
    same id.
    """
    named: dict[Client, str | None] = {}
    places: dict[Client, str] = {}
    for client in clients:
        own: list[ClientMembership | ClientDeparture] = [*departures.get(client, ())]
        own += [each for _, each in memberships.get(client, ())]
        named[client] = name_of(own)
        places[client] = place_of(client, named[client])
    counts = Counter(named.values())
    return {
        client: name if name and counts[name] == 1 else places[client]
        for client, name in named.items()
    }
