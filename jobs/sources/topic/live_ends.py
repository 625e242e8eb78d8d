"""Log end offsets of a running cluster's topics, by ListOffsets of librdkafka's Admin API."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from coordinator_core.figures import counted
from jobs.sources.end_offsets.sightings import Sighting
from jobs.sources.topic.kafka import ANSWER_LIMIT_MS, Kafka
from jobs.sources.topic.kafka_client import LATEST
from jobs.sources.topic.kafka_settings import client_settings
from jobs.sources.topic.live_groups import FIXED


@dataclass(kw_only=True)
class LiveEnds:
    """``problems`` say why partitions have no sighting, a line per reason."""

    sightings: list[Sighting] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def list_end_offsets(kafka: Kafka, topics: Collection[str]) -> LiveEnds:
    """The log end offset (high watermark) of each partition of the topics that exist.

    The time of a sighting is the time of the broker's answer, by the clock of this machine.
    """
    security = client_settings(kafka.settings)
    if security.untranslatable:
        setting = security.untranslatable[0]
        problem = f"log end offsets not listed: [kafka] {setting}: librdkafka has no equivalent"
        return LiveEnds(problems=[problem])
    limit_s = int(kafka.settings.get("default.api.timeout.ms", ANSWER_LIMIT_MS)) / 1000
    settings = {**security.values, **FIXED, "bootstrap.servers": kafka.bootstrap}
    try:
        client = AdminClient(settings)
        by_name = client.list_topics(timeout=limit_s).topics
        partitions = [
            TopicPartition(topic, number)
            for topic in sorted(topics)
            if topic in by_name
            for number in by_name[topic].partitions
        ]
        return _listed(client, partitions, limit_s)
    except KafkaException as error:
        return LiveEnds(problems=[f"log end offsets not listed: {error.args[0].str()}"])


def _listed(client: AdminClient, partitions: list[TopicPartition], limit_s: float) -> LiveEnds:
    if not partitions:
        return LiveEnds()
    futures: dict[TopicPartition, Future[Any]] = client.list_offsets(
        dict.fromkeys(partitions, LATEST),
        isolation_level=IsolationLevel.READ_UNCOMMITTED,
        request_timeout=limit_s,
    )
    answered_ms: dict[TopicPartition, int] = {}
    for partition, future in futures.items():
        future.add_done_callback(partial(_note_time, answered_ms, partition))
    ends, errors = LiveEnds(), Counter[tuple[str, str]]()
    for partition, future in futures.items():
        try:
            offset = future.result().offset
        except KafkaException as error:
            errors[partition.topic, error.args[0].str()] += 1
            continue
        at_ms = answered_ms[partition]
        ends.sightings.append(Sighting(partition.topic, partition.partition, offset, at_ms))
    for (topic, reason), count in errors.items():
        ends.problems.append(
            f"log end offsets of {counted(count, 'partition')} of {topic}: {reason}"
        )
    return ends


def _note_time(answered_ms: dict[TopicPartition, int], partition: TopicPartition, _: Any) -> None:
    answered_ms[partition] = time.time_ns() // 1_000_000
