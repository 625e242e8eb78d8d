"""What blocks a classic group's migration to the consumer protocol, by its records and log.

A blocker has one of three effects.  ``prevents`` means that something must change before the
migration. ``offline`` means that all processes must stop before the first process starts with the
consumer protocol. ``check`` means that the user must check it, because neither records nor log
show it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from coordinator_core.assignors import CLIENT_ASSIGNORS
from coordinator_core.client.libraries import LIBRARIES, versions_of
from coordinator_core.coordinator.era_evidence import InferredEra
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.incident.evidence import MetadataRecord, RecordedMember
from coordinator_core.records import (
    BadRecord,
    decode_assignment,
    decode_subscription,
    streams_metadata,
)
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.kafka_names import GROUP_PROTOCOL, kind_of, listed
from coordinator_core.whatif.settings import CONSUMER_PROTOCOL

PREVENTS, OFFLINE, CHECK = "prevents", "offline", "check"
_CONSUMER_TYPE = "consumer"
_OTHER_TYPES = {
    "connect": "Kafka Connect: its workers support the classic protocol only",
}
_STREAMS = (
    "Kafka Streams: applications have group.protocol=streams (brokers 4.1 and up), not consumer"
)
_NEEDED = {
    kind_of(library.name): library.consumer_protocol_since
    for library in LIBRARIES.values()
    if library.consumer_protocol_since is not None
}
# Version of subscriptions that these clients send (KIP-881), and the first Java version that sends
# it.
_NEWEST_SUBSCRIPTION = 3
_FIRST_JAVA = (versions_of("java", f"{_NEWEST_SUBSCRIPTION:04x}") or "").removesuffix("-")
# Lines with which a broker refuses to convert a group: event or step, blocker, effect, detail.
_REFUSALS = {
    "upgrade_disabled": (
        "migration_policy",
        OFFLINE,
        "the broker refused to convert the group: group.consumer.migration.policy",
    ),
    "upgrade_too_large": (
        "group_size",
        PREVENTS,
        "the broker refused to convert the group: it is larger than group.consumer.max.size",
    ),
    "UPGRADE_FAILED": (
        "assignment_data",
        OFFLINE,
        "the broker could not convert the group: members have data that a consumer group cannot "
        "keep",
    ),
    "migration_disabled": (
        "migration_policy",
        OFFLINE,
        "the broker refused a classic member: group.consumer.migration.policy",
    ),
}
_OVER_CAPACITY = "OVER_CAPACITY"


class Blocker(NamedTuple):
    """``blocker``: its class; ``effect``: PREVENTS, OFFLINE or CHECK."""

    blocker: str
    effect: str
    detail: str


def blockers_of_group(
    records: Sequence[MetadataRecord], logged: Collection[str], era: InferredEra | None
) -> list[Blocker]:
    """Those that need no baseline.  ``records`` have members, in order; ``logged`` has events,
    steps and causes of the group's lines.
    """
    blockers = [*_of_broker(era)]
    if records:
        blockers += _of_protocol(records[-1])
        blockers += _of_assignments(records[-1])
        blockers += _of_subscriptions(records)
    for name, refusal in _REFUSALS.items():
        if name in logged:
            blockers.append(Blocker(*refusal))
    if _OVER_CAPACITY in logged:
        limit = "members were above group.max.size; group.consumer.max.size limits consumer groups"
        blockers.append(Blocker("group_size", CHECK, limit))
    return blockers


def blockers_of_clients(baseline: Baseline, records: Sequence[MetadataRecord]) -> Iterator[Blocker]:
    """The libraries of the present members, and the oldest of their versions."""
    present = {each.member_id: each for each in records[-1].members} if records else {}
    versions: dict[str, list[int]] = {}
    for process in baseline.processes:
        last = process.lives[-1]
        kind = kind_of(baseline.libraries[process.name])
        own = versions.setdefault(kind, [])
        own += _versions(present[id] for id in last.member_ids if id in present)
    for kind, own in sorted(versions.items()):
        yield _client(kind, min(own, default=None))


def commits_without_members(
    baseline: Baseline, first_commit_ms: int | None, last_commit_ms: int | None
) -> Iterator[Blocker]:
    """Commits before the first process started, or after the last one's session was over."""
    if first_commit_ms is None or last_commit_ms is None:
        return
    lives = [life for process in baseline.processes for life in process.lives]
    started_ms = min(life.started.at_ms for life in lives)
    ends_ms = [each.ended.latest_ms for each in lives if each.ended is not None]
    is_over = all(process.lives[-1].ended is not None for process in baseline.processes)
    before = first_commit_ms < started_ms and not any(life.predates_evidence for life in lives)
    after = is_over and last_commit_ms > max(ends_ms)
    if before or after:
        yield Blocker(
            "commits_without_members",
            CHECK,
            "offset commits while the group had no member: by tools, or by consumers that assign "
            "their own partitions; such commits work only while the group is empty",
        )


