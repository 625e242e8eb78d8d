"""The JVM of a Spark session on this machine: its options, its class archive, what it prints."""

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from py4j.clientserver import ClientServerConnection
from pyspark import SparkContext, java_gateway
from pyspark.errors import utils
from pyspark.sql import functions as F

from jobs.engine import driver_jvm
from jobs.engine.driver_jvm import driver_settings, is_local, public_settings
from jobs.engine.scratch import scratch_folder
from jobs.nightly_run import class_archive
from tests.engines import spark_only

# master                    the driver is the only process
MASTERS = [
    ("local",                True),
    ("local[*]",             True),
    ("local[2,4]",           True),
    ("local-cluster[2,1,1]", False),
    ("spark://host:7077",    False),
    ("",                     False),
]  # fmt: skip


@pytest.mark.parametrize(("master", "expected"), MASTERS)
def test_only_a_local_master_has_no_other_processes(master, expected):
    assert is_local({"spark.master": master}) is expected


def test_settings_of_the_configuration_come_first(tmp_path):
    configured = {
        "spark.driver.extraClassPath": "/own.jar",
        "spark.driver.extraJavaOptions": "-Xss4m",
    }
    settings = driver_settings(configured, ["/a.jar", "/b.jar"], tmp_path)

    assert settings["spark.driver.extraClassPath"] == "/own.jar:/a.jar:/b.jar"
    assert " -Xss4m -Dlog4j2." in settings["spark.driver.extraJavaOptions"]
    assert "SharedArchiveFile" not in settings["spark.driver.extraJavaOptions"]


def test_an_archive_beside_the_jars_is_used(tmp_path):
    (tmp_path / "classes.jsa").touch()

    options = driver_settings({}, [], tmp_path)["spark.driver.extraJavaOptions"]

    assert f"-XX:SharedArchiveFile={tmp_path}/classes.jsa" in options.split()


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A folder with a jar; `java -version` prints the build that the file `java` names."""
    monkeypatch.setenv("REGROUP_JARS", str(tmp_path))
    monkeypatch.setattr(class_archive, "java_program", lambda: str(tmp_path / "java"))
    (tmp_path / "java").write_text("#!/bin/sh\necho build 17.0.15 >&2\n")
    (tmp_path / "java").chmod(0o755)
    (tmp_path / "one.jar").write_bytes(b"jar")
    return tmp_path


@pytest.fixture
def recorded(monkeypatch):
    """The paths of the archives that were recorded, each with the content "classes"."""
    paths = []

    def record(archive):
        paths.append(archive)
        archive.write_text("classes")

    monkeypatch.setattr(class_archive, "_record_in_new_process", record)
    return paths


def test_an_archive_is_written_once(folder, recorded):
    assert class_archive.archive_classes() == f"class archive written into {folder}"
    assert class_archive.archive_classes() == f"class archive already in {folder}"

    assert (folder / "classes.jsa").read_text() == "classes"
    assert len(recorded) == 1


OUTDATED = {
    "another Java": lambda folder: (folder / "java").write_text("#!/bin/sh\necho build 21 >&2\n"),
    "another jar": lambda folder: (folder / "two.jar").write_bytes(b"jar"),
    "no archive": lambda folder: (folder / "classes.jsa").unlink(),
}


@pytest.mark.parametrize("change", OUTDATED.values(), ids=OUTDATED)
def test_an_archive_that_does_not_fit_is_written_again(change, folder, recorded):
    class_archive.archive_classes()
    change(folder)

    assert class_archive.archive_classes() == f"class archive written into {folder}"
    assert len(recorded) == 2


def test_without_java_there_is_no_archive(folder, monkeypatch):
    monkeypatch.setattr(class_archive, "java_program", lambda: "/nowhere/java")

    assert class_archive.archive_classes() == (
        "no class archive, so Spark starts more slowly (FileNotFoundError)"
    )


START = """
from jobs.configuration.config import load_config
from jobs.engine.session import build_session
session = build_session(load_config(None))
print(session.range(3).count())
session._jvm.java.lang.System.err.println("an error of the JVM")
"""


@pytest.mark.spark
def test_a_session_starts_without_messages_and_errors_are_printed():
    ran = subprocess.run(
        [sys.executable, "-c", START], capture_output=True, text=True, env=os.environ, check=True
    )

    assert ran.stdout == "3\n"
    assert ran.stderr == "an error of the JVM\n"


AFTER_ITS_END = """
import os, signal
from jobs.configuration.config import load_config
from jobs.engine.session import build_session
for _ in range(2):
    session = build_session(load_config(None))
    print(session.range(3).count())
    jvm = session.sparkContext._gateway.proc
    os.kill(jvm.pid, signal.SIGKILL)
    jvm.wait()
