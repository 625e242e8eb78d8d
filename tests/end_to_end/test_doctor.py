"""doctor against a real broker: its metadata, and the time zone of its log."""

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from jobs.configuration.config import Config
from jobs.doctor import broker_logs, brokers
from tools.kafka_broker import LOGIN


@pytest.fixture(scope="module")
def broker(started_broker):
    return started_broker("embedded")


@pytest.fixture(scope="module")
def with_a_group(broker):
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic("of-doctor", 1)])["of-doctor"].result()
    consumer = ck.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "log_level": 0})
    consumer.subscribe(["of-doctor"])
    for _ in range(100):
        consumer.poll(0.2)
        if "Stabilized group g" in broker.log.read_text():
            break
    else:
        pytest.fail("the consumer has no group after 20 s")
    yield
    consumer.close()


def test_a_broker_before_its_first_group(broker):
    results = brokers.check_brokers(broker.bootstrap, Config())

    assert [(result.severity, result.text) for result in results] == [
        ("warning", f"{broker.bootstrap} answers, but has no __consumer_offsets"),
        ("warning", "no group is listed"),
    ]


def test_a_broker_with_a_group(broker, with_a_group):
    [result] = brokers.check_brokers(broker.bootstrap, Config())

    assert (result.severity, result.text) == (
        "ok",
        f"{broker.bootstrap} answers, __consumer_offsets has 1 partition on 1 broker",
    )


def secured(broker, **changed):
    """[kafka] for the broker's listener with TLS and a login, with some settings changed."""
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{LOGIN} username="regroup" password="secret";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(broker.certificate),
    }
    return Config(kafka=settings | {name.replace("_", "."): v for name, v in changed.items()})


def test_a_broker_with_tls_and_a_login(broker, with_a_group):
    [result] = brokers.check_brokers(broker.secured_bootstrap, secured(broker))

    assert (result.severity, result.text) == (
        "ok",
        f"{broker.secured_bootstrap} answers, __consumer_offsets has 1 partition on 1 broker",
    )


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"sasl_jaas_config": 'x required username="regroup" password="wrong";'}, "SASL"),
        ({"ssl_truststore_location": "/nowhere.pem"}, "ssl.ca.location failed"),
        ({"security_protocol": "SASL_PLAINTEXT"}, "does not speak Kafka's protocol over"),
    ],
    ids=["wrong password", "no truststore", "no TLS"],
)
def test_a_refused_login_is_one_line_that_names_the_cause(broker, changed, text):
    [result] = brokers.check_brokers(broker.secured_bootstrap, secured(broker, **changed))

    assert result.severity == "failure"
    assert text in result.text
    assert "\n" not in result.text


@pytest.mark.parametrize(
    ("zone", "severity", "text"),
    [
        ("UTC", "ok", "the file's write time confirms it"),
        ("Asia/Tokyo", "warning", "the brokers' clocks are 9 h behind Asia/Tokyo"),
    ],
)
def test_the_zone_of_a_log_in_use_is_confirmed(broker, with_a_group, zone, severity, text):
    lines, dates = broker_logs.check_broker_logs(str(broker.log), zone)

    assert lines.severity == "ok"
    assert (dates.check, dates.severity) == ("log dates", severity)
    assert text in dates.text
