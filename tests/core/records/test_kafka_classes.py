"""Random fields encoded by Kafka's own message classes, with the fields in Kafka's text form.

The file has every type and version of 4.4, and the layouts of 3.9 and 4.0 that were replaced
without a new version.  Kafka's text form lacks unknown tagged fields, so they are not compared.
"""

import gzip
import json
from base64 import b64encode
from pathlib import Path

import pytest

from coordinator_core.records import (
    decode_assignment,
    decode_key,
    decode_subscription,
    decode_value,
    encode_assignment,
    encode_key,
    encode_subscription,
    encode_value,
)

FILE = Path(__file__).parents[2] / "data/records/kafka_classes.jsonl.gz"
SAMPLES = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]


def of(suffix):
    return [
        pytest.param(
            sample["class"].removesuffix(suffix),
            sample["version"],
            bytes.fromhex(sample["bytes"]),
            sample["fields"],
            id=f"{sample['release']}-{sample['class']}-{sample['version']}-{number}",
        )
        for number, sample in enumerate(SAMPLES)
        if sample["class"].endswith(suffix)
    ]


def as_kafka_prints(value):
    """Returns the value with bytes in base64 and without unknown tagged fields."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, dict):
        kept = {name: field for name, field in value.items() if name != "unknown_tagged_fields"}
        return {name: as_kafka_prints(field) for name, field in kept.items()}
    return [as_kafka_prints(element) for element in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("name", "version", "data", "expected"), of("Key"))
def test_keys(name, version, data, expected):
    key = decode_key(data)

    # Before 4.1, both have the same class.
    assert name in (key.name, key.name.removeprefix("Legacy"))
    assert key.fields == expected
    assert encode_key(key.type, key.fields) == data


@pytest.mark.parametrize(("name", "version", "data", "expected"), of("Value"))
def test_values(name, version, data, expected):
    decoded_version, fields = decode_value(name, data)

    assert decoded_version == version
    assert as_kafka_prints(fields) == expected
    assert encode_value(name, version, fields) == data


@pytest.mark.parametrize(("name", "version", "data", "expected"), of("Subscription"))
def test_subscriptions(name, version, data, expected):
    subscription = decode_subscription(data)

    assert as_kafka_prints(as_fields(subscription, version)) == expected
    assert encode_subscription(subscription) == data


@pytest.mark.parametrize(("name", "version", "data", "expected"), of("Assignment"))
def test_assignments(name, version, data, expected):
    assignment = decode_assignment(data)

    assert assignment.version == version
    assert as_structs(assignment.partitions) == expected["assigned_partitions"]
    assert as_kafka_prints(assignment.user_data) == expected["user_data"]
    assert encode_assignment(assignment) == data


def as_structs(pairs):
    return [{"topic": topic, "partitions": partitions} for topic, partitions in pairs]


def as_fields(subscription, version):
    """Returns the fields that the version has; the others must have their defaults."""
    every = [
        (0, "topics", subscription.topics, None),
        (0, "user_data", subscription.user_data, None),
        (1, "owned_partitions", as_structs(subscription.owned_partitions), []),
        (2, "generation_id", subscription.generation_id, -1),
        (3, "rack_id", subscription.rack_id, None),
    ]
    assert all(value == default for since, _, value, default in every if since > version)
    return {name: value for since, name, value, _ in every if since <= version}
