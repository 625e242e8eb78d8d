"""A month night after night, beside the same month in one run: is every table the same?

    python -m tools.days [--days N] [--seed S]

The nights have what nights have: files that come late, a date run twice, two dates run at the same
time by two processes, a run that is killed and started again, source files that are deleted once
they are settled.  Exit 1 if a row differs, or if `regroup check` finds a law broken.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from jobs.checks.check import broken_laws
from jobs.command_line.config import load_config
from jobs.engine.session import build_session
from jobs.lake.dated_scope import DatedScope
from jobs.lake.sql import query
from jobs.lake.tables import Lake
from jobs.nightly import NightlyOptions
from jobs.nightly_run.pipeline import JOBS
from schemas import table_names, table_partitioning
from tools.days.comparison import compared, end, worked_out
from tools.days.history import DAYS, History, history

CLUSTER = "c"
JOBS_WITH_DATES = [table for table in table_names() if "event_date" in table_partitioning(table)]
# On which night something happens, as a part of all nights.
LATE, LATE_COMES, TWICE, AT_ONCE, KILLED, SETTLED = 0.1, 0.25, 0.3, 0.4, 0.6, 0.65
SETTLED_DAYS = 4


class Place:
    """A folder with what brokers left, and the lake that is made of it."""

    def __init__(self, folder: Path) -> None:
        self.source, self.lake = folder / "source", folder / "lake"

    def request(self, **dates: Any) -> NightlyOptions:
        logs = self.source / "logs"
        return NightlyOptions(
            str(self.lake), CLUSTER, segments=str(self.source / "segments"),
            broker_log=str(logs) if logs.is_dir() and any(logs.iterdir()) else None, **dates,
        )  # fmt: skip

    def run(self, **dates: Any) -> float:
        return worked_out(self.request(**dates), load_config(None))

    def start(self, day: date) -> subprocess.Popen[str]:
        """The command, in a process group of its own."""
        options_by_name = self.request(date=str(day)).by_name()
        options = [
            word for k, v in options_by_name.items() for word in (f"--{k.replace('_', '-')}", v)
        ]
        command = [sys.executable, "-m", "jobs.command_line.cli", "nightly", *options]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def tables(self) -> dict[str, Counter[str]]:
        """Every row of every table but `runs`, which tells of the runs."""
        here = str(self.source)
        return {
            table: Counter(repr(row).replace(here, "") for row in rows)
            for table in table_names()
            if table != "runs" and (self.lake / table).is_dir()
            for rows in (query(str(self.lake), f"SELECT * FROM {table}")[1],)
        }


class Nights:
    """Night after night, and what happens on some."""

    def __init__(self, place: Place, month: History, chance: random.Random) -> None:
        self.place, self.month, self.chance = place, month, chance
        self.happened: list[str] = []
        self.seconds: list[float] = []

    def all(self) -> None:
        days = self.month.days
        count = len(days)
        at = {name: int(part * count) for name, part in _EVENTS.items()}
        number = 0
        while number < count:
            day = days[number]
            if number == at["at once"]:
                self._at_once(day, days[number + 1])
                number += 2
                continue
            self.month.land(self.place.source, day, late=False if number == at["late"] else None)
            if number == at["killed"]:
                self._killed(day)
            self.seconds.append(self.place.run(date=str(day)))
            if number == at["twice"]:
                self._again(day, "run twice")
            if number == at["late comes"]:
                late = days[at["late"]]
                self.month.land(self.place.source, late, late=True)
                self._again(late, f"run again on {day}, with the files that had come late")
            if number >= at["settled"]:
                self._forget(days[number - SETTLED_DAYS])
            number += 1
            print(f"{day}: {self.seconds[-1]:.0f} s", file=sys.stderr, flush=True)

    def _again(self, day: date, why: str) -> None:
        self.place.run(date=str(day))
        self.happened.append(f"{day} {why}")

    def _at_once(self, *days: date) -> None:
        for day in days:
            self.month.land(self.place.source, day)
        began = [self.place.start(day) for day in days]
        for run in began:
            if run.communicate()[0] or run.returncode:
                raise SystemExit(f"a run at the same time as another ended with {run.returncode}")
        self.happened.append(f"{days[0]} and {days[1]} run at the same time by two processes")

    def _killed(self, day: date) -> None:
        """As soon as a step that chance chose has ended: with others under way."""
        last = self.chance.choice(JOBS[:-1])
        run = self.place.start(day)
        for line in run.stderr or ():
            if line.startswith(f"{last} "):
                break
        else:
            raise SystemExit(f"the run to be killed ended by itself: {run.wait()}")
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        self.happened.append(f"{day} killed once {last} was written, and run again")

    def _forget(self, day: date) -> None:
        """The files that have nothing of a later day."""
        later = {name for d in self.month.days if d > day for name in self.month.files(d)}
        gone = [name for name in self.month.files(day) if name not in later]
        for name in gone:
            (self.place.source / name).unlink()
        if gone:
            self.happened.append(f"{day} settled, {len(gone)} source files deleted")


def settled_is_not_read(place: Place, last: date) -> tuple[str, list[str]]:
    """Data files of all dates that the last night has no need of deleted, the night run again: the
    rows of the other dates are the same.  ``group_days`` stays: it says what is needed."""
    lake = Lake(build_session(load_config(None)), str(place.lake), CLUSTER)
    read = DatedScope(lake, last, last).touched.dates
    needed = {day for date_read in read for day in (date_read, date_read - timedelta(days=1))}
    before = _on_dates(place.lake, needed)
    gone = set()
    for partition in place.lake.glob(f"*/cluster_id={CLUSTER}/event_date=*"):
        day = date.fromisoformat(partition.name.partition("=")[2])
        if day not in needed and partition.parts[-3] != "group_days":
            shutil.rmtree(partition)
            gone.add(day)
    place.run(date=str(last), recompute_all=True)
    after = _on_dates(place.lake, needed)
    said = f"data of {len(gone)} settled dates deleted from the lake, {last} run again: "
    differing = [table for table in before if before[table] != after[table]]
    return said + (", ".join(differing) or "the rest is the same"), differing


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
    "late": LATE, "late comes": LATE_COMES, "twice": TWICE,
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--days", type=int, default=DAYS, help="so many of them")
    parser.add_argument("--seed", type=int, default=1, help="of the moment of the kill")
    parser.add_argument("--folder", help="keep sources and lakes there; default: a temporary one")
    options = parser.parse_args()
    month = history().first(options.days)
    with _folder(options.folder) as folder:
        once, backfill, nights = (Place(folder / name) for name in ("once", "backfill", "nights"))
        run = Nights(nights, month, random.Random(options.seed))
        run.all()
        for place in (once, backfill):
            for day in month.days:
                month.land(place.source, day)
        together_s = backfill.run(first=str(month.days[0]), last=str(month.days[-1]))
        once_s = once.run()
        found = {"nights": nights.tables(), "backfill": backfill.tables()}
        differing = compared(once.tables(), found)
        lakes = [str(place.lake) for place in (once, backfill, nights)]
        differing += [str(law) for lake in lakes for law in broken_laws(lake)[1]]
        said, tables = settled_is_not_read(nights, month.days[-1])
        run.happened.append(said)
        differing += tables
    for line in run.happened:
        print(line)
    print(
        f"{len(month.days)} nights: {min(run.seconds):.0f} to {max(run.seconds):.0f} s each;"
        f" backfill {together_s:.0f} s, everything in one run {once_s:.0f} s"
    )
    end(differing)


if __name__ == "__main__":
    main()
