"""Print the figures of a lake beside the truth of a play, and the episodes of each group.

    .venv/bin/python -m tools.cluster_play.judge LAKE CLUSTER FOLDER

The lake's rebalances also count epochs that were superseded before the coordinator computed their
target assignment.  Exits with 1 if a downtime differs by more than 10 % and 5 partition-seconds.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path

from tools.client_zoo_groups import FIGURES, downtime, print_row, rows_of
from tools.twins.truth import lines_of

SHARE, LEAST_MS = 0.1, 5000
HEADINGS = ("group", "phase", "rebalances", "downtime s", "off %")
EPISODES = """
    SELECT group_id, kind, EPOCH_MS(from_time) AS from_ms, EPOCH_MS(to_time) AS to_ms, summary
    FROM episodes WHERE cluster_id = '{cluster}' ORDER BY from_time, to_time"""


def main(lake: str, cluster: str, folder: str) -> int:
    truth = json.loads((Path(folder) / "truth.json").read_text())
    timeline = lines_of(Path(folder) / "timeline.jsonl")
    marks = [line for line in timeline if line["action"] in ("phase", "ends")]
    figures = {
        row["group_id"]: row["rebalances"] for row in rows_of(lake, FIGURES.format(cluster=cluster))
    }
    wrong = 0
    print_row(*HEADINGS)
    print_row(*("---" for _ in HEADINGS))
    for group, true in truth["groups"].items():
        first_ms, ends_ms = true["first_full_ms"], truth["ends_ms"]
        own_ms, *_ = downtime(lake, cluster, group, first_ms, ends_ms)
        true_ms = true["unowned_partition_ms"]
        wrong += abs(own_ms - true_ms) > max(SHARE * true_ms, LEAST_MS)
        _print(group, "all", f"{figures.get(group)} / {true['rebalances']}", own_ms, true_ms)
        for mark, after in pairwise(marks):
            from_ms = max(mark["wall_ms"], first_ms)
            own_ms, *_ = downtime(lake, cluster, group, from_ms, after["wall_ms"])
            _print("", mark["phase"], "", own_ms, true["by_phase"][mark["phase"]])
    begin_ms = marks[0]["wall_ms"]
    for row in rows_of(lake, EPISODES.format(cluster=cluster)):
        from_s, to_s = ((row[name] - begin_ms) / 1000 for name in ("from_ms", "to_ms"))
        print(f"{from_s:7.1f} {to_s:7.1f} {row['group_id']}: {row['kind']}: {row['summary']}")
    return 1 if wrong else 0


def _print(group: str, phase: str, rebalances: str, own_ms: int, true_ms: int) -> None:
    off = f"{100 * (own_ms - true_ms) / true_ms:+.0f}" if true_ms else "-"
    print_row(group, phase, rebalances, f"{own_ms / 1000:.1f} / {true_ms / 1000:.1f}", off)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
