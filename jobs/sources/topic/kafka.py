"""Source `kafka`: the topic `__consumer_offsets` of a running cluster, from the position at which
the last run stopped.

A run asks the broker for its offsets first, reads from the next offset in ingested_files up to
there, in slices, and verifies that records arrived.  Each engine has its own client: Spark's Kafka
source (jobs.sources.topic.kafka_spark) and librdkafka (jobs.sources.topic.kafka_client).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from jobs.console.errors import RunFailed, UsageError
from jobs.sources.rows import SourceRows
from jobs.sources.topic.segments import TOPIC

# Settings of [kafka] that are for Spark's source; all other settings are for Kafka's clients.
SLICE_SETTING = "maxOffsetsPerTrigger"
SOURCE_OPTIONS = {SLICE_SETTING, "minPartitions"}
OFFSETS_PER_SLICE = 5_000_000
COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"
ANSWER_LIMIT_MS = 30_000
_ADDRESS = re.compile(r"[^\s:,/]+:\d{1,5}|\[[0-9A-Fa-f:.]+\]:\d{1,5}")

Offsets = dict[int, int]  # partition -> offset


@dataclass(frozen=True)
class Kafka:
    """``bootstrap``: HOST:PORT, several separated by commas.  ``settings`` are [kafka] of the
    configuration, which may have passwords.  ``option`` is the name that messages have.
    """

    bootstrap: str
    settings: dict[str, str] = field(default_factory=dict, repr=False)
    option: str = "--kafka"

    def __post_init__(self) -> None:
        if not all(_ADDRESS.fullmatch(address) for address in self.bootstrap.split(",")):
            raise UsageError(f"{self.option} {self.bootstrap}: give HOST:PORT[,HOST:PORT...]")

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Host and port of each; an IPv6 address without its brackets."""
        pairs = (address.rsplit(":", 1) for address in self.bootstrap.split(","))
        return [(host.strip("[]"), int(port)) for host, port in pairs]

    @property
    def isolation(self) -> str:
        return self.settings.get("isolation.level", COMMITTED)

    @property
    def offsets_per_slice(self) -> int:
        return int(self.settings.get(SLICE_SETTING, OFFSETS_PER_SLICE))

    def consumer_settings(self, isolation: str) -> dict[str, str]:
        settings = {k: v for k, v in self.settings.items() if k not in SOURCE_OPTIONS}
        return settings | {"bootstrap.servers": self.bootstrap, "isolation.level": isolation}

    def options(self, isolation: str) -> dict[str, str]:
        """Options of Spark's reader."""
        own = {k: v for k, v in self.settings.items() if k == "minPartitions"}
        consumer = {f"kafka.{k}": v for k, v in self.consumer_settings(isolation).items()}
        return own | consumer


@dataclass(frozen=True)
class OffsetRanges:
    """Per partition: the first offset, the offset after the last readable record, and the offset
    after the last written record (larger while a transaction is open)."""

    begin: Offsets
    end: Offsets
    written: Offsets

    def waiting(self) -> Iterator[str]:
        """A line per partition with records that are not readable yet."""
        for partition, end in self.end.items():
            if self.written[partition] > end:
                yield (
                    f"{TOPIC}-{partition}: {self.written[partition] - end} records from offset "
                    f"{end} on belong to an open transaction; a later run reads them"
                )


@dataclass(frozen=True)
class DeletedOffsets:
    """The broker deleted the offsets from ``first`` to ``last`` before they were read."""

    partition: int
    first: int
    last: int


class OffsetsTopic(ABC):
    """The topic, read by one engine's client."""

    @abstractmethod
    def offset_ranges(self) -> OffsetRanges:
        """The offsets are those at the time of the call.

        Raises RunFailed if the broker does not answer or has no such topic.
        """

    @abstractmethod
    def records(self, start: Offsets, end: Offsets) -> SourceRows:
        """The rows of `raw_records` that a consumer receives between these offsets."""

    @abstractmethod
    def aborted(self, start: Offsets, end: Offsets, received: DataFrame) -> SourceRows:
        """Rows of aborted transactions between these offsets: what a read_uncommitted consumer
        receives here, minus ``received``.
        """

    @abstractmethod
    def has_records(self, partition: int, first: int, end: int) -> bool:
        """Returns whether a plain consumer, which skips transaction markers, receives any."""


def deleted_offsets(ranges: OffsetRanges, next_offsets: Offsets) -> Iterator[DeletedOffsets]:
    """``next_offsets`` are the offsets at which the last run stopped.

    Raises RunFailed if the topic is another one.
    """
    for partition, next_offset in next_offsets.items():
        written = ranges.written.get(partition, 0)
        if written < next_offset:
            raise RunFailed(
                f"{TOPIC}-{partition}: earlier runs read up to offset {next_offset}, but "
                f"the broker has {written}: the topic was recreated, or this is another cluster; "
                "give another cluster another --cluster-id"
            )
        if ranges.begin[partition] > next_offset:
            yield DeletedOffsets(partition, next_offset, ranges.begin[partition] - 1)


def slices(start: Offsets, end: Offsets, limit: int) -> Iterator[tuple[Offsets, Offsets]]:
    """Consecutive ranges of about ``limit`` offsets, each with a share of every partition."""
    position = dict(start)
    while left := {p: end[p] - position[p] for p in position if end[p] > position[p]}:
        total = sum(left.values())
        share = {
            p: count if total <= limit else -(-limit * count // total) for p, count in left.items()
        }
        reached = {p: position[p] + count for p, count in share.items()}
        yield {p: position[p] for p in share}, reached
        position |= reached


def verify_arrival(topic: OffsetsTopic, start: Offsets, end: Offsets, arrived: Offsets) -> None:
    """Raises RunFailed if no record of a partition arrived although the broker has some.
    ``arrived`` has numbers of records by partition.
    """
    for partition, first in start.items():
        last = end[partition]
        if first >= last or arrived.get(partition):
            continue
        if topic.has_records(partition, first, last):
            raise RunFailed(
                f"{TOPIC}-{partition}: the broker has records between offsets {first} and {last}, "
                "but sent none; run again"
            )
