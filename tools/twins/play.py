"""Starts, stops, kills, freezes and slows the processes of all variants at their times."""

from __future__ import annotations

import json
import os
import signal
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tools.twins.admin import configure_group, create_topics, produce
from tools.twins.client import FATAL, Client
from tools.twins.scripts import TOPICS, VARIANTS, Script, Variant

FAMILY = "orders"
# Time from the exit of a process whose client failed to its next start.
RESTART_S = 3
SIGNALS = {
    "stop": signal.SIGTERM,
    "kill": signal.SIGKILL,
    "freeze": signal.SIGSTOP,
    "thaw": signal.SIGCONT,
    "slow": signal.SIGUSR1,
    "slow over": signal.SIGUSR2,
}
_TICK_S = 0.02
_SHUTDOWN_S = 30


class Play:
    """One play on a broker.  Processes are forked: this process must not have threads."""

    def __init__(self, bootstrap: str, out: Path, script: Script) -> None:
        self._bootstrap, self._out, self._script = bootstrap, out, script
        self._timeline = open(out / "timeline.jsonl", "w", buffering=1)  # noqa: SIM115
        self._processes: dict[tuple[str, int], int] = {}  # (variant, number of the process) -> pid
        self._restarts: list[tuple[float, str, int]] = []
        self.t0_s = 0.0

    def run(self) -> None:
        self._finish(fork(lambda: create_topics(self._bootstrap, TOPICS)))
        for name, variant in VARIANTS.items():
            if variant.group:
                configure_group(self._bootstrap, f"{FAMILY}-{name}", variant.group)
        producer = fork(lambda: produce(self._bootstrap, TOPICS))
        time.sleep(2)
        self.t0_s = time.time()
        self._note("script begins", t0_wall_ms=int(self.t0_s * 1000))
        for step in self._script.steps:
            self._wait_until(step.at_s)
            for variant in VARIANTS:
                self._do(step.action, variant, step.process)
        self._wait_until(self._script.window_s)
        self._note("window ends")
        self._shut_down()
        os.kill(producer, signal.SIGTERM)
        self._finish(producer)

    def _do(self, action: str, variant: str, process: int, **fields: Any) -> None:
        if action == "start":
            self._start(variant, process, **fields)
            return
        pid = self._processes.get((variant, process))
        if pid is not None:
            os.kill(pid, SIGNALS[action])
            self._note_action(action, variant, process, pid)
        if action == "stop" or pid is None:
            kept = [each for each in self._restarts if each[1:] != (variant, process)]
            self._restarts = kept

    def _start(self, variant: str, process: int, **fields: Any) -> None:
        name, group = f"{FAMILY}-{process}", f"{FAMILY}-{variant}"
        settings = _settings(VARIANTS[variant], name)
        out, bootstrap = self._out / "clients.jsonl", self._bootstrap
        pid = fork(lambda: Client(name, group, out).run(bootstrap, list(TOPICS), settings))
        self._processes[variant, process] = pid
        self._note_action("start", variant, process, pid, **fields)

    def _wait_until(self, at_s: float) -> None:
        while time.time() - self.t0_s < at_s:
            self._reap()
            time.sleep(_TICK_S)

    def _reap(self) -> None:
        """The supervisor: processes whose client failed start again."""
        now_s = time.time()
        for (variant, process), pid in list(self._processes.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._processes[variant, process]
                if os.waitstatus_to_exitcode(status) == FATAL:
                    self._restarts.append((now_s + RESTART_S, variant, process))
        for restart in [each for each in self._restarts if each[0] <= now_s]:
            self._restarts.remove(restart)
            if restart[1:] not in self._processes:
                self._start(*restart[1:], by_supervisor=True)

    def _shut_down(self) -> None:
        self._restarts = []
        for pid in self._processes.values():
            os.kill(pid, signal.SIGCONT)
            os.kill(pid, signal.SIGTERM)
        limit_s = time.time() + _SHUTDOWN_S
        while self._processes and time.time() < limit_s:
            self._reap()
            time.sleep(_TICK_S)
        for pid in self._processes.values():
            os.kill(pid, signal.SIGKILL)
            self._finish(pid)

    def _finish(self, pid: int) -> None:
        _, status = os.waitpid(pid, 0)
        if status and status != signal.SIGKILL:
            raise RuntimeError(f"process {pid} failed: {status}")

    def _note_action(self, action: str, variant: str, process: int, pid: int, **more: Any) -> None:
        group = f"{FAMILY}-{variant}"
        self._note(action, process=f"{FAMILY}-{process}", group=group, pid=pid, **more)

    def _note(self, action: str, **fields: Any) -> None:
        line = {"wall_ms": int(time.time() * 1000), "action": action, **fields}
        self._timeline.write(json.dumps(line) + "\n")


def _settings(variant: Variant, name: str) -> Mapping[str, Any]:
    static = {"group.instance.id": name} if variant.static else {}
    return {
        "auto.offset.reset": "earliest",
        "max.poll.interval.ms": 30_000,
        "fetch.wait.max.ms": 2000,
        **variant.client,
        **static,
    }


def fork(function: Callable[[], int | None]) -> int:
    """Run it in a process of its own; returns the process id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        code = function() or 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def finish(pid: int) -> None:
    """Wait until the process has exited; RuntimeError if it failed."""
    _, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError(f"process {pid} failed: {status}")
