"""Kafka's own coordinators as players: one warm JVM per version, driven over standard input."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from coordinator_core.coordinator.eras import ERAS as KAFKA_ERAS
from tools.differential.traces import JsonLine

Scenario = dict[str, Any]

BUILD = Path(__file__).resolve().parents[2] / "build" / "differential"
CLASSIC_RUNNERS = ("4.1", "3.9", "2.5")
ALL_TYPES_RUNNERS = tuple(name for name, era in reversed(KAFKA_ERAS.items()) if era.modern)
ALL_TYPES = "-all-types"
"""Ends the name of a runner of groups of all types; others play classic groups."""

# Constant identity hash codes make 4.1's sticky task assignor repeatable, because its ties follow
# hash codes.
_REPEATABLE = ["-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=2"]


class NotBuilt(Exception):
    """The runner's jar or the Java to run it is missing; the message says how to get it."""


class KafkaRunner:
    """Plays with the coordinator of one Kafka version; a context manager that ends its JVM.

    ``name``: an era, with ALL_TYPES after it for scenarios of all group types.
    """

    def __init__(self, name: str, tally: Path | None = None, build: Path = BUILD) -> None:
        jar = build / f"kafka-{name}" / f"kafka-{name}.jar"
        if not jar.exists():
            raise NotBuilt(f"no {jar.name} in {jar.parent}: build it with `make -C tools oracle`")
        if shutil.which("java") is None:
            raise NotBuilt("no java on the path: install a JDK 17")
        options = ["--tally", str(tally)] if tally else []
        flags = _REPEATABLE if name.endswith(ALL_TYPES) else []
        self._jvm = subprocess.Popen(
            ["java", "-XX:+UseSerialGC", *flags, "-jar", str(jar), "--serve", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> KafkaRunner:
        return self

    def __exit__(self, *_: object) -> None:
        """Let the JVM finish: it writes its tally at the end of its input."""
        self._in.close()
        self._out.close()
        self._jvm.wait()

    @property
    def pid(self) -> int:
        return self._jvm.pid

    def play(self, scenario: Scenario) -> list[JsonLine]:
        return _events(self.play_text(json.dumps(scenario)))

    def play_text(self, scenario: str) -> str:
        """A scenario on one line; its trace as JSON Lines."""
        self._send(scenario)
        return self._receive()

    def play_all(self, scenarios: Iterable[Scenario]) -> Iterator[tuple[Scenario, list[JsonLine]]]:
        """Scenarios and their traces in order; the JVM plays ahead of the caller."""
        listed = list(scenarios)
        feeder = threading.Thread(target=self._send_all, args=[listed], daemon=True)
        feeder.start()
        for scenario in listed:
            yield scenario, _events(self._receive())
        feeder.join()

    @property
    def _in(self) -> IO[str]:
        assert self._jvm.stdin is not None
        return self._jvm.stdin

    @property
    def _out(self) -> IO[str]:
        assert self._jvm.stdout is not None
        return self._jvm.stdout

    def _send_all(self, scenarios: list[Scenario]) -> None:
        for scenario in scenarios:
            self._send(json.dumps(scenario))

    def _send(self, scenario: str) -> None:
        self._in.write(scenario + "\n")
        self._in.flush()

    def _receive(self) -> str:
        """The lines up to the empty one."""
        lines = []
        for line in self._out:
            if line == "\n":
                return "".join(lines)
            lines.append(line)
        raise RuntimeError(f"the runner ended with {self._jvm.wait()}")


def _events(trace: str) -> list[JsonLine]:
    return [json.loads(line) for line in trace.split("\n") if line]
