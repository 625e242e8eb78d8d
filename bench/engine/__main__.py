"""Measures the engine's speed beside Kafka's own classes in the same run.

    python -m bench.engine [--era 4.1] [--scenarios 4000] [--groups 10000 --members 20 --rounds 3]

Whole commands are timed from JSON files to trace files, including the start of Python and of the
JVM; warm players convert a scenario in JSON text to a trace in JSON text. The last rows time one
heartbeat of the engine alone, by the number of groups. CPU time covers all threads, the JVM's
compiler and collector included; on a busy machine it is more reliable than wall-clock time.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import typer

from bench.engine import heartbeats, steady
from tools.differential.check import scenario_text
from tools.differential.engine import Engine
from tools.differential.kafka import BUILD, KafkaRunner
from tools.differential.scenarios import scenario as random_scenario
from tools.differential.traces import member_ids

WARM_UP = 300
GROUP_COUNTS = (100, 1000, 10000)
Scenario = dict[str, Any]


class Spent(NamedTuple):
    clock_s: float
    cpu_s: float


class Compared(NamedTuple):
    """Measurements of the same steps, played by Kafka's classes and by the engine."""

    what: str
    steps: int
    kafka: Spent
    engine: Spent

    def __str__(self) -> str:
        clock = self._rates(self.kafka.clock_s, self.engine.clock_s)
        cpu = self._rates(self.kafka.cpu_s, self.engine.cpu_s)
        return f"{self.what:<46}{self.steps:>9}{clock}{cpu}"

    def _rates(self, kafka_s: float, engine_s: float) -> str:
        kafka, engine = self.steps / kafka_s, self.steps / engine_s
        return f"{kafka:>12.0f}{engine:>9.0f}{engine / kafka:>7.2f}"


def main(
    era: str = "4.1",
    seed: int = 1,
    scenarios: int = 4000,
    groups: int = 10000,
    members: int = 20,
    rounds: int = 3,
) -> None:
    randoms = [random_scenario(seed, index) for index in range(scenarios)]
    print(f"{'':<46}{'':>9}{'steps/s by the clock':>28}{'steps/s of CPU time':>28}")
    columns = f"{'Kafka':>12}{'engine':>9}{'ratio':>7}"
    print(f"{'era ' + era:<46}{'steps':>9}{columns}{columns}")
    print(_commands(f"{scenarios} random, whole command", randoms, era))
    print(_warm(f"{scenarios} random, warm", randoms, randoms, era))
    for count in (groups // 100, groups // 10, groups):
        quiet = [steady.scenario(count, members, rounds)]
        what = f"steady, {count} groups of {members}, warm"
        print(_warm(what, quiet, randoms, era))
    what = f"steady, {groups} groups of {members}, whole command"
    print(_commands(what, quiet, era))
    for count in GROUP_COUNTS:
        spent_ns = heartbeats.ns_each(era, count, members)
        print(
            f"one heartbeat, engine alone, among {count:>5} groups: {spent_ns:.0f} ns of CPU time"
        )


def _commands(what: str, scenarios: list[Scenario], era: str) -> Compared:
    """Both commands on the same files; the engine takes its ids from Kafka's traces."""
    jar = BUILD / f"kafka-{era}" / f"kafka-{era}.jar"
    regroup = Path(sys.executable).with_name("regroup")
    with tempfile.TemporaryDirectory(prefix="bench-engine-") as directory:
        scenario_dir, kafka_dir, engine_dir = (Path(directory, n) for n in ("in", "kafka", "out"))
        scenario_dir.mkdir()
        for made in scenarios:
            (scenario_dir / f"{made['name']}.json").write_text(scenario_text(made), "utf-8")
        kafka = _spent(lambda: _run("java", "-jar", jar, "--out", kafka_dir, scenario_dir))
        engine = _spent(
            lambda: _run(
                regroup, "scenario", "run", "--era", era, "--ids-from", kafka_dir,
                "--out", engine_dir, scenario_dir,
            )
        )  # fmt: skip
        _check_same_names(kafka_dir, engine_dir)
    return Compared(what, _steps(scenarios), kafka, engine)


def _run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True, stderr=subprocess.DEVNULL)


def _check_same_names(kafka_dir: Path, engine_dir: Path) -> None:
    if {path.name for path in kafka_dir.iterdir()} != {path.name for path in engine_dir.iterdir()}:
        raise RuntimeError("the two commands did not write the same traces")


def _warm(what: str, scenarios: list[Scenario], before: list[Scenario], era: str) -> Compared:
    """Both from JSON text to JSON text, after warming up with scenarios of `before`."""
    texts = [json.dumps(made) for made in scenarios]
    with KafkaRunner(era) as kafka:
        for made in before[:WARM_UP]:
            kafka.play(made)
        cpu_s = _child_cpu_s(kafka.pid)
        traces: list[str] = []
        clock_s = _spent(lambda: traces.extend(map(kafka.play_text, texts))).clock_s
        theirs = Spent(clock_s, _child_cpu_s(kafka.pid) - cpu_s)
    ids = [member_ids([json.loads(trace.partition("\n")[0])]) for trace in traces]
    engine = Engine(era)

    def play() -> None:
        for text, some in zip(texts, ids, strict=True):
            "".join(json.dumps(event) + "\n" for event in engine.play(json.loads(text), some))

    return Compared(what, _steps(scenarios), theirs, _spent(play))


def _steps(scenarios: list[Scenario]) -> int:
    return sum(len(made["steps"]) for made in scenarios)


def _spent(work: Callable[[], object]) -> Spent:
    """The time of the work, in this process and in children that ended meanwhile."""
    clock_s, cpu_s = time.perf_counter(), _own_cpu_s()
    work()
    return Spent(time.perf_counter() - clock_s, _own_cpu_s() - cpu_s)


def _own_cpu_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _child_cpu_s(pid: int) -> float:
    """CPU time of a running child: fields 14 and 15 of its stat, in ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    typer.run(main)
