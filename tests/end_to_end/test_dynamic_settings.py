"""Settings that advice cannot give as lines for kafka-configs.sh: brokers refuse them."""

import pytest
from confluent_kafka import KafkaException
from confluent_kafka import admin as ck_admin

from tools import kafka_broker


@pytest.fixture(scope="module")
def alter(tmp_path_factory):
    """``alter(name, value)``: sets a broker's setting while it runs.  Raises KafkaException."""
    with kafka_broker.Broker(tmp_path_factory.mktemp("broker"), offsets_partitions=1) as broker:
        admin = ck_admin.AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})

        def altered(name, value):
            entry = ck_admin.ConfigEntry(
                name, value, incremental_operation=ck_admin.AlterConfigOpType.SET
            )
            resource = ck_admin.ConfigResource(
                ck_admin.ConfigResource.Type.BROKER, "1", incremental_configs=[entry]
            )
            (done,) = admin.incremental_alter_configs([resource]).values()
            done.result(timeout=30)

        yield altered


@pytest.mark.parametrize(
    "name",
    [
        "group.initial.rebalance.delay.ms",
        "group.min.session.timeout.ms",
        "group.max.session.timeout.ms",
        "group.max.size",
    ],
)
def test_a_broker_refuses_group_settings_while_it_runs(alter, name):
    with pytest.raises(KafkaException, match="Cannot update these configs dynamically"):
        alter(name, "10000")


def test_a_broker_takes_a_dynamic_setting(alter):
    alter("message.max.bytes", "2000000")
