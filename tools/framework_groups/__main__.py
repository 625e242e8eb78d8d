"""Runs Connect and Streams groups on a real broker: `make -C tools framework-groups OUT=FOLDER`.

FOLDER gets
  server.log, __consumer_offsets-0/   what the broker left behind
  actions.jsonl    what was done: time_ms, group, action, process
  status.jsonl     whenever a worker's REST answer changed: time_ms, group, process, connectors
  *.out            output of each process: workers log their assignments, applications print their
                   tasks
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tools.kafka_broker import Broker, free_ports

BUILD = Path(__file__).resolve().parents[2] / "build"
WAIT_LIMIT_S = 120
JVM = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true")
LOGGING = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS",
    "-Dorg.slf4j.simpleLogger.logFile=System.out",
)
BROKER = """
group.initial.rebalance.delay.ms=1000
"""
WORKER = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "offset.storage.replication.factor": "1",
    "config.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "offset.storage.partitions": "1",
    "status.storage.partitions": "1",
    "scheduled.rebalance.max.delay.ms": "10000",
    "session.timeout.ms": "10000",
    "heartbeat.interval.ms": "2000",
    "plugin.discovery": "service_load",
}
APPLICATION = {
    "num.standby.replicas": "1",
    "acceptable.recovery.lag": "100",
    "max.warmup.replicas": "1",
    "probing.rebalance.interval.ms": "60000",
    "cache.max.bytes.buffering": "0",
    "commit.interval.ms": "1000",
    "consumer.session.timeout.ms": "10000",
    "consumer.heartbeat.interval.ms": "2000",
}
FILE_CONNECTOR = "org.apache.kafka.connect.file.FileStream{}Connector"
SOURCE, SINK = FILE_CONNECTOR.format("Source"), FILE_CONNECTOR.format("Sink")


class Capture:
    """The broker, and the processes that this run has started; all files below ``out``."""

    def __init__(self, out: Path, bootstrap: str) -> None:
        self.out, self.bootstrap = out, bootstrap
        self._lock = threading.Lock()
        self._running: dict[tuple[str, str], subprocess.Popen[bytes]] = {}
        self._urls: dict[tuple[str, str], str] = {}
        self._over = threading.Event()

    def write(self, name: str, row: Mapping[str, Any]) -> None:
        with self._lock, open(self.out / name, "a") as file:
            file.write(json.dumps({"time_ms": round(time.time() * 1000), **row}) + "\n")

    def act(self, group: str, action: str, process: str | None = None) -> None:
        self.write("actions.jsonl", {"group": group, "action": action, "process": process})

    def start(self, group: str, process: str, kafka: str, *command: str) -> None:
        self.act(group, "start", process)
        jars = BUILD / f"frameworks-{kafka}" / "lib"
        folder = self.out / "state" / process
        folder.mkdir(parents=True, exist_ok=True)
        arguments = ["nice", "-n", "5", "java", *JVM, *LOGGING, "-cp", f"{jars}/*", *command]
        with open(self.out / f"{group}.{process}.out", "ab") as output:
            self._running[group, process] = subprocess.Popen(
                arguments, cwd=folder, stdout=output, stderr=output, stdin=subprocess.DEVNULL
            )

    def end(self, group: str, process: str, how: str) -> None:
        """``how``: kill or stop."""
        self.act(group, how, process)
        running = self._running.pop((group, process))
        running.send_signal(signal.SIGKILL if how == "kill" else signal.SIGTERM)
        running.wait(timeout=60)

    def end_all(self) -> None:
        self._over.set()
        for group, process in list(self._running):
            self.end(group, process, "stop")

    # Connect

    def worker(self, group: str, process: str, protocol: str, kafka: str) -> None:
        if (group, process) not in self._urls:
            self._urls[group, process] = f"http://127.0.0.1:{free_ports(1)[0]}"
        url = self._urls[group, process]
        settings = WORKER | {
            "bootstrap.servers": self.bootstrap,
            "group.id": group,
            "connect.protocol": protocol,
            "listeners": url,
        }
        for store in ("config", "offset", "status"):
            settings[f"{store}.storage.topic"] = f"{group}-{store}s"
        path = self.out / "state" / f"{group}.{process}.properties"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        self.start(group, process, kafka, main, str(path))
        self.wait(lambda: self.status(group, process) is not None, f"{group} {process} answers")
        thread = threading.Thread(target=self._watch, args=(group, process), daemon=True)
        thread.start()

    def status(self, group: str, process: str) -> Any:
        return self._ask("GET", group, process, "/connectors?expand=status")

    def configure(self, group: str, process: str, connector: str, **config: str) -> None:
        self.act(group, f"configure {connector} {json.dumps(config)}", process)
        config = {name.replace("_", "."): value for name, value in config.items()}
        path = f"/connectors/{connector}/config"
        self.wait(lambda: self._ask("PUT", group, process, path, config) is not None, path)

    def delete(self, group: str, process: str, connector: str) -> None:
        self.act(group, f"delete {connector}", process)
        path = f"/connectors/{connector}"
        self.wait(lambda: self._ask("DELETE", group, process, path) is not None, path)

    def _ask(self, method: str, group: str, process: str, path: str, body: Any = None) -> Any:
        """Returns None if there is no answer, or an error; an empty answer is {}."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        url = self._urls[group, process] + path
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.loads(answer.read() or b"{}")
        except (urllib.error.URLError, OSError, json.JSONDecodeError):
            return None

    def _watch(self, group: str, process: str) -> None:
        previous = None
        running = self._running.get((group, process))
        while not self._over.is_set() and self._running.get((group, process)) is running:
            status = self.status(group, process)
            if status is not None and status != previous:
                connectors = {name: each["status"] for name, each in status.items()}
                row = {"group": group, "process": process, "connectors": connectors}
                self.write("status.jsonl", row)
                previous = status
            time.sleep(0.5)

    # Streams

    def application(self, group: str, process: str, kafka: str, **more: str) -> None:
        settings = APPLICATION | {
            "bootstrap.servers": self.bootstrap,
            "application.id": group,
            "client.id": process,
            "state.dir": str(self.out / "state" / process),
            **{name.replace("_", "."): value for name, value in more.items()},
        }
        pairs = [f"{name}={value}" for name, value in settings.items()]
        main = "regroup.frameworks.CountingApplication"
        self.start(group, process, kafka, main, "words-in", *pairs)

    @staticmethod
    def wait(is_so: Callable[[], bool], what: str) -> None:
        limit = time.monotonic() + WAIT_LIMIT_S
        while not is_so():
            if time.monotonic() > limit:
                raise RuntimeError(f"not within {WAIT_LIMIT_S} s: {what}")
            time.sleep(0.5)


