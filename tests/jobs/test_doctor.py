"""doctor: what each check reports, and the remedy that it names."""

import io
import json
import os
import re
import socket
import stat
import sys
import threading
import time
import zipfile
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from zoneinfo import ZoneInfo

import confluent_kafka as ck
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs import doctor
from jobs.configuration.config import Config
from jobs.console.errors import UsageError
from jobs.console.printing import Format
from jobs.doctor import broker_logs, brokers, lakes, log_samples, machine, spark
from jobs.doctor.results import failure, ok, warning
from jobs.sources.topic import broker_metadata
from jobs.sources.topic.broker_metadata import BrokerMetadata
from jobs.sources.topic.kafka_settings import client_settings
from jobs.sources.topic.segments import TOPIC


@pytest.fixture(autouse=True)
def _few_attempts(monkeypatch):
    """A broker that refuses is asked twice, not for a second."""
    monkeypatch.setattr(broker_metadata, "RETRY_LIMIT_S", 0.1)


@pytest.fixture
def java_prints(tmp_path, monkeypatch):
    """Install a java that prints this for -version."""

    def install(output):
        program = tmp_path / "bin" / "java"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho '{output}' >&2\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        return program

    return install


@pytest.mark.parametrize(
    ("output", "severity"),
    [
        ('openjdk version "17.0.15" 2025-04-15', "ok"),
        ('openjdk version "21" 2023-09-19', "ok"),
        ('java version "1.8.0_402"', "failure"),
        ('openjdk version "11.0.2" 2019-01-15', "failure"),
        ("Unrecognized option: -version", "failure"),
    ],
)
def test_java_is_17_or_later(java_prints, output, severity):
    java_prints(output)

    assert machine.java().severity == severity


def test_no_java(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")

    result = machine.java()

    assert (result.severity, result.text) == (
        "failure",
        "no java on the path, and JAVA_HOME is not set",
    )
    assert "openjdk-17-jre-headless" in result.remedy


def test_java_home_without_java(monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nowhere")

    assert machine.java().severity == "failure"


@pytest.mark.parametrize(
    ("heap", "free_gib", "severity"),
    [
        ("2g", 8, "ok"),
        ("2g", 2.5, "warning"),
        ("2g", 1, "failure"),
        ("2048", 1, "failure"),  # A bare number counts MiB.
        ("512m", 2, "ok"),
        ("much", 8, "failure"),
    ],
)
def test_free_memory_must_hold_the_heap_and_python_workers(monkeypatch, heap, free_gib, severity):
    monkeypatch.setattr(machine, "free_memory", lambda: int(free_gib * machine.GIB))

    assert machine.memory(Config(spark={"spark.driver.memory": heap})).severity == severity


def test_on_a_cluster_the_driver_memory_is_not_compared_with_this_machine(monkeypatch):
    monkeypatch.setattr(machine, "free_memory", lambda: machine.GIB)

    settings = {"spark.master": "spark://m:7077", "spark.driver.memory": "9g"}

    assert machine.memory(Config(spark=settings)).severity == "ok"


def test_a_missing_scratch_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)

    result = machine.scratch(Config(spark={"spark.local.dir": f"{tmp_path}/none"}))

    assert result.severity == "failure"
    assert result.text == f"{tmp_path}/none cannot be written: No such file or directory"


@pytest.fixture
def machine_in_utc():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("zone", "severity"), [("UTC", "ok"), ("Pacific/Kiritimati", "warning"), ("Mars", "failure")]
)
def test_the_configured_zone_is_compared_with_this_machines_zone(machine_in_utc, zone, severity):
    assert machine.time_zone(zone).severity == severity


@pytest.mark.parametrize(
    ("installed", "relation", "limit", "expected"),
    [
        ("4.2.0", "==", "4.2.0", True),
        ("4.1.1", "==", "4.2.0", False),
        ("2.3.3", "<", "3", True),
        ("3.0.0", "<", "3", False),
        ("1.10.2", ">=", "1.9", True),
        ("1.8.1", ">=", "1.9", False),
    ],
)
def test_a_version_fits_a_requirement(installed, relation, limit, expected):
    assert spark.fits(installed, relation, limit) is expected


def test_the_packages_of_this_environment_are_the_required_ones():
    [result] = spark.packages()

    assert result.severity == "ok"
    assert f"pyspark {version('pyspark')}" in result.text


