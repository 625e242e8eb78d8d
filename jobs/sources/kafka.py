"""Source `kafka`: the topic `__consumer_offsets` itself, from where the last run stopped.

Spark's Kafka source reads with a checkpoint below the lake; around it stands a plain consumer that
asks the broker what there is to read, before and after.  Spark's default way to list partitions
finds none of an internal topic and says nothing, so its older one is used, and what it says is not
taken on trust.
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
# Everything else of [kafka] is for Kafka's consumers.
SPARK_OPTIONS = {"maxOffsetsPerTrigger", "minPartitions"}
DEFAULTS = {"maxOffsetsPerTrigger": "5000000"}
COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"
ANSWER_LIMIT_MS = 30_000
_ADDRESS = re.compile(r"[^\s:,/]+:\d{1,5}|\[[0-9A-Fa-f:.]+\]:\d{1,5}")
_ANYTHING = "org.apache.kafka.common.serialization.ByteArrayDeserializer"

Offsets = dict[int, int]  # partition -> offset


@dataclass(frozen=True)
class Kafka:
    """``bootstrap``: HOST:PORT, several with commas.  ``settings``: the configuration's [kafka],
    which may hold passwords."""

    bootstrap: str
    settings: dict[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not all(_ADDRESS.fullmatch(address) for address in self.bootstrap.split(",")):
            raise UsageError(f"--kafka {self.bootstrap}: give HOST:PORT, several with commas")

    @property
    def isolation(self) -> str:
        return self.settings.get("isolation.level", COMMITTED)

    def consumer_settings(self, isolation: str) -> dict[str, str]:
        given = {k: v for k, v in self.settings.items() if k not in SPARK_OPTIONS}
        return given | {"bootstrap.servers": self.bootstrap, "isolation.level": isolation}

    def options(self, isolation: str) -> dict[str, str]:
        """For Spark's reader."""
        given = {k: v for k, v in self.settings.items() if k in SPARK_OPTIONS}
        consumer = {f"kafka.{k}": v for k, v in self.consumer_settings(isolation).items()}
        return DEFAULTS | given | consumer


@dataclass(frozen=True)
class Extent:
    """Of each partition: the first offset there is, the offset after the last that may be read,
    and the one after the last that was written (more, while a transaction is open)."""

    begin: Offsets
    end: Offsets
    written: Offsets


@dataclass(frozen=True)
class Gap:
    """Offsets from ``first`` to ``last`` were deleted before they were read."""

    partition: int
    first: int
    last: int


Land = Callable[[DataFrame, Offsets, Offsets], Offsets]


