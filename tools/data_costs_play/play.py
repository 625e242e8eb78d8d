"""Starts, stops, kills and freezes the consumers of all groups at their times."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

from tools.data_costs_play.plays import Script, Step
from tools.data_costs_play.producer import create_topics, list_end_offsets, note_load, produce
from tools.twins.play import SIGNALS, finish, fork

ROOT = Path(__file__).resolve().parents[2]
# Time from the exit of a process that the script did not end to its next start.
RESTART_S = 3
PRODUCER_LEAD_S = 2
_TICK_S = 0.01
_SHUTDOWN_S = 30


@dataclass
class Life:
    """``is_ended``: the script has stopped or killed the process."""

    process: subprocess.Popen[bytes]
    is_ended: bool = False

    def is_over(self) -> bool:
        return self.process.poll() is not None


class Restart(NamedTuple):
    due_s: float
    fields: dict[str, Any]


class Play:
    def __init__(
        self, name: str, script: Script, commands: Mapping[str, list[str]], out: Path
    ) -> None:
        """``commands``: what runs a consumer, by client."""
        self._name, self._script, self._out = name, script, out
        self._commands = commands
        self._lives: dict[tuple[str, str], Life] = {}
        self._restarts: dict[tuple[str, str], Restart] = {}
        self._slow_number = 0
        self._late_ms: list[int] = []
        self._t0_s = 0.0
        for folder in ("clients", "control", "logs"):
            (out / folder).mkdir()
        self._controls: dict[str, dict[str, Any]] = {
            name: {
                "delay_ms": group.delay_ms,
                "paused": [],
                "slow": {"number": 0, "process": "", "seconds": 0},
                "fixed": False,
            }
            for name, group in script.groups.items()
        }
        self._controls["producer"] = {"factor": {}, "pills": []}

    def run(self, bootstrap: str, broker: str) -> None:
        script, out = self._script, self._out
        self._bootstrap = bootstrap
        for name in self._controls:
            self._write_control(name)
        finish(fork(lambda: create_topics(bootstrap, script.topics)))
        self._t0_s = time.time() + PRODUCER_LEAD_S
        self._note("topics created", rates=script.topics)
        self._note("script begins", **self._description(broker))
        helpers = [
            fork(lambda: produce(bootstrap, script.topics, out)),
            fork(lambda: list_end_offsets(bootstrap, script.topics, script.offsets_every_s, out)),
            fork(lambda: note_load(out)),
        ]
        try:
            self._play()
        finally:
            self._shut_down()
            for helper in helpers:
                os.kill(helper, signal.SIGTERM)
                finish(helper)
        late = sorted(self._late_ms)
        self._note(
            "end",
            actions=len(late),
            late_ms_median=median(late),
            late_ms_p95=round(quantiles(late, n=20)[-1]),
            late_ms_max=late[-1],
        )

    def _play(self) -> None:
        script = self._script
        for at_s, step, group in _planned(script):
            self._wait_until(at_s)
            self._late_ms.append(round((time.time() - self._t0_s - at_s) * 1000))
            if group is None:
                self._special(step)
            else:
                self._act(step, group, at_s)
        self._wait_until(script.end_s)
        self._note("window ends")

    def _description(self, broker: str) -> dict[str, Any]:
        return {
            "t0_wall_ms": round(self._t0_s * 1000),
            "play": self._name,
            "broker": broker,
            "windows": self._script.windows,
            "groups": {name: group.description() for name, group in self._script.groups.items()},
            "special": [
                [step.at_s, step.action, *step.arguments]
                for step in self._script.steps
                if step.process is None
            ],
        }

    # -- actions -----------------------------------------------------------------------------------

    def _act(self, step: Step, group: str, at_s: float) -> None:
        assert step.process is not None
        process = f"{self._script.groups[group].topic}-{step.process}"
        key = group, process
        planned = {"planned_s": at_s, "late_ms": self._late_ms[-1]}
        life = self._lives.get(key)
        if step.action == "start":
            if life is not None and not life.is_over():
                self._restarts[key] = Restart(time.time(), planned)
            else:
                self._start(key, **planned)
            return
        if life is None or life.is_over():
            if step.action in ("stop", "kill"):
                self._restarts.pop(key, None)
            return
        if step.action == "slow":
            self._slow_number += 1
            slow = {"number": self._slow_number, "process": process, "seconds": step.arguments[0]}
            self._controls[group]["slow"] = slow
            self._write_control(group)
            planned["seconds"] = step.arguments[0]
        else:
            life.is_ended = life.is_ended or step.action in ("stop", "kill")
            os.kill(life.process.pid, SIGNALS[step.action])
        self._note_life(step.action, key, life, **planned)

    def _start(self, key: tuple[str, str], **fields: Any) -> None:
        group, process = key
        settings = self._script.groups[group]
        argument = {
            **settings.description(),
            "group": group,
            "process": process,
            "bootstrap": self._bootstrap,
            "folder": str(self._out.resolve()),
        }
        logs = self._out / "logs" / settings.client
        logs.mkdir(exist_ok=True)
        with open(logs / f"{group}.{process}.log", "ab") as log:
            started = subprocess.Popen(
                [*self._commands[settings.client], json.dumps(argument)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
            )
        self._lives[key] = Life(started)
        self._restarts.pop(key, None)
        self._note_life("start", key, self._lives[key], **fields)

    def _special(self, step: Step) -> None:
        what, arguments = step.action, step.arguments
        self._note("special", what=what, args=arguments)
        if what == "pill":
            self._controls["producer"]["pills"].append(arguments)
            self._write_control("producer")
        elif what == "burst":
            topic, factor = arguments
            self._controls["producer"]["factor"][topic] = factor
            self._write_control("producer")
        else:
            group, *values = arguments
            control = self._controls[group]
            if what == "pause":
                control["paused"] = [values[0]]
            elif what == "resume":
                control["paused"] = []
            elif what == "slow handler":
                control["delay_ms"] = values[0]
            elif what == "fix":
                control["fixed"] = True
            else:
                raise ValueError(what)
            self._write_control(group)

    def _write_control(self, name: str) -> None:
        file = self._out / "control" / f"{name}.json"
        new = file.with_suffix(".new")
        new.write_text(json.dumps(self._controls[name]))
        new.rename(file)

    # -- time --------------------------------------------------------------------------------------

    def _wait_until(self, at_s: float) -> None:
        while time.time() - self._t0_s < at_s:
            self._supervise()
            time.sleep(_TICK_S)

    def _supervise(self) -> None:
        """Processes that the script did not end start again."""
        now_s = time.time()
        for key, life in self._lives.items():
            if life.is_over() and not life.is_ended:
                life.is_ended = True
                self._note_life("exited by itself", key, life)
                self._restarts[key] = Restart(now_s + RESTART_S, {"by_supervisor": True})
        for key, restart in list(self._restarts.items()):
            if restart.due_s <= now_s and self._lives[key].is_over():
                self._start(key, **restart.fields)

    def _shut_down(self) -> None:
        self._restarts = {}
        lives = [(key, life) for key, life in self._lives.items() if not life.is_over()]
        for key, life in lives:
            life.is_ended = True
            os.kill(life.process.pid, signal.SIGCONT)
            os.kill(life.process.pid, signal.SIGTERM)
            self._note_life("stop", key, life, final=True)
        limit_s = time.time() + _SHUTDOWN_S
        while not all(life.is_over() for _, life in lives) and time.time() < limit_s:
            time.sleep(_TICK_S)
        for key, life in lives:
            if not life.is_over():
                life.process.kill()
                life.process.wait()
                self._note_life("kill", key, life)

    def _note_life(self, action: str, key: tuple[str, str], life: Life, **fields: Any) -> None:
        group, process = key
        self._note(action, process=process, group=group, pid=life.process.pid, **fields)

    def _note(self, action: str, **fields: Any) -> None:
        now_s = time.time()
        elapsed_s = round(now_s - self._t0_s, 3)
        line = {"wall_ms": int(now_s * 1000), "t_s": elapsed_s, "action": action, **fields}
        with open(self._out / "timeline.jsonl", "a") as timeline:
            timeline.write(json.dumps(line) + "\n")


def _planned(script: Script) -> list[tuple[float, Step, str | None]]:
    """Each step per group; None: an action that names its group itself."""
    planned: list[tuple[float, Step, str | None]] = []
    for step in script.steps:
        if step.process is None:
            planned.append((step.at_s, step, None))
        else:
            for place, group in enumerate(script.groups):
                planned.append((round(step.at_s + place * script.apart_s, 3), step, group))
    return sorted(planned, key=lambda each: each[0])