@pytest.mark.parametrize(
    ("requirements", "text"),
    [
        (["pyspark==1.0.0"], f"pyspark is {version('pyspark')}, not ==1.0.0"),
        (["no-such-package"], "no-such-package is missing"),
    ],
)
def test_a_wrong_version_or_a_missing_package(monkeypatch, requirements, text):
    monkeypatch.setattr(spark, "requires", lambda name: requirements)

    assert list(spark.packages()) == [failure("packages", text, "run `make setup`")]


@pytest.fixture
def jars(tmp_path):
    """A folder of jars as `make setup` leaves it."""
    names = [
        f"io.delta_delta-spark_4.2_2.13-{version('delta-spark')}.jar",
        f"org.apache.spark_spark-sql-kafka-0-10_2.13-{version('pyspark')}.jar",
        "org.apache.kafka_kafka-clients-3.9.2.jar",
    ]
    for name in names:
        with zipfile.ZipFile(tmp_path / name, "w") as jar:
            jar.writestr("META-INF/MANIFEST.MF", "")
    (tmp_path / ".resolved").write_text("org.apache.kafka:kafka-clients:3.9.2\n")
    return tmp_path


def test_complete_jars(jars):
    assert list(spark.jars(Config(), jars)) == [ok("jars", f"3 in {jars}")]


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda f: (f / "org.apache.kafka_kafka-clients-3.9.2.jar").unlink(), "3.9.2.jar is mis"),
        (
            lambda f: (f / "org.apache.kafka_kafka-clients-3.9.2.jar").write_text("<html>"),
            "org.apache.kafka_kafka-clients-3.9.2.jar is damaged",
        ),
        (
            lambda f: next(f.glob("*delta*")).rename(f / "io.delta_delta-spark_4.0_2.13-4.0.0.jar"),
            "missing, only io.delta_delta-spark_4.0_2.13-4.0.0.jar",
        ),
        (lambda f: next(f.glob("*sql-kafka*")).unlink(), "spark-sql-kafka-0-10_2.13-4.2.0.jar is"),
        (lambda f: [jar.unlink() for jar in f.glob("*.jar")], "Spark cannot read Delta tables"),
    ],
    ids=["missing", "damaged", "another version", "no connector", "none"],
)
def test_incomplete_jars(jars, damage, text):
    damage(jars)

    [result] = spark.jars(Config(), jars)

    assert result.severity == "failure"
    assert text in result.text
    assert "regroup jars" in result.remedy


def test_jars_that_spark_downloads(tmp_path):
    [result] = spark.jars(Config(spark={"spark.jars.packages": "io.delta:delta:1"}), tmp_path)

    assert result.severity == "ok"


def test_a_lake_that_does_not_exist_yet(tmp_path):
    [result] = lakes.check_lake(f"{tmp_path}/a/lake")

    assert result.severity == "ok"
    assert "does not exist yet; the first run creates it" in result.text
    assert list(tmp_path.iterdir()) == []


def test_a_lake_that_is_a_file(tmp_path):
    (tmp_path / "lake").write_text("")

    [result] = lakes.check_lake(f"{tmp_path}/lake")

    assert (result.severity, result.remedy) == ("failure", "give a folder: --lake DIR")


def test_a_lake_without_write_permission(tmp_path, monkeypatch):
    def no_permission(folder):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(lakes, "free_bytes", no_permission)

    result = next(lakes.check_lake(str(tmp_path)))

    assert (result.severity, result.text) == (
        "failure",
        f"{tmp_path} cannot be written: Permission denied",
    )


@pytest.mark.parametrize(("free_gib", "severity"), [(50, "ok"), (3, "warning"), (0.1, "failure")])
def test_free_space_for_the_lake(tmp_path, monkeypatch, free_gib, severity):
    monkeypatch.setattr(lakes, "free_bytes", lambda folder: int(free_gib * machine.GIB))

    assert next(lakes.check_lake(str(tmp_path))).severity == severity


