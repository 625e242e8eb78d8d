"""Starts and stops the processes of all groups at their times."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.data_costs_play.producer import create_topics, list_end_offsets, note_load, produce
from tools.deployments.script import RATES, TOPIC, Act, Script, first_steps
from tools.twins.client import Client
from tools.twins.play import finish, fork

TOPICS = {TOPIC: RATES}
_TICK_S = 0.01
_PRODUCER_LEAD_S = 2
_SHUTDOWN_S = 60
_OFFSETS_EVERY_S = 5


class Play:
    """``java``: the command of the Java host; this process must not have threads.  ``night``: keeps
    what a nightly run would find before the groups change.
    """

    def __init__(
        self,
        bootstrap: str,
        out: Path,
        java: list[str],
        script: Script,
        night: Callable[[], None],
    ) -> None:
        self._bootstrap, self._out, self._script, self._night = bootstrap, out, script, night
        (out / "handled").mkdir()
        (out / "control").mkdir()
        (out / "control" / "producer.json").write_text('{"factor": {}, "pills": []}')
        with open(out / "java.log", "ab") as log:
            self._java = subprocess.Popen(
                [*java, bootstrap, TOPIC, str(out)], stdin=subprocess.PIPE, stdout=log, stderr=log
            )
        self._pids: dict[tuple[str, str], int] = {}
        self._stopped: list[int] = []
        self._t0_s = 0.0

    def run(self) -> None:
        bootstrap, out = self._bootstrap, self._out
        finish(fork(lambda: create_topics(bootstrap, TOPICS)))
        helpers = [
            fork(lambda: produce(bootstrap, TOPICS, out)),
            fork(lambda: list_end_offsets(bootstrap, TOPICS, _OFFSETS_EVERY_S, out)),
            fork(lambda: note_load(out)),
        ]
        time.sleep(_PRODUCER_LEAD_S)
        self._t0_s = time.time()
        for act in self._script.acts(first_steps(), 0):
            self._act(act)
        for number, each in enumerate(self._script.deployments):
            self._wait_until(each.from_s)
            if number == self._script.changed_at:
                self._night()
            self._note("deployment", strategy=each.strategy._asdict(), repetition=each.repetition)
            for act in self._script.acts(each.steps, number):
                self._act(act)
            self._wait_until(each.to_s)
        self._note("ends")
        self._shut_down()
        for helper in helpers:
            os.kill(helper, signal.SIGTERM)
            finish(helper)

    def _act(self, act: Act) -> None:
        self._wait_until(act.at_s)
        action, group, process = act.action, act.group, act.process
        if act.client == "java":
            self._tell(action=action, group=group, process=process, conf=act.conf)
        elif action == "start":
            self._start(group, process, act.conf)
        else:
            pid = self._pids.pop((group, process))
            os.kill(pid, signal.SIGTERM)
            self._stopped.append(pid)
        self._note(action, group=group, process=process)

    def _start(self, group: str, process: str, conf: dict[str, Any]) -> None:
        out = self._out
        all_conf = {"auto.offset.reset": "earliest", **conf}

        def run() -> int:
            client = Client(process, group, out / "clients.jsonl", out / "handled")
            return client.run(self._bootstrap, [TOPIC], all_conf)

        self._pids[group, process] = fork(run)

    def _tell(self, **command: Any) -> None:
        assert self._java.stdin is not None
        self._java.stdin.write(json.dumps(command).encode() + b"\n")
        self._java.stdin.flush()

    def _wait_until(self, at_s: float) -> None:
        while time.time() - self._t0_s < at_s:
            self._stopped = [p for p in self._stopped if not os.waitpid(p, os.WNOHANG)[0]]
            time.sleep(_TICK_S)

    def _shut_down(self) -> None:
        for pid in self._pids.values():
            os.kill(pid, signal.SIGTERM)
        # Forked processes keep the pipe open, so the host does not see the end of the pipe.
        self._tell(action="end")
        self._java.wait(_SHUTDOWN_S)
        for pid in (*self._pids.values(), *self._stopped):
            os.waitpid(pid, 0)

    def _note(self, action: str, **fields: Any) -> None:
        line = {"wall_ms": int(time.time() * 1000), "action": action, **fields}
        with open(self._out / "timeline.jsonl", "a") as timeline:
            timeline.write(json.dumps(line) + "\n")
