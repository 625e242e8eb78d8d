"""What is known of a group before anything is changed: processes, topics, timings, its broker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from coordinator_core.incident.evidence import GroupRecord, Incarnation, RecordedMember
from coordinator_core.incident.replay import ExplainedGroup, ExplainedIncarnation, explain
from coordinator_core.incident.stimulus_builder import DEPARTURES
from coordinator_core.lives import ConsumerProcess, identify_processes, memberships_of
from coordinator_core.records import BadRecord, decode_subscription
from coordinator_core.simulation.spec import Topic

CONSUMER = "consumer"
_HEARTBEAT_MS = 3000
# Of a group that asked so often and waited that much longer, members heartbeat less often.
_LEAST_SAMPLES = 4
_USUAL_HEARTBEATS_MS = (1000, 3000, 5000, 10_000, 15_000, 20_000, 30_000)
_SLACK_MS = 500


class NotAConsumerGroup(ValueError):
    """Its members are no consumers, or none is known: there is no model of what they do."""


@dataclass(frozen=True)
class Baseline:
    """``from_ms``, ``to_ms``: the span that is judged, ms since the epoch; ``idle``: spans within
    it in which no process ran.  ``libraries``: by process, a name of LIBRARIES; ``looks_ms``: how
    often clients look for new partitions; ``topics`` grow at ms since the epoch.
    """

    group_id: str
    told: ExplainedGroup
    processes: tuple[ConsumerProcess, ...]
    libraries: Mapping[str, str]
    topics: tuple[Topic, ...]
    subscriptions: Mapping[str, tuple[str, ...]]
    assignors: tuple[str, ...]
    heartbeat_ms: int
    looks_ms: int
    from_ms: int
    to_ms: int
    idle: tuple[tuple[int, int], ...]

    def clients(self) -> dict[str, str]:
        """By member id the client that it was of: the client id, where one process has it."""
        taken: dict[str, str] = {}
        return {
            member_id: life.client_id
            if taken.setdefault(life.client_id, process.name) == process.name
            else process.name
            for process in self.processes
            for life in process.lives
            for member_id in life.member_ids
        }


def baseline_of(
    lives: list[Incarnation],
    *,
    era: str | None = None,
    offset_versions: Iterable[int] = (),
    last_commit_ms: Mapping[str, int] | None = None,
    from_ms: int | None = None,
    to_ms: int | None = None,
    until_ms: int | None = None,
) -> Baseline:
    """From a group's evidence (coordinator_core.incident.lives).

    ``until_ms``: how far the evidence goes, for processes that still run.  How many partitions
    topics have follows from what was assigned.
    """
    told = explain(lives, era=era, offset_versions=offset_versions)
    records = [record for life in told.lives for record in life.life.records if record.members]
    kinds = {record.protocol_type for record in records}
    if kinds != {CONSUMER}:
        found = ", ".join(sorted(kinds)) or "no members in any record"
        raise NotAConsumerGroup(f"{told.group_id}: not a group of consumers ({found})")
    heartbeat_ms = heartbeat_of(told.lives)
    known = tuple(
        identify_processes(
            memberships_of(told.lives), heartbeat_ms=heartbeat_ms, last_commit_ms=last_commit_ms
        )
    )
    ends_ms = max([each.ends_ms for life in told.lives for each in life.chapters])
    begins_ms = min(life.started.at_ms for process in known for life in process.lives)
    gone_ms = _all_gone_ms(known)
    first_ms = begins_ms if from_ms is None else max(from_ms, begins_ms)
    last_ms = max(ends_ms, until_ms or 0) if gone_ms is None else gone_ms
    last_ms = last_ms if to_ms is None else min(to_ms, last_ms)
    names = _assigned_topics(records)
    return Baseline(
        told.group_id,
        told,
        known,
        {p.name: library_of(p, records, told.era.name) for p in known},
        tuple(_topics(told.lives)),
        {p.name: _subscribed(p.lives[-1].member, names) for p in known},
        _assignors(records),
        heartbeat_ms,
        _LOOKS_OFTEN_MS if _growth_began_a_rebalance(told.lives) else _LOOKS_MS,
        first_ms,
        max(last_ms, first_ms),
        tuple(_idle(known, first_ms, last_ms)),
    )


def heartbeat_of(lives: Iterable[ExplainedIncarnation]) -> int:
    """heartbeat.interval.ms: members hear of a rebalance by a heartbeat, so that a join takes as
    long as the last of them needs; where nobody came late for another reason.
    """
    took: list[int] = []
    for life in lives:
        before = 0
        for each in life.chapters:
            chapter = each.chapter
            start, joined = chapter.start, chapter.first("JOIN_COMPLETE")
            departed = any(e.event in _LATECOMERS_END for e in chapter.events[1:])
            if start is not None and joined is not None and before > 1 and not departed:
                took.append(joined.at_ms - start.at_ms)
            before = len(chapter.records[-1].members) if chapter.records else before
    if len(took) < _LEAST_SAMPLES:
        return _HEARTBEAT_MS
    longest_ms = sorted(took)[len(took) * 9 // 10]
    if longest_ms <= _HEARTBEAT_MS + _SLACK_MS and longest_ms > _USUAL_HEARTBEATS_MS[0]:
        return _HEARTBEAT_MS
    return min(_USUAL_HEARTBEATS_MS, key=lambda usual: abs(usual - longest_ms))


# metadata.max.age.ms; where new partitions made a rebalance, they were seen by then.
_LOOKS_MS, _LOOKS_OFTEN_MS = 300_000, 10_000
_REJOINS = ("LEADER_REJOIN", "METADATA_CHANGE")
_LATECOMERS_END = (*DEPARTURES, "DROPPED_NOT_REJOINED")


def library_of(process: ConsumerProcess, records: Iterable[GroupRecord], era: str) -> str:
    """By what a process's subscriptions look like, the nearest library of the client model."""
    ids = {member_id for life in process.lives for member_id in life.member_ids}
    versions, data = set(), set()
    for record in records:
        for member in record.members:
            if member.member_id in ids:
                try:
                    read = decode_subscription(member.subscription)
                except BadRecord:
                    continue
                versions.add(read.version)
                data.add(read.user_data)
    newest = max(versions, default=3)
    if b"" in data:
        return "librdkafka-2" if newest else "kafka-python-3"
    if newest >= 3:
        return "java-4.1" if era == "4.1" else "java-3.9"
    if newest:
        return "java-2.5"
    return {"0.9": "java-0.9", "0.10": "java-0.10", "2.0": "java-2.0"}.get(era, "java-2.3")


