"""Compares the tables of a lake with the truth of a capture of modern groups.

.venv/bin/python -m tools.modern_groups_truth LAKE CLUSTER TRUTH.json

TRUTH.json has figures per group that were computed from the same records and from the clients'
callbacks.  Prints one table: per group and figure the lake's value, the truth's and the difference;
exit 1 if a count differs, the time not stable by over 2 %, or the partition downtime by over 10 %.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from jobs.lake.sql import query
from schemas import evidence_sql

FIGURES = {
    "rebalances": "rebalances",
    "targets_of_the_empty_group": "empty",
    "members_joined": "joined",
    "members_left": "departed",
    "members_expired": "expired",
    "partitions_moved": "moved",
    "not_stable_ms": "not_stable_ms",
    "unowned_partition_ms": "unowned_ms",
}
TOLERANCES = {"not_stable_ms": 0.02, "unowned_partition_ms": 0.1}

SQL = """
    SELECT g.group_id, COUNT(*) AS rebalances, COUNT(*) FILTER (g.outcome = 'empty') AS empty,
        SUM(c.members_joined) AS joined, SUM(c.members_left) AS departed,
        SUM(c.members_expired) AS expired, SUM(c.partitions_moved) AS moved,
        SUM(l.total_ms) AS not_stable_ms
    FROM generations g
    JOIN churn c USING (cluster_id, group_id, incarnation, generation)
    JOIN rebalance_latency l USING (cluster_id, group_id, incarnation, generation)
    WHERE g.cluster_id = '{cluster}' AND g.group_type <> 'classic' AND g.preparing_time < '{end}'
    GROUP BY ALL ORDER BY 1"""
DOWNTIME = "SELECT group_id, downtime_ms::BIGINT FROM ({downtime}) WHERE cluster_id = '{cluster}'"


def main(lake: str, cluster: str, truth_file: str) -> int:
    folder = Path(truth_file).parent
    read = json.loads(Path(truth_file).read_text())
    groups, began_ms = read["groups"], read["t0_wall_ms"]
    columns, rows = query(lake, SQL.format(cluster=cluster, end=_window_end(folder)))
    end_ms = began_ms + read["window_ms"]
    of_groups = evidence_sql("downtime", begin_ms=began_ms, end_ms=end_ms)
    downtime = dict(query(lake, DOWNTIME.format(cluster=cluster, downtime=of_groups))[1])
    differing = 0
    print("| group | figure | table | truth | difference |")
    print("|---|---|---:|---:|---:|")
    for row in rows:
        ours = dict(zip(columns, row, strict=True))
        ours["unowned_ms"] = downtime.get(ours["group_id"], 0)
        truth = groups.get(ours["group_id"], {}).get("window")
        if truth:
            differing += _print(ours, truth)
    return 1 if differing else 0


def _window_end(folder: Path) -> str:
    """The time at which the figures end, in UTC."""
    lines = [json.loads(line) for line in (folder / "timeline.jsonl").read_text().splitlines()]
    (end_ms,) = [line["wall_ms"] for line in lines if "window ends" in json.dumps(line)]
    (row,) = query_time(end_ms)
    return row


def query_time(ms: int) -> list[str]:
    from datetime import UTC, datetime

    return [datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")]


def _print(ours: dict[str, Any], truth: dict[str, Any]) -> int:
    differing = 0
    for name, column in FIGURES.items():
        if not isinstance(truth.get(name), int):
            continue
        own, expected = int(ours[column] or 0), truth[name]
        is_equal = abs(own - expected) <= TOLERANCES.get(name, 0) * expected
        differing += not is_equal
        difference = (own - expected) / expected if expected else own - expected
        mark = "" if is_equal else " !"
        print(f"| {ours['group_id']} | {name} | {own} | {expected} | {difference:+.1%}{mark} |")
    return differing


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
