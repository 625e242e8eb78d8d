"""Configures a topology against the topics that exist (InternalTopicManager).

The partitions of internal topics follow from the partitions of source topics.  A repartition topic
has as many partitions as the subtopology that writes it has tasks, unless the topology or other
topics of its copartition group specify another number.  A changelog topic has one partition per
task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from coordinator_core.coordinator.metadata_image import MetadataImage
from coordinator_core.jvm.java_maps import hash_order
from coordinator_core.protocol.errors import UnexpectedState
from coordinator_core.protocol.messages import CopartitionGroup, Subtopology, Topology


class Status(IntEnum):
    """The status codes of answers."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5
    MISSING_CLIENT_TAGS = 6


class ConfiguredSubtopology(NamedTuple):
    tasks: int
    source_topics: tuple[str, ...]
    is_stateful: bool


class ConfiguredTopology(NamedTuple):
    """``subtopologies`` None: the topics do not allow to configure it.

    ``problem`` says why no task can be assigned yet, or None if the topology is ready.
    """

    epoch: int
    subtopologies: Mapping[str, ConfiguredSubtopology] | None
    problem: Status | None = None
    missing_topics: tuple[str, ...] = ()

    @property
    def is_ready(self) -> bool:
        return self.problem is None


class InvalidTopology(Exception):
    """The topology cannot be configured, whatever topics exist."""


class _Misconfigured(Exception):
    def __init__(self, status: Status) -> None:
        super().__init__(status.name)
        self.status = status


def required_topics(topology: Topology) -> set[str]:
    """All topics that a topology reads, or in which it keeps state."""
    topics: set[str] = set()
    for each in topology.subtopologies:
        internal = [*each.repartition_source_topics, *each.changelog_topics]
        topics.update(each.source_topics, [name for name, _ in internal])
    return topics


def configure(topology: Topology, image: MetadataImage) -> ConfiguredTopology:
    """Raises InvalidTopology, and UnexpectedState if Kafka's coordinator fails."""
    try:
        return _Configuration(topology, image).result()
    except _Misconfigured as error:
        return ConfiguredTopology(topology.epoch, None, error.status)


