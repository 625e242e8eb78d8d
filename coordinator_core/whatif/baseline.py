"""What the simulation needs to know about a group: processes, topics, timings, broker."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from coordinator_core.assignors import (
    CLIENT_ASSIGNORS,
    KAFKAJS_ASSIGNORS,
    LIBRDKAFKA_ASSIGNORS,
    SIMULATED_ASSIGNORS,
)
from coordinator_core.client import LIBRARIES
from coordinator_core.client.libraries import recognised
from coordinator_core.coordinator.era_evidence import NO_EVIDENCE, EraEvidence
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.incident.evidence import Incarnation, MetadataRecord, RecordedMember
from coordinator_core.incident.explanation import ExplainedGroup, ExplainedIncarnation, explain
from coordinator_core.incident.stimulus_builder import DEPARTURES
from coordinator_core.lives import ConsumerProcess, Silences, identify_processes, memberships_of
from coordinator_core.log_lines.line_versions import client_of_id
from coordinator_core.protocol.client_times import HEARTBEAT_MS
from coordinator_core.protocol.messages import TopicPartition
from coordinator_core.records import BadRecord, decode_subscription, streams_metadata
from coordinator_core.simulation.spec import Topic
from coordinator_core.whatif.common_ends import with_common_ends
from coordinator_core.whatif.handovers import Consumption
from coordinator_core.whatif.kafka_names import kind_of
from coordinator_core.whatif.known_settings import DEFAULT, NOTHING_KNOWN, KnownSettings

CONSUMER = "consumer"
# With at least this many samples, a longer join implies a longer heartbeat interval.
_MIN_SAMPLES = 4
_USUAL_HEARTBEATS_MS = (1000, 3000, 5000, 10_000, 15_000, 20_000, 30_000)
_SLACK_MS = 500
# Default of metadata.max.age.ms, and a short value for groups in which new partitions triggered a
# rebalance.
METADATA_MAX_AGE_MS, SHORT_METADATA_MAX_AGE_MS = 300_000, 10_000
_REJOINS = ("LEADER_REJOIN", "METADATA_CHANGE")
# A join with one of these events may have waited for a departed member.
_WAITED_FOR_DEPARTED = (*DEPARTURES, "DROPPED_NOT_REJOINED")
# A group whose processes stopped is shut down unless a process returns within this time.
SHUT_DOWN_MS = 300_000


class NotAConsumerGroup(ValueError):
    """No model can simulate the group: its members are not consumers, no record has members, or its
    assignor is unknown.
    """


class ConsumerSettings(NamedTuple):
    """Present settings of a group of the consumer protocol; times in ms.  ``remote_assignor`` is
    the server assignor, or None if no evidence has it.  ``..._source`` is the evidence of the
    value.
    """

    session_timeout_ms: int
    heartbeat_interval_ms: int
    remote_assignor: str | None
    session_source: str = DEFAULT
    heartbeat_source: str = DEFAULT


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """``from_ms`` and ``to_ms`` bound the evaluated period, ms since the epoch; ``idle`` is the
    times within it in which the group was shut down.  ``libraries`` has, by process, a name of
    LIBRARIES; ``metadata_max_age_ms`` says how often clients look for new partitions; ``topics``
    grow at ms since the epoch.  ``consumer`` has the settings of a group of the consumer protocol;
    it is None if the group is classic. ``owned`` has, by process, the partitions that it owns
    before ``from_ms``; empty: unknown. ``protocols`` has the protocols of a group that was
    converted, by the first member id of a process life. ``consumption``: None without commits.
    ``configured`` has settings from files or the Admin API.
    """

    group_id: str
    explained: ExplainedGroup
    processes: tuple[ConsumerProcess, ...]
    libraries: Mapping[str, str]
    topics: tuple[Topic, ...]
    subscriptions: Mapping[str, tuple[str, ...]]
    assignors: tuple[str, ...]
    heartbeat_ms: int
    metadata_max_age_ms: int
    from_ms: int
    to_ms: int
    idle: tuple[tuple[int, int], ...]
    consumer: ConsumerSettings | None = None
    owned: Mapping[str, tuple[TopicPartition, ...]] = field(default_factory=dict)
    protocols: Mapping[str, str] = field(default_factory=dict)
    consumption: Consumption | None = None
    configured: KnownSettings = NOTHING_KNOWN

    @property
    def group_protocol(self) -> str:
        return "classic" if self.consumer is None else "consumer"

    def clients(self) -> dict[str, str]:
        """The client id by member id, or the process name if several processes share the client
        id.
        """
        owners: dict[str, str] = {}
        return {
            member_id: life.client_id
            if owners.setdefault(life.client_id, process.name) == process.name
            else process.name
            for process in self.processes
            for life in process.lives
            for member_id in life.member_ids
        }


def baseline_of(
    incarnations: list[Incarnation],
    *,
    era: str | None = None,
    offset_versions: Iterable[int] = (),
    cluster: EraEvidence = NO_EVIDENCE,
    last_commit_ms: Mapping[str, int] | None = None,
    silences: Silences | None = None,
    from_ms: int | None = None,
    to_ms: int | None = None,
    until_ms: int | None = None,
) -> Baseline:
    """The baseline from a group's evidence (coordinator_core.incident.incarnations).

    ``cluster``: see `infer_era`.  ``until_ms`` is the end of the evidence, for processes that
    still run. Partition counts of topics follow from the assignments.
    """
    explained = explain(incarnations, era=era, offset_versions=offset_versions, cluster=cluster)
    records = [
        record
        for each in explained.incarnations
        for record in each.incarnation.records
        if record.members
    ]
    protocol_types = {record.protocol_type for record in records}
    if not protocol_types:
        raise NotAConsumerGroup(f"{explained.group_id}: no record has its members")
    if protocol_types != {CONSUMER}:
        listed = ", ".join(sorted(protocol_types))
        raise NotAConsumerGroup(f"{explained.group_id}: not a consumer group ({listed})")
    if any(record.protocol == streams_metadata.ASSIGNOR for record in records):
        raise NotAConsumerGroup(
            f"{explained.group_id}: not a consumer group (Kafka Streams, whose tasks no model "
            "assigns)"
        )
    assignors = _assignors(records)
    require_models(explained.group_id, assignors, SIMULATED_ASSIGNORS)
    heartbeat_ms = heartbeat_of(explained.incarnations)
    processes = with_common_ends(
        identify_processes(
            memberships_of(explained.incarnations),
            heartbeat_ms=heartbeat_ms,
            last_commit_ms=last_commit_ms,
            silences=silences,
        )
    )
    first_ms, last_ms = _period(explained, processes, until_ms)
    first_ms = first_ms if from_ms is None else max(from_ms, first_ms)
    last_ms = last_ms if to_ms is None else min(to_ms, last_ms)
    topics = _assigned_topics(records)
    grew = _growth_started_a_rebalance(explained.incarnations)
    return Baseline(
        group_id=explained.group_id,
        explained=explained,
        processes=processes,
        libraries={each.name: library_of(each, records, explained.era.name) for each in processes},
        topics=tuple(_topics(explained.incarnations)),
        subscriptions={each.name: _subscribed(each.lives[-1].member, topics) for each in processes},
        assignors=assignors,
        heartbeat_ms=heartbeat_ms,
        metadata_max_age_ms=SHORT_METADATA_MAX_AGE_MS if grew else METADATA_MAX_AGE_MS,
        from_ms=first_ms,
        to_ms=max(last_ms, first_ms),
        idle=tuple(idle_times(processes, first_ms, last_ms)),
    )


def within_period(baseline: Baseline) -> Baseline:
    """The baseline without process lives outside of its period: a restart shortly before the period
    would be simulated while the group forms.
    """
    processes = []
    for process in baseline.processes:
        lives = [
            life
            for life in process.lives
            if life.started.at_ms <= baseline.to_ms
            and (life.ended is None or life.ended.at_ms >= baseline.from_ms)
        ]
        processes += [replace(process, lives=tuple(lives))] if lives else []
    return replace(baseline, processes=tuple(processes))


def require_models(group_id: str, assignors: Iterable[str], simulated: Collection[str]) -> None:
    """Raises NotAConsumerGroup for an assignor that is not in ``simulated``."""
    for name in assignors:
        if name not in simulated:
            *others, last = (each for each in simulated if each not in KAFKAJS_ASSIGNORS)
            raise NotAConsumerGroup(
                f"{group_id}: assignor {name} cannot be simulated; set the assignor to"
                f" {', '.join(others)} or {last}, and predict from the evidence after that change"
            )


def _period(
    explained: ExplainedGroup, processes: Iterable[ConsumerProcess], until_ms: int | None
) -> tuple[int, int]:
    """The period from the first start of a process to the last end; while a process runs, to the
    evidence's end.
    """
    first_ms = min(life.started.at_ms for process in processes for life in process.lives)
    ended_ms = all_ended_ms(processes)
    if ended_ms is not None:
        return first_ms, ended_ms
    ends_ms = [each.ends_ms for group in explained.incarnations for each in group.generations]
    return first_ms, max(*ends_ms, until_ms or 0)


def heartbeat_of(incarnations: Iterable[ExplainedIncarnation]) -> int:
    """heartbeat.interval.ms.  Members learn of a rebalance in a heartbeat response, so a join takes
    until the last heartbeat.  Joins that may have waited for a departed member are excluded.  The
    longest quarter is ignored: some of these joins wait for slow applications.
    """
    join_ms: list[int] = []
    for explained in incarnations:
        previous_count = 0
        for each in explained.generations:
            evidence = each.evidence
            start, joined = evidence.start, evidence.first("JOIN_COMPLETE")
            departed = any(e.event in _WAITED_FOR_DEPARTED for e in evidence.events[1:])
            if start is not None and joined is not None and previous_count > 1 and not departed:
                join_ms.append(joined.at_ms - start.at_ms)
            if evidence.records:
                previous_count = len(evidence.records[-1].members)
    if len(join_ms) < _MIN_SAMPLES:
        return HEARTBEAT_MS
    longest_ms = sorted(join_ms)[len(join_ms) * 3 // 4]
    if longest_ms <= HEARTBEAT_MS + _SLACK_MS and longest_ms > _USUAL_HEARTBEATS_MS[0]:
        return HEARTBEAT_MS
    return min(_USUAL_HEARTBEATS_MS, key=lambda usual: abs(usual - longest_ms))


def library_of(process: ConsumerProcess, records: Iterable[MetadataRecord], era: str) -> str:
    """The nearest library of the client model, by the libraries' signs, else by version and
    user data of the subscriptions."""
    ids = {member_id for life in process.lives for member_id in life.member_ids}
    versions, user_data, assignors = set(), set(), set()
    for record in records:
        for member in record.members:
            if member.member_id in ids:
                if (other := recognised(member, record.protocol)) is not None:
                    return other.name
                try:
                    subscription = decode_subscription(member.subscription)
                except BadRecord:
                    continue
                versions.add(subscription.version)
                user_data.add(subscription.user_data)
                assignors.add(record.protocol)
    newest = max(versions, default=3)
    # Up to Kafka 2.3 user data of Java members are empty, like those of kafka-python.
    named = {client.library for life in process.lives if (client := client_of_id(life.client_id))}
    is_old_broker = LIBRARIES[ERAS[era].client_library].subscription_version == 0
    is_java = newest == 0 and ("java" in named or (is_old_broker and not named))
    if b"" in user_data and not is_java:
        # Libraries other than librdkafka have the sticky assignor.
        is_other = assignors & (CLIENT_ASSIGNORS.keys() - LIBRDKAFKA_ASSIGNORS.keys())
        return "librdkafka-2" if newest and not is_other else "kafka-python-3"
    return _java_library(newest, era)


def _java_library(newest: int, era: str) -> str:
    """The Java client of the era's version, or the nearest client with such subscriptions."""
    own = LIBRARIES[ERAS[era].client_library]
    java = [each for each in LIBRARIES.values() if kind_of(each.name) == "Java"]
    written = [each.subscription_version for each in java if each.subscription_version <= newest]
    alike = [each for each in java if each.subscription_version == max(written)]
    if own in alike:
        return own.name
    is_newer = alike[0].subscription_version > own.subscription_version
    return alike[0 if is_newer else -1].name


