"""Measures the engine, interpreted and compiled, beside Kafka's own classes in the same run.

    python -m bench.engine [--era 4.1] [--scenarios 4000] [--groups 10000 --members 20 --rounds 3]

Whole commands are timed from JSON files to trace files, including the start of Python and of the
JVM; warm players convert a scenario in JSON text to a trace in JSON text; "play" leaves out JSON.
The last rows time one heartbeat of the engine alone, by the number of groups.  The compiled engine
is that of the wheel, which is built first.  CPU time covers all threads, the JVM's compiler and
collector included; on a busy machine it is more reliable than wall-clock time.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from bench.engine import steady
from tools.differential.check import scenario_text
from tools.differential.kafka import BUILD, KafkaRunner
from tools.differential.scenarios import scenario as random_scenario
from tools.differential.traces import member_ids
from tools.package import Layout, build_wheel

ROOT = Path(__file__).parents[2]
WARM_UP = 300
GROUP_COUNTS = (100, 1000, 10000)
Scenario = dict[str, Any]


class Spent(NamedTuple):
    clock_s: float
    cpu_s: float


class Engine(NamedTuple):
    """``folder``: has the package coordinator_core."""

    name: str
    folder: Path

    def run(self, *command: object) -> str:
        """The output of a command of Python that imports this engine."""
        environment = {**os.environ, "PYTHONPATH": f"{self.folder}:{ROOT}"}
        python = [sys.executable, "-P", *map(str, command)]
        return subprocess.run(
            python, check=True, env=environment, stdout=subprocess.PIPE, text=True
        ).stdout


class Compared(NamedTuple):
    """Measurements of the same steps, played by Kafka's classes and by each engine."""

    what: str
    steps: int
    kafka: Spent | None
    engines: list[Spent]

    def __str__(self) -> str:
        all_spent = [self.kafka, *self.engines]
        clock = "".join(self._rate(each and each.clock_s) for each in all_spent)
        cpu = "".join(self._rate(each and each.cpu_s) for each in all_spent)
        pure, compiled = (each.cpu_s for each in self.engines)
        return f"{self.what:<46}{self.steps:>9}{clock}{cpu}{pure / compiled:>9.2f}"

    def _rate(self, seconds: float | None) -> str:
        return f"{'-':>12}" if seconds is None else f"{self.steps / seconds:>12.0f}"


def main(
    era: str = "4.1",
    seed: int = 1,
    scenarios: int = 4000,
    groups: int = 10000,
    members: int = 20,
    rounds: int = 3,
    wheel: Annotated[Path | None, typer.Option(help="A compiled wheel; else one is built.")] = None,
) -> None:
    randoms = [random_scenario(seed, index) for index in range(scenarios)]
    print_head(era)
    with tempfile.TemporaryDirectory(prefix="bench-engine-") as folder:
        engines = [Engine("pure", ROOT), Engine("compiled", unpacked(wheel, Path(folder)))]
        print(commands(f"{scenarios} random, whole command", randoms, era, engines))
        print(_warm(f"{scenarios} random, warm", randoms, randoms, era, engines))
        print(_played(f"{scenarios} random, play", randoms, era, engines))
        for count in (groups // 100, groups // 10, groups):
            quiet = [steady.scenario(count, members, rounds)]
            what = f"steady, {count} groups of {members}, "
            print(_warm(f"{what}warm", quiet, randoms, era, engines))
            print(_played(f"{what}play", quiet, era, engines))
        print(commands(f"{what}whole command", quiet, era, engines))
        for count in GROUP_COUNTS:
            command = ("-m", "bench.engine.heartbeats", era, count, members)
            spent = ", ".join(f"{each.name} {each.run(*command).strip()}" for each in engines)
            print(f"one heartbeat among {count:>5} groups, ns of CPU time: {spent}")


def print_head(era: str) -> None:
    print(f"{'':<46}{'':>9}{'steps/s by the clock':>36}{'steps/s of CPU time':>36}")
    columns = f"{'Kafka':>12}{'pure':>12}{'compiled':>12}"
    print(f"{'era ' + era:<46}{'steps':>9}{columns}{columns}{'comp/pure':>9}")


def unpacked(wheel: Path | None, folder: Path) -> Path:
    wheel = wheel or build_wheel(folder, compiled=True, layout=Layout.FOLDERS)
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "compiled")
    return folder / "compiled"


def commands(
    what: str, scenarios: list[Scenario], era: str, engines: list[Engine], runner: str = ""
) -> Compared:
    """All commands on the same files; the engines take their ids from Kafka's traces.

    ``runner``: the name of Kafka's, if it is not the era's.
    """
    kafka_name = f"kafka-{runner or era}"
    jar = BUILD / kafka_name / f"{kafka_name}.jar"
    regroup = Path(sys.executable).with_name("regroup")
    with tempfile.TemporaryDirectory(prefix="bench-engine-") as directory:
        scenario_dir, kafka_dir, engine_dir = (Path(directory, n) for n in ("in", "kafka", "out"))
        scenario_dir.mkdir()
        for made in scenarios:
            (scenario_dir / f"{made['name']}.json").write_text(scenario_text(made), "utf-8")
        kafka = _spent(lambda: _run("java", "-jar", jar, "--out", kafka_dir, scenario_dir))
        command = (
            regroup, "scenario", "run", "--era", era, "--ids-from", kafka_dir,
            "--out", engine_dir, scenario_dir,
        )  # fmt: skip
        spent = []
        for engine in engines:
            spent.append(_spent(lambda engine=engine: engine.run(*command)))  # type: ignore[misc]
            _check_same_names(kafka_dir, engine_dir)
    return Compared(what, _steps(scenarios), kafka, spent)


def _run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True, stderr=subprocess.DEVNULL)


def _check_same_names(kafka_dir: Path, engine_dir: Path) -> None:
    if {path.name for path in kafka_dir.iterdir()} != {path.name for path in engine_dir.iterdir()}:
        raise RuntimeError("the two commands did not write the same traces")


def _warm(
    what: str, scenarios: list[Scenario], before: list[Scenario], era: str, engines: list[Engine]
) -> Compared:
    """All from JSON text to JSON text, after warming up with scenarios of `before`."""
    texts = [json.dumps(made) for made in scenarios]
    with KafkaRunner(era) as kafka:
        for made in before[:WARM_UP]:
            kafka.play(made)
        cpu_s = _child_cpu_s(kafka.pid)
        traces: list[str] = []
        clock_s = _spent(lambda: traces.extend(map(kafka.play_text, texts))).clock_s
        theirs = Spent(clock_s, _child_cpu_s(kafka.pid) - cpu_s)
    ids = [member_ids([json.loads(trace.partition("\n")[0])]) for trace in traces]
    spent = _players(era, engines, texts, ids, "--json")
    return Compared(what, _steps(scenarios), theirs, spent)


def _played(what: str, scenarios: list[Scenario], era: str, engines: list[Engine]) -> Compared:
    texts = [json.dumps(made) for made in scenarios]
    spent = _players(era, engines, texts, [None] * len(texts), "--no-json")
    return Compared(what, _steps(scenarios), None, spent)


def _players(
    era: str, engines: list[Engine], texts: list[str], ids: list[Any], *options: str
) -> list[Spent]:
    """What each engine spends on these scenarios with these member ids, in a process of its own."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as played:
        json.dump(list(zip(texts, ids, strict=True)), played)
        played.flush()
        command = ("-m", "bench.engine.player", era, played.name, *options)
        return [Spent(*json.loads(engine.run(*command))) for engine in engines]


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
