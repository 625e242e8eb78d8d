"""All clients' memberships -> generations, members and assignments of the group."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from statistics import median_low
from typing import NamedTuple

from coordinator_core.client_history.clocks import clocks_ahead_ms
from coordinator_core.client_history.departures import (
    ClientDeparture,
    departure_moved_by,
    departures_of_clients,
)
from coordinator_core.client_history.memberships import (
    ClientMembership,
    ClientRow,
    Partitions,
    Plan,
    memberships_of_clients,
    moved_by,
    open_joins,
)
from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.episodes.evidence import EMPTY, UNKNOWN_OUTCOME

# A lower number within this time is out of order and starts no new incarnation.
REORDERED_MS = 1000
# A broker's generation with the same number within this time is the client's generation.
SAME_MS = 300_000
# member id = client.id (or group.instance.id), a dash, a UUID of 36 characters
_NAME_OF_MEMBER = re.compile(r"(.+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


Key = tuple[int, int]
"""Incarnation and generation."""


class BrokerGeneration(NamedTuple):
    """A generation with a record or a broker's log line.  ``members`` are member ids by assigned
    partitions, for clients whose log has no member id.  ``is_empty`` means that the group had no
    members.
    """

    incarnation: int
    generation: int
    time_ms: int
    members: Mapping[Partitions, str] = {}
    is_empty: bool = False

    @property
    def key(self) -> Key:
        return self.incarnation, self.generation


@dataclass(kw_only=True)
class ClientMember:
    """``assigned`` is None if no log has it."""

    member_id: str
    process: str
    client_id: str | None
    instance_id: str | None
    topics: tuple[str, ...] | None
    is_leader: bool
    change: str
    assigned: Partitions | None
    left_ms: int | None
    left_reason: str | None
    is_gone: bool = False


@dataclass(kw_only=True)
class ClientGeneration:
    """``member_count`` is None unless the leader's log has the assignment of all members.
    ``joined_ms`` is None for a generation that no client with a log joined.  ``gap_before`` has
    numbers of a classic group that no log has right before this one.  ``open_ms`` says how long
    clients had been trying to join when their logs ended, or None if they joined.
    """

    incarnation: int
    generation: int
    group_type: str
    preparing_ms: int | None
    joined_ms: int | None
    stable_ms: int | None
    ended_ms: int | None
    outcome: str
    assignor: str | None
    leader: str | None
    member_count: int | None
    members: list[ClientMember]
    gap_before: int | None = None
    open_ms: int | None = None


class Departed(NamedTuple):
    """A departure, the generation that the client left, and the generation that it caused.

    ``left``: generation 0 if no log names it.  ``made`` is equal to ``left`` if no generation is
    known to have been made without the member.
    """

    left: Key
    made: Key
    departure: ClientDeparture


class GroupHistory(NamedTuple):
    """Everything that all clients of a group logged, on one clock.

    ``placed`` has memberships by incarnation and generation.  ``broker`` has generations with
    broker evidence.
    """

    placed: Mapping[Key, Sequence[ClientMembership]]
    departed: Sequence[Departed]
    broker: Sequence[Key]


def generations_of_clients(
    lines: Iterable[ClientRow], broker: Iterable[BrokerGeneration] = ()
) -> list[ClientGeneration]:
    """The generations of one group that ``broker`` does not have, in the order of their numbers."""
    return generations_of(history_of_clients(lines, broker))


def generations_of(history: GroupHistory) -> list[ClientGeneration]:
    """As `generations_of_clients`.  The last one may be known by departures alone."""
    made = {key: _generation(key, own) for key, own in history.placed.items()}
    departed: defaultdict[Key, list[ClientDeparture]] = defaultdict(list)
    for each in history.departed:
        if each.made != each.left and each.made not in made:
            departed[each.made].append(each.departure)
    for key, own in departed.items():
        left = made.get((key[0], key[1] - 1))
        made[key] = _of_departures(
            key, own, outcome=EMPTY if _have_all_left(left) else UNKNOWN_OUTCOME
        )
    for previous, key in pairwise(sorted({*made, *history.broker})):
        if key in made and key[0] == previous[0] and made[key].group_type == CLASSIC.name:
            made[key].gap_before = key[1] - previous[1] - 1
    generations = [made[key] for key in sorted(made.keys() - set(history.broker))]
    for _, same in groupby(generations, key=lambda each: each.incarnation):
        _compare(list(same))
    return generations


def _have_all_left(generation: ClientGeneration | None) -> bool:
    """Returns whether the leader's assignment has all members, and each of these members logged
    that it left.
    """
    if generation is None or generation.member_count is None:
        return False
    return all(each.left_ms is not None for each in generation.members)


def _of_departures(key: Key, departed: Sequence[ClientDeparture], outcome: str) -> ClientGeneration:
    """A generation that clients did not join: their logs show only why."""
    noticed_ms = [each.at_ms if each.known_ms is None else each.known_ms for each in departed]
    return ClientGeneration(
        incarnation=key[0],
        generation=key[1],
        group_type=departed[0].group_type,
        preparing_ms=min(noticed_ms),
        joined_ms=None,
        stable_ms=None,
        ended_ms=None,
        outcome=outcome,
        assignor=None,
        leader=None,
        member_count=None,
        members=[],
    )


def history_of_clients(
    lines: Iterable[ClientRow], broker: Iterable[BrokerGeneration] = ()
) -> GroupHistory:
    lines = list(lines)
    by_time = sorted(broker, key=lambda each: (each.time_ms, each.key))
    clients = memberships_of_clients(lines)
    counts = Counter(each.generation for each in by_time)
    times = {each.generation: each.time_ms for each in by_time if counts[each.generation] == 1}
    ahead = clocks_ahead_ms(clients, times)
    moved = [moved_by(each, -ahead[client]) for client, own in clients.items() for each in own]
    in_time = sorted(moved, key=lambda each: (each.joined_ms, each.client, each.generation))
    placed = _placed(in_time, by_time)
    if not by_time:
        _place_open(placed, [moved_by(o, -ahead.get(o.client, 0)) for o in open_joins(lines)])
    departures = [
        departure_moved_by(each, -ahead.get(client, 0))
        for client, own in departures_of_clients(lines).items()
        for each in own
    ]
    departed = list(_departed(departures, placed, by_time))
    _identify(placed, departed, by_time)
    return GroupHistory(placed, departed, [each.key for each in by_time])


def _identify(
    placed: Mapping[Key, Sequence[ClientMembership]],
    departed: Iterable[Departed],
    broker: Iterable[BrokerGeneration],
) -> None:
    """Set member ids that no log has, by the partitions that the coordinator assigned."""
    members = {each.key: each.members for each in broker}
    of_client: dict[tuple[Key, tuple[str, ...]], str] = {}
    for key, own in placed.items():
        for each in own:
            # An eager client logs its whole assignment as added, so earlier lines are not needed.
            assigned = each.assigned or each.added
            if each.member_id is None and assigned:
                each.member_id = members.get(key, {}).get(assigned)
            if each.member_id is not None:
                of_client[key, each.client] = each.member_id
    for left, _, departure in departed:
        departure.member_id = departure.member_id or of_client.get((left, departure.client))


def _departed(
    departures: Iterable[ClientDeparture],
    placed: Mapping[Key, Sequence[ClientMembership]],
    broker: Sequence[BrokerGeneration],
) -> Iterator[Departed]:
    """A client whose log names no generation left the group's current generation.

    A classic group forms the next generation without the member, even if no log has the next
    generation.  A group of another type may not form one.
    """
    of_client: defaultdict[tuple[str, ...], list[tuple[int, Key]]] = defaultdict(list)
    times = {each.key: each.time_ms for each in broker}
    for key, own in placed.items():
        times[key] = min(each.joined_ms for each in own)
        for each in own:
            of_client[each.client].append((each.joined_ms, key))
    empty = {each.key for each in broker if each.is_empty}
    of_group = sorted((at_ms, key) for key, at_ms in times.items() if key not in empty)
    in_order = sorted(times)
    for departure in departures:
        own_joins = sorted(of_client[departure.client])
        left = _current(own_joins, departure) or _current(of_group, departure) or (1, 0)
        left = (left[0], departure.generation or left[1])
        made = left
        if departure.is_end and left[1] > 0:
            later = (
                key
                for key in in_order[bisect_right(in_order, left) :]
                if departure.is_classic or times[key] >= departure.at_ms
            )
            made = next(later, (left[0] + 1, 0))
            if made[0] != left[0]:
                made = (left[0], left[1] + 1) if departure.is_classic else left
        yield Departed(left, made, departure)


def _current(joins: Sequence[tuple[int, Key]], departure: ClientDeparture) -> Key | None:
    """The generation that the client named, or the last one, before it departed."""
    before = joins[: bisect_right(joins, (departure.at_ms, (1 << 31, 0)))]
    named = (key for _, key in reversed(before) if key[1] == departure.generation)
    return next(named, before[-1][1] if before else None)


def _placed(
    in_time: Sequence[ClientMembership], broker: Sequence[BrokerGeneration]
) -> dict[Key, list[ClientMembership]]:
    """Memberships by incarnation and generation; the memberships of ``broker`` keep their
    incarnation.
    """
    placed: defaultdict[Key, list[ClientMembership]] = defaultdict(list)
    last: dict[tuple[str, ...], int] = {}  # the incarnation of each client's previous membership
    incarnation, number, at_ms = 1, 0, 0
    for each in in_time:
        if broker:
            own = _incarnation_beside(each, broker)
        elif not each.is_first and each.client in last:
            own = last[each.client]
        else:
            is_reordered = each.generation >= number - 1 and each.joined_ms - at_ms <= REORDERED_MS
            if each.generation < number and not is_reordered:
                incarnation, number = incarnation + 1, 0
            own = incarnation
        if own == incarnation and each.generation > number:
            number, at_ms = each.generation, each.joined_ms
        last[each.client] = own
        placed[own, each.generation].append(each)
    return placed


def _place_open(
    placed: dict[Key, list[ClientMembership]], joins: Iterable[ClientMembership]
) -> None:
    """Put unfinished joins into the generation after the last one; into 0 if none is known."""
    incarnation, number = max(placed, default=(1, -1))
    joined_ms = max((each.joined_ms for own in placed.values() for each in own), default=0)
    own = [each for each in joins if each.joining_ms is not None and each.joining_ms >= joined_ms]
    if own:
        placed[incarnation, number + 1] = own


def _incarnation_beside(each: ClientMembership, broker: Sequence[BrokerGeneration]) -> int:
    """The incarnation of the broker's generation that this one is, or is next to."""
    same = [b for b in broker if b.generation == each.generation]
    nearest = min(same, key=lambda b: abs(b.time_ms - each.joined_ms), default=None)
    if nearest is not None and abs(nearest.time_ms - each.joined_ms) <= SAME_MS:
        return nearest.incarnation
    after = bisect_right([b.time_ms for b in broker], each.joined_ms)
    if after < len(broker) and each.generation < broker[after].generation:
        return broker[after].incarnation
    previous = broker[after - 1] if after else None
    if previous is None:
        return max(broker[0].incarnation - 1, 0)
    is_later = each.generation > previous.generation
    return previous.incarnation if is_later else previous.incarnation + 1


