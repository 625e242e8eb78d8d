"""The topic `__consumer_offsets`, read by librdkafka in this process."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka import admin as kafka_admin
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame

from jobs.console.errors import RunFailed, UsageError
from jobs.lake.dates import DateRange
from jobs.sources.rows import ROWS_PER_BATCH, SourceRows
from jobs.sources.topic.kafka import (
    ANSWER_LIMIT_MS,
    COMMITTED,
    UNCOMMITTED,
    Kafka,
    OffsetRanges,
    Offsets,
    OffsetsTopic,
)
from jobs.sources.topic.kafka_settings import reader_settings
from jobs.sources.topic.raw_records import RAW, counted, record_rows
from jobs.sources.topic.raw_records import ROWS as RECORD_ROWS
from jobs.sources.topic.segments import TOPIC

POLL_S = 0.5
_SPECS: Any = kafka_admin.OffsetSpec  # type: ignore[attr-defined]  # its types lack this name
EARLIEST, LATEST = _SPECS.earliest(), _SPECS.latest()
# librdkafka's consumer must have a group id; with `assign` it joins no group.
FIXED: dict[str, Any] = {
    "allow.auto.create.topics": False,
    "enable.auto.commit": False,
    "enable.metrics.push": False,
    "enable.partition.eof": True,
    "group.id": "regroup",
    "log_level": 0,
}
_LEVELS = {
    COMMITTED: IsolationLevel.READ_COMMITTED,
    UNCOMMITTED: IsolationLevel.READ_UNCOMMITTED,
}
_FINAL = {KafkaError._AUTHENTICATION, KafkaError._SSL}  # errors that another attempt would repeat
_RESOLVE = KafkaError._RESOLVE
# seconds for which a name is resolved again, because a name server may fail temporarily
_RESOLVE_LIMIT_S = 3.0
# errors without information: this message follows another error of a broker
_OF_NO_USE = {KafkaError._ALL_BROKERS_DOWN}


class ClientTopic(OffsetsTopic):
    def __init__(self, kafka: Kafka) -> None:
        """Raises UsageError if librdkafka lacks a setting of [kafka]."""
        self._kafka = kafka
        self._settings = reader_settings(kafka.settings)
        limit_ms = kafka.settings.get("default.api.timeout.ms", ANSWER_LIMIT_MS)
        self._limit_s = int(limit_ms) / 1000
        self._received: dict[int, np.ndarray] = {}
        self._errors: list[KafkaError] = []
        self._new_client(AdminClient, COMMITTED)

    def offset_ranges(self) -> OffsetRanges:
        client = self._new_client(AdminClient, self._kafka.isolation)
        partitions = [TopicPartition(TOPIC, number) for number in self._partitions(client)]
        if not partitions:
            raise RunFailed(
                f"--kafka {self._kafka.bootstrap}: no readable topic {TOPIC}: the cluster has "
                "had no consumer group, or these credentials may not read it"
            )
        return OffsetRanges(
            self._offsets(client, partitions, EARLIEST, UNCOMMITTED),
            self._offsets(client, partitions, LATEST, self._kafka.isolation),
            self._offsets(client, partitions, LATEST, UNCOMMITTED),
        )

    def records(self, start: Offsets, end: Offsets) -> SourceRows:
        def batches() -> Iterator[pa.RecordBatch]:
            offsets: dict[int, list[np.ndarray]] = defaultdict(list)
            for raw in self._raw(start, end, self._kafka.isolation):
                for partition, of_partition in _offsets_of(raw):
                    offsets[partition].append(of_partition)
                yield record_rows(raw, DateRange())
            self._received = {p: np.concatenate(parts) for p, parts in offsets.items()}

        return _in_process(batches)

    def aborted(self, start: Offsets, end: Offsets, received: DataFrame) -> SourceRows:
        def batches() -> Iterator[pa.RecordBatch]:
            for raw in self._raw(start, end, UNCOMMITTED):
                others = raw.filter(pa.array(~self._is_received(raw)))
                is_aborted = pa.repeat(pa.scalar(True), others.num_rows)
                place = RAW.get_field_index("aborted")
                yield record_rows(
                    others.set_column(place, RAW.field(place), is_aborted), DateRange()
                )

        return _in_process(batches)

    def has_records(self, partition: int, first: int, end: int) -> bool:
        raw = self._raw({partition: first}, {partition: end}, self._kafka.isolation)
        return any(batch.num_rows for batch in raw)

    def _is_received(self, raw: pa.RecordBatch) -> np.ndarray:
        is_received = np.zeros(raw.num_rows, bool)
        partitions, offsets = (raw.column(n).to_numpy() for n in ("partition", "log_offset"))
        for partition in np.unique(partitions):
            own = partitions == partition
            is_received[own] = np.isin(offsets[own], self._received.get(int(partition), []))
        return is_received

    def _raw(self, start: Offsets, end: Offsets, isolation: str) -> Iterator[pa.RecordBatch]:
        """RAW of all records between these offsets, in batches of ROWS_PER_BATCH at most."""
        consumer = self._new_client(Consumer, isolation)
        try:
            consumer.assign([TopicPartition(TOPIC, p, offset) for p, offset in start.items()])
            yield from self._until(consumer, dict(end))
        except KafkaException as error:
            raise self._failure(error.args[0]) from None
        finally:
            consumer.close()

    def _until(self, consumer: Consumer, end: Offsets) -> Iterator[pa.RecordBatch]:
        heard = time.monotonic()
        while end:
            messages = consumer.consume(ROWS_PER_BATCH, POLL_S)
            if messages:
                heard = time.monotonic()
            elif time.monotonic() - heard > self._limit_s:
                raise self._failure(None)
            rows = _Rows()
            for message in messages:
                partition, offset, error = _place(message)
                if error and error.code() != KafkaError._PARTITION_EOF:
                    raise self._failure(error)
                if partition not in end:
                    continue
                if not error and offset < end[partition]:
                    rows.add(message)
                if error or offset >= end[partition] - 1:
                    del end[partition]
                    consumer.incremental_unassign([TopicPartition(TOPIC, partition)])
            if rows.offsets:
                yield rows.batch()

    def _partitions(self, client: AdminClient) -> list[int]:
        started = time.monotonic()
        while True:
            try:
                topic = client.list_topics(TOPIC, timeout=min(POLL_S, self._limit_s)).topics[TOPIC]
                return [] if topic.error else sorted(topic.partitions)
            except KafkaException as error:
                client.poll(0)  # calls error_cb
                if self._is_final(time.monotonic() - started):
                    raise self._failure(error.args[0]) from None

    def _is_final(self, elapsed_s: float) -> bool:
        unresolved = {e.str().split(": ")[0] for e in self._errors if e.code() == _RESOLVE}
        is_unknown = len(unresolved) == len(self._kafka.bootstrap.split(","))
        if any(each.code() in _FINAL for each in self._errors):
            return True
        return elapsed_s > (min(_RESOLVE_LIMIT_S, self._limit_s) if is_unknown else self._limit_s)

    def _offsets(
        self,
        client: AdminClient,
        partitions: list[TopicPartition],
        spec: Any,
        isolation: str,
    ) -> Offsets:
        futures: dict[TopicPartition, Future[Any]] = client.list_offsets(
            dict.fromkeys(partitions, spec),
            isolation_level=_LEVELS[isolation],
            request_timeout=self._limit_s,
        )
        try:
            return {p.partition: future.result().offset for p, future in futures.items()}
        except KafkaException as error:
            raise self._failure(error.args[0]) from None

    def _new_client(self, client: Callable[[dict[str, Any]], Any], isolation: str) -> Any:
        own = {"bootstrap.servers": self._kafka.bootstrap, "error_cb": self._errors.append}
        try:
            return client({**self._settings, **FIXED, **own, "isolation.level": isolation})
        except KafkaException as error:
            raise UsageError(
                f"[kafka] {error.args[0].str()}: the embedded engine's client, librdkafka, does "
                "not accept this setting; change it, or use --engine spark"
            ) from None

    def _failure(self, error: KafkaError | None) -> RunFailed:
        causes = [each for each in self._errors if each.code() not in _OF_NO_USE]
        cause = causes[0] if causes else error
        reason = cause.str() if cause else f"no response within {self._limit_s:g} s"
        return RunFailed(f"--kafka {self._kafka.bootstrap}: {reason}")


@dataclass
class _Rows:
    """Columns of RAW from messages."""

    partitions: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)

    def add(self, message: Message) -> None:
        partition, offset, _ = _place(message)
        self.partitions.append(partition)
        self.offsets.append(offset)
        self.times.append(message.timestamp()[1])
        self.keys.append(message.key())
        self.values.append(message.value())

    def batch(self) -> pa.RecordBatch:
        """As Spark's source:

        ``file`` is topic and partition, and ``bytes`` the size of key and value.
        """
        keys, values = pa.array(self.keys, pa.binary()), pa.array(self.values, pa.binary())
        sizes = [pc.fill_null(pc.binary_length(column), 0) for column in (keys, values)]
        columns = {
            "file": pa.array([f"{TOPIC}-{partition}" for partition in self.partitions]),
            "bytes": pc.add(*sizes).cast(pa.int64()),
            "position": pa.repeat(pa.scalar(-1, pa.int64()), len(keys)),
            "topic": pa.repeat(TOPIC, len(keys)),
            "partition": pa.array(self.partitions, pa.int32()),
            "log_offset": pa.array(self.offsets, pa.int64()),
            "time_ms": pa.array(self.times, pa.int64()),
            "key": keys,
            "value": values,
            "aborted": pa.repeat(pa.scalar(False), len(keys)),
        }
        arrays = [columns.get(f.name, pa.nulls(len(keys), f.type)) for f in RAW]
        return pa.RecordBatch.from_arrays(arrays, schema=RAW)


def _place(message: Message) -> tuple[int, int, KafkaError | None]:
    """Partition and offset, which every message of a consumer has."""
    return cast(int, message.partition()), cast(int, message.offset()), message.error()


def _in_process(batches: Callable[[], Iterator[pa.RecordBatch]]) -> SourceRows:
    return SourceRows(RECORD_ROWS, counted, batches=lambda _: batches())


def _offsets_of(raw: pa.RecordBatch) -> Iterator[tuple[int, np.ndarray]]:
    partitions, offsets = (raw.column(n).to_numpy() for n in ("partition", "log_offset"))
    for partition in np.unique(partitions):
        yield int(partition), offsets[partitions == partition]
