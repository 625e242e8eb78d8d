"""Copies the lake at random write calls of a run, as a loss of power would leave it.

    python -m tools.faults.power_loss [--count N] [--seed S] [--incident DIR]

Half of the runs fill an empty lake, half add more lines to a lake.  A library in C stops the run
after a write call below the lake's folder (power_loss.c); the folder is copied, and the run goes
on.  In the copy, the files that were written last are damaged: the last renames are lost, and other
files are empty or half.  The next run over each copy must end with the tables of the undisturbed
run, or name the damage with `maintain --repair`; then the run after the repair must.  Exit 1 if a
copy does neither.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from jobs.configuration.config import Engine, load_config
from jobs.console.errors import failure_line
from jobs.maintain import MaintainOptions, repair_lake
from jobs.nightly import NightlyOptions
from jobs.nightly import nightly as run_nightly
from tools.faults.lakes import tables_of
from tools.faults.runs import CLEAR, LOST, SAME, nightly
from tools.standalone_cluster import arguments

INCIDENT = Path(__file__).resolve().parents[2] / "examples" / "mixed-clients-4.1.2"
LIBRARY = Path(__file__).with_suffix(".c")
MOST_DAMAGED = 6
REPAIR = "maintain --repair"


@dataclass(frozen=True)
class CrashedRun:
    """A run, the tables that it wrote, and copies of its lake at write calls."""

    inputs: Path
    tables: dict[str, list[str]]
    copies: list[Path]


def compiled(folder: Path) -> Path:
    library = folder / "power_loss.so"
    command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(LIBRARY), "-ldl"]
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"{LIBRARY.name}: {error}; this campaign needs a C compiler") from None
    return library


def crashed_run(
    library: Path,
    inputs: Path,
    folder: Path,
    before: Path | None,
    count: int,
    chance: random.Random,
) -> CrashedRun:
    """``inputs`` has segments and server.log; ``before`` is the lake before the run."""
    calls = _write_calls(library, inputs, folder / "counted", before)
    stops = sorted(chance.sample(range(1, calls + 1), min(count, calls)))
    lake = _lake(folder / "lake", before)
    process = _started(library, inputs, lake, {"REGROUP_POWER_STOPS": ",".join(map(str, stops))})
    copies = []
    while os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1]):
        copy = Path(shutil.copytree(lake, folder / f"call-{stops[len(copies)]}"))
        for loss in lose(copy, before, chance):
            print(f"{copy.name}: {loss}", file=sys.stderr)
        copies.append(copy)
        process.send_signal(signal.SIGCONT)
    return CrashedRun(inputs, tables_of(str(lake)), copies)


def _write_calls(library: Path, inputs: Path, lake: Path, before: Path | None) -> int:
    count = lake.with_suffix(".calls")
    _started(library, inputs, _lake(lake, before), {"REGROUP_POWER_COUNT": str(count)}).wait()
    return int(count.read_text())


def _lake(lake: Path, before: Path | None) -> Path:
    if before is not None:
        shutil.copytree(before, lake)
    return lake


def _started(
    library: Path, inputs: Path, lake: Path, stops: dict[str, str]
) -> subprocess.Popen[bytes]:
    command = nightly(Engine.EMBEDDED, arguments(inputs, lake))
    shim = {"LD_PRELOAD": str(library), "REGROUP_POWER_FOLDER": f"{lake}/"}
    return subprocess.Popen(command, env={**os.environ, **shim, **stops}, stderr=subprocess.DEVNULL)


def lose(lake: Path, before: Path | None, chance: random.Random) -> list[str]:
    """Damage the files that were written last; returns what was done to them.

    A file system writes renames in their order, and the bytes of files in any order.  So the
    renames that are lost are the last ones.
    """
    new = [
        file
        for file in lake.rglob("*")
        if file.is_file()
        and file.suffix != ".lock"
        and (before is None or not (before / file.relative_to(lake)).exists())
    ]
    newest = sorted(new, key=lambda file: (file.stat().st_mtime_ns, file), reverse=True)
    damaged = newest[: chance.randint(0, MOST_DAMAGED)]
    lost_count = chance.randint(0, len(damaged))
    return [
        f"{_lose_one(file, index < lost_count, chance)} {file.relative_to(lake)}"
        for index, file in enumerate(damaged)
    ]


def _lose_one(file: Path, is_rename_lost: bool, chance: random.Random) -> str:
    if is_rename_lost:
        # The names that delta-rs gives to files before their rename.
        file.rename(file.with_name(f"{file.name}#1"))
        return "not renamed:"
    what = chance.choice(["whole", "empty", "half"])
    if what != "whole":
        data = file.read_bytes()
        file.write_bytes(b"" if what == "empty" else data[: len(data) // 2])
    return f"{what}:"


def verdict(run: CrashedRun, lake: Path) -> str:
    """SAME after a run; CLEAR if the run named the damage, and repair and a run gave the tables."""
    error = _error_of_run(run, lake)
    if error is not None and REPAIR not in error:
        return f"{LOST}: {error}"
    if error is not None:
        repair_lake(MaintainOptions(str(lake), repair=True))
        if (second := _error_of_run(run, lake)) is not None:
            return f"{LOST}: after {error}: {second}"
    tables = tables_of(str(lake))
    differing = [name for name, rows in run.tables.items() if tables.get(name) != rows]
    if differing:
        return f"{LOST}: {differing} differ; {error}"
    return SAME if error is None else CLEAR


def _error_of_run(run: CrashedRun, lake: Path) -> str | None:
    sources = {"segments": f"{run.inputs}/segments", "broker_log": f"{run.inputs}/server.log"}
    options = NightlyOptions(lake=str(lake), cluster_id="c", advice=False, **sources)
    try:
        run_nightly(options, load_config(None, Engine.EMBEDDED))
    except Exception as error:
        return failure_line(error)
    return None


def crashed_runs(folder: Path, incident: Path, count: int, seed: int) -> Iterator[CrashedRun]:
    """A run into an empty lake, and one that adds the second half of the log to a lake."""
    library, chance = compiled(folder), random.Random(seed)
    half = folder / "half"
    half.mkdir()
    (half / "segments").symlink_to(incident / "segments")
    lines = (incident / "server.log").read_bytes().splitlines(keepends=True)
    (half / "server.log").write_bytes(b"".join(lines[: len(lines) // 2]))
    before = folder / "before"
    _started(library, half, before, {}).wait()
    for name, lake, points in (("empty", None, count - count // 2), ("more", before, count // 2)):
        work = folder / name
        work.mkdir()
        yield crashed_run(library, incident, work, lake, points, chance)


def main(
    count: Annotated[int, typer.Option(help="Number of copies.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the calls and of the damage.")] = 1,
    incident: Annotated[Path, typer.Option(help="Folder with segments and server.log.")] = INCIDENT,
) -> None:
    verdicts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="regroup-power-") as folder:
        for run in crashed_runs(Path(folder), incident, count, seed):
            for lake in run.copies:
                what = verdict(run, lake)
                print(f"seed {seed}, {lake.parent.name} lake, {lake.name}: {what}", flush=True)
                verdicts[what.split(":")[0]] += 1
                shutil.rmtree(lake)
    print(f"{verdicts.total()} copies: {dict(verdicts)}")
    raise typer.Exit(int(verdicts[LOST] > 0))


if __name__ == "__main__":
    typer.run(main)