def _generation(key: Key, own: Sequence[ClientMembership]) -> ClientGeneration:
    """Durations are from the clock of one client each, because the clocks of clients may differ."""
    if own[0].is_open:
        return _open_generation(key, own)
    logged = [each for each in own if each.is_join_logged]
    joined_ms = _joined_ms(logged, own)
    # Members of both protocols may be in a group that is being converted.
    others = [each.group_type for each in own if not each.is_classic]
    is_classic = not others
    waits = [each.joined_ms - each.joining_ms for each in own if each.joining_ms is not None]
    syncs = [
        each.synced_ms - each.joined_ms for each in logged or own if each.synced_ms is not None
    ]
    leader = next((each for each in own if each.plan), None)
    plan = (leader.plan if leader else None) or {}
    by_id = _by_id(own, plan)
    led_by = (member for member, each in by_id.items() if leader and each.client == leader.client)
    leader_id = next(led_by, None)
    return ClientGeneration(
        incarnation=key[0],
        generation=key[1],
        group_type=others[0] if others else CLASSIC.name,
        preparing_ms=joined_ms - max(waits) if waits and is_classic else None,
        joined_ms=joined_ms,
        stable_ms=joined_ms + min(syncs) if syncs and is_classic else None,
        ended_ms=None,
        outcome=_outcome(own) if is_classic else "unknown",
        assignor=next((each.assignor for each in own if each.assignor and is_classic), None),
        leader=leader_id,
        member_count=len(plan) if leader else None,
        members=list(_members(by_id, plan, leader_id)),
    )


