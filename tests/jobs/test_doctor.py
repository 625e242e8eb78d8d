"""What a run needs, looked at before one starts: what is found, and what is to be done."""

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
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs import doctor
from jobs.command_line.config import Config
from jobs.console.errors import UsageError
from jobs.console.printing import Format
from jobs.doctor import broker_logs, brokers, lakes, machine, spark
from jobs.doctor.finding import failure, ok, warning


@pytest.fixture
def java_says(tmp_path, monkeypatch):
    """A java that says so of its version."""

    def install(said):
        program = tmp_path / "bin" / "java"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        return program

    return install


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ('openjdk version "17.0.15" 2025-04-15', "ok"),
        ('openjdk version "21" 2023-09-19', "ok"),
        ('java version "1.8.0_402"', "failure"),
        ('openjdk version "11.0.2" 2019-01-15', "failure"),
        ("Unrecognized option: -version", "failure"),
    ],
)
def test_java_is_17_or_later(java_says, said, state):
    java_says(said)

    assert machine.java().state == state


def test_no_java(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")

    found = machine.java()

    assert (found.state, found.found) == ("failure", "none on the path, and no JAVA_HOME")
    assert "openjdk-17-jre-headless" in found.remedy


def test_a_java_home_without_java(monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nowhere")

    assert machine.java().state == "failure"


@pytest.mark.parametrize(
    ("heap", "free_gib", "state"),
    [
        ("2g", 8, "ok"),
        ("2g", 2.5, "warning"),
        ("2g", 1, "failure"),
        ("2048", 1, "failure"),  # a bare number counts MiB
        ("512m", 2, "ok"),
        ("much", 8, "failure"),
    ],
)
def test_memory_holds_the_heap_and_python_workers(monkeypatch, heap, free_gib, state):
    monkeypatch.setattr(machine, "_free_memory", lambda: int(free_gib * machine.GIB))

    assert machine.memory(Config({"spark.driver.memory": heap})).state == state


def test_memory_on_a_cluster_is_the_clusters(monkeypatch):
    monkeypatch.setattr(machine, "_free_memory", lambda: machine.GIB)

    settings = {"spark.master": "spark://m:7077", "spark.driver.memory": "9g"}

    assert machine.memory(Config(settings)).state == "ok"


def test_a_scratch_folder_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)

    found = machine.scratch(Config({"spark.local.dir": f"{tmp_path}/none"}))

    assert found.state == "failure"
    assert found.found == f"{tmp_path}/none cannot be written: No such file or directory"


@pytest.fixture
def machine_in_utc():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("zone", "state"), [("UTC", "ok"), ("Pacific/Kiritimati", "warning"), ("Mars", "failure")]
)
def test_log_lines_are_read_in_this_machines_zone(machine_in_utc, zone, state):
    assert machine.time_zone(zone).state == state


@pytest.mark.parametrize(
    ("there", "relation", "wanted", "is_so"),
    [
        ("4.2.0", "==", "4.2.0", True),
        ("4.1.1", "==", "4.2.0", False),
        ("2.3.3", "<", "3", True),
        ("3.0.0", "<", "3", False),
        ("1.0", None, None, True),
    ],
)
def test_versions(there, relation, wanted, is_so):
    assert spark.fits(there, relation, wanted) is is_so


def test_the_packages_of_this_environment_are_the_pinned_ones():
    [found] = spark.packages()

    assert found.state == "ok"
    assert f"pyspark {version('pyspark')}" in found.found


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (["pyspark==1.0.0"], f"pyspark is {version('pyspark')}, not ==1.0.0"),
        (["no-such-package"], "no-such-package is missing"),
    ],
)
def test_another_version_or_none(monkeypatch, named, said):
    monkeypatch.setattr(spark, "requires", lambda name: named)

    assert list(spark.packages()) == [failure("packages", said, "run `make setup`")]


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


def test_jars_that_are_there(jars):
    assert list(spark.jars(Config(), jars)) == [ok("jars", f"3 in {jars}")]