def test_the_outcome_of_each_clusters_last_run(tmp_path):
    runs = [
        {"cluster_id": "a", "outcome": "done", "error": None, "hour": 1},
        {"cluster_id": "b", "outcome": "done", "error": None, "hour": 1},
        {"cluster_id": "b", "outcome": "failed", "error": "OSError: no room", "hour": 2},
    ]
    rows = [
        run | {"step": "nightly", "from_time": datetime(2026, 11, 21, run.pop("hour"), tzinfo=UTC)}
        for run in runs
    ]
    write_deltalake(f"{tmp_path}/runs", pa.Table.from_pylist(rows))

    assert list(lakes.check_lake(str(tmp_path)))[1:] == [
        ok("tables", "1 tables; last run of a began 2026-11-21 01:00 UTC: done"),
        warning(
            "tables",
            "1 tables; last run of b began 2026-11-21 02:00 UTC: failed: OSError: no room",
            "start the same run again",
        ),
    ]


def test_an_object_store_is_not_written_to():
    result = next(lakes.check_lake("memory://bucket/lake"))

    assert result.severity == "warning"


COORDINATOR_LINE = (
    "[2026-11-21 10:00:01,000] INFO [GroupCoordinator 1]: Preparing to rebalance group g in state "
    "PreparingRebalance with old generation 0 (__consumer_offsets-1) (reason: Adding new member "
    "m-00000000-0000-0000-0000-000000000001 with group instance id None) "
    "(kafka.coordinator.group.GroupCoordinator)"
)
OTHER_LINE = "[2026-11-21 10:00:00,000] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)"
UNKNOWN_LINE = (
    "[2026-11-21 10:00:02,000] INFO [GroupCoordinator 1]: Danced with g "
    "(kafka.coordinator.group.GroupCoordinator)"
)


@pytest.fixture
def log(tmp_path):
    def write(*lines, written=None):
        file = tmp_path / "server.log"
        file.write_text("".join(f"{line}\n" for line in lines))
        if written is not None:
            os.utime(file, (written.timestamp(), written.timestamp()))
        return str(file)

    return write


def test_coordinator_lines_are_counted(log):
    file = log(OTHER_LINE, COORDINATOR_LINE, OTHER_LINE)

    result = next(broker_logs.check_broker_logs(file, "UTC"))

    assert result == ok("broker log", f"{file}: 1 of 3 lines are from the coordinator")


def test_unreadable_lines_are_shown(log):
    _, result, _ = broker_logs.check_broker_logs(log(COORDINATOR_LINE, UNKNOWN_LINE), "UTC")

    assert result.severity == "warning"
    assert "1 unreadable lines, first: line 2" in result.text
    assert "Danced with g" in result.text


@pytest.mark.parametrize(
    ("lines", "severity"),
    [([OTHER_LINE], "warning"), (["GET /index.html 200", "GET / 404"], "failure"), ([], "warning")],
    ids=["broker without coordinator lines", "not a broker log", "empty"],
)
def test_a_log_without_coordinator_lines(log, lines, severity):
    """A run fails unless another log has some and this log may be without."""
    file = log(*lines)

    [alone] = broker_logs.check_broker_logs(file, "UTC")
    other = Path(file).with_name("other.log")
    other.write_text(f"{COORDINATOR_LINE}\n")
    *_, beside = broker_logs.check_broker_logs(f"{Path(file).parent}/*.log", "UTC")

    assert (alone.severity, beside.severity) == ("failure", severity)
    assert f"{file}: 0 of {len(lines)} lines" in beside.text


def test_a_missing_log():
    [result] = broker_logs.check_broker_logs("/nowhere/*.log", "UTC")

    assert result.severity == "failure"
    assert result.text.startswith("--broker-log /nowhere/*.log: no such file")


@pytest.mark.parametrize(
    ("clock", "read_as", "severity", "text"),
    [
        ("UTC", "UTC", "ok", "the file's write time confirms it"),
        ("Europe/Berlin", "Europe/Berlin", "ok", "the file's write time confirms it"),
        ("Europe/Berlin", "UTC", "warning", "the brokers' clocks are 1 h ahead of UTC"),
        ("Asia/Kolkata", "UTC", "warning", "the brokers' clocks are 5.5 h ahead of UTC"),
        ("America/New_York", "UTC", "warning", "the brokers' clocks are 5 h behind UTC"),
    ],
)
def test_a_logs_write_time_shows_its_zone(log, clock, read_as, severity, text):
    """The line's time is 10:00:01 by the broker's clock, and so is the file's write time."""
    file = log(COORDINATOR_LINE, written=datetime(2026, 11, 21, 10, 0, 3, tzinfo=ZoneInfo(clock)))

    *_, result = broker_logs.check_broker_logs(file, read_as)

    assert (result.check, result.severity) == ("log dates", severity)
    assert text in result.text