def _open_generation(key: Key, own: Sequence[ClientMembership]) -> ClientGeneration:
    """A generation that clients had not joined when their logs ended."""
    preparing_ms = min(each.joining_ms or each.joined_ms for each in own)
    return ClientGeneration(
        incarnation=key[0],
        generation=key[1],
        group_type=CLASSIC.name,
        preparing_ms=preparing_ms,
        joined_ms=None,
        stable_ms=None,
        ended_ms=None,
        outcome=UNKNOWN_OUTCOME,
        assignor=None,
        leader=None,
        member_count=None,
        members=[],
        open_ms=max(each.joined_ms for each in own) - preparing_ms,
    )


def _joined_ms(logged: Sequence[ClientMembership], own: Sequence[ClientMembership]) -> int:
    """The time of the join.

    For a client that logs only after SyncGroup, the time is an upper bound.
    """
    if not logged:
        return min(each.joined_ms for each in own)
    latest_ms = min((each.joined_ms for each in own if not each.is_join_logged), default=None)
    joined_ms = median_low(each.joined_ms for each in logged)
    return joined_ms if latest_ms is None else min(joined_ms, latest_ms)


def _outcome(own: Sequence[ClientMembership]) -> str:
    if any(each.synced_ms is not None for each in own):
        return "stable"
    return "superseded" if any(each.is_superseded for each in own) else "unknown"


