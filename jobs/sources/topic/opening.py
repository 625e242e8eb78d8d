"""The topic of a running cluster, read by the client of the session's engine."""

from __future__ import annotations

from pyspark.sql import SparkSession

from jobs.engine.embedded import is_embedded
from jobs.sources.topic.kafka import Kafka, OffsetsTopic


def open_topic(session: SparkSession, kafka: Kafka) -> OffsetsTopic:
    """Raises UsageError if the client lacks a setting."""
    if is_embedded(session):
        from jobs.sources.topic.kafka_client import ClientTopic

        return ClientTopic(kafka)
    from jobs.sources.topic.kafka_spark import SparkTopic

    return SparkTopic(session, kafka)
