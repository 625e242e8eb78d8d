"""Computes a month date by date and in one run, and compares all tables.

    python -m tools.days [--engine E] [--days N] [--seed S]

The runs by date have what happens in production: files that come late, a date run twice, two dates
run at the same time by two processes, a run that is killed and started again, source files that are
deleted once settled.  With `--engine both`, the engine changes from run to run.  Exit 1 if a row
differs or `regroup check` finds a violation.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from itertools import cycle
from pathlib import Path
from typing import Annotated, Any

import typer
from deltalake import DeltaTable

from jobs.checks.check import broken_laws
from jobs.configuration.config import Config, Engine, load_config
from jobs.engine.choice import Workload
from jobs.engine.session import open_session
from jobs.lake.dated_scope import DatedScope
from jobs.lake.opening import open_lake
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions
from jobs.nightly_run.pipeline import JOBS
from schemas import table_names, table_partitioning
from tools.days.comparison import compared, end, run_seconds
from tools.days.history import DAYS, History, history
from tools.engines import Engines

CLUSTER = "c"
JOBS_WITH_DATES = [table for table in table_names() if "event_date" in table_partitioning(table)]
# Night of each disturbance, as a fraction of all nights.
LATE, LATE_FILES, TWICE, AT_ONCE, KILLED, SETTLED = 0.1, 0.25, 0.3, 0.4, 0.6, 0.65
SETTLED_DAYS = 4


class MonthFolder:
    """A folder with the brokers' files and the lake that these engines compute in turn."""

    def __init__(self, folder: Path, engines: Sequence[str]) -> None:
        self.source, self.lake = folder / "source", folder / "lake"
        self._engines = cycle(engines)

    def config(self) -> Config:
        """The default configuration with the engine of the next run."""
        return load_config(None, Engine(next(self._engines)))

    def options(self, **dates: Any) -> NightlyOptions:
        logs = self.source / "logs"
        return NightlyOptions(
            lake=str(self.lake), cluster_id=CLUSTER, segments=str(self.source / "segments"),
            broker_log=str(logs) if logs.is_dir() and any(logs.iterdir()) else None, **dates,
        )  # fmt: skip

    def run(self, **dates: Any) -> float:
        return run_seconds(self.options(**dates), self.config())

    def start(self, day: date) -> subprocess.Popen[str]:
        """Start the command in a process group of its own."""
        options_by_name = self.options(date=str(day)).by_name()
        options = [
            word for k, v in options_by_name.items() for word in (f"--{k.replace('_', '-')}", v)
        ]
        command = [sys.executable, "-m", "jobs.command_line.cli", "nightly", *options]
        command += ["--no-advice", "--engine", next(self._engines)]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def tables(self) -> dict[str, Counter[str]]:
        """All rows of all tables but `runs`, whose rows differ by design."""
        here = str(self.source)
        return {
            table: Counter(repr(row).replace(here, "") for row in rows)
            for table in table_names()
            if table != "runs" and (self.lake / table).is_dir()
            for rows in (query(str(self.lake), f"SELECT * FROM {table}")[1],)
        }


class Nights:
    """One run per night, with a disturbance on some nights."""

    def __init__(self, month_folder: MonthFolder, month: History, chance: random.Random) -> None:
        self.month_folder, self.month, self.chance = month_folder, month, chance
        self.disturbances: list[str] = []
        self.seconds: list[float] = []

    def all(self) -> None:
        days = self.month.days
        count = len(days)
        at = {name: int(part * count) for name, part in _EVENTS.items()}
        number = 0
        while number < count:
            day = days[number]
            if number == at["at once"]:
                self._concurrently(day, days[number + 1])
                number += 2
                continue
            self.month.land(
                self.month_folder.source, day, late=False if number == at["late"] else None
            )
            if number == at["killed"]:
                self._killed(day)
            self.seconds.append(self.month_folder.run(date=str(day)))
            if number == at["twice"]:
                self._again(day, "run twice")
            if number == at["late files"]:
                late = days[at["late"]]
                self.month.land(self.month_folder.source, late, late=True)
                self._again(late, f"run again on {day}, with the late files")
            if number >= at["settled"]:
                self._delete_sources(days[number - SETTLED_DAYS])
            number += 1
            print(f"{day}: {self.seconds[-1]:.0f} s", file=sys.stderr, flush=True)

    def _again(self, day: date, why: str) -> None:
        self.month_folder.run(date=str(day))
        self.disturbances.append(f"{day} {why}")

    def _concurrently(self, *days: date) -> None:
        for day in days:
            self.month.land(self.month_folder.source, day)
        began = [self.month_folder.start(day) for day in days]
        for run in began:
            if run.communicate()[0] or run.returncode:
                raise SystemExit(f"a run at the same time as another ended with {run.returncode}")
        self.disturbances.append(f"{days[0]} and {days[1]} run at the same time by two processes")

    def _killed(self, day: date) -> None:
        """Kill a run after a random step, while other steps are running."""
        last = self.chance.choice(JOBS[:-1])
        run = self.month_folder.start(day)
        for line in run.stderr or ():
            if line.startswith(f"{last} "):
                break
        else:
            raise SystemExit(f"the run ended before it was killed: {run.wait()}")
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        self.disturbances.append(f"{day} killed after {last} was written, and run again")

    def _delete_sources(self, day: date) -> None:
        """Delete this day's files that have no data of a later day."""
        later = {name for d in self.month.days if d > day for name in self.month.files(d)}
        deleted = [name for name in self.month.files(day) if name not in later]
        for name in deleted:
            (self.month_folder.source / name).unlink()
        if deleted:
            self.disturbances.append(f"{day} settled, {len(deleted)} source files deleted")