@pytest.mark.parametrize(
    ("do", "said"),
    [
        (lambda f: (f / "org.apache.kafka_kafka-clients-3.9.2.jar").unlink(), "3.9.2.jar is mis"),
        (
            lambda f: (f / "org.apache.kafka_kafka-clients-3.9.2.jar").write_text("<html>"),
            "org.apache.kafka_kafka-clients-3.9.2.jar is damaged",
        ),
        (
            lambda f: next(f.glob("*delta*")).rename(f / "io.delta_delta-spark_4.0_2.13-4.0.0.jar"),
            "not there, only io.delta_delta-spark_4.0_2.13-4.0.0.jar",
        ),
        (lambda f: next(f.glob("*sql-kafka*")).unlink(), "spark-sql-kafka-0-10_2.13-4.2.0.jar is"),
        (lambda f: [jar.unlink() for jar in f.glob("*.jar")], "Spark does not know Delta"),
    ],
    ids=["missing", "damaged", "another version", "no connector", "none"],
)
def test_jars_that_are_not(jars, do, said):
    do(jars)

    [found] = spark.jars(Config(), jars)

    assert found.state == "failure"
    assert said in found.found
    assert "make setup" in found.remedy


def test_jars_that_spark_fetches(tmp_path):
    [found] = spark.jars(Config({"spark.jars.packages": "io.delta:delta:1"}), tmp_path)

    assert found.state == "ok"


def test_a_lake_that_is_not_there_yet(tmp_path):
    [found] = lakes.examine(f"{tmp_path}/a/lake")

    assert found.state == "ok"
    assert "is not there yet; the first run makes it" in found.found
    assert list(tmp_path.iterdir()) == []


def test_a_lake_that_is_a_file(tmp_path):
    (tmp_path / "lake").write_text("")

    [found] = lakes.examine(f"{tmp_path}/lake")

    assert (found.state, found.remedy) == ("failure", "give a folder: --lake DIR")


def test_a_lake_that_may_not_be_written(tmp_path, monkeypatch):
    def room(folder):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(lakes, "room", room)

    found = next(lakes.examine(str(tmp_path)))

    assert (found.state, found.found) == (
        "failure",
        f"{tmp_path} cannot be written: Permission denied",
    )


@pytest.mark.parametrize(("free_gib", "state"), [(50, "ok"), (3, "warning"), (0.1, "failure")])
def test_room_for_the_lake(tmp_path, monkeypatch, free_gib, state):
    monkeypatch.setattr(lakes, "room", lambda folder: int(free_gib * machine.GIB))

    assert next(lakes.examine(str(tmp_path))).state == state


def test_how_the_last_run_ended(tmp_path):
    runs = [
        {"cluster_id": "a", "outcome": "done", "error": None, "hour": 1},
        {"cluster_id": "b", "outcome": "done", "error": None, "hour": 1},
        {"cluster_id": "b", "outcome": "failed", "error": "OSError: no room", "hour": 2},
    ]
    rows = [
        run | {"step": "nightly", "started_at": datetime(2026, 11, 21, run.pop("hour"), tzinfo=UTC)}
        for run in runs
    ]
    write_deltalake(f"{tmp_path}/runs", pa.Table.from_pylist(rows))

    assert list(lakes.examine(str(tmp_path)))[1:] == [
        ok("tables", "1 tables; last run of a began 2026-11-21 01:00 UTC: done"),
        warning(
            "tables",
            "1 tables; last run of b began 2026-11-21 02:00 UTC: failed: OSError: no room",
            "start the same run again",
        ),
    ]


def test_a_store_is_not_tried():
    found = next(lakes.examine("memory://bucket/lake"))

    assert found.state == "warning"