# -- blockers shown by records ---------------------------------------------------------------------


def _of_broker(era: InferredEra | None) -> Iterator[Blocker]:
    if era is not None and ERAS[era.name].modern is None:
        yield Blocker(
            "broker_version",
            PREVENTS,
            f"brokers of Kafka {era.name} ({era.why}): the consumer protocol needs 4.0",
        )


def _of_protocol(record: MetadataRecord) -> Iterator[Blocker]:
    if record.protocol_type != _CONSUMER_TYPE:
        other = f"members of type {record.protocol_type}, not consumers"
        yield Blocker("framework", PREVENTS, _OTHER_TYPES.get(record.protocol_type, other))
    elif record.protocol == streams_metadata.ASSIGNOR:
        yield Blocker("framework", PREVENTS, _STREAMS)
    elif record.protocol is not None and record.protocol not in CLIENT_ASSIGNORS:
        yield Blocker(
            "custom_assignor",
            PREVENTS,
            f"assignor {record.protocol} runs in the clients; consumer groups have only the"
            " broker's assignors (uniform, range, or classes in group.consumer.assignors)",
        )


def _of_assignments(record: MetadataRecord) -> Iterator[Blocker]:
    """A broker does not convert a group whose assignments have user data (KIP-848)."""
    if record.protocol_type != _CONSUMER_TYPE or record.protocol == streams_metadata.ASSIGNOR:
        return
    if any(_has_user_data(member) for member in record.members):
        yield Blocker(
            "assignment_data",
            OFFLINE,
            f"assignments of {record.protocol} have user data (custom assignors, sticky assignors"
            " of librdkafka): brokers refuse to convert the group while it has members",
        )


def _has_user_data(member: RecordedMember) -> bool:
    try:
        return bool(member.assignment) and bool(decode_assignment(member.assignment).user_data)
    except BadRecord:
        return False


def _of_subscriptions(records: Sequence[MetadataRecord]) -> Iterator[Blocker]:
    """Members whose topics changed while they ran; records never have the regular expression."""
    topics: dict[str, tuple[str, ...]] = {}
    changed: list[str] = []
    for record in records:
        for member in record.members:
            own = _topics(member)
            if topics.setdefault(member.member_id, own) != own:
                changed.append(member.client_id)
    if changed:
        names = listed(sorted(set(changed)))
        yield Blocker(
            "regular_expression",
            CHECK,
            f"topics of {names} changed at runtime: if the subscription is a regular expression, "
            "the broker resolves it after the migration (RE2/J syntax) for librdkafka, and for "
            "Java with SubscriptionPattern",
        )


def _topics(member: RecordedMember) -> tuple[str, ...]:
    try:
        return tuple(sorted(decode_subscription(member.subscription).topics))
    except BadRecord:
        return ()


# -- clients ---------------------------------------------------------------------------------------


def _versions(members: Iterable[RecordedMember]) -> Iterator[int]:
    for member in members:
        try:
            yield decode_subscription(member.subscription).version
        except BadRecord:
            continue


def _client(kind: str, oldest: int | None) -> Blocker:
    value = f"{GROUP_PROTOCOL}={CONSUMER_PROTOCOL}"
    if kind not in _NEEDED:
        return Blocker("client_version", PREVENTS, f"{kind} clients do not support {value}")
    needs = f"{value} needs {_NEEDED[kind]}"
    if oldest is None:
        return Blocker("client_version", CHECK, f"{kind} clients of an unknown version: {needs}")
    sent = f"subscriptions of version {oldest}"
    if oldest < _NEWEST_SUBSCRIPTION:
        older = f"before {_FIRST_JAVA} " if kind == "Java" else ""
        return Blocker("client_version", PREVENTS, f"{kind} clients {older}({sent}): {needs}")
    version = f"{_FIRST_JAVA} or later" if kind == "Java" else "of a recent version"
    detail = f"{kind} clients {version} ({sent}; records do not have the version): {needs}"
    return Blocker("client_version", CHECK, detail)


def effects(blockers: Iterable[Blocker]) -> Mapping[str, list[Blocker]]:
    """The blockers by effect."""
    by_effect: dict[str, list[Blocker]] = {PREVENTS: [], OFFLINE: [], CHECK: []}
    for each in blockers:
        by_effect[each.effect].append(each)
    return by_effect
