"""Settings of a running cluster's brokers and consumer groups, by DescribeConfigs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka._model import ConsumerGroupType
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource, ConfigSource
from confluent_kafka.admin._resource import ResourceType

from jobs.sources.configurations.files import BROKER, GROUP, Setting, is_of
from jobs.sources.topic.kafka import ANSWER_LIMIT_MS, Kafka
from jobs.sources.topic.kafka_settings import client_settings
from jobs.sources.topic.live_groups import FIXED

_TYPES = {BROKER: ResourceType.BROKER, GROUP: ResourceType.GROUP}


@dataclass(kw_only=True)
class LiveSettings:
    """``problems`` say why settings are missing, a line per reason."""

    settings: list[Setting] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def describe_settings(kafka: Kafka, groups: Collection[str] | None = None) -> LiveSettings:
    """Settings of all brokers, and of these groups; None means all groups of the consumer
    protocol.
    """
    security = client_settings(kafka.settings)
    live = LiveSettings()
    if security.untranslatable:
        setting = security.untranslatable[0]
        live.problems.append(
            f"settings not described: [kafka] {setting}: librdkafka has no equivalent"
        )
        return live
    limit_s = int(kafka.settings.get("default.api.timeout.ms", ANSWER_LIMIT_MS)) / 1000
    client = AdminClient({**security.values, **FIXED, "bootstrap.servers": kafka.bootstrap})
    try:
        brokers = [str(number) for number in client.list_topics(timeout=limit_s).brokers]
        names = _consumer_groups(client, limit_s) if groups is None else groups
    except KafkaException as error:
        live.problems.append(f"settings not described: {error.args[0].str()}")
        return live
    for broker in brokers:
        _describe(client, BROKER, [broker], limit_s, live)
    if names:
        _describe(client, GROUP, sorted(names), limit_s, live)
    return live


def _consumer_groups(client: AdminClient, limit_s: float) -> list[str]:
    listed = client.list_consumer_groups(
        types={ConsumerGroupType.CONSUMER}, request_timeout=limit_s
    ).result()
    return [each.group_id for each in listed.valid or ()]


def _describe(
    client: AdminClient, entity_type: str, names: list[str], limit_s: float, live: LiveSettings
) -> None:
    resources = [ConfigResource(_TYPES[entity_type], name) for name in names]
    futures: dict[ConfigResource, Future[Any]] = client.describe_configs(
        resources, request_timeout=limit_s
    )
    for resource, future in futures.items():
        try:
            live.settings += _settings(entity_type, resource.name, future.result())
        except KafkaException as error:
            problem = f"settings of {entity_type} {resource.name}: {error.args[0].str()}"
            live.problems.append(problem)


def _settings(entity_type: str, entity: str, entries: dict[str, Any]) -> Iterator[Setting]:
    for name, entry in entries.items():
        if is_of(entity_type, name) and entry.value:
            is_default = entry.source == ConfigSource.DEFAULT_CONFIG.value
            yield Setting(entity_type, entity, name, entry.value, is_default)
