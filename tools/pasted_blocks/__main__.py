"""Paste the lines of `regroup what-if --deploy-as` into Spring Boot, Kafka Streams and Kafka
Connect, and print the instance ids that reach a broker.  Exit 1 if others are expected.

make -C tools pasted-blocks
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.error import URLError

import confluent_kafka as ck
from confluent_kafka import admin as ck_admin

from coordinator_core.whatif import SettingsChange
from coordinator_core.whatif.deployment_forms import Form, client_blocks
from tests.core.whatif.test_limits import JAVA, group
from tools.kafka_broker import Broker, free_ports

BUILD = Path(__file__).resolve().parents[2] / "build"
JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
TOPIC = "words"
LIMIT_S = 90
STATIC = ("group.instance.id=process", "session.timeout.ms=20000")
WORKER = """
bootstrap.servers={bootstrap}
group.id=workers
listeners={url}
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
config.storage.topic=configs
offset.storage.topic=offsets
status.storage.topic=statuses
config.storage.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
"""
CONNECTOR = """{{"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
"topics": "words", "file": "out", "tasks.max": "{tasks}"}}"""


class Trial:
    """Processes that end with the trial; their files are in ``folder``."""

    def __init__(self, broker: Broker, folder: Path, running: ExitStack) -> None:
        self.bootstrap, self.folder, self._running = broker.bootstrap, folder, running
        self.admin = ck_admin.AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def start(self, jars: str, variables: dict[str, str], *command: str) -> subprocess.Popen[bytes]:
        with open(self.folder / "out.txt", "ab") as out:
            process = subprocess.Popen(
                ["nice", "java", *JVM, "-cp", f"{BUILD / jars / 'lib'}/*", *command],
                cwd=self.folder, env=os.environ | variables, stdout=out, stderr=out,
            )  # fmt: skip
        self._running.callback(process.wait)
        self._running.callback(process.terminate)
        return process

    def ids(self, group_id: str, expected: list[str | None]) -> bool:
        """Wait until the members of the stable group have the expected ids, and print them."""
        ids: list[str | None] = []

        def is_expected() -> bool:
            nonlocal ids
            described = self.admin.describe_consumer_groups([group_id])[group_id].result(timeout=30)
            ids = sorted((m.group_instance_id for m in described.members), key=str)
            return described.state is ck.ConsumerGroupState.STABLE and ids == expected

        arrived = _within_limit(is_expected)
        print(f"{group_id}: {ids}{'' if arrived else f', expected {expected}'}", flush=True)
        return arrived


def _within_limit(check: Callable[[], bool]) -> bool:
    limit = time.monotonic() + LIMIT_S
    while time.monotonic() < limit:
        try:
            if check():
                return True
        except (ck.KafkaException, URLError):  # The broker or the worker is still starting.
            pass
        time.sleep(0.5)
    return False


def _blocks(form: Form | None, group_id: str, *client_ids: str) -> list[str]:
    """Of a group with a process per client id, which is the process' name."""
    of_group = group(*[JAVA] * len(client_ids))
    of_group.group_id = group_id
    of_group.processes = [
        replace(each, name=name, lives=(replace(each.lives[0], client_id=name),))
        for each, name in zip(of_group.processes, client_ids, strict=True)
    ]
    of_group.libraries = dict.fromkeys(client_ids, JAVA)
    of_group.clients = lambda: {f"m{n}": name for n, name in enumerate(client_ids)}
    return list(client_blocks(of_group, SettingsChange.of(STATIC), form))


def _environments(blocks: list[str]) -> list[dict[str, str]]:
    return [dict([block.split("\n")[1].split("=")]) for block in blocks]


def spring(trial: Trial) -> Iterator[bool]:
    yaml, *own = _blocks(Form.SPRING, "spring", "app-1", "app-2")
    (trial.folder / "application.yml").write_text(yaml, encoding="utf-8")
    command = [
        "regroup.pasted.ListeningApplication",
        f"--spring.kafka.bootstrap-servers={trial.bootstrap}",
        "--spring.kafka.consumer.group-id=spring",
        "--spring.kafka.listener.concurrency=2",
    ]
    for variables in _environments(own):
        trial.start("pasted", variables, *command)
    yield trial.ids("spring", ["app-1-0", "app-1-1", "app-2-0", "app-2-1"])
    code = trial.start("pasted", {}, *command).wait(timeout=LIMIT_S)
    print(f"spring without the variable: exit {code}")
    yield code == 1


def streams(trial: Trial) -> Iterator[bool]:
    clients = [f"app-{n}-StreamThread-1-consumer" for n in (1, 2)]
    properties, *own = _blocks(None, "streams", *clients)
    settings = [line for line in properties.split("\n") if not line.startswith("#")]
    for number, variables in enumerate(_environments(own)):
        trial.start(
            "frameworks-4.1.2",
            variables,
            "regroup.frameworks.CountingApplication",
            TOPIC,
            f"bootstrap.servers={trial.bootstrap}",
            "application.id=streams",
            "num.stream.threads=2",
            f"state.dir={trial.folder / str(number)}",
            *settings,
        )
    yield trial.ids("streams", ["app-1-1", "app-1-2", "app-2-1", "app-2-2"])


def connect(trial: Trial) -> Iterator[bool]:
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    worker = trial.folder / "worker.properties"
    worker.write_text(WORKER.format(bootstrap=trial.bootstrap, url=url))
    main = "org.apache.kafka.connect.cli.ConnectDistributed"
    trial.start("frameworks-4.1.2", {}, main, str(worker))
    for name, ids in (("one", ["connector-consumer-one-0"]), ("two", [None, None])):
        path = f"{url}/connectors/{name}/config"
        clients = [f"connector-consumer-{name}-{n}" for n, _ in enumerate(ids)]
        body = CONNECTOR.format(tasks=len(ids))
        yield _within_limit(partial(_sent, "PUT", path, body))
        yield trial.ids(f"connect-{name}", [None] * len(ids))
        _, pasted, _ = _blocks(None, f"connect-{name}", *clients)
        yield _sent("PATCH", path, pasted)
        yield trial.ids(f"connect-{name}", ids)


def _sent(method: str, url: str, body: str) -> bool:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, body.encode(), headers, method=method)
    return urllib.request.urlopen(request, timeout=30).status in (200, 201)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Broker(Path(folder, "broker")) as broker:
        admin = ck_admin.AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([ck_admin.NewTopic(TOPIC, 4, 1)])[TOPIC].result(timeout=30)
        results: list[bool] = []
        for framework in (spring, streams, connect):
            with ExitStack() as running:
                own = Path(folder, framework.__name__)
                own.mkdir()
                results += framework(Trial(broker, own, running))
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