def _assignors(records: list[GroupRecord]) -> tuple[str, ...]:
    """The protocols that won, the last one first."""
    return tuple(dict.fromkeys(r.protocol for r in reversed(records) if r.protocol))[:1]


def _subscribed(member: RecordedMember, known: Iterable[str]) -> tuple[str, ...]:
    """Of topics that do not exist nobody knows how many partitions they would have."""
    names = set(known)
    try:
        topics = decode_subscription(member.subscription).topics
    except BadRecord:
        topics = []
    return tuple(topic for topic in topics if topic in names) or tuple(sorted(names))


def _assigned(record: GroupRecord) -> dict[str, int]:
    """Of each topic the highest partition that is assigned, and one."""
    found: dict[str, int] = {}
    for _, (topic, number) in record.assigned:
        found[topic] = max(found.get(topic, 0), number + 1)
    return found


def _assigned_topics(records: Iterable[GroupRecord]) -> set[str]:
    return {topic for record in records for _, (topic, _) in record.assigned}


def _growth_began_a_rebalance(lives: Iterable[ExplainedIncarnation]) -> bool:
    """Else members came upon new partitions in a rebalance that had another reason."""
    known: dict[str, int] = {}
    for life in lives:
        for each in life.chapters:
            start = each.chapter.start
            for record in each.chapter.records:
                found = _assigned(record)
                grew = any(known.get(topic, count) < count for topic, count in found.items())
                if grew and start is not None and start.cause in _REJOINS:
                    return True
                known = {**known, **found}
    return False


def _topics(lives: Iterable[ExplainedIncarnation]) -> Iterable[Topic]:
    """A topic grew before the rebalance that hands out a partition nobody had seen."""
    grew: dict[str, list[tuple[int, int]]] = {}
    for life in lives:
        for each in life.chapters:
            start = each.chapter.start
            for record in each.chapter.records:
                at_ms = (record.joined_ms if start is None else start.at_ms) - 1
                for topic, count in _assigned(record).items():
                    steps = grew.setdefault(topic, [])
                    if not steps or steps[-1][1] < count:
                        steps.append((at_ms, count))
    for topic, steps in sorted(grew.items()):
        yield Topic(topic, steps[0][1], tuple(steps[1:]), 0)


def _all_gone_ms(known: Iterable[ConsumerProcess]) -> int | None:
    """When the last process ended; None while one runs."""
    last = [process.lives[-1] for process in known]
    if any(life.ended is None for life in last):
        return None
    return max(life.ended.at_ms for life in last if life.ended is not None)


def _idle(known: Iterable[ConsumerProcess], from_ms: int, to_ms: int) -> Iterable[tuple[int, int]]:
    """Spans of more than a minute without a process: the group was shut down."""
    alive = sorted(
        (life.started.at_ms, to_ms if life.ended is None else life.ended.at_ms)
        for process in known
        for life in process.lives
    )
    reached_ms = from_ms
    for start_ms, end_ms in alive:
        if start_ms - reached_ms > _SHUT_DOWN_MS and start_ms < to_ms:
            yield reached_ms, start_ms
        reached_ms = max(reached_ms, end_ms)


_SHUT_DOWN_MS = 60_000
