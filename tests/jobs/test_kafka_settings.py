"""Source kafka: settings for Spark's source and Kafka's consumers; passwords are not shown."""

import pytest

from jobs.console.errors import RunFailed, UsageError
from jobs.sources.topic.kafka import Kafka, slices
from jobs.sources.topic.kafka_client import ClientTopic
from jobs.sources.topic.kafka_settings import reader_settings

SETTINGS = {
    "security.protocol": "SASL_SSL",
    "sasl.jaas.config": "password=hidden",
    "maxOffsetsPerTrigger": "10",
}


def test_spark_gets_its_options_and_prefixed_consumer_settings():
    assert Kafka("a:1,b:2", SETTINGS | {"minPartitions": "9"}).options("read_committed") == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.jaas.config": "password=hidden",
        "kafka.bootstrap.servers": "a:1,b:2",
        "kafka.isolation.level": "read_committed",
        "minPartitions": "9",
    }


def test_the_plain_consumer_gets_the_same_settings():
    assert Kafka("a:1", SETTINGS).consumer_settings("read_uncommitted") == {
        "security.protocol": "SASL_SSL",
        "sasl.jaas.config": "password=hidden",
        "bootstrap.servers": "a:1",
        "isolation.level": "read_uncommitted",
    }


def test_a_slice_has_a_share_of_every_partition():
    start, end = {0: 100, 1: 0, 2: 7}, {0: 130, 1: 10, 2: 7}

    assert list(slices(start, end, limit=20)) == [
        ({0: 100, 1: 0}, {0: 115, 1: 5}),
        ({0: 115, 1: 5}, {0: 130, 1: 10}),
    ]
    assert list(slices(end, end, limit=20)) == []


def test_a_slice_is_limited_by_the_setting():
    assert Kafka("a:1", SETTINGS).offsets_per_slice == 10
    assert Kafka("a:1").offsets_per_slice == 5_000_000


LOGIN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'x required username="u" password="p";',
}
OF_LOGIN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "u",
    "sasl.password": "p",
}


@pytest.mark.parametrize(
    ("java", "librdkafka"),
    [
        (LOGIN, OF_LOGIN),
        (LOGIN | {"fetch.max.wait.ms": "5", "fetch.min.bytes": "1"},
         OF_LOGIN | {"fetch.wait.max.ms": "5", "fetch.min.bytes": "1"}),
        (LOGIN | {"max.poll.records": "5", "minPartitions": "9"}, OF_LOGIN),
        (OF_LOGIN | {"ssl.ca.location": "ca.pem"}, OF_LOGIN | {"ssl.ca.location": "ca.pem"}),
        (LOGIN | {"ssl.truststore.type": "PEM", "ssl.truststore.location": "ca.pem"},
         OF_LOGIN | {"ssl.ca.location": "ca.pem"}),
    ],
    ids=["a login", "other names", "without effect", "librdkafka's own names", "a PEM store"],
)  # fmt: skip
def test_settings_of_java_in_librdkafka(java, librdkafka):
    assert reader_settings(java) == librdkafka


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"security.protocol": "SSL", "ssl.truststore.location": "a.jks"},
         r"ssl.truststore.location \(JKS\)"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"},
         r"sasl.mechanism \(OAUTHBEARER\)"),
        ({"interceptor.classes": "a.B"}, 'No such configuration property: "interceptor.classes"'),
        ({"fetch.min.bytes": "many"}, 'Invalid value for configuration property "fetch.min.bytes"'),
    ],
    ids=["a Java store", "a mechanism", "a setting that librdkafka lacks", "a wrong value"],
)  # fmt: skip
def test_a_setting_that_librdkafka_does_not_accept_is_named(settings, name):
    with pytest.raises(UsageError, match=rf"^\[kafka\] {name}.*use --engine spark$") as raised:
        ClientTopic(Kafka("127.0.0.1:1", settings))

    assert "\n" not in str(raised.value)


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


def test_hosts_that_cannot_be_resolved_end_the_run_before_its_limit(monkeypatch):
    monkeypatch.setattr("jobs.sources.topic.kafka_client._RESOLVE_LIMIT_S", 0.5)
    topic = ClientTopic(
        Kafka("a.invalid:9092,b.invalid:9092", {"default.api.timeout.ms": "900000"})
    )

    with pytest.raises(
        RunFailed, match=r"^--kafka a\.invalid:9092,b\.invalid:9092: .*Failed to res"
    ):
        topic.offset_ranges()
