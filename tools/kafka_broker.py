"""Run a real Kafka broker on loopback: `with Broker(folder) as broker`.

One process is broker and controller (KRaft), on free ports, with all files below one folder.
`with Cluster(folder) as cluster` runs several such processes.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import pyspark

JARS = Path(__file__).resolve().parent.parent / ".jars" / "broker"
SPARK_JARS = Path(pyspark.__file__).parent / "jars"
START_LIMIT_S, STOP_LIMIT_S = 180, 30
FETCH = {True: "python -m tools.fetch_jars", False: "make -C tools broker-requests"}

PROPERTIES = """
process.roles=broker,controller
node.id={node_id}
controller.quorum.voters={voters}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
auto.create.topics.enable=false
num.partitions=1
offsets.topic.num.partitions={offsets_partitions}
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
log.cleaner.dedupe.buffer.size=16777216
log.retention.check.interval.ms=500
log.initial.task.delay.ms=500
"""
REPLICATED = """
offsets.topic.replication.factor=3
default.replication.factor=3
transaction.state.log.replication.factor=3
share.coordinator.state.topic.replication.factor=3
auto.leader.rebalance.enable=false
"""
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
# A second listener for clients, with TLS and a login.
SECURED = """
listeners=PLAINTEXT://127.0.0.1:{port},SECURED://127.0.0.1:{secured_port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SECURED://127.0.0.1:{secured_port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SECURED:SASL_SSL,CONTROLLER:PLAINTEXT
listener.name.secured.sasl.enabled.mechanisms=PLAIN
listener.name.secured.plain.sasl.jaas.config={login} user_regroup="secret";
listener.name.secured.ssl.keystore.type=PKCS12
listener.name.secured.ssl.keystore.location=broker.p12
listener.name.secured.ssl.keystore.password=changeit
"""
LOG4J = """
status=error
appender.f.type=File
appender.f.name=F
appender.f.fileName={log}
appender.f.layout.type=PatternLayout
appender.f.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=INFO
rootLogger.appenderRef.f.ref=F
"""


class Broker:
    """``bootstrap``: host and port for clients.  ``data``: folder of the topics' segment files.
    ``log``: its server.log.  RuntimeError with the end of the broker's output if it does not
    start.

    ``secured_bootstrap``: the same for clients with TLS and SASL/PLAIN, user regroup, password
    secret; ``certificate``: the PEM file that they trust.
    """

    def __init__(
        self,
        folder: Path,
        offsets_partitions: int = 3,
        jars: Path = JARS,
        properties: str = "",
        features: Sequence[str] = (),
        node_id: int = 1,
        controller_ports: Mapping[int, int] | None = None,
        cluster_id: str | None = None,
    ) -> None:
        """``jars``: of any version; each start uses the value at that time.  ``properties``: lines
        added to server.properties, where the last of one name counts.  ``features``: such as
        share.version=1.  ``controller_ports``: of all brokers of a cluster, by node id."""
        self.jars, self._features = jars, features
        port, secured_port, controller_port = free_ports(3)
        controller_ports = controller_ports or {node_id: controller_port}
        self._cluster_id = cluster_id or new_cluster_id()
        self.bootstrap = f"127.0.0.1:{port}"
        self.secured_bootstrap = f"127.0.0.1:{secured_port}"
        self.certificate = folder / "broker.pem"
        self.data = folder / "data"
        self.log = folder / "server.log"
        self._folder, self._port = folder, port
        self._process: subprocess.Popen[bytes] | None = None
        self._properties = (PROPERTIES + SECURED).format(
            port=port,
            secured_port=secured_port,
            controller_port=controller_ports[node_id],
            node_id=node_id,
            voters=",".join(f"{n}@127.0.0.1:{each}" for n, each in controller_ports.items()),
            login=LOGIN,
            data=self.data,
            offsets_partitions=offsets_partitions,
        )
        self._properties += properties

    def __enter__(self) -> Self:
        self.format()
        self.start()
        return self

    def format(self) -> None:
        if not any(self.jars.glob("*.jar")):
            raise RuntimeError(
                f"no broker in {self.jars}: fetch it with {FETCH[self.jars == JARS]}"
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "server.properties").write_text(self._properties)
        (self._folder / "log4j2.properties").write_text(LOG4J.format(log=self.log))
        self._create_key_and_certificate()
        format_ = ["format", "--cluster-id", self._cluster_id, "--config", "server.properties"]
        for feature in self._features:
            format_ += ["--feature", feature]
        self._run("kafka.tools.StorageTool", *format_).wait()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self.launch()
        self.wait()

    def launch(self) -> None:
        self._process = self._run("kafka.Kafka", "server.properties")

    def wait(self) -> None:
        """Until the broker accepts connections."""
        assert self._process is not None
        if not has_started(self._process, self._port, START_LIMIT_S):
            self.stop()
            raise RuntimeError(f"no broker: {self._output().read_text()[-2000:]}")

    def stop(self) -> None:
        if self._process is not None:
            end(self._process, STOP_LIMIT_S)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def _run(self, main_class: str, *arguments: str) -> subprocess.Popen[bytes]:
        java = shutil.which("java", path=java_path()) or "java"
        jvm = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        jvm += ["-Djava.net.preferIPv4Stack=true", "-Dlog4j2.configurationFile=log4j2.properties"]
        scala = next(SPARK_JARS.glob("scala-library-2.13.*.jar"))
        command = [java, *jvm, "-cp", f"{self.jars}/*:{scala}", main_class, *arguments]
        with open(self._output(), "ab") as out:
            return subprocess.Popen(
                command, cwd=self._folder, stdout=out, stderr=out, stdin=subprocess.DEVNULL
            )

    def _create_key_and_certificate(self) -> None:
        store = ["-keystore", "broker.p12", "-storepass", "changeit", "-alias", "broker"]
        generate = [
            "-genkeypair",
            "-keyalg",
            "RSA",
            "-storetype",
            "PKCS12",
            "-dname",
            "CN=localhost",
        ]
        export = ["-exportcert", "-rfc", "-file", self.certificate.name]
        keytool = shutil.which("keytool", path=java_path()) or "keytool"
        for action in ([*generate, "-ext", "san=ip:127.0.0.1"], export):
            subprocess.run(
                [keytool, *action, *store], cwd=self._folder, check=True, capture_output=True
            )

    def _output(self) -> Path:
        return self._folder / "out.txt"


class Cluster:
    """Three brokers by node id, with three replicas of each topic."""

    def __init__(
        self,
        folder: Path,
        offsets_partitions: int,
        jars: Path,
        properties: str = "",
        features: Sequence[str] = (),
    ) -> None:
        controller_ports = dict(enumerate(free_ports(3), start=1))
        cluster_id = new_cluster_id()
        self.brokers = {
            number: Broker(
                folder / f"b{number}",
                offsets_partitions,
                jars,
                REPLICATED + properties,
                features,
                node_id=number,
                controller_ports=controller_ports,
                cluster_id=cluster_id,
            )
            for number in controller_ports
        }
        self.bootstrap = ",".join(each.bootstrap for each in self.brokers.values())

    def __enter__(self) -> Self:
        for broker in self.brokers.values():
            broker.format()
        for broker in self.brokers.values():
            broker.launch()
        for broker in self.brokers.values():
            broker.wait()
        return self

    def __exit__(self, *_: object) -> None:
        for broker in self.brokers.values():
            broker.stop()


def new_cluster_id() -> str:
    # A cluster id must not begin with a dash, because it would be parsed as an option.
    return "R" + urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]


def java_path() -> str:
    home = os.environ.get("JAVA_HOME")
    return os.pathsep.join([f"{home}/bin"] * bool(home) + [os.environ.get("PATH", "")])


def has_started(process: subprocess.Popen[bytes], port: int, limit_s: float) -> bool:
    """Wait until the port accepts connections; False if the process ends or is too slow."""
    limit = time.monotonic() + limit_s
    while not is_answering(port):
        if process.poll() is not None or time.monotonic() > limit:
            return False
        time.sleep(0.1)
    return True


def end(process: subprocess.Popen[bytes], limit_s: float) -> None:
    """Terminate the process; kill it after ``limit_s``."""
    process.terminate()
    try:
        process.wait(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def is_answering(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def free_ports(count: int) -> list[int]:
    """Different ports that were free a moment ago."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()