class _Configuration:
    def __init__(self, topology: Topology, image: MetadataImage) -> None:
        self._epoch, self._image = topology.epoch, image
        by_id = {each.subtopology_id: each for each in topology.subtopologies}
        self._subtopologies = [by_id[each] for each in hash_order(by_id)]
        self._required = required_topics(topology)
        self._decided: dict[str, int] = {}  # number of partitions per internal topic

    def result(self) -> ConfiguredTopology:
        topics = {name for each in self._subtopologies for name in each.source_topics}
        if not topics.issubset(self._image.topics):
            raise _Misconfigured(Status.MISSING_SOURCE_TOPICS)
        self._decided.update(self._repartition_counts())
        self._enforce_copartitioning()
        self._decided.update(self._changelog_counts())
        subtopologies = {
            each.subtopology_id: ConfiguredSubtopology(
                self._tasks(each), tuple(sources_of(each)), bool(each.changelog_topics)
            )
            for each in self._subtopologies
        }
        missing = self._missing_topics()
        problem = Status.MISSING_INTERNAL_TOPICS if missing else None
        return ConfiguredTopology(
            self._epoch, dict(sorted(subtopologies.items())), problem, missing
        )

    def _count(self, topic: str) -> int | None:
        image = self._image.topics.get(topic)
        return self._decided.get(topic) if image is None else image.partitions

    def _count_or_fail(self, topic: str) -> int:
        count = self._count(topic)
        if count is None:
            raise UnexpectedState(f"no partition count for {topic}")
        return count

    def _tasks(self, subtopology: Subtopology) -> int:
        counts = [self._count_or_fail(topic) for topic in sources_of(subtopology)]
        if not counts:
            raise InvalidTopology(f"no source topics of subtopology {subtopology.subtopology_id}")
        return max(counts)

    def _repartition_counts(self) -> dict[str, int]:
        counts = {
            name: count
            for each in self._subtopologies
            for name, count in each.repartition_source_topics
            if count
        }
        while self._derive_counts(counts):
            pass
        for each in self._subtopologies:
            if any(name not in counts for name, _ in each.repartition_source_topics):
                raise InvalidTopology("a repartition source topic is not a sink topic")
        return counts

    def _derive_counts(self, counts: dict[str, int]) -> bool:
        """Derive counts of sink topics from their subtopologies' sources; whether some are left."""
        are_left = has_progress = False
        for each in self._subtopologies:
            for sink in each.repartition_sink_topics:
                if sink in counts:
                    continue
                count = self._largest_source(each, counts)
                if count is None:
                    are_left = True
                else:
                    counts[sink] = count
                    has_progress = True
        if are_left and not has_progress:
            raise InvalidTopology("the repartition topics of the topology form a loop")
        return are_left

    def _largest_source(self, subtopology: Subtopology, counts: Mapping[str, int]) -> int | None:
        candidates = [counts.get(name) for name, _ in subtopology.repartition_source_topics]
        candidates += [self._count(name) for name in subtopology.source_topics]
        return max([count for count in candidates if count is not None], default=None)

    def _enforce_copartitioning(self) -> None:
        declared = {
            name: count
            for each in self._subtopologies
            for name, count in each.repartition_source_topics
        }
        fixed = hash_order(name for name, count in declared.items() if count)
        for each in self._subtopologies:
            for group in each.copartition_groups:
                self._decided.update(self._enforced(_topics(each, group), declared, fixed))

    def _enforced(
        self, topics: set[str], declared: Mapping[str, int], fixed: list[str]
    ) -> dict[str, int]:
        """The partition count that the internal topics of a copartition group must have."""
        counts = {topic: self._count_or_fail(topic) for topic in sorted(topics)}
        internal = {topic: count for topic, count in counts.items() if topic in declared}
        external = [count for topic, count in counts.items() if topic not in declared]
        if not topics:
            return {}
        if external:
            count = _equal(external)
        # This checks all fixed topics of the topology, not only the topics of this group.
        elif fixed:
            count = _equal([self._count_or_fail(topic) for topic in fixed])
        else:
            count = max(internal.values())
        if any(topic in fixed and each != count for topic, each in internal.items()):
            raise _Misconfigured(Status.INCORRECTLY_PARTITIONED_TOPICS)
        return dict.fromkeys(internal, count)

    def _changelog_counts(self) -> dict[str, int]:
        return {
            name: self._tasks(each)
            for each in self._subtopologies
            for name, _ in each.changelog_topics
        }

    def _missing_topics(self) -> tuple[str, ...]:
        """Internal topics to create.

        Topics that exist must have the number of partitions that they need.
        """
        expected: dict[str, int] = {}
        for each in self._subtopologies:
            for name, count in (*each.repartition_source_topics, *each.changelog_topics):
                expected[name] = count or self._decided[name]
        for topic in self._required & expected.keys():
            image = self._image.topics.get(topic)
            if image is not None and expected.pop(topic) != image.partitions:
                raise _Misconfigured(Status.INCORRECTLY_PARTITIONED_TOPICS)
        return tuple(sorted(expected))


def sources_of(subtopology: Subtopology) -> list[str]:
    """All topics that the subtopology reads."""
    return [
        *subtopology.source_topics,
        *[name for name, _ in subtopology.repartition_source_topics],
    ]


def _topics(subtopology: Subtopology, group: CopartitionGroup) -> set[str]:
    repartition = subtopology.repartition_source_topics
    return {
        *[subtopology.source_topics[index] for index in group.source_topics],
        *[repartition[index][0] for index in group.repartition_source_topics],
    }


def _equal(counts: Iterable[int]) -> int:
    """The count that all have."""
    distinct = {*counts}
    if len(distinct) > 1:
        raise _Misconfigured(Status.INCORRECTLY_PARTITIONED_TOPICS)
    return distinct.pop()
