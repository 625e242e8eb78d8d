"""Source `kafka`: the topic `__consumer_offsets` of a running cluster, from where the last run
stopped.

Spark's Kafka source reads the topic, with a checkpoint in the lake.  Its default offset reader
finds no partitions of an internal topic and reports no error, so the deprecated reader is used, and
a plain consumer asks the broker for its offsets, to verify that all records arrived.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.console.errors import RunFailed, UsageError
from jobs.sources.raw_records import RAW
from jobs.sources.segments import TOPIC

OLD_OFFSET_READER = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
# Settings of [kafka] for Spark's source; the others are for Kafka's consumers.
SPARK_OPTIONS = {"maxOffsetsPerTrigger", "minPartitions"}
DEFAULTS = {"maxOffsetsPerTrigger": "5000000"}
COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"
ANSWER_LIMIT_MS = 30_000
_ADDRESS = re.compile(r"[^\s:,/]+:\d{1,5}|\[[0-9A-Fa-f:.]+\]:\d{1,5}")
_ANYTHING = "org.apache.kafka.common.serialization.ByteArrayDeserializer"

Offsets = dict[int, int]  # partition -> offset


@dataclass(frozen=True)
class Kafka:
    """``bootstrap``: HOST:PORT, several separated by commas.  ``settings``: [kafka] of the
    configuration, which may have passwords."""

    bootstrap: str
    settings: dict[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not all(_ADDRESS.fullmatch(address) for address in self.bootstrap.split(",")):
            raise UsageError(f"--kafka {self.bootstrap}: give HOST:PORT[,HOST:PORT...]")

    @property
    def isolation(self) -> str:
        return self.settings.get("isolation.level", COMMITTED)

    def consumer_settings(self, isolation: str) -> dict[str, str]:
        settings = {k: v for k, v in self.settings.items() if k not in SPARK_OPTIONS}
        return settings | {"bootstrap.servers": self.bootstrap, "isolation.level": isolation}

    def options(self, isolation: str) -> dict[str, str]:
        """Options of Spark's reader."""
        own = {k: v for k, v in self.settings.items() if k in SPARK_OPTIONS}
        consumer = {f"kafka.{k}": v for k, v in self.consumer_settings(isolation).items()}
        return DEFAULTS | own | consumer


@dataclass(frozen=True)
class OffsetRanges:
    """Per partition: the first offset, the offset after the last readable record, and the offset
    after the last written record (larger while a transaction is open)."""

    begin: Offsets
    end: Offsets
    written: Offsets


@dataclass(frozen=True)
class DeletedOffsets:
    """The broker deleted the offsets from ``first`` to ``last`` before they were read."""

    partition: int
    first: int
    last: int


# Writes a batch: (records, start, end) -> number of records per partition.
WriteBatch = Callable[[DataFrame, Offsets, Offsets], Offsets]