OURS = (
    "[2026-11-21 10:00:01,000] INFO [GroupCoordinator 1]: Preparing to rebalance group g in state "
    "PreparingRebalance with old generation 0 (__consumer_offsets-1) (reason: Adding new member "
    "m-00000000-0000-0000-0000-000000000001 with group instance id None) "
    "(kafka.coordinator.group.GroupCoordinator)"
)
ANOTHERS = "[2026-11-21 10:00:00,000] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)"
STRANGE = (
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


def test_a_coordinators_lines_are_counted(log):
    file = log(ANOTHERS, OURS, ANOTHERS)

    found = next(broker_logs.examine(file, "UTC"))

    assert found == ok("broker log", f"{file}: 1 of 3 lines the coordinator's")


def test_lines_that_nobody_understands_are_shown(log):
    _, found, _ = broker_logs.examine(log(OURS, STRANGE), "UTC")

    assert found.state == "warning"
    assert "1 lines not understood, first: line 2" in found.found
    assert "Danced with g" in found.found


@pytest.mark.parametrize(
    ("lines", "state"),
    [([ANOTHERS], "warning"), (["GET /index.html 200", "GET / 404"], "failure"), ([], "failure")],
    ids=["of a broker, none of the coordinator", "no broker's", "empty"],
)
def test_a_log_without_a_coordinators_line(log, lines, state):
    [found] = broker_logs.examine(log(*lines), "UTC")

    assert found.state == state


def test_no_log():
    [found] = broker_logs.examine("/nowhere/*.log", "UTC")

    assert found.state == "failure"
    assert found.found.startswith("--broker-log /nowhere/*.log: no such file")


@pytest.mark.parametrize(
    ("clock", "read_as", "state", "said"),
    [
        ("UTC", "UTC", "ok", "and so they do"),
        ("Europe/Berlin", "Europe/Berlin", "ok", "and so they do"),
        ("Europe/Berlin", "UTC", "warning", "they are 1 h ahead of UTC"),
        ("Asia/Kolkata", "UTC", "warning", "they are 5.5 h ahead of UTC"),
        ("America/New_York", "UTC", "warning", "they are 5 h behind UTC"),
    ],
)
def test_the_time_a_log_was_written_tells_its_zone(log, clock, read_as, state, said):
    """The line says 10:00:01 by its broker's clock, and was written then."""
    file = log(OURS, written=datetime(2026, 11, 21, 10, 0, 3, tzinfo=ZoneInfo(clock)))

    *_, found = broker_logs.examine(file, read_as)

    assert (found.check, found.state) == ("log dates", state)
    assert said in found.found


def test_a_copied_log_tells_no_zone(log):
    file = log(OURS, written=datetime(2026, 11, 24, 8, 7, 3, tzinfo=UTC))

    *_, found = broker_logs.examine(file, "UTC")

    assert (found.state, found.remedy) == (
        "ok",
        "ask where the broker runs; give --log-timezone if that is another zone",
    )


def test_lines_that_name_their_zone(log):
    *_, found = broker_logs.examine(log(f"2026-11-21T10:00:01.000Z stdout F {OURS[26:]}"), "UTC")

    assert found == ok("log dates", "every line names its time zone")


def test_of_a_long_log_the_beginning(log, monkeypatch):
    monkeypatch.setattr(broker_logs, "MOST_BYTES", 1000)

    found = next(broker_logs.examine(log(*[OURS] * 10), "UTC"))

    assert found.state == "ok"
    assert "3 of 3 lines the coordinator's" in found.found


# Answers of a Kafka 4.1.2 broker (id 1, at 127.0.0.1:49275) to the one question asked.
HEAD = "00000001000000000000000100000001"
BROKER = "00093132372e302e302e31{port:08x}ffff001677304b547a776158526b757a38677954636e51395f41"
TOPIC = "0000000100000001{error:04x}00125f5f636f6e73756d65725f6f66667365747301"
PARTITION = "0000{number:08x}{leader:08x}" + "0000000100000001" * 2


@contextmanager
def broker(answer):
    """``answer(port)``: hex of what a broker at this port says to whatever it is asked."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    if connection.recv(1000):
                        data = bytes.fromhex(answer(port))
                        connection.sendall(len(data).to_bytes(4, "big") + data)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{port}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def metadata(port, error=0, leaders=(1, 1, 1), advertised=None):
    answer = HEAD + BROKER.format(port=advertised or port) + TOPIC.format(error=error)
    answer += f"{len(leaders):08x}"
    for number, leader in enumerate(leaders):
        answer += PARTITION.format(number=number, leader=leader % (1 << 32))
    return answer


def test_brokers_that_can_be_read_from():
    with broker(metadata) as bootstrap:
        found = list(brokers.examine(bootstrap, Config()))

    assert found == [
        ok("kafka", f"{bootstrap} answers, __consumer_offsets has 3 partitions on 1 broker")
    ]


@pytest.mark.parametrize(
    ("given", "state", "said"),
    [
        ({"error": 3, "leaders": ()}, "warning", "and has no __consumer_offsets"),
        ({"error": 29, "leaders": ()}, "failure", "__consumer_offsets may not be seen"),
        ({"error": 5, "leaders": ()}, "failure", "error 5 of Kafka's protocol"),
        ({"leaders": (1, -1, 1)}, "failure", "1 of 3 partitions of __consumer_offsets have no le"),
        ({"advertised": 9}, "failure", "broker 1 calls itself 127.0.0.1:9: Connection refused"),
    ],
    ids=["no topic", "not authorized", "another error", "no leader", "advertised elsewhere"],
)
def test_brokers_that_cannot(given, state, said):
    with broker(lambda port: metadata(port, **given)) as bootstrap:
        [found] = brokers.examine(bootstrap, Config())

    assert found.state == state
    assert said in found.found


@pytest.mark.parametrize("answer", ["", "00000001", "00000007" + "0" * 40, "48545450"])
def test_who_is_no_broker(answer):
    with broker(lambda port: answer) as bootstrap:
        [found] = brokers.examine(bootstrap, Config())

    assert found.state == "failure"
    assert "does not speak Kafka's protocol in plain text" in found.found


def test_one_broker_of_two_is_enough():
    with broker(metadata) as bootstrap:
        silent, answers = brokers.examine(f"127.0.0.1:9,{bootstrap}", Config())

    assert (silent.state, answers.state) == ("warning", "ok")


def test_no_broker():
    [found] = brokers.examine("127.0.0.1:9", Config())

    assert found.state == "failure"
    assert found.found == "127.0.0.1:9 does not answer: Connection refused"


def test_credentials_are_not_tried():
    with broker(metadata) as bootstrap:
        [found] = brokers.examine(bootstrap, Config(kafka={"security.protocol": "SASL_SSL"}))

    assert found.state == "warning"


def test_what_is_no_address_is_said_before_anything_else():
    with pytest.raises(UsageError, match="--kafka nonsense: give HOST:PORT"):
        next(doctor.examine(doctor.Request(kafka="nonsense")))


def test_wrong_settings_do_not_hide_the_rest(tmp_path):
    conf = tmp_path / "conf.toml"
    conf.write_text("[sparc]")

    findings = list(doctor.examine(doctor.Request(conf=str(conf), lake=str(tmp_path))))

    assert findings[0].state == "failure"
    assert "unknown setting 'sparc'" in findings[0].found
    assert [f.check for f in findings if f.check in ("java", "lake")] == ["java", "lake"]


@pytest.mark.parametrize(
    ("findings", "code"),
    [([ok("java", "17")], 0), ([warning("a", "b", "c")], 0), ([failure("a", "b", "c")], 1)],
)
@pytest.mark.parametrize("format", list(Format))
def test_a_failure_is_exit_1(capsys, findings, code, format):
    assert doctor.show(findings, format) == code


def test_lines_for_people(capsys):
    doctor.show([ok("java", "17"), failure("lake", "\x1b[31mfull", "make room")], Format.TABLE)

    assert capsys.readouterr().out == (
        "ok        java: 17\n"
        "failure   lake: \\x1b[31mfull\n"
        "          -> make room\n"
        "ok 1, warning 0, failure 1\n"
    )


def test_on_a_terminal_lines_are_folded_beside_the_state(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "40")
    doctor.show([failure("lake", "no room is left on /data \x1b[31m", "make room")], Format.TABLE)

    shown = re.sub(r"\x1b\[[0-9;]*m", "", sys.stdout.getvalue())
    assert [line.rstrip() for line in shown.splitlines()] == [
        "failure   lake: no room is left on /data",
        "          \\x1b[31m",
        "          -> make room",
        "ok 0, warning 0, failure 1",
    ]


def test_json(capsys):
    doctor.show([failure("lake", "full", "make room")], Format.JSON)

    assert json.loads(capsys.readouterr().out) == [
        {"check": "lake", "state": "failure", "found": "full", "remedy": "make room"}
    ]