def _members(
    by_id: Mapping[str, ClientMembership], plan: Plan, leader_id: str | None
) -> Iterator[ClientMember]:
    names = {member_id: _name(member_id, by_id.get(member_id)) for member_id in {*by_id, *plan}}
    counts = Counter(names.values())
    for member_id in sorted(names):
        each = by_id.get(member_id)
        name = names[member_id]
        yield ClientMember(
            member_id=member_id,
            process=_process(member_id, name, each, is_alone=counts[name] == 1),
            client_id=each.client_id if each else None,
            instance_id=each.instance_id if each else None,
            topics=each.topics if each else None,
            is_leader=member_id == leader_id,
            change="joined",
            assigned=plan.get(member_id, each.assigned if each else None),
            left_ms=each.left_ms if each else None,
            left_reason=each.left_reason if each else None,
            is_gone=each is not None and each.left_ms is not None,
        )


def _by_id(own: Sequence[ClientMembership], plan: Plan) -> dict[str, ClientMembership]:
    """Memberships by member id.

    If a client does not log its member id, its partitions identify it in the leader's plan.
    Without a plan, the key is the client's id, its log and the number of its stay in the group.
    """
    by_id = {each.member_id: each for each in reversed(own) if each.member_id is not None}
    for each in own:
        partitions = each.assigned or each.added
        if each.member_id is None and partitions:
            alike = [member for member, planned in plan.items() if partitions <= planned]
            if len(alike) == 1 and alike[0] not in by_id:
                by_id[alike[0]] = replace(each, member_id=alike[0])
        if each.member_id is None and not plan:
            by_id[f"{_place(each)}#{each.stay}"] = each
    return by_id


def unlogged_members(own: Sequence[ClientMembership]) -> tuple[Plan, frozenset[str]] | None:
    """A generation's plan, and its members that have no log, or None if this is not certain."""
    plan = next((each.plan for each in own if each.plan), None)
    if plan is None:
        return None
    by_id = _by_id(own, plan)
    is_certain = {each.client for each in by_id.values()} == {each.client for each in own}
    return (plan, frozenset(plan.keys() - by_id.keys())) if is_certain else None


def place_of(client: tuple[str, ...], name: str | None) -> str:
    """Name a process whose client id is not unique: the id, and the pod or the log."""
    log, source, *_ = *client, ""
    return f"{name}@{source or log}" if name else source or log


def _place(each: ClientMembership) -> str:
    return place_of(each.client, name_of([each]))


def _process(
    member_id: str, name: str | None, each: ClientMembership | None, *, is_alone: bool
) -> str:
    if name is not None and is_alone:
        return name
    return member_id if each is None else _place(each)


def name_of(own: Sequence[ClientMembership | ClientDeparture]) -> str | None:
    """The name of one client: the instance id or the client id; a member id begins with one of
    them.
    """
    instance_id = next((each.instance_id for each in own if each.instance_id), None)
    client_id = next((each.client_id for each in own if each.client_id), None)
    member_id = next((each.member_id for each in own if each.member_id), None)
    return instance_id or client_id or (_prefix(member_id) if member_id else None)


def instance_of(member_id: str | None, client_id: str | None) -> str | None:
    """The group.instance.id of a client that does not log it: the beginning of the member id.

    The member id of a dynamic member begins with the client id.
    """
    prefix = _prefix(member_id) if member_id else None
    return prefix if client_id and prefix != client_id else None


def _name(member_id: str, each: ClientMembership | None) -> str | None:
    return name_of([] if each is None else [each]) or _prefix(member_id)


def _prefix(member_id: str) -> str | None:
    match = _NAME_OF_MEMBER.fullmatch(member_id)
    return match[1] if match else None


def _compare(generations: Sequence[ClientGeneration]) -> None:
    """Compare the generations of an incarnation with each other.

    A client of the consumer protocol does not log each epoch, so that it may be absent between two
    generations that it was in.
    """
    seen: set[str] = set()
    for generation in generations:
        for member in generation.members:
            member.change = "retained" if member.member_id in seen else "joined"
        seen |= {member.member_id for member in generation.members if not member.is_gone}
    for previous, following in pairwise(generations):
        _compare_two(previous, following)


def _compare_two(previous: ClientGeneration, following: ClientGeneration) -> None:
    is_next = following.generation == previous.generation + 1
    running_ms = previous.stable_ms or previous.joined_ms
    is_begun = is_next and previous.outcome != "unknown" and running_ms is not None
    if is_begun and following.preparing_ms is not None:
        previous.ended_ms = max(following.preparing_ms, running_ms or 0)
    instances = {member.instance_id for member in previous.members} - {None}
    for member in following.members:
        if member.change == "joined" and member.instance_id in instances:
            member.change = "replaced"
    if following.member_count is not None:
        now = {member.member_id for member in following.members}
        for member in previous.members:
            member.is_gone = member.is_gone or member.member_id not in now