class TopicReader:
    """Reads the new records of one run."""

    def __init__(self, spark: SparkSession, kafka: Kafka, checkpoint: str) -> None:
        self._spark, self._kafka, self._checkpoint = spark, kafka, checkpoint
        self._require_connector()
        self.ranges = self._offset_ranges()
        self.progress = self._progress()
        self.deleted = list(self._deleted())

    def run(self, write: WriteBatch) -> None:
        """RunFailed if a record that the broker had at the start did not arrive."""
        ranges = self.ranges
        start = ranges.begin | {p: max(o, ranges.begin.get(p, 0)) for p, o in self.progress.items()}
        if any(ranges.end[p] > start[p] for p in start):
            arrived = self._stream(write, dict(start))
            self._verify(start, arrived)
        for partition, end in ranges.end.items():
            if ranges.written[partition] > end:
                waiting = ranges.written[partition] - end
                _print_note(
                    f"{TOPIC}-{partition}: {waiting} records from offset {end} on belong to an "
                    "open transaction; a later run reads them"
                )

    def uncommitted(self, start: Offsets, end: Offsets) -> DataFrame:
        """RAW of all records between these offsets, including aborted ones."""
        reader = self._spark.read.format("kafka").options(**self._kafka.options(UNCOMMITTED))
        options = {
            "assign": {TOPIC: list(start)},
            "startingOffsets": {TOPIC: start},
            "endingOffsets": {TOPIC: end},
        }
        for name, value in options.items():
            reader = reader.option(name, json.dumps(value))
        return raw(reader.load())

    def _stream(self, write: WriteBatch, position: Offsets) -> Offsets:
        arrived = dict.fromkeys(position, 0)
        failures: list[Exception] = []

        def take(batch: DataFrame, batch_id: int) -> None:
            end = self._offsets_file("offsets", batch_id)
            moved = {p: o for p, o in end.items() if o > position.get(p, 0)}
            try:
                counts = write(raw(batch), {p: position[p] for p in moved}, moved)
                for p, count in counts.items():
                    arrived[p] += count
            except Exception as error:
                failures.append(error)
                raise
            position.update(end)

        self._spark.conf.set(OLD_OFFSET_READER, "true")
        query = (
            self._spark.readStream.format("kafka")
            .options(**self._kafka.options(self._kafka.isolation))
            # With `subscribe`, the consumer would join a group, and so write to this topic.
            .option("assign", json.dumps({TOPIC: sorted(self.ranges.begin)}))
            .option("startingOffsets", "earliest")
            .option("failOnDataLoss", str(not self.deleted).lower())
            .load()
            .writeStream.foreachBatch(take)
            .option("checkpointLocation", self._checkpoint)
            .trigger(availableNow=True)
        )
        try:
            query.start().awaitTermination()
        except StreamingQueryException as error:
            if failures:
                raise failures[0] from None
            raise RunFailed(f"--kafka {self._kafka.bootstrap}: {_first_line(error)}") from None
        return arrived

    def _verify(self, start: Offsets, arrived: Offsets) -> None:
        reached = self._progress()
        for partition, end in self.ranges.end.items():
            first, stopped = start[partition], reached.get(partition, 0)
            if stopped < end:
                raise RunFailed(
                    f"{TOPIC}-{partition}: the broker has records up to offset {end - 1}, and "
                    f"Spark's Kafka source stopped at {stopped}; no record is lost, run again"
                )
            if first < end and not arrived[partition] and self._has_records(partition, first, end):
                raise RunFailed(
                    f"{TOPIC}-{partition}: the broker has records between offsets {first} and "
                    f"{end}, and Spark's Kafka source returned none; run again"
                )

    def _deleted(self) -> Iterator[DeletedOffsets]:
        for partition, next_offset in self.progress.items():
            written = self.ranges.written.get(partition, 0)
            if written < next_offset:
                raise RunFailed(
                    f"{TOPIC}-{partition}: earlier runs read up to offset {next_offset}, the "
                    f"broker has {written}: the topic was recreated, or this is another cluster; "
                    "give it its own --cluster-id"
                )
            if self.ranges.begin[partition] > next_offset:
                yield DeletedOffsets(partition, next_offset, self.ranges.begin[partition] - 1)

    def _offset_ranges(self) -> OffsetRanges:
        with self._consumer(UNCOMMITTED) as consumer:
            infos = consumer.partitionsFor(TOPIC)
            partitions = self._partitions([info.partition() for info in infos or ()])
            if partitions.isEmpty():
                raise RunFailed(
                    f"--kafka {self._kafka.bootstrap}: no readable topic {TOPIC}: the cluster has "
                    "had no consumer group, or these credentials may not read it"
                )
            begin = _plain(consumer.beginningOffsets(partitions))
            written = _plain(consumer.endOffsets(partitions))
        with self._consumer(self._kafka.isolation) as consumer:
            return OffsetRanges(begin, _plain(consumer.endOffsets(partitions)), written)

    def _has_records(self, partition: int, first: int, end: int) -> bool:
        """Asks a plain consumer, which skips transaction markers."""
        with self._consumer(self._kafka.isolation) as consumer:
            [topic_partition] = partitions = self._partitions([partition])
            consumer.assign(partitions)
            consumer.seek(topic_partition, first)
            wait = self._jvm.java.time.Duration.ofMillis(500)
            for _ in range(ANSWER_LIMIT_MS // 500):
                if not consumer.poll(wait).isEmpty():
                    return True
                if consumer.position(topic_partition) >= end:
                    return False
        return True  # no answer: treat as unread records

    def _progress(self) -> Offsets:
        """The next offset per partition, by the last complete batch; empty before the first."""
        batches = [int(name) for name in self._files("commits") if name.isdigit()]
        return self._offsets_file("offsets", max(batches)) if batches else {}

    def _offsets_file(self, folder: str, number: int) -> Offsets:
        path = self._path(folder, str(number))
        stream = self._filesystem(path).open(path)
        try:
            text = self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
        finally:
            stream.close()
        offsets = json.loads(text.splitlines()[-1])[TOPIC]
        return {int(partition): offset for partition, offset in offsets.items()}

    def _files(self, folder: str) -> list[str]:
        path = self._path(folder)
        filesystem = self._filesystem(path)
        if not filesystem.exists(path):
            return []
        return [status.getPath().getName() for status in filesystem.listStatus(path)]

    def _path(self, *names: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path("/".join([self._checkpoint, *names]))

    def _filesystem(self, path: Any) -> Any:
        hadoop = self._spark.sparkContext._jsc.hadoopConfiguration()
        return path.getFileSystem(hadoop)

    @property
    def _jvm(self) -> Any:
        return self._spark.sparkContext._jvm

    def _require_connector(self) -> None:
        try:
            loader = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
            loader.loadClass("org.apache.spark.sql.kafka010.KafkaSourceProvider")
        except Py4JJavaError:
            raise UsageError(
                "--kafka: this Spark has no Kafka connector; run `regroup jars`, "
                "or give spark-submit its packages, see docs/kafka.md"
            ) from None

    def _partitions(self, numbers: list[int]) -> Any:
        partitions = self._jvm.java.util.ArrayList()
        for number in numbers:
            partitions.add(self._jvm.org.apache.kafka.common.TopicPartition(TOPIC, number))
        return partitions

    @contextmanager
    def _consumer(self, isolation: str) -> Iterator[Any]:
        """A consumer without a group.  RunFailed if the broker does not answer."""
        properties = self._jvm.java.util.Properties()
        defaults = {
            "default.api.timeout.ms": str(ANSWER_LIMIT_MS),
            "allow.auto.create.topics": "false",
        }
        fixed = {"key.deserializer": _ANYTHING, "value.deserializer": _ANYTHING}
        for name, value in (defaults | self._kafka.consumer_settings(isolation) | fixed).items():
            properties.setProperty(name, value)
        consumer = None
        try:
            consumer = self._jvm.org.apache.kafka.clients.consumer.KafkaConsumer(properties)
            yield consumer
        except Py4JJavaError as error:
            why = _root_cause(error.java_exception)
            raise RunFailed(f"--kafka {self._kafka.bootstrap}: {why}") from None
        finally:
            if consumer is not None:
                consumer.close()


def raw(records: DataFrame) -> DataFrame:
    """Rows of Spark's Kafka source as RAW; ``file`` is the topic and partition."""
    row = {
        "file": F.concat("topic", F.lit("-"), "partition"),
        "bytes": F.coalesce(F.length("key"), F.lit(0)) + F.coalesce(F.length("value"), F.lit(0)),
        "position": F.lit(-1),
        "topic": F.col("topic"),
        "partition": F.col("partition"),
        "log_offset": F.col("offset"),
        "time_ms": F.unix_millis("timestamp"),
        "key": F.col("key"),
        "value": F.col("value"),
        "aborted": F.lit(False),
        "reason": F.lit(None),
        "unread_bytes": F.lit(None),
    }
    types = {field.name: field.dataType for field in from_arrow_schema(RAW)}
    return records.select(*(value.cast(types[name]).alias(name) for name, value in row.items()))


def _plain(offsets: Any) -> Offsets:
    """A Java map of TopicPartition to Long."""
    return {entry.getKey().partition(): entry.getValue() for entry in offsets.entrySet()}


def _root_cause(error: Any) -> str:
    while error.getCause() is not None:
        error = error.getCause()
    return f"{error.getClass().getSimpleName()}: {' '.join(str(error.getMessage()).split())}"


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _print_note(line: str) -> None:
    print(f"regroup: {line}", file=sys.stderr)