class Reading:
    """One run over what is new; ``land(records, start, end)`` takes a batch and tells how many
    records of each partition it had."""

    def __init__(self, spark: SparkSession, kafka: Kafka, checkpoint: str) -> None:
        self._spark, self._kafka, self._checkpoint = spark, kafka, checkpoint
        self._require_connector()
        self.extent = self._extent()
        self.seen = self._progress()
        self.gaps = list(self._gaps())

    def run(self, land: Land) -> None:
        """RunFailed if not everything that the broker had at the start has come."""
        extent = self.extent
        start = extent.begin | {p: max(o, extent.begin.get(p, 0)) for p, o in self.seen.items()}
        if any(extent.end[p] > start[p] for p in start):
            arrived = self._stream(land, dict(start))
            self._compare(start, arrived)
        for partition, end in extent.end.items():
            if extent.written[partition] > end:
                waiting = extent.written[partition] - end
                _tell(
                    f"{TOPIC}-{partition}: {waiting} records from offset {end} on wait for the end "
                    "of a transaction; a later run reads them"
                )

    def uncommitted(self, start: Offsets, end: Offsets) -> DataFrame:
        """RAW of all records between these offsets, aborted ones too."""
        reader = self._spark.read.format("kafka").options(**self._kafka.options(UNCOMMITTED))
        given = {"assign": {TOPIC: list(start)}, "startingOffsets": {TOPIC: start}}
        for name, value in (given | {"endingOffsets": {TOPIC: end}}).items():
            reader = reader.option(name, json.dumps(value))
        return raw(reader.load())

    def _stream(self, land: Land, position: Offsets) -> Offsets:
        arrived = dict.fromkeys(position, 0)
        failures: list[Exception] = []

        def take(batch: DataFrame, batch_id: int) -> None:
            end = self._offsets_file("offsets", batch_id)
            moved = {p: o for p, o in end.items() if o > position.get(p, 0)}
            try:
                for p, count in land(raw(batch), {p: position[p] for p in moved}, moved).items():
                    arrived[p] += count
            except Exception as error:
                failures.append(error)
                raise
            position.update(end)

        self._spark.conf.set(OLD_OFFSET_READER, "true")
        query = (
            self._spark.readStream.format("kafka")
            .options(**self._kafka.options(self._kafka.isolation))
            # Not `subscribe`: its consumer joins a group, and so writes to the very topic.
            .option("assign", json.dumps({TOPIC: sorted(self.extent.begin)}))
            .option("startingOffsets", "earliest")
            .option("failOnDataLoss", str(not self.gaps).lower())
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

    def _compare(self, start: Offsets, arrived: Offsets) -> None:
        reached = self._progress()
        for partition, end in self.extent.end.items():
            first, stopped = start[partition], reached.get(partition, 0)
            if stopped < end:
                raise RunFailed(
                    f"{TOPIC}-{partition}: the broker has records up to offset {end - 1}, and "
                    f"Spark's Kafka source stopped at {stopped}; nothing is lost, run again"
                )
            if first < end and not arrived[partition] and self._has_records(partition, first, end):
                raise RunFailed(
                    f"{TOPIC}-{partition}: the broker has records between offsets {first} and "
                    f"{end}, and Spark's Kafka source gave none"
                )

    def _gaps(self) -> Iterator[Gap]:
        for partition, seen in self.seen.items():
            if self.extent.written.get(partition, 0) < seen:
                raise RunFailed(
                    f"{TOPIC}-{partition}: read up to offset {seen}, and the broker has "
                    f"{self.extent.written.get(partition, 0)}: the topic was made anew, or this is "
                    f"another cluster; give it a --cluster-id of its own"
                )
            if self.extent.begin[partition] > seen:
                yield Gap(partition, seen, self.extent.begin[partition] - 1)

    def _extent(self) -> Extent:
        with self._consumer(UNCOMMITTED) as consumer:
            known = consumer.partitionsFor(TOPIC)
            partitions = self._partitions([info.partition() for info in known or ()])
            if partitions.isEmpty():
                raise RunFailed(
                    f"--kafka {self._kafka.bootstrap}: no topic {TOPIC} there that may be read: "
                    "no consumer group ever was, or these credentials do not see it"
                )
            begin = _plain(consumer.beginningOffsets(partitions))
            written = _plain(consumer.endOffsets(partitions))
        with self._consumer(self._kafka.isolation) as consumer:
            return Extent(begin, _plain(consumer.endOffsets(partitions)), written)

    def _has_records(self, partition: int, first: int, end: int) -> bool:
        """By a consumer that Spark has no part in: markers of transactions are no records."""
        with self._consumer(self._kafka.isolation) as consumer:
            [where] = partitions = self._partitions([partition])
            consumer.assign(partitions)
            consumer.seek(where, first)
            wait = self._jvm.java.time.Duration.ofMillis(500)
            for _ in range(ANSWER_LIMIT_MS // 500):
                if not consumer.poll(wait).isEmpty():
                    return True
                if consumer.position(where) >= end:
                    return False
        return True  # it cannot even be read

    def _progress(self) -> Offsets:
        """Offsets up to which batches are done; empty before the first."""
        done = [int(name) for name in self._files("commits") if name.isdigit()]
        return self._offsets_file("offsets", max(done)) if done else {}

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
        hadoop = self._spark.sparkContext._jsc.hadoopConfiguration()  # type: ignore[union-attr]
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
                "--kafka: this Spark has no Kafka connector; run `make setup`, "
                "or give spark-submit its packages as docs/kafka.md says"
            ) from None

    def _partitions(self, numbers: list[int]) -> Any:
        listed = self._jvm.java.util.ArrayList()
        for number in numbers:
            listed.add(self._jvm.org.apache.kafka.common.TopicPartition(TOPIC, number))
        return listed

    @contextmanager
    def _consumer(self, isolation: str) -> Iterator[Any]:
        """A consumer of no group.  RunFailed, in one line, where the broker does not answer."""
        properties = self._jvm.java.util.Properties()
        given = {
            "default.api.timeout.ms": str(ANSWER_LIMIT_MS),
            "allow.auto.create.topics": "false",
        }
        fixed = {"key.deserializer": _ANYTHING, "value.deserializer": _ANYTHING}
        for name, value in (given | self._kafka.consumer_settings(isolation) | fixed).items():
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
    """Rows of Spark's Kafka source as RAW; the partition's log stands for the file."""
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


def _tell(line: str) -> None:
    print(f"regroup: {line}", file=sys.stderr)
