"""The time in which each process owned each partition, inferred from the memberships of a group.

A client owns a partition from the response with its assignment until the response that asks for it
back; a record of the member shows each of the two responses.  A client that is busy gives up the
partition later, when it acknowledges.  A process that is closed owns its partitions until it
leaves.  A process that was killed leaves nothing: it ended after its last heartbeat, a session
timeout before its session expired, and before its next one.  A client that was frozen, or did not
poll, is back under the same member id, which no other process has: it owned its partitions until
then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from coordinator_core.modern_history.evidence import LEFT, Partition
from coordinator_core.modern_history.handovers import ACTIVE
from coordinator_core.modern_history.heartbeats import NOT_CONFIGURED, ConfiguredTiming
from coordinator_core.modern_history.history import History
from coordinator_core.modern_history.members import AWAY
from coordinator_core.modern_history.memberships import ModernMembership
from coordinator_core.modern_history.process_ends import (
    CONVERTED,
    RECORDS,
    REPLACED,
    REVOKED,
    Commits,
    End,
    Ends,
    MembershipEnd,
)

NOT_ASSIGNED = "not_assigned"
# A group is shut down if none of its processes returns for this long.
SHUT_DOWN_MS = 300_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenure:
    """A process owned a partition; ``until_ms`` None: it still does.

    ``how`` it ended, ``by`` what evidence, and whether that time ``is_estimated``.  ``generation``
    is the generation in which it began.  `End` explains ``polled_ms`` and ``departure``.
    """

    partition: Partition
    generation: int
    member_id: str
    process: str
    from_ms: int
    until_ms: int | None = None
    how: str = REVOKED
    by: str = RECORDS
    is_estimated: bool = False
    polled_ms: int | None = None
    departure: MembershipEnd | None = None


@dataclass(frozen=True, slots=True)
class Shutdown:
    """The group was without processes from ``at_ms`` on, and none came back in time.

    ``stopped_ms`` says when the last process stopped.  ``generation`` is the generation of the
    group at that time.
    """

    at_ms: int
    stopped_ms: int
    generation: int


@dataclass(frozen=True, slots=True)
class Ownership:
    """The owners of partitions in an incarnation, with times; ``shutdowns`` in the order of
    time.
    """

    tenures: list[Tenure]
    shutdowns: list[Shutdown]


def ownership(
    history: History,
    commits: Commits | None = None,
    configured: ConfiguredTiming = NOT_CONFIGURED,
) -> Ownership:
    """All partitions and active tasks; in share groups several members have a partition at the same
    time.
    """
    ends = Ends(history, commits or {}, configured)
    targets = {
        each.number: {partition for owned in each.targets for partition in owned.partitions}
        for each in history.generations
    }
    tenures = [
        tenure
        for membership in history.memberships
        for tenure in _tenures(membership, ends.of(membership), ends.timing.interval_ms, targets)
    ]
    return Ownership(tenures, _shutdowns(history, ends))


# -- tenures of a membership -----------------------------------------------------------------------


def _tenures(
    membership: ModernMembership, end: End, interval_ms: int, targets: Mapping[int, set[Partition]]
) -> Iterator[Tenure]:
    held: dict[Partition, Tenure] = {}
    for number, step in enumerate(membership.steps):
        assigned = _active(step.assigned) if step.epoch != AWAY else frozenset()
        for partition in sorted(held.keys() - assigned, key=str):
            given_up = _given_up(membership, number, partition, end, interval_ms)
            yield _ended(held.pop(partition), given_up, targets.get(step.generation or 0, set()))
        for partition in sorted(assigned - held.keys(), key=str):
            generation = step.generation or 0
            held[partition] = Tenure(
                partition=partition,
                generation=generation,
                member_id=membership.member_id,
                process=step.process,
                from_ms=step.time_ms,
            )
    for tenure in held.values():
        yield _ended(tenure, end, set())


def _active(partitions: Iterable[Partition]) -> frozenset[Partition]:
    return frozenset(each for each in partitions if each[0] == ACTIVE)


def _given_up(
    membership: ModernMembership, number: int, partition: Partition, end: End, interval_ms: int
) -> End:
    """A step no longer assigns the partition: given up when asked, unless the client was busy."""
    step = membership.steps[number]
    if step.epoch == AWAY:
        return End(step.time_ms, REPLACED if membership.how == REPLACED else LEFT)
    if partition not in step.pending:
        return End(step.time_ms)
    later = (membership.steps[at] for at in range(number + 1, len(membership.steps)))
    given_up_ms = next((each.time_ms for each in later if partition not in each.pending), None)
    if given_up_ms is None:
        return end
    return End(step.time_ms if given_up_ms - step.time_ms <= interval_ms else given_up_ms)


def _ended(tenure: Tenure, end: End, target: set[Partition]) -> Tenure:
    how = end.how
    if how == REVOKED and end.at_ms is not None and target and tenure.partition not in target:
        how = NOT_ASSIGNED
    until_ms = None if end.at_ms is None else max(end.at_ms, tenure.from_ms)
    return Tenure(
        partition=tenure.partition,
        generation=tenure.generation,
        member_id=tenure.member_id,
        process=tenure.process,
        from_ms=tenure.from_ms,
        until_ms=until_ms,
        how=how,
        by=end.by,
        is_estimated=end.is_estimated,
        polled_ms=end.polled_ms,
        departure=end.departure,
    )


# -- shutdowns -------------------------------------------------------------------------------------


def _shutdowns(history: History, ends: Ends) -> list[Shutdown]:
    """A group was shut down when its last member left or closed, unless one was back in time.  The
    last of dynamic members whose session expired was not shut down, nor a group that was converted.
    """
    present: set[ModernMembership] = set()
    emptied: list[tuple[int, ModernMembership, list[ModernMembership]]] = []
    gone: list[ModernMembership] = []
    for at_ms, is_join, membership in _comings_and_goings(history):
        if is_join:
            if not present and emptied and at_ms - emptied[-1][0] <= SHUT_DOWN_MS:
                emptied.pop()
            present.add(membership)
        else:
            present.discard(membership)
            gone.append(membership)
            if not present:
                emptied.append((at_ms, membership, gone))
                gone = []
    return [
        _shutdown(at_ms, members, ends, history)
        for at_ms, last, members in emptied
        if not (ends.was_cut_off(last) or any(each.how == CONVERTED for each in members))
    ]


def _comings_and_goings(history: History) -> list[tuple[int, bool, ModernMembership]]:
    """Changes are in the order of time; at the same time, departures of static members come
    first.
    """
    events = []
    for each in history.memberships:
        events.append((each.joined_ms, True, each))
        gone_ms = each.ended_ms if each.away_ms is None else each.away_ms
        if gone_ms is not None:
            events.append((gone_ms, False, each))
    return sorted(events, key=lambda event: (event[0], event[1]))


def _shutdown(
    at_ms: int, members: list[ModernMembership], ends: Ends, history: History
) -> Shutdown:
    stopped = (ends.of(each).at_ms if each.away_ms is None else each.away_ms for each in members)
    numbers = [each.number for each in history.generations if each.joined_ms <= at_ms]
    in_time = [each for each in stopped if each is not None and each <= at_ms]
    return Shutdown(at_ms, max(in_time, default=at_ms), max(numbers, default=0))
