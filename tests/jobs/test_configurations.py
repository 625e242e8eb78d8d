"""Settings in force: configuration files of brokers, what kafka-configs.sh prints, log lines."""

import pytest

from coordinator_core.whatif.known_settings import KnownSetting
from jobs.bronze import configurations
from jobs.console.errors import UsageError
from jobs.engine.embedded import embedded_session
from jobs.lake.opening import open_lake
from jobs.sources.configurations.files import Setting, settings_in
from jobs.what_if.evidence import cluster_evidence_of

PROPERTIES = """\
# group.consumer.session.timeout.ms=1
node.id=4
listener.name.secured.plain.sasl.jaas.config=secret
group.consumer.session.timeout.ms=45000
  group.consumer.session.timeout.ms = 10000
group.consumer.heartbeat.interval.ms:3000
group.initial.rebalance.delay.ms=
"""
DESCRIBED = """\
All configs for broker 1 are:
  group.consumer.session.timeout.ms=45000 sensitive=false synonyms={DEFAULT_CONFIG:...=45000}
  log.dirs=/data sensitive=false synonyms={}
Dynamic configs for group orders are:
  consumer.session.timeout.ms=50000 sensitive=false synonyms={}
"""
FEATURES = """\
Feature: group.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\tFinalizedVersionLevel: 1
Feature: metadata.version\tSupportedMinVersion: 3.3-IV3\tSupportedMaxVersion: 4.1-IV1\t\
FinalizedVersionLevel: 4.1-IV1\tEpoch: 34
"""
LOGGED = """\
[2026-11-21 00:46:20,000] INFO KafkaConfig values:
\tadvertised.listeners = PLAINTEXT://127.0.0.1:9092
\tbroker.id = 7
\tgroup.consumer.min.session.timeout.ms = 6000
 (kafka.server.KafkaConfig)
"""


def file(tmp_path, text, name="server.properties"):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            PROPERTIES,
            [
                Setting("broker", "4", "group.consumer.session.timeout.ms", "10000"),
                Setting("broker", "4", "group.consumer.heartbeat.interval.ms", "3000"),
            ],
        ),
        (
            DESCRIBED,
            [
                Setting("broker", "1", "group.consumer.session.timeout.ms", "45000"),
                Setting("group", "orders", "consumer.session.timeout.ms", "50000"),
            ],
        ),
        (LOGGED, [Setting("broker", "7", "group.consumer.min.session.timeout.ms", "6000")]),
    ],
)
def test_settings_of_groups_are_read_and_nothing_else(tmp_path, text, expected):
    assert settings_in(file(tmp_path, text)) == expected


def test_a_file_without_the_id_of_its_broker_is_named_itself(tmp_path):
    path = file(tmp_path, "group.min.session.timeout.ms=6000\n")

    assert settings_in(path) == [Setting("broker", path, "group.min.session.timeout.ms", "6000")]


def test_output_about_features_gives_the_versions_of_the_brokers(tmp_path):
    path = file(tmp_path, FEATURES)

    assert settings_in(path) == [Setting("broker", path, "kafka.version", "4.1")]


def test_a_file_without_such_a_setting_is_refused(tmp_path):
    path = file(tmp_path, "log.dirs=/data\n")

    with pytest.raises(UsageError, match=r"no setting of group coordinators; give server"):
        settings_in(path)


def stored(lake):
    rows = lake.read("configurations").orderBy("entity_type", "entity", "name").collect()
    return [(row.entity, row.name, row.value) for row in rows]


def test_a_file_replaces_the_settings_of_its_brokers_and_groups(tmp_path):
    lake = open_lake(embedded_session(), str(tmp_path / "lake"), "c")
    configurations.store_files(lake, [file(tmp_path, PROPERTIES), file(tmp_path, DESCRIBED, "x")])
    configurations.store_files(
        lake, [file(tmp_path, "node.id=4\ngroup.consumer.max.size=9\n", "other")]
    )

    assert stored(lake) == [
        ("1", "group.consumer.session.timeout.ms", "45000"),
        ("4", "group.consumer.max.size", "9"),
        ("orders", "consumer.session.timeout.ms", "50000"),
    ]


def row(entity, name, value, entity_type="broker", is_default=False):
    return {
        "entity_type": entity_type,
        "entity": entity,
        "name": name,
        "value": value,
        "is_default": is_default,
        "source": "/etc/kafka/server.properties",
    }


def test_a_setting_in_which_brokers_differ_is_unknown():
    rows = [
        row("1", "group.max.size", "5"),
        row("2", "group.max.size", "6"),
        row("1", "group.min.session.timeout.ms", "6000"),
        row("2", "group.min.session.timeout.ms", "6000"),
        row("orders", "consumer.session.timeout.ms", "50000", "group"),
        row("orders", "consumer.heartbeat.interval.ms", "5000", "group", is_default=True),
    ]

    cluster = cluster_evidence_of([], [], [], rows)

    assert cluster.of_brokers == {
        "group.min.session.timeout.ms": KnownSetting("6000", "server.properties")
    }
    assert cluster.of_groups == {
        "orders": {"consumer.session.timeout.ms": KnownSetting("50000", "server.properties")}
    }