def settled_is_not_read(month_folder: MonthFolder, last: date) -> tuple[str, list[str]]:
    """Delete the data files of all dates that the last night does not read, and run it again.

    Returns a sentence and the tables whose rows of the other dates differ.  ``group_days`` stays,
    because it determines which dates are read.
    """
    session = open_session(month_folder.config(), Workload(0))
    lake = open_lake(session, str(month_folder.lake), CLUSTER)
    read = DatedScope(lake=lake, first=last, last=last).touched.dates
    needed = {day for date_read in read for day in (date_read, date_read - timedelta(days=1))}
    before = _on_dates(month_folder.lake, needed)
    deleted = set()
    for partition in month_folder.lake.glob(f"*/cluster_id={CLUSTER}/event_date=*"):
        day = date.fromisoformat(partition.name.partition("=")[2])
        if day not in needed and partition.parts[-3] != "group_days":
            shutil.rmtree(partition)
            deleted.add(day)
    month_folder.run(date=str(last), recompute_all=True)
    after = _on_dates(month_folder.lake, needed)
    sentence = f"data of {len(deleted)} settled dates deleted from the lake, {last} run again: "
    differing = [table for table in before if before[table] != after[table]]
    return sentence + (", ".join(differing) or "all other rows are equal"), differing


def _on_dates(lake: Path, days: set[date]) -> dict[str, list[str]]:
    kept = [("event_date", "in", sorted(days))]
    return {
        table: sorted(
            map(repr, DeltaTable(str(lake / table)).to_pyarrow_table(filters=kept).to_pylist())
        )
        for table in JOBS_WITH_DATES
        if (lake / table).is_dir()
    }


_EVENTS = {
    "late": LATE, "late files": LATE_FILES, "twice": TWICE,
    "at once": AT_ONCE, "killed": KILLED, "settled": SETTLED,
}  # fmt: skip


@contextmanager
def _folder(kept: str | None) -> Iterator[Path]:
    if kept:
        shutil.rmtree(kept, ignore_errors=True)
        yield Path(kept)
        return
    with tempfile.TemporaryDirectory() as temporary:
        yield Path(temporary)


def main(
    days: Annotated[int, typer.Option(help="Number of days.")] = DAYS,
    engine: Annotated[Engines, typer.Option(help="The engine of the runs.")] = Engines.EMBEDDED,
    seed: Annotated[int, typer.Option(help="Seed of the random kill.")] = 1,
    folder: Annotated[
        str | None, typer.Option(help="Keep sources and lakes in this folder.")
    ] = None,
) -> None:
    month = history().first(days)
    with _folder(folder) as root:
        once, backfill, nights = (
            MonthFolder(root / name, engines)
            for name, engines in (
                ("once", engine.names()[:1]),
                ("backfill", engine.names()[-1:]),
                ("nights", engine.names()),
            )
        )
        run = Nights(nights, month, random.Random(seed))
        run.all()
        for folder_of_month in (once, backfill):
            for day in month.days:
                month.land(folder_of_month.source, day)
        together_s = backfill.run(first=str(month.days[0]), last=str(month.days[-1]))
        once_s = once.run()
        tables = {"nights": nights.tables(), "backfill": backfill.tables()}
        differing = compared(once.tables(), tables)
        lakes = [str(month_folder.lake) for month_folder in (once, backfill, nights)]
        differing += [str(law) for lake in lakes for law in broken_laws(lake)[1]]
        sentence, differing_tables = settled_is_not_read(nights, month.days[-1])
        run.disturbances.append(sentence)
        differing += differing_tables
    for line in run.disturbances:
        print(line)
    print(
        f"{len(month.days)} nights: {min(run.seconds):.0f} to {max(run.seconds):.0f} s each;"
        f" backfill {together_s:.0f} s, everything in one run {once_s:.0f} s"
    )
    end(differing)


if __name__ == "__main__":
    typer.run(main)