def incremental(capture: Capture, group: str, protocol: str, kafka: str) -> None:
    """Workers that rebalance in rounds: a third one, one killed for longer than the delay, one that
    is back before the delay is over, a changed and a deleted connector."""
    for process in ("a", "b"):
        capture.worker(group, process, protocol, kafka)
    _add_connectors(capture, group)
    capture.configure(group, "a", "store", **_sink("store", 6))
    time.sleep(15)
    capture.worker(group, "c", protocol, kafka)
    time.sleep(20)
    capture.end(group, "b", "kill")
    time.sleep(40)
    capture.worker(group, "b", protocol, kafka)
    time.sleep(20)
    capture.end(group, "c", "kill")
    time.sleep(4)
    capture.worker(group, "c", protocol, kafka)
    time.sleep(30)
    capture.delete(group, "a", "copy")
    time.sleep(10)
    capture.end(group, "c", "stop")
    time.sleep(25)


def short(capture: Capture, group: str, protocol: str, kafka: str) -> None:
    for process in ("a", "b"):
        capture.worker(group, process, protocol, kafka)
    _add_connectors(capture, group)
    capture.configure(group, "a", "store", **_sink("store", 3))
    time.sleep(10)
    capture.end(group, "b", "kill")
    time.sleep(30)
    capture.worker(group, "b", protocol, kafka)
    time.sleep(20)
    for process in ("b", "a"):
        capture.end(group, process, "stop")