"""


@pytest.mark.spark
@pytest.mark.campaign
def test_a_session_after_the_end_of_the_jvm_starts_another():
    ran = subprocess.run([sys.executable, "-c", AFTER_ITS_END], capture_output=True, text=True)

    assert (ran.stdout, ran.stderr, ran.returncode) == ("3\n3\n", "", 0)


def test_pyspark_has_its_files_of_the_start_in_the_folder_of_the_process(monkeypatch):
    folders = []

    def launch(conf, popen_kwargs):
        folders.append(Path(tempfile.mkdtemp()))
        raise OSError("no Java")

    monkeypatch.setattr(java_gateway, "launch_gateway", launch)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    before = tempfile.gettempdir()

    with pytest.raises(OSError, match="no Java"):
        driver_jvm.start_jvm({})

    assert [folder.parent for folder in folders] == [scratch_folder()]
    assert tempfile.gettempdir() == before


# line on the JVM's standard error                                    is printed
JVM_LINES = [
    ("WARNING: Using incubator modules: jdk.incubator.vector",         False),
    ('SLF4J: Failed to load class "org.slf4j.impl.StaticLoggerBinder".', False),
    ("SLF4J: Defaulting to no-operation (NOP) logger implementation",  False),
    ("SLF4J: Class path contains multiple SLF4J bindings.",            True),
    ("an error of the JVM",                                            True),
]  # fmt: skip


@pytest.mark.parametrize(("line", "printed"), JVM_LINES)
def test_messages_of_every_start_are_not_printed(line, printed, capfd):
    messages, jvm = os.pipe()
    with os.fdopen(jvm, "w") as stderr:
        stderr.write(f"{line}\n")

    driver_jvm._print_messages(messages)

    assert capfd.readouterr().err == f"{line}\n" * printed


# setting                                          may be an argument of a process
SETTINGS = [
    ("spark.driver.memory",                        True),
    ("spark.jars",                                 True),
    ("spark.sql.shuffle.partitions",               True),
    ("spark.hadoop.fs.s3a.secret.key",             False),
    ("spark.hadoop.fs.azure.account.key.x",        False),
    ("spark.ssl.keyStorePassword",                 False),
    ("spark.kafka.clusters.c.sasl.token.mechanism", False),
]  # fmt: skip


@pytest.mark.parametrize(("name", "public"), SETTINGS)
def test_settings_that_may_be_secrets_are_no_arguments_of_a_process(name, public):
    assert list(public_settings({name: "x"})) == [name] * public


SECRET = ("hidden", "in-settings")
KEYS = ("fs.s3a.secret.key", "fs.azure.account.key.a.dfs.core.windows.net")
SESSION = f"""
import sys
from pathlib import Path
from jobs.configuration.config import Config
from jobs.engine.session import build_session
from tests.listening import listening_addresses
keys = {KEYS}
settings = {{"spark.master": "local[1]", "spark.eventLog.enabled": "true"}}
settings |= {{"spark.eventLog.compress": "false"}}
settings |= {{"spark.eventLog.dir": sys.argv[1], "spark.ui.enabled": "true"}}
settings |= {{f"spark.hadoop.{{key}}": "-".join({SECRET}) for key in keys}}
session = build_session(Config(spark=settings))
session.range(3).mapInPandas(lambda frames: frames, "id long").count()  # starts a worker
hadoop = session.sparkContext._jsc.hadoopConfiguration()
print({{hadoop.get(key) for key in keys}})
print(sorted(listening_addresses()))
for process in Path("/proc").glob("[0-9]*/cmdline"):
    print(process.read_bytes().replace(b"\\0", b" "))
session.stop()
"""


@pytest.mark.spark
@pytest.mark.campaign
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="no /proc")
def test_a_session_keeps_secrets_to_itself_and_listens_on_loopback_only(tmp_path):
    """Secrets are no arguments of processes and not in Spark's event log."""
    command = [sys.executable, "-c", SESSION, str(tmp_path)]
    run = subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True)
    first, addresses, *processes = run.stdout.splitlines()
    event_log = "".join(file.read_text() for file in tmp_path.rglob("events_*"))

    assert first == str({"-".join(SECRET)})
    assert any("SparkSubmit" in line for line in processes)
    assert not any("-".join(SECRET) in line for line in processes)
    assert KEYS[1] in event_log
    assert "-".join(SECRET) not in event_log
    assert addresses == "['127.0.0.1']"


def test_functions_of_columns_do_not_look_up_their_callers(spark, monkeypatch):
    monkeypatch.setattr(utils, "_enable_debugging_cache", None)

    assert utils.is_debugging_enabled() is False


@spark_only("requests to the JVM")
def test_a_column_is_one_request_to_the_jvm(spark, monkeypatch):
    F.col("a")  # The first call asks for settings, too.
    requests, send = [], ClientServerConnection.send_command

    def recorded(connection, command):
        # Messages about freed objects come from other threads.
        if threading.current_thread() is threading.main_thread():
            requests.append(command)
        return send(connection, command)

    monkeypatch.setattr(ClientServerConnection, "send_command", recorded)
    column = F.col("a")

    assert column is not None
    assert len(requests) == 1
