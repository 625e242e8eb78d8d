"""The topic `__consumer_offsets`, read by Spark's Kafka source.

Its default offset reader finds no partitions of an internal topic and reports no error, so the
deprecated reader is used, and a plain consumer of the JVM asks the broker for its offsets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.console.errors import RunFailed, UsageError
from jobs.lake.dates import DateRange
from jobs.sources.rows import SourceRows
from jobs.sources.topic.kafka import (
    ANSWER_LIMIT_MS,
    UNCOMMITTED,
    Kafka,
    OffsetRanges,
    Offsets,
    OffsetsTopic,
)
from jobs.sources.topic.raw_records import RAW, counted, record_frame
from jobs.sources.topic.raw_records import ROWS as RECORD_ROWS
from jobs.sources.topic.segments import TOPIC

OLD_OFFSET_READER = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
_ANYTHING = "org.apache.kafka.common.serialization.ByteArrayDeserializer"


class SparkTopic(OffsetsTopic):
    def __init__(self, spark: SparkSession, kafka: Kafka) -> None:
        self._spark, self._kafka = spark, kafka
        self._require_connector()
        spark.conf.set(OLD_OFFSET_READER, "true")

    def records(self, start: Offsets, end: Offsets) -> SourceRows:
        raw = self._raw(start, end, self._kafka.isolation)
        return _by_spark(record_frame(raw, DateRange()))

    def aborted(self, start: Offsets, end: Offsets, received: DataFrame) -> SourceRows:
        raw = self._raw(start, end, UNCOMMITTED).withColumn("aborted", F.lit(True))
        key = ["topic_partition", "log_offset"]
        rows = record_frame(raw, DateRange())
        aborted = rows.join(received.select(key), on=key, how="left_anti")
        return _by_spark(aborted.select(*RECORD_ROWS.names))

    def _raw(self, start: Offsets, end: Offsets, isolation: str) -> DataFrame:
        reader = self._spark.read.format("kafka").options(**self._kafka.options(isolation))
        # With `subscribe`, the consumer would join a group, and so write to this topic.
        options = {
            "assign": {TOPIC: list(start)},
            "startingOffsets": {TOPIC: start},
            "endingOffsets": {TOPIC: end},
        }
        for name, value in options.items():
            reader = reader.option(name, json.dumps(value))
        return raw_of(reader.load())

    def offset_ranges(self) -> OffsetRanges:
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

    def has_records(self, partition: int, first: int, end: int) -> bool:
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
        return True  # Without a response, assume that there are unread records.

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
        """A consumer without a group.  Raises RunFailed if the broker does not answer."""
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


def _by_spark(frame: DataFrame) -> SourceRows:
    return SourceRows(RECORD_ROWS, counted, frame=lambda _: frame)


def raw_of(records: DataFrame) -> DataFrame:
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
