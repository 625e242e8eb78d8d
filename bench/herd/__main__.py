"""Herd effect and split brain: ZooKeeper consumers compared with coordinator groups, by group size.

One member joins, one leaves, one crashes, in virtual time with 1 to 3 ms per message.  Measured:
notifications, requests, time until all partitions are consumed, and partition downtime.  Then a
ZooKeeper consumer is cut off from ZooKeeper.  Tables go to stdout, the plot to ``--plot``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bench.herd.coordinator_group import CoordinatorGroup
from bench.herd.measure import CHANGES, SESSION_TIMEOUT_MS, MakeGroup, Outcome, changes
from bench.herd.plot import svg
from bench.herd.split import MEMBERS, split
from bench.herd.zookeeper_group import ZooKeeperGroup

SIZES = (2, 5, 10, 20, 50, 100, 200)
CUTS_MS = (2_000, 5_000, 10_000, 20_000, 40_000)
ERAS = ("0.9", "0.10", "2.0", "2.5", "4.1")
SYSTEMS: dict[str, MakeGroup] = {"ZooKeeper": ZooKeeperGroup}
SYSTEMS |= {era: partial(CoordinatorGroup, era) for era in ERAS}
Outcomes = dict[tuple[str, int, str], Outcome]  # change, members, system

METRICS: dict[str, Callable[[Outcome], int | None]] = {
    "notifications (watches fired; heartbeats answered with an error)": (
        lambda outcome: outcome.notifications
    ),
    "requests (without pings and heartbeats answered without an error)": (
        lambda outcome: outcome.requests
    ),
    "ms until every member consumes its partitions": lambda outcome: outcome.settled_ms,
    "partition-ms without a consumer": lambda outcome: outcome.unowned_ms,
    "partition-ms with two or more consumers": lambda outcome: outcome.double_owned_ms,
}


def main(
    sizes: Annotated[str, typer.Option(help="Group sizes, separated by spaces.")] = " ".join(
        map(str, SIZES)
    ),
    partitions: Annotated[int, typer.Option(help="Partitions.")] = 400,
    seeds: Annotated[int, typer.Option(help="Runs per size.")] = 5,
    plot: Annotated[Path | None, typer.Option(help="Write the plot, an SVG, to this file.")] = None,
) -> None:
    group_sizes = [int(size) for size in sizes.split()]
    outcomes: Outcomes = {}
    for size in group_sizes:
        for system, make_group in SYSTEMS.items():
            print(f"{size} members, {system}", file=sys.stderr)
            runs = [changes(make_group, size, partitions, seed) for seed in range(1, seeds + 1)]
            for change in CHANGES:
                outcomes[change, size, system] = Outcome.of_many([run[change] for run in runs])
    print(
        f"{partitions} partitions, sessions of {SESSION_TIMEOUT_MS} ms, range;"
        f" median of {seeds} runs"
    )
    for title, metric in METRICS.items():
        print(_table(title, metric, outcomes, group_sizes))
    failed = sum(outcome.failed for outcome in outcomes.values())
    print(f"\nconsumers that failed after rebalance.max.retries: {failed}")
    print(_splits(partitions, seeds))
    if plot:
        plot.write_text(svg(outcomes, group_sizes, partitions), "utf-8")


def _table(
    title: str, metric: Callable[[Outcome], int | None], outcomes: Outcomes, sizes: Sequence[int]
) -> str:
    lines = ["", title, _line("change", "members", SYSTEMS)]
    for change in CHANGES:
        for size in sizes:
            values = (metric(outcomes[change, size, system]) for system in SYSTEMS)
            cells = ("never" if value is None else f"{value:,}" for value in values)
            lines.append(_line(change, str(size), cells))
    return "\n".join(lines)


def _line(change: str, size: str, cells: Iterable[str]) -> str:
    return f"{change:<8}{size:>8}" + "".join(f"{cell:>12}" for cell in cells)


def _splits(partitions: int, seeds: int) -> str:
    """The worst of all seeds: the median would hide a split brain."""
    lines = [
        "",
        f"one of {MEMBERS} consumers cut off from ZooKeeper, not from the brokers",
        f"{'cut off ms':>10}{'partition-ms double':>20}{'for ms':>9}{'unowned':>12}"
        f"{'claims refused':>16}",
    ]
    for cut_ms in CUTS_MS:
        worst = max(
            (split(cut_ms, partitions, seed) for seed in range(1, seeds + 1)),
            key=lambda s: s.double_owned_ms,
        )
        lines.append(
            f"{cut_ms:>10,}{worst.double_owned_ms:>20,}{worst.doubled_ms:>9,}"
            f"{worst.unowned_ms:>12,}{worst.claims_refused:>16,}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    typer.run(main)
