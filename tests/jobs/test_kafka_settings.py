"""Source kafka: settings for Spark's source and Kafka's consumers; passwords are not shown."""

import pytest

from jobs.console.errors import UsageError
from jobs.sources.kafka import Kafka

SETTINGS = {
    "security.protocol": "SASL_SSL",
    "sasl.jaas.config": "password=hidden",
    "maxOffsetsPerTrigger": "10",
}


def test_spark_gets_its_options_and_prefixed_consumer_settings():
    assert Kafka("a:1,b:2", SETTINGS).options("read_committed") == {
        "maxOffsetsPerTrigger": "10",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.jaas.config": "password=hidden",
        "kafka.bootstrap.servers": "a:1,b:2",
        "kafka.isolation.level": "read_committed",
    }


def test_the_plain_consumer_gets_the_same_settings():
    assert Kafka("a:1", SETTINGS).consumer_settings("read_uncommitted") == {
        "security.protocol": "SASL_SSL",
        "sasl.jaas.config": "password=hidden",
        "bootstrap.servers": "a:1",
        "isolation.level": "read_uncommitted",
    }


def test_passwords_are_not_shown():
    assert "hidden" not in repr(Kafka("a:1", SETTINGS))


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_isolation_is_committed_by_default(level):
    assert Kafka("a:1").isolation == "read_committed"
    assert Kafka("a:1", {"isolation.level": level}).isolation == level


@pytest.mark.parametrize("address", ["host:9092", "10.0.0.1:9092", "[::1]:9092", "a:1,b-2.c:2"])
def test_a_valid_address(address):
    assert Kafka(address).bootstrap == address


@pytest.mark.parametrize(
    "address", ["", "host", "host:", ":9092", "http://host:9092", "a:1,", "a:1 b:2"]
)
def test_an_invalid_address(address):
    with pytest.raises(UsageError, match=r"give HOST:PORT\[,HOST:PORT\.\.\.\]"):
        Kafka(address)
