"""Carries out the actions of a script: processes, hosts, brokers, features."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from confluent_kafka import ElectionType, KafkaException
from confluent_kafka.admin import AdminClient

from coordinator_core.jvm.hash_codes import partition_for
from tools.cluster_play.script import Group, Script, Step
from tools.data_costs_play.producer import create_topics, note_load, produce
from tools.kafka_broker import Broker
from tools.twins.play import finish, fork

_TICK_S = 0.02
_PRODUCER_LEAD_S = 2
_SHUTDOWN_S = 120
_SETTLE_S = 5
_SYNC_LIMIT_S = 120
FIRST, SECOND = "first", "second"


class Play:
    """``host``: the command of a host of consumers; ``upgraded``: the jars after the roll.  This
    process must not have threads.
    """

    def __init__(
        self, brokers: dict[int, Broker], out: Path, host: list[str], script: Script, upgraded: Path
    ) -> None:
        self._brokers, self._out, self._script = brokers, out, script
        self._host, self._upgraded = host, upgraded
        self._bootstrap = ",".join(each.bootstrap for each in brokers.values())
        (out / "handled").mkdir()
        (out / "control").mkdir()
        (out / "control" / "producer.json").write_text('{"factor": {}, "pills": []}')
        self._hosts: dict[str, subprocess.Popen[bytes]] = {}
        # The host and the name of the current life of each process.
        self._lives: dict[tuple[str, int], tuple[str, str]] = {}
        self._count = 0
        self._killed: int | None = None
        self._roll: threading.Thread | None = None

    def run(self) -> None:
        topics = dict(self._script.rates)
        replicas = len(self._brokers)
        finish(fork(lambda: create_topics(self._bootstrap, topics, replicas)))
        helpers = [
            fork(lambda: produce(self._bootstrap, topics, self._out)),
            fork(lambda: note_load(self._out)),
        ]
        time.sleep(_PRODUCER_LEAD_S)
        self._admin = AdminClient({"bootstrap.servers": self._bootstrap}, logger=None)
        for phase in self._script.phases:
            self._note("phase", phase=phase.name, leaders=self._leaders())
            from_s = time.time()
            for step in sorted(phase.steps, key=lambda each: each.at_s):
                _sleep_until(from_s + step.at_s)
                self._do(step)
            if phase.waits and self._roll is not None:
                self._roll.join()
            _sleep_until(from_s + phase.lasts_s)
        self._note("ends", leaders=self._leaders())
        for name in self._hosts:
            self._tell(name, action="end")
        for each in self._hosts.values():
            each.wait(_SHUTDOWN_S)
        for helper in helpers:
            os.kill(helper, signal.SIGTERM)
            finish(helper)

    def _do(self, step: Step) -> None:
        if step.action in ("start", "stop"):
            self._start_or_stop(step)
        elif step.action == "kill host":
            self._hosts.pop(SECOND).kill()
            for (group, number), (host, life) in self._lives.items():
                if host == SECOND:
                    self._note("kill", group=group, process=f"{group}-{number}", pid=life)
        elif step.action == "finalize":
            self._tell(FIRST, action="finalize", feature=step.value)
            self._note("finalize", feature=step.value)
        elif step.action == "kill broker":
            self._kill_broker(step.value)
        elif step.action == "start broker":
            assert self._killed is not None
            self._brokers[self._killed].launch()
            self._note("broker start", broker=self._killed)
        else:
            self._roll = threading.Thread(target=self._roll_brokers)
            self._roll.start()

    def _start_or_stop(self, step: Step) -> None:
        group: Group = self._script.groups[step.group]
        name = f"{step.group}-{step.process}"
        if step.action == "start":
            self._count += 1
            host = SECOND if step.process in group.killed else FIRST
            self._lives[step.group, step.process] = host, f"java-{self._count}"
        host, life = self._lives[step.group, step.process]
        conf = dict(group.conf if step.value is None else step.value)
        if group.is_static:
            conf["group.instance.id"] = name
        command = {"group": step.group, "process": name, "pid": life}
        topic = {"topic": group.topic, "partitions": len(self._script.rates[group.topic])}
        self._tell(host, action=step.action, conf=conf, **topic, **command)
        self._note(step.action, **command)

    def _tell(self, host: str, **command: Any) -> None:
        if host not in self._hosts:
            with open(self._out / "java.log", "ab") as log:
                self._hosts[host] = subprocess.Popen(
                    [*self._host, self._bootstrap, "", str(self._out)],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                )
        stdin = self._hosts[host].stdin
        assert stdin is not None
        stdin.write(json.dumps(command).encode() + b"\n")
        stdin.flush()

    # -- brokers -----------------------------------------------------------------------------------

    def _roll_brokers(self) -> None:
        for number, broker in self._brokers.items():
            self._note("broker stop", broker=number, leaders=self._leaders())
            broker.stop()
            broker.jars = self._upgraded
            broker.start()
            self._note("broker upgraded", broker=number)
            self._wait_for_replicas()
            time.sleep(_SETTLE_S)
            self._elect_preferred_leaders()
            self._note("leaders elected", leaders=self._leaders())
            time.sleep(_SETTLE_S)
        self._note("upgrade done")

    def _wait_for_replicas(self) -> None:
        limit = time.monotonic() + _SYNC_LIMIT_S
        while True:
            topics = self._admin.list_topics(timeout=30).topics.values()
            if all(len(p.isrs) == len(p.replicas) for t in topics for p in t.partitions.values()):
                return
            if time.monotonic() > limit:
                raise RuntimeError("the replicas are not in sync")
            time.sleep(1)

    def _elect_preferred_leaders(self) -> None:
        try:
            self._admin.elect_leaders(ElectionType.PREFERRED, None).result(30)
        except KafkaException as error:
            self._note("election", error=str(error))

    def _kill_broker(self, group: str) -> None:
        """Kill the coordinator of this group."""
        leaders = self._leaders()
        self._killed = leaders[partition_for(group, len(leaders))]
        self._brokers[self._killed].kill()
        self._note("broker kill", broker=self._killed, leaders=leaders)

    def _leaders(self) -> dict[int, int]:
        """Of the partitions of `__consumer_offsets`."""
        topic = self._admin.list_topics("__consumer_offsets", timeout=30).topics
        partitions = topic["__consumer_offsets"].partitions
        return {number: each.leader for number, each in sorted(partitions.items())}

    def _note(self, action: str, **fields: Any) -> None:
        line = {"wall_ms": int(time.time() * 1000), "action": action, **fields}
        with open(self._out / "timeline.jsonl", "a") as timeline:
            timeline.write(json.dumps(line) + "\n")


def _sleep_until(at_s: float) -> None:
    while time.time() < at_s:
        time.sleep(_TICK_S)