def test_a_copied_logs_zone_is_unknown(log):
    file = log(COORDINATOR_LINE, written=datetime(2026, 11, 24, 8, 7, 3, tzinfo=UTC))

    *_, result = broker_logs.check_broker_logs(file, "UTC")

    assert (result.severity, result.remedy) == (
        "ok",
        "if the brokers use another time zone, give --log-timezone",
    )


def test_every_line_names_its_zone(log):
    *_, result = broker_logs.check_broker_logs(
        log(f"2026-11-21T10:00:01.000Z stdout F {COORDINATOR_LINE[26:]}"), "UTC"
    )

    assert result == ok("log dates", "every line names its time zone")


def test_a_log_without_any_date(log):
    undated = COORDINATOR_LINE.partition("] ")[2]

    *_, result = broker_logs.check_broker_logs(log(undated, undated), "UTC")

    assert (result.check, result.severity) == ("broker log", "failure")
    assert "2 of 2 lines are from the coordinator; no line has a complete date" in result.text


@pytest.mark.parametrize(
    ("seconds", "is_newest_first"),
    [([1, 2, 3], False), ([3, 2, 1], True), ([3, 3, 2, 1], True), ([1, 2, 3, 1, 2], False)],
)
def test_an_export_with_its_newest_line_first(log, seconds, is_newest_first):
    lines = [COORDINATOR_LINE.replace("10:00:01", f"10:00:0{second}") for second in seconds]

    results = list(broker_logs.check_broker_logs(log(*lines), "UTC"))

    assert ("log order" in [result.check for result in results]) == is_newest_first


def test_only_the_beginning_of_a_long_log_is_read(log, monkeypatch):
    monkeypatch.setattr(log_samples, "MOST_BYTES", 1000)

    result = next(broker_logs.check_broker_logs(log(*[COORDINATOR_LINE] * 10), "UTC"))

    assert result.severity == "ok"
    assert "3 of 3 lines are from the coordinator" in result.text


@pytest.fixture(scope="module")
def broker():
    """Address of one of librdkafka's mock brokers; `__consumer_offsets` has 4 partitions."""
    producer = ck.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "-", "log_level": 0})
    for _ in range(50):  # The first request creates the topic.
        cluster = producer.list_topics(TOPIC, timeout=5)
        if cluster.topics[TOPIC].partitions:
            break
    [node] = cluster.brokers.values()
    yield f"{node.host}:{node.port}"
    producer.flush()


