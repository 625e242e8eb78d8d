"""Run a broker of any version since 0.11 on loopback."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from coordinator_core.log_lines import holds_in
from tools.kafka_broker import (
    LOG4J,
    end,
    free_ports,
    has_started,
    java_path,
    new_cluster_id,
)

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
ZOOKEEPER_OF = "3.7.2"  # A server of ZooKeeper 3.4 keeps a core busy on Java 17.
# A version of Scala for which Kafka's version was built.
SCALA = {"-2.0": "2.11", "2.1-2.5": "2.12", "2.6-": "2.13"}
OFFSETS_PARTITIONS = 5
# limits in seconds for starting and stopping several brokers at once
START_LIMIT_S, STOP_LIMIT_S = 240, 60
PROPERTIES = """
log.dirs={data}
num.partitions=1
auto.create.topics.enable=false
offsets.topic.num.partitions={offsets_partitions}
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.min.session.timeout.ms=6000
group.max.session.timeout.ms=1800000
log.cleaner.dedupe.buffer.size=16777216
"""
# With ZooKeeper.
LISTENERS = """
broker.id=0
listeners=PLAINTEXT://127.0.0.1:{port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
zookeeper.connect=127.0.0.1:{controller_port}
zookeeper.connection.timeout.ms=18000
"""
# Without ZooKeeper.
KRAFT_LISTENERS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
"""
ZOOKEEPER = """
dataDir={data}
clientPort={controller_port}
clientPortAddress=127.0.0.1
maxClientCnxns=0
tickTime=2000
admin.enableServer=false
"""
LOG4J_1 = """
log4j.rootLogger=INFO, F
log4j.appender.F=org.apache.log4j.FileAppender
log4j.appender.F.File={log}
log4j.appender.F.layout=org.apache.log4j.PatternLayout
log4j.appender.F.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.appender.F.encoding=UTF-8
log4j.logger.org.apache.zookeeper=WARN
"""
# Packages of the JDK that brokers before 2.4 access.
OPENED = ["java.lang", "java.nio", "java.util", "java.util.concurrent", "sun.nio.ch"]


def fetched_jars(version: str) -> Path:
    """The folder with the jars of Kafka's version, fetched if it is missing; needs Maven."""
    folder = BUILD / f"broker-{version}" / "lib"
    if not any(folder.glob("kafka_2.*.jar")):
        scala = next(each for kafka, each in SCALA.items() if holds_in(kafka, version))
        pom = "broker_requests" if holds_in("4.0-", version) else "broker_traces"
        command = ["mvn", "-q", "-B", "-f", str(ROOT / "tools" / pom / "pom.xml"), "package"]
        command += [f"-Dkafka.version={version}", f"-Dscala.version={scala}"]
        command += ["-Pbefore-2.4"] * holds_in("-2.3", version)
        subprocess.run(command, check=True)
    return folder


class VersionBroker:
    """``bootstrap``: host and port.  ``data``: folder of the topics' segment files.  ``log``: its
    server.log, in UTC.  ``broker_id``: in its log lines.  RuntimeError with the end of its output
    if it does not start.
    """

    def __init__(
        self, folder: Path, version: str, jars: Path, settings: Mapping[str, object]
    ) -> None:
        """``settings``: added to server.properties."""
        self._folder, self._jars = folder, jars
        self._has_zookeeper = holds_in("-3.2", version)
        self.broker_id = 0 if self._has_zookeeper else 1
        self._port, self._controller_port = free_ports(2)
        self.bootstrap = f"127.0.0.1:{self._port}"
        self.data, self.log = folder / "data", folder / "server.log"
        self._processes: list[subprocess.Popen[bytes]] = []
        template = PROPERTIES + (LISTENERS if self._has_zookeeper else KRAFT_LISTENERS)
        self._properties = self._filled(template)
        self._properties += "".join(f"{name}={value}\n" for name, value in settings.items())

    def _filled(self, template: str) -> str:
        return template.format(
            data=self.data,
            port=self._port,
            controller_port=self._controller_port,
            offsets_partitions=OFFSETS_PARTITIONS,
        )

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        for name, text in {
            "server.properties": self._properties,
            "zookeeper.properties": self._filled(ZOOKEEPER).replace("/data\n", "/zookeeper\n"),
            "log4j.properties": LOG4J_1.format(log=self.log),
            "log4j2.properties": LOG4J.format(log=self.log),
        }.items():
            (self._folder / name).write_text(text)
        try:
            self._start()
        except RuntimeError:
            self.stop()
            raise
        return self

    def _start(self) -> None:
        if self._has_zookeeper:
            main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
            self._run(main, "zookeeper.properties", jars=fetched_jars(ZOOKEEPER_OF))
            self._wait_for(self._controller_port)
        else:
            arguments = ["format", "--cluster-id", new_cluster_id()]
            arguments += ["--config", "server.properties"]
            self._run("kafka.tools.StorageTool", *arguments, jars=self._jars).wait()
        self._run("kafka.Kafka", "server.properties", jars=self._jars, logs=True)
        self._wait_for(self._port)

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop the broker, then its ZooKeeper."""
        for process in reversed(self._processes):
            end(process, STOP_LIMIT_S)

    def _wait_for(self, port: int) -> None:
        if not has_started(self._processes[-1], port, START_LIMIT_S):
            raise RuntimeError(f"no broker: {self._output().read_text()[-2000:]}")

    def _run(
        self, main_class: str, *arguments: str, jars: Path, logs: bool = False
    ) -> subprocess.Popen[bytes]:
        """``logs``: to the broker's log."""
        java = shutil.which("java", path=java_path()) or "java"
        jvm = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC"]
        jvm += ["-Djava.net.preferIPv4Stack=true"]
        for package in OPENED:
            jvm += ["--add-opens", f"java.base/{package}=ALL-UNNAMED"]
        if logs:
            jvm += ["-Dlog4j.configuration=file:log4j.properties"]
            jvm += ["-Dlog4j2.configurationFile=log4j2.properties"]
        command = [java, *jvm, "-cp", f"{jars}/*", main_class, *arguments]
        with open(self._output(), "ab") as out:
            process = subprocess.Popen(
                command, cwd=self._folder, stdout=out, stderr=out, stdin=subprocess.DEVNULL
            )
        self._processes.append(process)
        return process

    def _output(self) -> Path:
        return self._folder / "out.txt"
