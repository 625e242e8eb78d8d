"""Settings in force: configuration files of brokers, what kafka-configs.sh prints, log lines."""

import pytest

from coordinator_core.whatif.known_settings import KnownSetting, configured_in
from jobs.bronze import configurations
from jobs.console.errors import UsageError
from jobs.engine.embedded import embedded_session
from jobs.ingest import Inputs, run
from jobs.lake.opening import open_lake
from jobs.sources.configurations.files import Setting, settings_in
from jobs.sources.configurations.start_ups import StartUpSettings
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


def start(settings, broker_id):
    return (
        f"[2026-11-21 00:46:20,000] INFO KafkaConfig values: \n\tbroker.id = {broker_id}\n"
        f"\tgroup.coordinator.threads = null\n\t{settings}\n\tlog.dirs = /data\n"
        f"\tnode.id = {broker_id}\n\tssl.key.password = [hidden]\n (kafka.server.KafkaConfig)\n"
    )


def server_log(tmp_path, text, name="server.log", day="2026-11-21"):
    line = f"[{day} 00:46:21,000] INFO [GroupCoordinator id=7] Starting up. (kafka.X) {name}\n"
    return file(tmp_path, text + line, name)


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


def test_a_file_has_priority_over_what_a_broker_printed(tmp_path):
    lake = open_lake(embedded_session(), str(tmp_path / "lake"), "c")
    text = f"{start('group.max.size = 5', 7)}{start('group.max.size = 6', 8)}"
    log = server_log(tmp_path, text)
    properties = file(tmp_path, "node.id=7\ngroup.max.size=9\n")

    run(lake, Inputs(broker_logs=[log], broker_configs=[properties]))

    assert stored(lake) == [("7", "group.max.size", "9"), ("8", "group.max.size", "6")]


def test_the_last_log_of_a_broker_has_its_settings(tmp_path):
    lake = open_lake(embedded_session(), str(tmp_path / "lake"), "c")
    logs = [
        server_log(tmp_path, start("group.max.size = 5", 7), "server.log", "2026-11-22"),
        server_log(tmp_path, start("group.max.size = 6", 7), "server.log.1", "2026-11-21"),
    ]
    run(lake, Inputs(broker_logs=logs))
    first = lake.read("configurations").collect()
    run(lake, Inputs(broker_logs=logs))

    assert stored(lake) == [("7", "group.max.size", "5")]
    assert first[0].source == f"{logs[0]}: KafkaConfig values"
    assert lake.read("configurations").collect() == first


def test_an_older_log_that_is_read_later_changes_nothing(tmp_path):
    lake = open_lake(embedded_session(), str(tmp_path / "lake"), "c")
    newer = server_log(tmp_path, start("group.max.size = 5", 7), "server.log", "2026-11-22")
    older = server_log(tmp_path, start("group.max.size = 6", 7), "server.log.1", "2026-11-21")

    for log in (newer, older):
        run(lake, Inputs(broker_logs=[log]))

    assert stored(lake) == [("7", "group.max.size", "5")]
    (stored_row,) = lake.read("configurations").collect()
    assert f"{stored_row.seen_time:%Y-%m-%d %H:%M}" == "2026-11-22 00:00"


def test_logs_of_one_day_do_not_tell_which_value_was_last(tmp_path):
    lake = open_lake(embedded_session(), str(tmp_path / "lake"), "c")
    settings = "group.max.size = {}\n\tgroup.min.session.timeout.ms = 6000"
    logs = [
        server_log(tmp_path, start(settings.format(size), 7), f"server.log.{size}") for size in "56"
    ]

    run(lake, Inputs(broker_logs=logs))

    assert stored(lake) == [("7", "group.min.session.timeout.ms", "6000")]


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

    cluster = cluster_evidence_of([], [], [], rows).configured

    assert cluster.of_brokers == {
        "group.min.session.timeout.ms": KnownSetting("6000", "server.properties")
    }
    assert cluster.of_groups == {
        "orders": {"consumer.session.timeout.ms": KnownSetting("50000", "server.properties")}
    }


def test_a_group_s_own_settings_are_those_of_its_last_line_unless_another_source_has_them():
    rows = [
        row("orders", "consumer.session.timeout.ms", "12000", "group")
        | {"source": "line of a broker"},
        row("orders", "consumer.session.timeout.ms", "50000", "group"),
        row("bills", "consumer.session.timeout.ms", "12000", "group")
        | {"source": "line of a broker"},
        row("1", "group.consumer.session.timeout.ms", "45000"),
        row("1", "group.consumer.heartbeat.interval.ms", "4000"),
    ]

    configured = configured_in(rows)

    assert configured.of("orders").timing("consumer") == (4000, 50_000)
    assert configured.of("bills").timing("consumer") == (4000, 12_000)
    assert configured.of("others").timing("consumer") == (4000, 45_000)
    assert configured.of("others").timing("share") == (None, None)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_what_brokers_print_when_they_start_is_read_by_broker(size):
    """In chunks of ``size`` lines; brokers print the settings again when one changes."""
    text = start("group.max.size = 5", 7) + start("group.max.size = 6", 8) + "[...] INFO next\n"
    lines = (text + start("group.max.size = 8", 7)).encode().splitlines(keepends=True)
    printed = StartUpSettings()

    for at in range(0, len(lines), size):
        printed.read(b"".join(lines[at : at + size]))
    printed.finish()

    assert printed.of_brokers == {"7": {"group.max.size": "8"}, "8": {"group.max.size": "6"}}


def test_a_container_runtime_escapes_the_lines():
    printed = StartUpSettings()

    printed.read(
        b'{"log":"[...] INFO KafkaConfig values: \\n","stream":"stdout"}\n'
        b'{"log":"\\tgroup.coordinator.rebalance.protocols = [classic, consumer]\\n"}\r\n'
        b'{"log":"\\tnode.id = 3\\n","stream":"stdout"}'
    )
    printed.finish()

    assert printed.of_brokers == {
        "3": {"group.coordinator.rebalance.protocols": "[classic, consumer]"}
    }


def test_a_layout_of_json_has_the_settings_in_one_line():
    printed = StartUpSettings()

    printed.read(
        b'{"level":"INFO","message":"KafkaConfig values: \\n\\tgroup.max.size = 5\\n'
        b'\\tnode.id = 3\\n (kafka.server.KafkaConfig)"}\n'
        b'{"level":"INFO","message":"next: \\tgroup.max.size = 6"}\n'
    )
    printed.finish()

    assert printed.of_brokers == {"3": {"group.max.size": "5"}}