@contextmanager
def server(answer):
    """A TCP server on loopback that sends ``answer`` to every request; None: no reply at all."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                kept.append(connection)
                if answer is not None:
                    connection.recv(1000)
                    connection.sendall(answer)
                    connection.close()

        kept = []
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        for connection in kept:
            connection.close()


def test_a_broker_that_can_be_read_from(broker):
    assert list(brokers.check_brokers(broker, Config())) == [
        ok("kafka", f"{broker} answers, __consumer_offsets has 4 partitions on 1 broker")
    ]


ADDRESS = ("127.0.0.1", 9)
LEADERS = {0: 1, 1: 1, 2: 1}
NO_LEADER = {0: 1, 1: -1, 2: 1}


@pytest.mark.parametrize(
    ("metadata", "severity", "text"),
    [
        (
            BrokerMetadata({1: ADDRESS}, None, LEADERS),
            "ok",
            "__consumer_offsets has 3 partitions on 1 b",
        ),
        (
            BrokerMetadata({1: ADDRESS}, "UNKNOWN_TOPIC_OR_PART", {}),
            "warning",
            "answers, but has no __consumer_offsets",
        ),
        (
            BrokerMetadata({1: ADDRESS}, "TOPIC_AUTHORIZATION_FAILED", {}),
            "failure",
            "no permission to describe __consumer_offsets",
        ),
        (
            BrokerMetadata({1: ADDRESS}, "LEADER_NOT_AVAILABLE", {}),
            "failure",
            "__consumer_offsets: the broker answers LEADER_NOT_AVAILABLE",
        ),
        (
            BrokerMetadata({1: ADDRESS}, None, NO_LEADER),
            "failure",
            "1 of 3 partitions of __consumer_offsets have no leader",
        ),
        (
            BrokerMetadata({1: ("127.0.0.1", 10)}, None, LEADERS),
            "failure",
            "broker 1 advertises 127.0.0.1:10: Connection refused",
        ),
    ],
    ids=["ok", "no topic", "not authorized", "another error", "no leader", "wrong listener"],
)
def test_metadata_of_a_broker(metadata, severity, text):
    [result] = brokers._check_topic(ADDRESS, metadata, {})

    assert result.severity == severity
    assert text in result.text


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (
            2,
            ok(
                "snapshot",
                "2 consumer groups listed",
                "`regroup snapshot --bootstrap` stores members without reading the topic",
            ),
        ),
        (
            0,
            warning(
                "snapshot",
                "no group is listed",
                "expected before the first consumer group; otherwise grant DESCRIBE on the groups",
            ),
        ),
        (
            "Local: Timed out",
            warning(
                "snapshot",
                "no group can be listed: Local: Timed out",
                "grant this user DESCRIBE on the groups, or on the cluster to list all of them",
            ),
        ),
    ],
)
def test_what_a_snapshot_sees_if_the_topic_cannot_be_read(monkeypatch, groups, expected):
    metadata = BrokerMetadata({1: ADDRESS}, "TOPIC_AUTHORIZATION_FAILED", {})
    monkeypatch.setattr(brokers, "request_metadata", lambda *_: metadata)
    monkeypatch.setattr(brokers, "count_groups", lambda *_: groups)

    of_topic, of_groups = brokers.check_brokers("127.0.0.1:9", Config())

    assert (of_topic.check, of_topic.severity) == ("kafka", "failure")
    assert of_groups == expected


@pytest.mark.parametrize("answer", [b"", b"\x00\x00\x00\x04\x00\x00\x00\x63", b"HTTP/1.1 400\r\n"])
def test_a_server_that_is_no_broker(answer):
    with server(answer) as bootstrap:
        [result] = brokers.check_brokers(bootstrap, Config())

    assert result.severity == "failure"
    assert "does not speak Kafka's protocol over PLAINTEXT" in result.text


def test_one_of_two_brokers_is_enough(broker):
    unreachable, reachable = brokers.check_brokers(f"127.0.0.1:9,{broker}", Config())

    assert (unreachable.severity, reachable.severity) == ("warning", "ok")


def test_no_broker_listens():
    [result] = brokers.check_brokers("127.0.0.1:9", Config())

    assert result.severity == "failure"
    assert result.text == "127.0.0.1:9 does not answer: Connection refused"
    assert result.remedy == "correct --kafka, start the broker, or open the network path to it"


def test_a_host_name_that_does_not_exist():
    [result] = brokers.check_brokers("no-such-host.invalid:9092", Config())

    assert result.severity == "failure"
    assert result.text.startswith("no-such-host.invalid:9092 cannot be resolved: ")


def test_a_server_that_never_answers(monkeypatch):
    monkeypatch.setattr(broker_metadata, "ANSWER_LIMIT_S", 0.5)
    with server(None) as bootstrap:
        [result] = brokers.check_brokers(bootstrap, Config())

    assert result.severity == "failure"
    assert result.text == f"{bootstrap} does not answer: no response within 0.5 s"


def test_tls_to_a_listener_without_tls(broker):
    [result] = brokers.check_brokers(broker, Config(kafka={"security.protocol": "SSL"}))

    assert result.severity == "failure"
    assert result.text.startswith(f"TLS connection to {broker} failed: ")
    assert "security.protocol and ssl.* under [kafka]" in result.remedy


def jaas(module, user="alice", password="secret"):
    return (
        f"org.apache.kafka.common.security.{module} required "
        f'username="{user}" password="{password}";'
    )


PLAIN = {"sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas("plain.PlainLoginModule")}


def test_a_login_that_the_broker_does_not_support(broker):
    settings = {"security.protocol": "SASL_PLAINTEXT", **PLAIN}

    [result] = brokers.check_brokers(broker, Config(kafka=settings))

    assert result.severity == "failure"
    assert result.text.startswith(f"SASL login at {broker} failed: ")
    assert result.remedy == "correct sasl.* under [kafka]"
    assert "secret" not in str(result)


def test_settings_that_librdkafka_rejects(broker, tmp_path):
    missing = str(tmp_path / "ca.pem")
    settings = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": missing,
    }

    [result] = brokers.check_brokers(broker, Config(kafka=settings))

    assert result.severity == "failure"
    assert "settings under [kafka] are not valid" in result.text


def test_with_untranslatable_settings_only_the_port_is_checked(broker):
    settings = {"security.protocol": "SSL", "ssl.truststore.location": "/trust.jks"}

    result, refused = brokers.check_brokers(f"{broker},127.0.0.1:9", Config(kafka=settings))

    assert result.severity == "warning"
    assert result.text == (
        f"{broker} accepts connections; login not tried, because librdkafka has no equivalent of "
        "ssl.truststore.location (JKS)"
    )
    assert refused == warning(
        "kafka",
        "127.0.0.1:9 does not answer: Connection refused",
        "correct --kafka, start the broker, or open the network path to it",
    )


@pytest.mark.parametrize(
    ("java", "librdkafka"),
    [
        ({}, {}),
        ({"fetch.max.bytes": "1000", "isolation.level": "read_committed"}, {}),
        (
            {"security.protocol": "SASL_SSL", **PLAIN},
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "alice",
                "sasl.password": "secret",
            },
        ),
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.jaas.config": jaas("scram.ScramLoginModule", password=r"a\"b;c=d"),
            },
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": "alice",
                "sasl.password": 'a"b;c=d',
            },
        ),
        (
            {
                "security.protocol": "SSL",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": "/ca.pem",
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": "/client.pem",
                "ssl.key.password": "secret",
                "ssl.endpoint.identification.algorithm": "",
            },
            {
                "security.protocol": "SSL",
                "ssl.ca.location": "/ca.pem",
                "ssl.certificate.location": "/client.pem",
                "ssl.key.location": "/client.pem",
                "ssl.key.password": "secret",
                "ssl.endpoint.identification.algorithm": "none",
            },
        ),
        (
            {
                "security.protocol": "SSL",
                "ssl.truststore.certificates": "CA",
                "ssl.keystore.certificate.chain": "CERTIFICATE",
                "ssl.keystore.key": "KEY",
            },
            {
                "security.protocol": "SSL",
                "ssl.ca.pem": "CA",
                "ssl.certificate.pem": "CERTIFICATE",
                "ssl.key.pem": "KEY",
            },
        ),
        (
            {
                "security.protocol": "SSL",
                "ssl.keystore.type": "PKCS12",
                "ssl.keystore.location": "/client.p12",
                "ssl.keystore.password": "secret",
            },
            {
                "security.protocol": "SSL",
                "ssl.keystore.location": "/client.p12",
                "ssl.keystore.password": "secret",
            },
        ),
        ({"ssl.truststore.location": "/unused.jks"}, {}),
    ],
    ids=[
        "none",
        "no security settings",
        "PLAIN",
        "SCRAM",
        "PEM files",
        "PEM texts",
        "PKCS12",
        "unused",
    ],
)
def test_java_settings_for_librdkafka(java, librdkafka):
    client = client_settings(java)

    assert (client.values, client.untranslatable) == (librdkafka, [])


@pytest.mark.parametrize(
    ("java", "untranslatable"),
    [
        (
            {"security.protocol": "SSL", "ssl.truststore.location": "/t.jks"},
            ["ssl.truststore.location (JKS)"],
        ),
        (
            {
                "security.protocol": "SSL",
                "ssl.truststore.type": "PKCS12",
                "ssl.truststore.location": "/t.p12",
                "ssl.keystore.location": "/k.jks",
            },
            ["ssl.truststore.location (PKCS12)", "ssl.keystore.location (JKS)"],
        ),
        ({"security.protocol": "SASL_PLAINTEXT"}, ["sasl.mechanism (GSSAPI)"]),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"},
            ["sasl.jaas.config (no username and password)"],
        ),
    ],
    ids=["JKS", "PKCS12 truststore", "Kerberos", "no JAAS"],
)
def test_java_settings_without_an_equivalent(java, untranslatable):
    assert client_settings(java).untranslatable == untranslatable


def test_client_settings_do_not_show_passwords():
    client = client_settings({"security.protocol": "SASL_SSL", **PLAIN})

    assert "secret" not in repr(client)


def test_an_invalid_address_is_an_error_before_the_first_result():
    with pytest.raises(UsageError, match="--kafka nonsense: give HOST:PORT"):
        next(doctor.run_checks(doctor.DoctorOptions(kafka="nonsense")))


@pytest.mark.parametrize(
    ("settings", "lake", "severity"),
    [
        ("", None, "warning"),
        ('engine = "embedded"', None, "warning"),
        ('engine = "spark"', None, "failure"),
        ('[spark]\nspark.master = "spark://m:7077"', None, "failure"),
        ("", "s3a://bucket/lake", "failure"),
    ],
)
def test_no_java_is_a_failure_only_where_spark_is_used(
    monkeypatch, tmp_path, settings, lake, severity
):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("REGROUP_JARS", str(tmp_path / "none"))
    conf = tmp_path / "conf.toml"
    conf.write_text(settings)
    checks = doctor.run_checks(doctor.DoctorOptions(conf=str(conf), lake=lake))

    results = {}
    while "jars" not in results:  # The checks after the checks of jars take seconds.
        result = next(checks)
        results[result.check] = result

    assert (results["java"].severity, results["jars"].severity) == (severity, severity)
    is_warning = severity == "warning"
    assert results["java"].remedy.startswith("for Spark (--engine spark") == is_warning


def test_every_cluster_of_the_configuration_is_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("REGROUP_BROKERLOG", "x")
    (tmp_path / "conf.toml").write_text(
        """
        [clusters.prod]
        broker_log = "none/*.log"
        [clusters.stage]
        kafka = "127.0.0.1:1"
        [clusters.test]
        page = "none/page.html"
        [kafka]
        "ssl.key.password" = "in-the-file"
        "sasl.jaas.config" = "${env:NOT_SET}"
        """
    )

    results = list(doctor.run_checks(doctor.DoctorOptions(conf=str(tmp_path / "conf.toml"))))

    texts = [f"{result.severity} {result.check}: {result.text}" for result in results]
    expected = [
        "warning settings: environment variable REGROUP_BROKERLOG is not one of Regroup's",
        "warning secrets: [kafka] ssl.key.password has a literal value in the file",
        "failure secrets: [kafka] sasl.jaas.config: set the environment variable NOT_SET",
        f"failure broker log: prod: --broker-log {tmp_path}/none/*.log: no such file; give a path,"
        " a folder or a quoted glob",
        "failure cluster: stage: [kafka] sasl.jaas.config: set the environment variable NOT_SET",
        f"failure cluster: test: page {tmp_path}/none/page.html: no folder {tmp_path}/none; give"
        " a file to write",
    ]
    assert [text for text in texts if text in expected] == expected
    assert results[1].remedy == "did you mean REGROUP_BROKER_LOG?"


def test_after_invalid_settings_the_other_checks_still_run(tmp_path):
    conf = tmp_path / "conf.toml"
    conf.write_text("[sparc]")

    results = list(doctor.run_checks(doctor.DoctorOptions(conf=str(conf), lake=str(tmp_path))))

    assert results[0].severity == "failure"
    assert "unknown setting 'sparc'" in results[0].text
    assert [f.check for f in results if f.check in ("java", "lake")] == ["java", "lake"]


@pytest.mark.parametrize(
    ("results", "code"),
    [([ok("java", "17")], 0), ([warning("a", "b", "c")], 0), ([failure("a", "b", "c")], 1)],
)
@pytest.mark.parametrize("format", list(Format))
def test_a_failure_is_exit_1(capsys, results, code, format):
    assert doctor.print_results(results, format) == code


def test_results_as_lines(capsys):
    doctor.print_results(
        [ok("java", "17"), failure("lake", "\x1b[31mfull", "free some space")], Format.TABLE
    )

    assert capsys.readouterr().out == (
        "ok        java: 17\n"
        "failure   lake: \\x1b[31mfull\n"
        "          -> free some space\n"
        "ok 1, warning 0, failure 1\n"
    )


def test_on_a_terminal_lines_are_folded_beside_the_severity(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "40")
    doctor.print_results(
        [failure("lake", "no space left on /data \x1b[31m", "free some space")], Format.TABLE
    )

    shown = re.sub(r"\x1b\[[0-9;]*m", "", sys.stdout.getvalue())
    assert [line.rstrip() for line in shown.splitlines()] == [
        "failure   lake: no space left on /data",
        "          \\x1b[31m",
        "          -> free some space",
        "ok 0, warning 0, failure 1",
    ]


def test_results_as_json(capsys):
    doctor.print_results([failure("lake", "full", "free some space")], Format.JSON)

    assert json.loads(capsys.readouterr().out) == [
        {"check": "lake", "state": "failure", "found": "full", "remedy": "free some space"}
    ]