def _assignors(records: list[MetadataRecord]) -> tuple[str, ...]:
    """The protocol of the last record that has one."""
    return tuple(dict.fromkeys(r.protocol for r in reversed(records) if r.protocol))[:1]


def _subscribed(member: RecordedMember, assigned_topics: Iterable[str]) -> tuple[str, ...]:
    """Only topics that were assigned count, because the partition counts of other topics are
    unknown.
    """
    names = set(assigned_topics)
    try:
        topics = decode_subscription(member.subscription).topics
    except BadRecord:
        topics = []
    return tuple(topic for topic in topics if topic in names) or tuple(sorted(names))


def _partition_counts(record: MetadataRecord) -> dict[str, int]:
    """The highest assigned partition plus one, by topic."""
    counts: dict[str, int] = {}
    for _, (topic, number) in record.assigned:
        counts[topic] = max(counts.get(topic, 0), number + 1)
    return counts


def _assigned_topics(records: Iterable[MetadataRecord]) -> set[str]:
    return {topic for record in records for _, (topic, _) in record.assigned}


def _growth_started_a_rebalance(incarnations: Iterable[ExplainedIncarnation]) -> bool:
    """Returns whether new partitions were the cause of a rebalance; else another rebalance added
    them.

    A record may lack partitions that have been assigned before: cooperative members revoke a
    partition in one generation, and it is assigned in the next one.
    """
    highest: dict[str, int] = {}
    for explained in incarnations:
        for each in explained.generations:
            start = each.evidence.start
            for record in each.evidence.records:
                counts = _partition_counts(record)
                grew = any(highest.get(topic, count) < count for topic, count in counts.items())
                if grew and start is not None and start.cause in _REJOINS:
                    return True
                for topic, count in counts.items():
                    highest[topic] = max(highest.get(topic, 0), count)
    return False