def _add_connectors(capture: Capture, group: str) -> None:
    lines = capture.out / "state" / "lines.txt"
    lines.write_text("a line\n")
    source = {"connector_class": SOURCE, "tasks_max": "1", "file": str(lines), "topic": "lines"}
    capture.configure(group, "a", "lines", **source)
    capture.configure(group, "a", "store", **_sink("store", 4))
    capture.configure(group, "a", "copy", **_sink("copy", 2))
    time.sleep(15)


def _sink(name: str, tasks: int) -> dict[str, str]:
    topics = {"topics": "lines", "file": f"{name}.txt", "tasks_max": str(tasks)}
    return {"connector_class": SINK, **topics}


def streams(capture: Capture, group: str, kafka: str) -> None:
    """Two processes, one with two threads, and a third one; one is killed and back, one closed."""
    capture.application(group, "s1", kafka, num_stream_threads="2")
    time.sleep(20)
    capture.application(group, "s2", kafka)
    time.sleep(90)
    capture.application(group, "s3", kafka)
    time.sleep(150)
    capture.end(group, "s2", "kill")
    time.sleep(50)
    capture.application(group, "s2", kafka)
    time.sleep(80)
    capture.end(group, "s1", "stop")
    time.sleep(20)


def old_streams(capture: Capture) -> None:
    """Applications that are being upgraded send the metadata of the release they come from."""
    for number, release in enumerate(("0.10.0", "0.10.2", "2.3"), start=1):
        group = f"words-from-{release}"
        settings = {"upgrade_from": release, "application_server": f"host-{number}:80"}
        for process in (f"o{number}a", f"o{number}b"):
            capture.application(group, process, "3.9.1", **settings)
            time.sleep(15)
        for process in (f"o{number}a", f"o{number}b"):
            capture.end(group, process, "stop")


def produce(capture: Capture, over: threading.Event) -> None:
    """Many words at first, so that a store takes time to restore, then a few per second."""
    producer = Producer({"bootstrap.servers": capture.bootstrap})
    for i in range(40_000):
        producer.produce("words-in", f"word {i % 2000}", partition=i % 4)
        producer.poll(0)
    producer.flush()
    i = 0
    while not over.wait(0.25):
        producer.produce("words-in", f"word {i % 2000}", partition=i % 4)
        producer.poll(0)
        i += 1
    producer.flush()


def main(
    out: Annotated[Path, typer.Option(help="New folder for the capture.")],
    only: Annotated[list[str] | None, typer.Option(help="Groups to run; default: all.")] = None,
) -> None:
    out = out.resolve()
    out.mkdir(parents=True)
    with Broker(out / "broker", offsets_partitions=1, properties=BROKER) as broker:
        capture = Capture(out, broker.bootstrap)
        topics = [NewTopic("words-in", 4, 1), NewTopic("lines", 2, 1)]
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        for created in admin.create_topics(topics).values():
            created.result()
        over = threading.Event()
        runs: dict[str, list[Callable[[], None]]] = {
            "sessioned": [lambda: incremental(capture, "connect-sessioned", "sessioned", "4.1.2")],
            "streams": [lambda: streams(capture, "words", "4.1.2")],
            "others": [
                lambda: short(capture, "connect-eager", "eager", "4.1.2"),
                lambda: short(capture, "connect-compatible", "compatible", "3.9.1"),
                lambda: old_streams(capture),
            ],
        }
        threads = [threading.Thread(target=produce, args=(capture, over))]
        for name in only or runs:
            threads.append(threading.Thread(target=_in_turn, args=(runs[name],)))
        for thread in threads:
            thread.start()
        for thread in threads[1:]:
            thread.join()
        over.set()
        threads[0].join()
        capture.end_all()
    shutil.copy(broker.log, out / "server.log")
    shutil.copytree(broker.data / "__consumer_offsets-0", out / "__consumer_offsets-0")


def _in_turn(runs: list[Callable[[], None]]) -> None:
    for run in runs:
        run()


if __name__ == "__main__":
    typer.run(main)
