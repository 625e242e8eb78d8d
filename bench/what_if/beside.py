"""What-if of simulated groups beside an earlier version of the code, by CPU time, in one run.

    python -m bench.what_if.beside --before FOLDER [--groups 40] [--rounds 3] [--wheel FILE]

The groups are those of fleet.toml, simulated into a lake by the embedded engine.  Their evidence is
read once.  Then each version predicts, in a process of its own, every change of the grid that a
group's brokers and clients accept, with one seed; the versions take turns.  ``--before``: a
checkout, whose wheel had no compiled modules either.  The wheel of this version is built first.
Last, one sweep by the embedded engine: the command, with reading and writing the lake.
"""

from __future__ import annotations

import json
import pickle
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from bench.engine.__main__ import ROOT, Engine, unpacked
from coordinator_core.incident import incarnations
from coordinator_core.whatif import GRID, baseline_of, refusals
from jobs.engine.embedded import embedded_session
from jobs.lake.evidence import Row, rows_of_group
from jobs.lake.opening import open_lake
from jobs.lake.scope import AllDates
from jobs.nightly_run.pipeline import Progress, run_all
from jobs.replay.group_rows import rows
from jobs.simulate.into_lake import run as simulate
from jobs.simulate.into_lake import with_group_count
from jobs.simulate.spec_file import read_spec
from jobs.what_if.evidence import CLASSIC_KINDS

FOLDER = Path(__file__).parent  # Earlier versions have a package of this name with other content.
CLUSTER = "sim"


class GroupEvidence(NamedTuple):
    """``changes``: those of the grid that are accepted, as KEY=VALUE separated by spaces."""

    group_id: str
    events: list[Row]
    records: list[Row]
    offset_versions: set[int]
    last_commit_ms: dict[str, int]
    until_ms: int
    changes: list[str]


def main(
    before: Annotated[Path, typer.Option(help="A checkout of an earlier version.")],
    groups: Annotated[int, typer.Option(help="Groups of the fleet.")] = 40,
    rounds: Annotated[int, typer.Option(help="Turns of each version.")] = 3,
    wheel: Annotated[Path | None, typer.Option(help="A compiled wheel; else one is built.")] = None,
) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-what-if-") as temporary:
        folder = Path(temporary)
        compiled = Engine("compiled", unpacked(wheel, folder))
        versions = [Engine("before", before.resolve()), Engine("pure", ROOT), compiled]
        lake, played = str(folder / "lake"), folder / "evidence"
        fill(lake, groups)
        played.write_bytes(pickle.dumps([tuple(each) for each in evidence(lake)]))
        costs = {version.name: list[float]() for version in versions}
        outcomes: dict[str, str] = {}
        for _ in range(rounds):
            for version in versions:
                output = version.run(FOLDER / "player.py", played)
                count, cpu_s, outcomes[version.name] = json.loads(output)
                costs[version.name].append(cpu_s)
        report(groups, count, costs)
        print(f"the same predictions, compiled and not: {outcomes['pure'] == outcomes['compiled']}")
        for version in versions[1:]:
            cpu_s = float(version.run(FOLDER / "sweep.py", lake))
            print(f"sweep of {groups} groups, embedded, {version.name}: {cpu_s:.1f} CPU s")


def fill(lake: str, groups: int) -> None:
    """Simulate the groups into a new lake, and derive the tables that what-if reads."""
    spec = read_spec(FOLDER / "fleet.toml")
    enlarged = replace(spec, fleet=with_group_count(spec.fleet, groups))
    opened = open_lake(embedded_session(), lake, CLUSTER)
    simulate(opened, enlarged, spec.fleet.seed)
    run_all(AllDates(opened), Progress())


def evidence(lake: str) -> list[GroupEvidence]:
    last = "SELECT epoch_ms(MAX(append_time)) AS at_ms FROM committed_offsets"
    until_ms = rows(lake, last)[0]["at_ms"]
    groups = rows(lake, "SELECT DISTINCT group_id FROM generations ORDER BY group_id")
    return [_of_group(lake, row["group_id"], until_ms) for row in groups]


def _of_group(lake: str, group_id: str, until_ms: int) -> GroupEvidence:
    of_kind = rows_of_group(lake, CLUSTER, group_id, CLASSIC_KINDS)
    events, records = of_kind["events"], of_kind["records"]
    commits = {row["member_id"]: row["at_ms"] for row in of_kind["last_commits"]}
    versions = {row["offset_version"] for row in of_kind["commits"]}
    baseline = baseline_of(
        incarnations(group_id, events, records),
        offset_versions=versions,
        last_commit_ms=commits,
        until_ms=until_ms,
    )
    changes = [str(each) for each in GRID if not any(refusals(baseline, each))]
    return GroupEvidence(group_id, events, records, versions, commits, until_ms, changes)


def report(groups: int, count: int, costs: dict[str, list[float]]) -> None:
    before = statistics.median(costs["before"])
    for name, cpu_s in costs.items():
        median = statistics.median(cpu_s)
        print(
            f"{count} predictions of {groups} groups, {name}: {median:.1f} CPU s,"
            f" {count / median:.0f} per CPU second, {before / median:.2f} times before"
        )


if __name__ == "__main__":
    sys.exit(typer.run(main))
