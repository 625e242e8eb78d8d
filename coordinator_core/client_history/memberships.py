"""One client's lines -> the generations of which it was a member."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.coordinator.group_types import GROUP_TYPES
from coordinator_core.log_lines.pairs import pair_in

Partitions = frozenset[str]
"""Each as topic-partition."""
Plan = Mapping[str, Partitions]
"""Partitions by member id."""

_JAVA_PLAN = re.compile(r"(?<![^ {}])([^ {}]+)=Assignment\(partitions=\[([^\[\]]*)\]")
_FRANZ_PLAN = re.compile(r"(?<![^ {}])([^ {}]+)\{((?:[^ \[\]{}]+\[[\d ]*\](?:, )?)*)\}(?:, |$)")
_FRANZ_TOPIC = re.compile(r"(?<![^ \[\],])([^ \[\],]+)\[([\d ]*)\]")
_GROUP_TYPES = dict.fromkeys(("ConsumerMembershipManager", "MembershipManagerImpl"), CONSUMER.name)
UNKNOWN_MEMBER = re.compile(
    r"member id (\S*) ?is not valid|member_id was not recognized"
    r"|UNKNOWN_MEMBER_ID|Unknown ?[mM]ember"
)
_COORDINATOR = re.compile(r"not the correct coordinator|NOT_COORDINATOR")
_FAILED = "rebalance failed due to"  # text of the client's own failed attempt to join
_REBALANCING = re.compile(r"(?i)rebalanc(?!e failed due to)")
# States in which a client of the consumer protocol is a member.
_MEMBER_STATES = ("RECONCILING", "ACKNOWLEDGING", "STABLE")
# Events that a client logs while it tries to join a group.
_WHILE_JOINING = frozenset(
    {
        *("COMMIT_FAILED", "COORDINATOR_FOUND", "COORDINATOR_LOST", "HEARTBEAT_FAILED"),
        *("JOINING", "JOIN_FAILED", "MEMBER_RESET", "PARTITIONS_LOST", "PARTITIONS_REVOKED"),
        *("PARTITIONS_REVOKING", "REJOIN_REQUESTED", "SYNC_FAILED"),
    }
)
# Loggers of Java's client, which logs each join.
_JAVA_COORDINATOR = re.compile(r"(?:Abstract|Consumer|Worker)Coordinator\b")


class ClientRow(NamedTuple):
    """A row of client_events; ``client`` is the log and the client's name in it.

    ``together`` has clients of this process that logged a failure within the same second. ``text``
    is the line, for some events only.
    """

    client: tuple[str, ...]
    position: int
    time_ms: int
    event: str
    client_id: str | None = None
    instance_id: str | None = None
    member_id: str | None = None
    generation: int | None = None
    epoch: int | None = None
    assignor: str | None = None
    state: str | None = None
    previous_state: str | None = None
    reason: str | None = None
    logger: str | None = None
    partitions: Partitions | None = None
    topics: tuple[str, ...] | None = None
    plan: Plan | None = None
    duration_ms: int | None = None
    together: int = 1
    text: str | None = None

    @property
    def tells_of_rebalance(self) -> bool:
        """Returns whether the client learns here that others have begun a rebalance."""
        is_answer = self.event in ("COMMIT_FAILED", "HEARTBEAT_FAILED", "REJOIN_REQUESTED")
        return is_answer and _REBALANCING.search(self.reason or "") is not None


@dataclass(kw_only=True)
class ClientMembership:
    """One client in one generation, with times from the client's clock.

    ``is_first`` means that this is the first generation since the client joined.  ``stay`` says
    how often the client has become a member.  If ``is_join_logged`` is false, the client logs only
    after SyncGroup, and ``joined_ms`` is an upper bound.  ``added`` has the partitions that were
    new to the client. ``known_ms`` says since when the client knew of the rebalance that made the
    generation; ``rejoin_reason`` says why it asked for this rebalance itself; ``could_not_assign``
    means that the client was the leader of the previous generation and could not assign.
    ``is_started`` means that the log has the start of the process before this membership.
             ``is_open`` means that the log ends at ``joined_ms``, before the client joined; the
             generation is the previous one.  ``failed_ms`` and ``failed_reason`` say when and why
             the client, as the leader of this generation, could not assign.
    """

    client: tuple[str, ...]
    generation: int
    group_type: str
    joined_ms: int
    is_first: bool = True
    stay: int = 0
    is_join_logged: bool = True
    joining_ms: int | None = None
    synced_ms: int | None = None
    is_superseded: bool = False
    client_id: str | None = None
    instance_id: str | None = None
    member_id: str | None = None
    assignor: str | None = None
    plan: Plan | None = None
    assigned: Partitions | None = None
    added: Partitions | None = None
    topics: tuple[str, ...] | None = None
    left_ms: int | None = None
    left_reason: str | None = None
    known_ms: int | None = None
    rejoin_reason: str | None = None
    could_not_assign: bool = False
    is_started: bool = False
    is_open: bool = False
    failed_ms: int | None = None
    failed_reason: str | None = None

    @property
    def is_static(self) -> bool:
        """Returns whether the member has an instance id: its member id begins with it."""
        begins_with = f"{self.client_id}-"
        has_other = self.client_id and self.member_id and not self.member_id.startswith(begins_with)
        return self.instance_id is not None or bool(has_other)

    @property
    def is_classic(self) -> bool:
        """Returns whether the member uses the classic protocol."""
        return not GROUP_TYPES[self.group_type].has_epochs


def leader_assignment(text: str) -> dict[str, Partitions]:
    """The partitions of each member in the line of a leader that assigned them."""
    plan = {
        member: frozenset(inner.split(", ") if inner else ())
        for member, inner in _JAVA_PLAN.findall(text)
    }
    listed = None if plan or "plan" not in text else pair_in(text, "plan")
    if listed is None:
        return plan
    return {
        member: frozenset(
            f"{topic}-{number}"
            for topic, numbers in _FRANZ_TOPIC.findall(inner)
            for number in numbers.split()
        )
        for member, inner in _FRANZ_PLAN.findall(listed)
    }


class _Led(NamedTuple):
    """An assignment; a leader logs it before the line about its join of the generation."""

    generation: int | None
    time_ms: int
    plan: Plan


@dataclass(kw_only=True)
class _Client:
    """The state of a client after the lines read so far.

    ``first_of_stay`` is the index of the first membership with the current member id. ``consuming``
    has partitions that the client began to consume in a session; it logs their generation at the
    end. ``failed_reason`` says why the client, as leader, could not assign in the generation that
    it joins.
    """

    memberships: list[ClientMembership] = field(default_factory=list)
    current: ClientMembership | None = None
    joining_ms: int | None = None
    led: _Led | None = None
    listed_member_id: str | None = None
    member_id: str | None = None
    topics: tuple[str, ...] | None = None
    owned: Partitions | None = None
    is_new: bool = True
    stay: int = 1
    first_of_stay: int = 0
    coordinator_ms: int | None = None
    consuming_ms: int | None = None
    consuming: Partitions = frozenset()
    known_ms: int | None = None
    rejoin_reason: str | None = None
    failed_reason: str | None = None
    could_not_assign: bool = False
    is_started: bool = False

    def take_rebalance(self) -> dict[str, Any]:
        """Take what the client logged about a rebalance before it joined the generation."""
        taken = {
            "known_ms": self.known_ms,
            "rejoin_reason": self.rejoin_reason,
            "could_not_assign": self.could_not_assign,
            "is_started": self.is_started,
        }
        self.known_ms, self.is_started = None, False
        self.rejoin_reason, self.failed_reason = self.failed_reason, None
        self.could_not_assign = self.rejoin_reason is not None
        return taken


def memberships(lines: Iterable[ClientRow]) -> list[ClientMembership]:
    """The generations of one client, from its lines in their order."""
    return _read(lines).memberships


def _read(lines: Iterable[ClientRow]) -> _Client:
    client = _Client()
    for line in lines:
        # Lines of these loggers may name another member.
        if line.event not in ("LEADER_ASSIGNED", "LEADER_LIST"):
            client.member_id = line.member_id or client.member_id
        if line.tells_of_rebalance and client.known_ms is None:
            client.known_ms = line.time_ms
        _REACTIONS.get(line.event, _nothing)(client, line)
    return client


def open_joins(lines: Sequence[ClientRow]) -> Iterator[ClientMembership]:
    """The joins that have not ended when the logs end."""
    ends_ms: dict[tuple[str, ...], int] = {}
    for line in lines:
        log = line.client[:2]
        ends_ms[log] = max(line.time_ms, ends_ms.get(log, line.time_ms))
    for key, own in by_client(lines).items():
        since = _open_since(own)
        client = _read(own) if since is not None else _Client()
        if since is None or not (client.memberships or _is_of_java(since)):
            continue
        last = client.memberships[-1] if client.memberships else None
        yield ClientMembership(
            client=key,
            generation=last.generation if last is not None else 0,
            group_type=CLASSIC.name,
            joined_ms=ends_ms[key[:2]],
            joining_ms=since.time_ms,
            stay=client.stay,
            client_id=since.client_id,
            instance_id=since.instance_id,
            member_id=client.member_id,
            is_open=True,
            **client.take_rebalance(),
        )


def _open_since(lines: Iterable[ClientRow]) -> ClientRow | None:
    """The first line about a join that has not ended."""
    since: ClientRow | None = None
    for line in lines:
        if line.event not in _WHILE_JOINING:
            since = None
        elif line.event == "JOINING" and since is None:
            since = line
    return since


def _is_of_java(line: ClientRow) -> bool:
    return _JAVA_COORDINATOR.search(line.logger or "") is not None


def memberships_of_clients(
    lines: Iterable[ClientRow],
) -> dict[tuple[str, ...], list[ClientMembership]]:
    return {client: memberships(own) for client, own in by_client(lines).items()}


def by_client(lines: Iterable[ClientRow]) -> dict[tuple[str, ...], list[ClientRow]]:
    """The lines of each client, in their order."""
    own: defaultdict[tuple[str, ...], list[ClientRow]] = defaultdict(list)
    for line in sorted(lines, key=lambda line: (line.client, line.position)):
        own[line.client].append(line)
    return own


def _nothing(client: _Client, line: ClientRow) -> None:
    pass


def _subscribed(client: _Client, line: ClientRow) -> None:
    """After a kill, the next process may log into the same file."""
    client.topics = line.topics
    client.is_started = True
    if client.current is None or client.current.is_classic:
        client.owned = frozenset()
        _end_stay(client, None)


def _started(client: _Client, line: ClientRow) -> None:
    client.consuming_ms, client.consuming = None, frozenset()
    client.is_started = True
    _end_stay(client, None)


def _rejoin_requested(client: _Client, line: ClientRow) -> None:
    """The first reason is the rebalance's reason; a failed attempt adds further reasons."""
    reason = line.reason or ""
    is_of_attempt = _FAILED in reason and _COORDINATOR.search(reason) is None
    if not (line.tells_of_rebalance or is_of_attempt) and client.rejoin_reason is None:
        client.rejoin_reason = line.reason