def _topics(incarnations: Iterable[ExplainedIncarnation]) -> Iterable[Topic]:
    """A topic grows right before the rebalance that first assigns a new partition."""
    growth: dict[str, list[tuple[int, int]]] = {}
    for explained in incarnations:
        for each in explained.generations:
            start = each.evidence.start
            for record in each.evidence.records:
                at_ms = (record.joined_ms if start is None else start.at_ms) - 1
                for topic, count in _partition_counts(record).items():
                    steps = growth.setdefault(topic, [])
                    if not steps or steps[-1][1] < count:
                        steps.append((at_ms, count))
    for topic, steps in sorted(growth.items()):
        yield Topic(topic, steps[0][1], tuple(steps[1:]), 0)


def all_ended_ms(processes: Iterable[ConsumerProcess]) -> int | None:
    """The time at which the last process ended, or None while one runs."""
    last = [process.lives[-1] for process in processes]
    if any(life.ended is None for life in last):
        return None
    return max(life.ended.at_ms for life in last if life.ended is not None)


def idle_between_incarnations(
    processes: Iterable[ConsumerProcess],
    assigned_ms: Iterable[int],
    idle: Iterable[tuple[int, int]],
    gaps: Collection[tuple[int, int]] = (),
) -> Iterable[tuple[int, int]]:
    """``idle``, and the times without a process before an incarnation's first assignment: a
    partition counts from its first owner in the incarnation on.

    ``assigned_ms`` has the first assignments of the incarnations after the first; ``gaps`` are the
    group's times of ownership_gaps.  A gap that ends with or after such an assignment, as of a
    group that changed its protocol while it was empty, counts.
    """
    lives = [life for process in processes for life in process.lives]
    spans = list(idle)
    for first_ms in assigned_ms:
        before = [life for life in lives if life.ended and life.ended.at_ms <= first_ms]
        last_ms = max((life.ended.at_ms for life in before if life.ended), default=first_ms)
        runs_on = any(life.started.at_ms < last_ms for life in lives if life not in before)
        is_gap = any(from_ms < first_ms <= to_ms for from_ms, to_ms in gaps)
        if last_ms < first_ms and not runs_on and not is_gap:
            spans.append((last_ms, first_ms))
    reached_ms = None
    for from_ms, to_ms in sorted(spans):
        if reached_ms is None or to_ms > reached_ms:
            yield max(from_ms, reached_ms or from_ms), to_ms
            reached_ms = to_ms


def idle_times(
    processes: Iterable[ConsumerProcess], from_ms: int, to_ms: int
) -> Iterable[tuple[int, int]]:
    """Times in which the group was shut down: no process ran, and the last one was not killed."""
    running = sorted(
        (
            life.started.at_ms,
            to_ms if life.ended is None else life.ended.at_ms,
            life.killed,
        )
        for process in processes
        for life in process.lives
    )
    reached_ms, is_killed = from_ms, False
    for start_ms, end_ms, killed in running:
        if start_ms - reached_ms > SHUT_DOWN_MS and start_ms < to_ms and not is_killed:
            yield reached_ms, start_ms
        if end_ms >= reached_ms:
            reached_ms, is_killed = end_ms, killed
