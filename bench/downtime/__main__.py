"""Partition downtime in ownership_gaps compared with the callbacks of real clients.

    python -m bench.downtime [--incidents FOLDER]

truth.json has the time in which no process owned a partition by its own callbacks, counted during
the run of a script (the period `window`).  FOLDER has one folder per script and broker version;
default: the archives of tests/data/twins, where callbacks.json has the times of scripts without a
truth.json.  Share and streams groups have no callbacks.
"""

from __future__ import annotations

import json
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Annotated, Any, NamedTuple

import typer

from jobs.configuration.config import load_config
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions, nightly
from schemas import evidence_sql

TWINS = Path(__file__).parents[2] / "tests" / "data" / "twins"
# Files of each run: the broker's segments, the broker's log, the truth.
BROKERS = (
    ("segments", "server.log", "truth.json"),
    ("segments-delay", "server-delay.log", "truth.json"),
    ("play2/segments", "play2/server.log", "play2/truth.json"),
    ("orders/segments", "orders/server.log", ""),
    ("invoices/segments", "invoices/server.log", ""),
)
NO_CALLBACKS = ("jobs-share", "clicks-streams")
# Tolerance: a tenth, or 5 partition-seconds.
SHARE, LEAST_MS = 0.1, 5000


class Compared(NamedTuple):
    incident: str
    group: str
    true_ms: int
    table_ms: int
    low_ms: int
    high_ms: int

    @property
    def is_within(self) -> bool:
        return abs(self.table_ms - self.true_ms) <= self._tolerance_ms

    @property
    def is_in_range(self) -> bool:
        """By the range of the table, widened by the tolerance."""
        tolerance_ms = self._tolerance_ms
        return self.low_ms - tolerance_ms <= self.true_ms <= self.high_ms + tolerance_ms

    @property
    def _tolerance_ms(self) -> float:
        return max(SHARE * self.true_ms, LEAST_MS)


def main(
    incidents: Annotated[Path | None, typer.Option(help="Folder of unpacked incidents.")] = None,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        captures = (
            (*incidents.glob("twins-*"), *incidents.glob("mixed-protocols-*")) if incidents else ()
        )
        folders = sorted(captures) or unpacked(Path(folder))
        rows = [row for each in folders for row in compared(each, f"{folder}/lake")]
    print("| script and version | group | callbacks, s | ownership_gaps, s | difference | range |")
    print("|---|---|---:|---:|---:|---:|")
    for row in rows:
        difference = (row.table_ms - row.true_ms) / row.true_ms
        print(
            f"| {row.incident} | {row.group} | {row.true_ms / 1000:.1f} | {row.table_ms / 1000:.1f}"
            f" | {difference:+.1%}{'' if row.is_within else ' !'}"
            f" | {row.low_ms / 1000:.1f} to {row.high_ms / 1000:.1f}"
            f"{'' if row.is_in_range else ' !'} |"
        )
    ranges = [row for row in rows if row.low_ms < row.high_ms]
    widths = [(row.high_ms - row.low_ms) / row.true_ms for row in ranges]
    print(f"\n{sum(row.is_within for row in rows)} of {len(rows)} groups within 10 % or 5 s")
    print(f"{sum(row.is_in_range for row in rows)} of {len(rows)} in the range, so widened")
    if widths:
        print(f"{len(ranges)} groups have a range, of {median(widths):.0%} of the truth (median)")


def unpacked(folder: Path) -> list[Path]:
    """The archives with the truth of their clients."""
    folders, by_script = [], callbacks()
    for archive in sorted(TWINS.glob("*.tar.gz")):
        target = folder / archive.name.removesuffix(".tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(target, filter="data")
        if any(target.rglob("truth.json")):
            folders.append(target)
        elif target.name in by_script:
            inner = target / target.name
            folders.append(inner if inner.is_dir() else target)
    return folders


def callbacks() -> dict[str, list[dict[str, Any]]]:
    """By script and version: per play the time in ms without an owner, by group."""
    read: dict[str, list[dict[str, Any]]] = json.loads((TWINS / "callbacks.json").read_text())
    return read


def compared(incident: Path, lake: str) -> Iterator[Compared]:
    name = incident.name.removeprefix("twins-")
    truths = {
        group: (play["t0_wall_ms"], play["window_ms"], ms)
        for play in callbacks().get(name, ())
        for group, ms in play["unowned_partition_ms"].items()
    }
    for segments, log, truth in BROKERS:
        if (incident / segments).is_dir():
            cluster_id = f"{name} {segments}"
            options = NightlyOptions(
                lake=lake,
                cluster_id=cluster_id,
                segments=str(incident / segments),
                broker_log=str(incident / log),
            )
            nightly(options, load_config(None))
            if not (incident / truth).is_file():
                continue
            read = json.loads((incident / truth).read_text())
            truths |= {
                group: (
                    read["t0_wall_ms"],
                    read["window_ms"],
                    counted["window"]["unowned_partition_ms"],
                )
                for group, counted in read["groups"].items()
                if group not in NO_CALLBACKS
            }
    of_incident = f"STARTS_WITH(cluster_id, '{name} ')"
    # An archive may lack the files of a broker.
    recorded = {
        row[0] for row in query(lake, f"SELECT group_id FROM assignments WHERE {of_incident}")[1]
    }
    for group in sorted(truths.keys() & recorded):
        first_ms, lasted_ms, true_ms = truths[group]
        downtime = evidence_sql("downtime", begin_ms=first_ms, end_ms=first_ms + lasted_ms)
        names = ("downtime_ms", "downtime_ms_low", "downtime_ms_high")
        sums = ", ".join(f"COALESCE(SUM({each}), 0)" for each in names)
        sql = f"SELECT {sums} FROM ({downtime}) WHERE group_id = '{group}' AND {of_incident}"
        yield Compared(name, group, true_ms, *map(int, query(lake, sql)[1][0]))


if __name__ == "__main__":
    typer.run(main)