def _assignment_failed(client: _Client, line: ClientRow) -> None:
    """A leader that cannot assign makes all members rejoin, into the next generation.

    A client that logs its join only after SyncGroup has not yet logged its join of this generation.
    The members of Kafka Streams do not rejoin: they stop.  The first line has the reason.
    """
    if client.joining_ms is not None:
        client.failed_reason = client.failed_reason or line.reason
        return
    if not client.could_not_assign:
        client.rejoin_reason, client.could_not_assign = line.reason, True
    if client.current is not None and client.current.failed_ms is None:
        client.current.failed_ms, client.current.failed_reason = line.time_ms, line.reason


def _coordinator_found(client: _Client, line: ClientRow) -> None:
    client.coordinator_ms = line.time_ms


def _joining(client: _Client, line: ClientRow) -> None:
    client.joining_ms, client.led, client.listed_member_id = line.time_ms, None, None


def _joined(client: _Client, line: ClientRow) -> None:
    """Clients that name no member id here log after the answer to SyncGroup: Java before 2.6,
    kafka-python before 2.2."""
    if line.generation is None or line.generation < 1:
        return
    is_synced = line.member_id is None
    led, client.led = client.led, None
    if led is not None and led.generation not in (None, line.generation):
        led = None
    _join(
        client,
        line,
        joined_ms=led.time_ms if led is not None and is_synced else line.time_ms,
        is_join_logged=not is_synced or led is not None,
        synced_ms=line.time_ms if is_synced else None,
        plan=None if led is None else led.plan,
    )


