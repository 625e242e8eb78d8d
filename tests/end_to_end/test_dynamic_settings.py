"""Settings that advice cannot give as lines for kafka-configs.sh: brokers refuse them; and limits
of those that it gives.
"""

import pytest
from confluent_kafka import KafkaException
from confluent_kafka import admin as ck_admin

from jobs.sources.configurations.live import describe_settings
from jobs.sources.topic.kafka import Kafka


@pytest.fixture(scope="module")
def alter(started_broker):
    """``alter(name, value, group)``: sets a setting of the broker while it runs, or of a group if
    one is given.  Raises KafkaException.
    """
    bootstrap = started_broker("embedded").bootstrap
    admin = ck_admin.AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def altered(name, value, group=None):
        entry = ck_admin.ConfigEntry(
            name, value, incremental_operation=ck_admin.AlterConfigOpType.SET
        )
        types = ck_admin.ConfigResource.Type
        resource = ck_admin.ConfigResource(
            types.BROKER if group is None else types.GROUP,
            group or "1",
            incremental_configs=[entry],
        )
        (done,) = admin.incremental_alter_configs([resource]).values()
        done.result(timeout=30)

    return altered


@pytest.mark.parametrize(
    "name",
    [
        "group.initial.rebalance.delay.ms",
        "group.min.session.timeout.ms",
        "group.max.session.timeout.ms",
        "group.max.size",
        "group.consumer.session.timeout.ms",
        "group.consumer.min.session.timeout.ms",
        "group.consumer.min.heartbeat.interval.ms",
    ],
)
def test_a_broker_refuses_group_settings_while_it_runs(alter, name):
    with pytest.raises(KafkaException, match="Cannot update these configs dynamically"):
        alter(name, "10000")


def test_a_broker_takes_a_dynamic_setting(alter):
    alter("message.max.bytes", "2000000")


@pytest.mark.parametrize(
    ("name", "value", "limit"),
    [
        ("consumer.session.timeout.ms", "44999", "group.consumer.min.session.timeout.ms"),
        ("consumer.session.timeout.ms", "45000", None),
        ("consumer.session.timeout.ms", "60000", None),
        ("consumer.session.timeout.ms", "60001", "group.consumer.max.session.timeout.ms"),
        ("consumer.heartbeat.interval.ms", "4999", "group.consumer.min.heartbeat.interval.ms"),
        ("consumer.heartbeat.interval.ms", "5000", None),
        ("consumer.heartbeat.interval.ms", "15000", None),
        ("consumer.heartbeat.interval.ms", "15001", "group.consumer.max.heartbeat.interval.ms"),
    ],
)
def test_a_consumer_groups_own_settings_are_within_the_brokers_limits(alter, name, value, limit):
    """As in coordinator_core.whatif.broker_limits."""
    if limit is None:
        alter(name, value, "orders")
        return
    with pytest.raises(KafkaException, match=f"must be .* or equal to {limit}"):
        alter(name, value, "orders")


def test_the_settings_of_brokers_and_groups_are_described(started_broker, alter):
    alter("consumer.session.timeout.ms", "50000", "orders")

    live = describe_settings(Kafka(started_broker("embedded").bootstrap), ["orders"])

    own = {(each.entity_type, each.name): each for each in live.settings}
    assert live.problems == []
    assert own["broker", "group.consumer.session.timeout.ms"][1:] == (
        "1", "group.consumer.session.timeout.ms", "45000", True
    )  # fmt: skip
    assert own["group", "consumer.session.timeout.ms"][1:] == (
        "orders", "consumer.session.timeout.ms", "50000", False
    )  # fmt: skip
    assert {name.partition(".")[0] for _, name in own} <= {"group", "consumer", "share", "streams"}
