"""``regroup simulate``: simulates a fleet and writes its brokers' output.

reads   a fleet's spec (TOML, examples/fleets)
writes  a folder (output_files) or a lake's bronze tables (into_lake)
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coordinator_core.figures import counted
from jobs.console.errors import UsageError
from jobs.console.spinner import spinner
from jobs.simulate.output_files import COLUMNS, write
from jobs.simulate.spec_file import read_spec

if TYPE_CHECKING:
    from jobs.configuration.config import Config

__all__ = ["COLUMNS", "simulate", "simulate_into", "totals"]


def simulate(path: str, out: str, seed: int | None) -> list[list[Any]]:
    """Simulate the spec and write all files to ``out``; returns one row of COLUMNS per group.

    Raises UsageError for an invalid spec or a folder that is not empty.
    """
    spec, folder = read_spec(path), Path(out)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"--out {out}: folder is not empty; use another one or empty it")
    with spinner("simulate"):
        return write(spec, folder, spec.fleet.seed if seed is None else seed)


def simulate_into(
    lake: str,
    cluster_id: str,
    path: str,
    seed: int | None,
    groups: int | None,
    config: Config,
) -> str:
    """Simulate the spec with ``groups`` groups into the lake's bronze tables; returns a summary and
    the command that computes the other tables."""
    from jobs.lake.existing import open_new_or_existing_lake
    from jobs.simulate.into_lake import run, with_group_count

    if groups is not None and groups < 1:
        raise UsageError(f"--groups {groups}: must be at least 1")
    spec = read_spec(path)
    if groups is not None:
        spec = replace(spec, fleet=with_group_count(spec.fleet, groups))
    tables = open_new_or_existing_lake(lake, cluster_id, config)
    with spinner("simulate"):
        counts = run(tables, spec, spec.fleet.seed if seed is None else seed)
    nightly = shlex.join(["--lake", lake, "--cluster-id", cluster_id, "--recompute-all"])
    return (
        f"{counted(counts.groups, 'group')}: {counted(counts.records, 'record')},"
        f" {counted(counts.lines, 'log line')} written;"
        f" compute the other tables by: regroup nightly {nightly}"
    )


def totals(rows: Sequence[Sequence[Any]]) -> str:
    """A one-line summary of all groups."""
    generations, rebalance_ms = sum(row[3] for row in rows), sum(row[4] for row in rows)
    unowned_ms = sum(row[7] for row in rows)
    return (
        f"groups: {len(rows)}, generations: {generations},"
        f" time in rebalances: {rebalance_ms / 1000:.1f} s,"
        f" partition downtime: {unowned_ms / 1000:.1f} partition-seconds"
    )