def _join(
    client: _Client,
    line: ClientRow,
    *,
    joined_ms: int,
    is_join_logged: bool = True,
    synced_ms: int | None = None,
    plan: Plan | None = None,
    assigned: Partitions | None = None,
) -> None:
    assert line.generation is not None
    previous = client.current
    client.current = ClientMembership(
        client=line.client,
        generation=line.generation,
        group_type=CLASSIC.name,
        joined_ms=joined_ms,
        stay=client.stay,
        is_join_logged=is_join_logged,
        joining_ms=client.joining_ms,
        synced_ms=synced_ms,
        client_id=line.client_id,
        instance_id=line.instance_id,
        member_id=line.member_id or client.member_id,
        assignor=line.assignor,
        topics=client.topics,
        plan=plan,
        assigned=assigned,
        **client.take_rebalance(),
    )
    client.joining_ms = None
    if previous is not None and _is_joined_again(previous, client.current):
        client.memberships.pop()
    client.memberships.append(client.current)


def _is_joined_again(previous: ClientMembership, current: ClientMembership) -> bool:
    """Returns whether a client repeated its JoinGroup and got the same generation again."""
    keys = [(each.generation, each.member_id) for each in (previous, current)]
    return keys[0] == keys[1] and previous.synced_ms is None


def _end_stay(client: _Client, member_id: str | None) -> None:
    """End a stay; a member id that is logged only now belongs to all memberships of the stay."""
    for each in client.memberships[client.first_of_stay :]:
        each.member_id = each.member_id or member_id
    client.stay += len(client.memberships) > client.first_of_stay
    client.first_of_stay = len(client.memberships)
    client.current, client.member_id, client.is_new = None, None, True


