"""Holds the table handover_costs against a simulated fleet whose applications' work is known.

.venv/bin/python -m tools.simulated_costs [--groups 100] [--hours 24] [--seed 1] [--folder DIR]

Simulates groups of several libraries, protocols, commit intervals and rates through kills, freezes,
slow polls, deployments, scaling, pauses and poison pills; runs nightly on segments, server.log and
end offsets; compares the records handled again per group and hour with the truth, and prints the
seconds of CPU time of each step.  Exit 1 if the truth is within the bounds in less than 95 % of the
cells that have any, or the total differs by more than 20 %.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from coordinator_core.simulation import fleet_of
from coordinator_core.simulation.random_draws import between, key_of
from jobs.configuration.config import Config, Engine
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions, nightly
from jobs.simulate.output_files import write
from jobs.simulate.spec_file import SimulationSpec

START = datetime(2026, 11, 20, tzinfo=UTC)
HOUR_MS = 3_600_000
Row = dict[str, Any]
Cells = dict[tuple[str, int], float]

COSTS = """
    SELECT group_id, EPOCH_MS(next_time) AS next_ms, records_reprocessed AS records,
        records_reprocessed_low AS low, records_reprocessed_high AS high, bounded, how_ended
    FROM handover_costs WHERE next_time IS NOT NULL AND records_reprocessed IS NOT NULL"""


def spec_values(groups: int, hours: int, seed: int) -> Row:
    """The tables of a spec file."""
    topics = [
        {"name": f"topic-{n}", "partitions": (6, 8, 12)[n % 3], "rate": (1, 4, 20)[n % 3]}
        for n in range(6)
    ]
    return {
        "name": "costs",
        "length": f"{hours}h",
        "cluster": {"era": "4.1", "end_offsets": "30s"},
        "topics": topics,
        "groups": [_group(n, hours, key_of(seed, f"group-{n}"), topics) for n in range(groups)],
    }


def _group(number: int, hours: int, key: int, topics: list[Row]) -> Row:
    def draw(low: int, high: int, *purpose: int) -> int:
        return between(low, high, key, *purpose)

    topic = topics[draw(0, len(topics) - 1, 0)]
    minutes = 60 * hours
    plans: list[Row] = [{"kind": "start", "at": "1s", "spread": "5s"}]
    for n in range(2 * hours):
        plan: Row = {"at": f"{draw(5, minutes - 5, 1, n)}m", "pick": 1}
        kind = ("kill", "freeze", "slow_poll", "deploy")[draw(0, 3, 2, n)]
        if kind == "kill":
            plan |= {"down": f"{draw(3, 120, 3, n)}s"}
        elif kind == "deploy":
            plan = {"at": plan["at"], "gap": "20s", "down": f"{draw(2, 10, 3, n)}s"}
        else:
            plan |= {"length": f"{draw(5, 90, 3, n)}s"}
        plans.append({"kind": kind, **plan})
    group: Row = {
        "name": f"group-{number}",
        "topics": [topic["name"]],
        "processes": draw(2, 5, 4),
        "client": ("java-4.1", "librdkafka-2")[draw(0, 1, 5)],
        "commit_interval": f"{(5, 5, 10, 30)[draw(0, 3, 6)]}s",
        "session_timeout": "10s",
        "max_poll_interval": "60s",
        "restart": "3s",
        "handle": f"{draw(0, 3, 7)}ms",
        "plans": plans,
        "obstacles": [],
    }
    if draw(0, 3, 8) == 0:
        group |= {"protocol": "consumer"}
        del group["session_timeout"]
    elif draw(0, 2, 9) == 0:
        group |= {"static": True}
    if draw(0, 9, 10) == 0:
        group["obstacles"].append(
            {
                "kind": ("pill", "pause")[draw(0, 1, 11)],
                "topic": topic["name"],
                "partition": 1,
                "at": f"{draw(5, minutes - 10, 12)}m",
                "length": "4m",
            }
        )
    return group


def truth_of(file: Path) -> Cells:
    """Records handled again per group and hour, by the time at which the process got the
    partition."""
    ranges: dict[tuple[str, str, int], list[tuple[int, int, int]]] = defaultdict(list)
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            if '"truth":"handled"' in line:
                row = json.loads(line)
                key = row["group"], row["topic"], row["partition"]
                ranges[key].append((row["from_ms"], row["from_offset"], row["to_offset"]))
    cells: Cells = defaultdict(float)
    for (group, *_), of_partition in ranges.items():
        highest = 0
        for from_ms, begin, end in sorted(of_partition):
            cells[group, from_ms // HOUR_MS] += max(min(end, highest) - begin, 0)
            highest = max(highest, end)
    return cells


class Cell(NamedTuple):
    """Records handled again by a group in an hour (since the epoch)."""

    group: str
    hour: int
    truth: float
    low: float
    high: float
    is_bounded: bool

    @property
    def is_inside(self) -> bool:
        above = self.is_bounded and self.truth > round(self.high)
        return round(self.low) <= self.truth and not above


def compare(truth: Cells, costs: list[Row]) -> Iterator[Cell]:
    low: Cells = defaultdict(float)
    high: Cells = defaultdict(float)
    unbounded = set()
    for row in costs:
        cell = row["group_id"], row["next_ms"] // HOUR_MS
        low[cell] += row["low"]
        high[cell] += row["high"]
        if not row["bounded"]:
            unbounded.add(cell)
    for cell in sorted(truth.keys() | low.keys()):
        yield Cell(*cell, truth.get(cell, 0), low[cell], high[cell], cell not in unbounded)


def play(values: Row, seed: int, folder: Path) -> None:
    """Simulate into ``folder``/played, and compute the tables in ``folder``/lake."""
    spec = SimulationSpec(fleet_of(values), int(START.timestamp() * 1000))
    played = folder / "played"
    began = time.process_time()
    write(spec, played, seed, traces=False)
    print(f"simulated in {time.process_time() - began:.0f} s of CPU time")
    began = time.process_time()
    sources = {
        "segments": str(played / "segments"),
        "broker_log": str(played / "server.log"),
        "end_offsets": str(played / "end_offsets.jsonl"),
    }
    options = NightlyOptions(lake=str(folder / "lake"), cluster_id="simulated", **sources)
    nightly(options, Config(engine=Engine.EMBEDDED))
    print(f"nightly in {time.process_time() - began:.0f} s of CPU time")


def costs_in(lake: str) -> list[Row]:
    columns, rows = query(lake, COSTS)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    play(spec_values(options.groups, options.hours, options.seed), options.seed, folder)
    return _judge(truth_of(folder / "played" / "truth.jsonl"), costs_in(str(folder / "lake")))


def _judge(truth: Cells, costs: list[Row]) -> int:
    cells = [each for each in compare(truth, costs) if each.truth or each.high >= 1]
    outside = [each for each in cells if not each.is_inside]
    for each in outside:
        print(
            f"outside: {each.group}, hour {each.hour}: {each.truth:.0f}, bounds {each.low:.0f}"
            f" to {each.high:.0f}"
        )
    total, estimate = sum(truth.values()), sum(row["records"] for row in costs)
    share = 1 - len(outside) / max(len(cells), 1)
    print(f"{len(cells)} cells of group and hour with any; truth inside in {share:.1%}")
    print(f"records handled again: {total:.0f}, estimated {estimate:.0f}")
    return 0 if share >= 0.95 and abs(estimate - total) <= 0.2 * total else 1


if __name__ == "__main__":
    sys.exit(main())
