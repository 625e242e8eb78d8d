"""The baseline of a group that has, or had, the consumer protocol (KIP-848).

Of a converted group, each process life has the protocol of its members.  The processes follow
from the causes of its rebalances (coordinator_core.episodes.lives); timings from its records
(coordinator_core.modern_history.heartbeats).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from coordinator_core.assignors import CLIENT_ASSIGNORS
from coordinator_core.coordinator.era_evidence import InferredEra
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.incident.broker_settings import DEFAULT_DELAY_MS, InferredDelay
from coordinator_core.incident.evidence import MetadataRecord
from coordinator_core.incident.explanation import ExplainedGroup
from coordinator_core.lives import ConsumerProcess, Freeze, ProcessLife, TimeEstimate
from coordinator_core.protocol.client_times import HEARTBEAT_MS
from coordinator_core.simulation.spec import Topic
from coordinator_core.whatif.baseline import (
    METADATA_MAX_AGE_MS,
    SHORT_METADATA_MAX_AGE_MS,
    Baseline,
    ConsumerSettings,
    NotAConsumerGroup,
    all_ended_ms,
    heartbeat_of,
    idle_times,
    library_of,
    require_models,
)
from coordinator_core.whatif.common_ends import with_common_ends
from coordinator_core.whatif.kafka_names import kind_of
from coordinator_core.whatif.settings import (
    CLASSIC_PROTOCOL,
    CLASSIC_SESSION_MS,
    CONSUMER_PROTOCOL,
    REMOTE_ASSIGNORS,
)

# Alphabets of member ids in base64: librdkafka uses the plain alphabet, Java the alphabet of URLs.
_PLAIN, _OF_URLS = frozenset("+/"), frozenset("-_")


@dataclass(frozen=True, kw_only=True)
class ConsumerEvidence:
    """``counts`` says when an assignment had ``count`` partitions of a topic, (ms, topic, count),
    in order; ``subscriptions`` are topics by member id; ``until_ms`` is the end of the evidence;
    ``classic`` is that of a converted group.
    """

    era: InferredEra
    settings: ConsumerSettings
    processes: Sequence[ConsumerProcess]
    counts: Sequence[tuple[int, str, int]]
    subscriptions: Mapping[str, tuple[str, ...]]
    until_ms: int
    classic: ClassicTime | None = None


class ClassicTime(NamedTuple):
    """The time in which a converted group was a classic group; ``sessions_ms`` is by the id of each
    member of the classic protocol, also in the consumer group.
    """

    explained: ExplainedGroup
    assignors: tuple[str, ...]
    sessions_ms: Mapping[str, int]


def consumer_baseline_of(
    group_id: str,
    evidence: ConsumerEvidence,
    *,
    from_ms: int | None = None,
    to_ms: int | None = None,
) -> Baseline:
    """Raises NotAConsumerGroup if no process or no assigned partition is known, and for an unknown
    assignor.
    """
    settings, classic = evidence.settings, evidence.classic
    if settings.remote_assignor is not None:
        require_models(group_id, [settings.remote_assignor], REMOTE_ASSIGNORS)
    assignors = () if classic is None else classic.assignors
    require_models(group_id, assignors, CLIENT_ASSIGNORS)
    timed = [_with_timing(each, settings, classic) for each in evidence.processes]
    processes = with_common_ends(timed)
    topics = tuple(_topics(evidence.counts))
    if not processes or not topics:
        raise NotAConsumerGroup(f"{group_id}: no members with partitions in any record")
    first_ms = min(life.started.at_ms for process in processes for life in process.lives)
    ended_ms = all_ended_ms(processes)
    last_ms = evidence.until_ms if ended_ms is None else ended_ms
    first_ms = first_ms if from_ms is None else max(from_ms, first_ms)
    last_ms = last_ms if to_ms is None else min(to_ms, last_ms)
    grew = any(topic.grows for topic in topics)
    return Baseline(
        group_id=group_id,
        explained=ExplainedGroup(group_id, evidence.era, _delay(classic), ()),
        processes=processes,
        libraries=dict(_libraries(processes, evidence.era.name, classic)),
        topics=topics,
        subscriptions={
            each.name: _subscribed(each, evidence.subscriptions, topics) for each in processes
        },
        assignors=assignors,
        heartbeat_ms=HEARTBEAT_MS
        if classic is None
        else heartbeat_of(classic.explained.incarnations),
        metadata_max_age_ms=SHORT_METADATA_MAX_AGE_MS if grew else METADATA_MAX_AGE_MS,
        from_ms=first_ms,
        to_ms=max(last_ms, first_ms),
        idle=tuple(idle_times(processes, first_ms, last_ms)),
        consumer=settings,
        protocols={} if classic is None else dict(_protocols(processes, classic)),
    )


def _delay(classic: ClassicTime | None) -> InferredDelay:
    if classic is None:
        return InferredDelay(DEFAULT_DELAY_MS, "Kafka's default")
    return classic.explained.delay


def _with_timing(
    process: ConsumerProcess, settings: ConsumerSettings, classic: ClassicTime | None
) -> ConsumerProcess:
    """With the session timeout of its classic members, if it had any."""
    session_ms = settings.session_timeout_ms
    if classic is not None:
        own = [id for life in process.lives for id in life.member_ids if id in classic.sessions_ms]
        others = max(classic.sessions_ms.values(), default=CLASSIC_SESSION_MS)
        session_ms = classic.sessions_ms[own[-1]] if own else others
    return replace(
        process, lives=tuple(_life(each, settings, session_ms) for each in process.lives)
    )


def _life(life: ProcessLife, settings: ConsumerSettings, session_ms: int) -> ProcessLife:
    """A killed or frozen process ran for a heartbeat interval at most after its last heartbeat."""
    interval_ms = settings.heartbeat_interval_ms
    ended = life.ended
    if life.killed and ended is not None:
        latest_ms = max(ended.earliest_ms + interval_ms, ended.at_ms)
        ended = TimeEstimate(ended.at_ms, ended.earliest_ms, min(latest_ms, ended.latest_ms))
    freezes = tuple(each._replace(began=_froze(each, interval_ms)) for each in life.freezes)
    member = life.member._replace(session_timeout_ms=session_ms)
    return replace(life, ended=ended, freezes=freezes, member=member)


def _froze(freeze: Freeze, interval_ms: int) -> TimeEstimate:
    began_ms = freeze.began.earliest_ms
    return TimeEstimate(began_ms + interval_ms // 2, began_ms, began_ms + interval_ms)


def _protocols(
    processes: Iterable[ConsumerProcess], classic: ClassicTime
) -> Iterator[tuple[str, str]]:
    for process in processes:
        for life in process.lives:
            is_classic = any(each in classic.sessions_ms for each in life.member_ids)
            yield life.member_ids[0], CLASSIC_PROTOCOL if is_classic else CONSUMER_PROTOCOL


def _topics(counts: Iterable[tuple[int, str, int]]) -> Iterator[Topic]:
    """A topic grows right before the target that first has a new partition."""
    growth: dict[str, list[tuple[int, int]]] = {}
    for at_ms, topic, count in counts:
        steps = growth.setdefault(topic, [])
        if not steps or steps[-1][1] < count:
            steps.append((at_ms - 1, count))
    for topic, steps in sorted(growth.items()):
        yield Topic(topic, steps[0][1], tuple(steps[1:]), 0)


def _subscribed(
    process: ConsumerProcess, subscriptions: Mapping[str, tuple[str, ...]], topics: Sequence[Topic]
) -> tuple[str, ...]:
    """Only topics that were assigned: the partition counts of others are unknown."""
    names = [topic.name for topic in topics]
    own = subscriptions.get(process.lives[-1].member_ids[-1], ())
    return tuple(topic for topic in own if topic in names) or tuple(names)


def _libraries(
    processes: Sequence[ConsumerProcess], era: str, classic: ClassicTime | None
) -> Iterator[tuple[str, str]]:
    """By the ids that the process' clients made; where these show nothing, by its subscriptions as
    a member of a classic group, or by the ids of the other processes.
    """
    java = ERAS[era].client_library
    of_brokers = {} if classic is None else classic.sessions_ms
    ids = {
        process.name: {
            id for life in process.lives for id in life.member_ids if id not in of_brokers
        }
        for process in processes
    }
    of_group = _library(set().union(*ids.values()), java) or java
    for process in processes:
        own = _library(ids[process.name], java)
        yield process.name, own or _classic_library(process, era, java, classic) or of_group


def _classic_library(
    process: ConsumerProcess, era: str, java: str, classic: ClassicTime | None
) -> str | None:
    ids = {id for life in process.lives for id in life.member_ids}
    records = [] if classic is None else _records(classic)
    if ids.isdisjoint(each.member_id for record in records for each in record.members):
        return None
    library = library_of(process, records, era)
    return java if kind_of(library) == "Java" else library


def _records(classic: ClassicTime) -> list[MetadataRecord]:
    incarnations = classic.explained.incarnations
    return [record for each in incarnations for record in each.incarnation.records]


def _library(member_ids: Iterable[str], java: str) -> str | None:
    characters = {character for member_id in member_ids for character in member_id}
    if characters & _PLAIN:
        return "librdkafka-2"
    return java if characters & _OF_URLS else None