def _session_ended(client: _Client, line: ClientRow) -> None:
    """A client that logs the generation at the end of a session rejoins after it."""
    if line.generation is not None and line.member_id is not None:
        began_ms = client.consuming_ms or client.coordinator_ms or line.time_ms
        _join(
            client,
            line,
            joined_ms=min(client.coordinator_ms or began_ms, began_ms),
            synced_ms=began_ms,
            assigned=client.consuming,
        )
        client.current = None
    client.joining_ms, client.led = line.time_ms, None
    client.consuming_ms, client.consuming = None, frozenset()


def _of_current(client: _Client, line: ClientRow) -> ClientMembership | None:
    """The membership that the line is about: a line without a generation is about the last one."""
    current = client.current
    if current is None or line.generation not in (None, current.generation):
        return None
    return current


def _led(client: _Client, line: ClientRow) -> None:
    """Read a leader's assignment: of all members in one line, or of one member per line."""
    plan = line.plan or {}
    if line.member_id is not None and line.partitions is not None:
        plan = {line.member_id: line.partitions}
    current = _of_current(client, line)
    if current is not None and (line.generation is not None or current.synced_ms is None):
        current.plan = {**(current.plan or {}), **plan} or None
        return
    before = client.led.plan if client.led is not None else {}
    client.led = _Led(line.generation, line.time_ms, {**before, **plan})


def _leader_list(client: _Client, line: ClientRow) -> None:
    """Begin the list of one member's partitions; before it, a leader lists what members own."""
    client.listed_member_id = line.member_id
    _led(client, line._replace(partitions=frozenset()))


def _leader_partition(client: _Client, line: ClientRow) -> None:
    current, member_id = client.current, client.listed_member_id
    if current is None or current.plan is None or member_id is None or current.synced_ms:
        return
    partitions = current.plan.get(member_id, frozenset()) | (line.partitions or frozenset())
    current.plan = {**current.plan, member_id: partitions}


def _synced(client: _Client, line: ClientRow) -> None:
    if line.generation is not None and _of_current(client, line) is None and line.generation > 0:
        _join(client, line, joined_ms=line.time_ms, is_join_logged=False)
    current = _of_current(client, line)
    if current is None or (current.synced_ms is not None and current.is_join_logged):
        return
    current.synced_ms, current.is_join_logged = line.time_ms, True
    current.assignor = current.assignor or line.assignor
    if line.partitions is not None:
        current.assigned = client.owned = line.partitions


def _not_synced(client: _Client, line: ClientRow) -> None:
    if (current := _of_current(client, line)) is not None and current.synced_ms is None:
        current.is_superseded = True


def _assigned(client: _Client, line: ClientRow) -> None:
    """The whole assignment."""
    client.owned = line.partitions
    if (current := client.current) is not None and line.partitions is not None:
        current.assigned = line.partitions
        # Some clients do not log the SyncGroup response: use the time of the logged assignment.
        current.synced_ms = current.synced_ms or line.time_ms


def _listing(client: _Client, line: ClientRow) -> None:
    """The whole assignment, a line for each partition."""
    if (current := client.current) is not None and current.synced_ms is not None:
        current.assigned = frozenset()


def _listed(client: _Client, line: ClientRow) -> None:
    current, partitions = client.current, line.partitions or frozenset()
    if current is not None and current.assigned is not None:
        current.assigned |= partitions
    if client.consuming_ms is None:
        client.consuming_ms = line.time_ms
    client.consuming |= partitions


def _added(client: _Client, line: ClientRow) -> None:
    """The partitions that are new; for an eager client the whole assignment, because it has revoked
    its previous partitions.
    """
    if client.owned is not None and line.partitions is not None:
        client.owned |= line.partitions
    current = client.current
    if current is not None and current.is_classic:
        current.added = (current.added or frozenset()) | (line.partitions or frozenset())
        if current.assigned is None:
            current.assigned = client.owned


def _revoked(client: _Client, line: ClientRow) -> None:
    if client.owned is not None and line.partitions is not None:
        client.owned -= line.partitions


def _lost(client: _Client, line: ClientRow) -> None:
    client.owned = frozenset()


def _leaving(client: _Client, line: ClientRow) -> None:
    current = client.current
    if current is None or current.left_ms is not None:
        return
    current.left_ms, current.left_reason = line.time_ms, line.reason
    client.owned = None if client.owned is None else frozenset()
    _end_stay(client, line.member_id)


def _reset(client: _Client, line: ClientRow) -> None:
    """End the stay if the coordinator no longer knows the member; Java before 2.6 logs its id."""
    unknown = UNKNOWN_MEMBER.search(line.reason or "")
    if unknown is not None:
        _end_stay(client, unknown[1] or None)


def _heartbeat(client: _Client, line: ClientRow) -> None:
    """Read a heartbeat line of the consumer protocol, with member epoch and partitions."""
    if line.epoch is not None and line.epoch > 0:
        _at_epoch(client, line, CONSUMER.name)
        assert client.current is not None
        client.current.assigned = line.partitions or client.current.assigned


def _state(client: _Client, line: ClientRow) -> None:
    """A member epoch is the generation of its member; classic members have no member epoch."""
    group_type = _GROUP_TYPES.get((line.logger or "").rsplit(".", 1)[-1])
    if line.epoch is None or group_type is None:
        return
    if line.state in ("PREPARE_LEAVING", "LEAVING"):
        _leaving(client, line)
    elif line.state == "JOINING":
        client.current, client.is_new = None, True
        client.owned = frozenset() if line.previous_state == "UNSUBSCRIBED" else client.owned
    elif line.state in _MEMBER_STATES and line.epoch > 0:
        _at_epoch(client, line, group_type)


def _at_epoch(client: _Client, line: ClientRow, group_type: str) -> None:
    assert line.epoch is not None
    if client.current is None or client.current.generation != line.epoch:
        client.current = ClientMembership(
            client=line.client,
            generation=line.epoch,
            group_type=group_type,
            joined_ms=line.time_ms,
            is_first=client.is_new,
            client_id=line.client_id,
            instance_id=line.instance_id,
            member_id=line.member_id,
            topics=client.topics,
            **client.take_rebalance(),
        )
        client.is_new = False
        client.memberships.append(client.current)
    current = client.current
    if line.state != "STABLE":
        return
    current.synced_ms = current.synced_ms or line.time_ms
    # A member gives up partitions before it receives the next epoch, and may wait for other members
    # in this epoch.
    if client.owned is not None and len(client.owned) >= len(current.assigned or ()):
        current.assigned = client.owned


_REACTIONS = {
    "STARTED": _started,
    "SUBSCRIBED": _subscribed,
    "REJOIN_REQUESTED": _rejoin_requested,
    "ASSIGNMENT_FAILED": _assignment_failed,
    "COORDINATOR_FOUND": _coordinator_found,
    "JOINING": _joining,
    "JOINED": _joined,
    "LEADER_ASSIGNED": _led,
    "LEADER_LIST": _leader_list,
    "LEADER_PARTITION": _leader_partition,
    "SYNCED": _synced,
    "SYNC_FAILED": _not_synced,
    "ASSIGNED": _assigned,
    "ASSIGNMENT_LIST": _listing,
    "ASSIGNED_PARTITION": _listed,
    "PARTITIONS_ADDED": _added,
    # Java clients before 2.4 log only the beginning of a revocation.
    "PARTITIONS_REVOKING": _revoked,
    "PARTITIONS_REVOKED": _revoked,
    "PARTITIONS_LOST": _lost,
    "SESSION_ENDED": _session_ended,
    "HEARTBEAT_FAILED": _reset,
    "HEARTBEAT": _heartbeat,
    "LEAVING": _leaving,
    "STATE": _state,
}


def later_by(ms: int, at_ms: int | None) -> int | None:
    """A client's time plus ``ms``; None stays None."""
    return None if at_ms is None else at_ms + ms


def moved_by(membership: ClientMembership, ms: int) -> ClientMembership:
    """The membership with ``ms`` added to all its times."""
    return replace(
        membership,
        joined_ms=membership.joined_ms + ms,
        joining_ms=later_by(ms, membership.joining_ms),
        synced_ms=later_by(ms, membership.synced_ms),
        left_ms=later_by(ms, membership.left_ms),
        known_ms=later_by(ms, membership.known_ms),
        failed_ms=later_by(ms, membership.failed_ms),
    )
