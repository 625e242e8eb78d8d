"""Print what each captured client library did, per action of the script.

    python -m tools.client_zoo_league PLAY [PLAY ...]

PLAY holds truth.json and versions.json.  One row per group, in Markdown: of a restart the
rebalances and unowned partition-seconds; of a kill the time until its partitions were assigned to
others; of a slow handler and a frozen process what the coordinator saw, and the first callback that
takes partitions away; records that were handled twice.  Times in seconds since the action.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

Row = dict[str, Any]
HEADINGS = (
    *("group", "version", "on close", "rebalances per restart", "unowned s per restart"),
    *("kill: reassigned after s", "slow handler of 30 s", "frozen for 15 s", "handled twice"),
)
SEEN = {
    "left": "leaves",
    "nleave": "leaves",
    "fail": "session expires",
    "nfence": "is removed",
}


def main(plays: Sequence[str]) -> None:
    print_row(*HEADINGS)
    print_row(*("---" for _ in HEADINGS))
    for play in map(Path, plays):
        groups = json.loads((play / "truth.json").read_text())["groups"]
        versions = json.loads((play / "versions.json").read_text())["libraries"]
        for group, truth in groups.items():
            library = truth["library"]
            # Members of a sink connector's group are tasks, while the script starts and stops
            # workers.
            if group.endswith(f"-{library}"):
                print_row(*cells(group, truth, versions.get(library, "")))


def cells(group: str, truth: Row, version: str) -> Sequence[Any]:
    events = truth["events"]
    roll = truth["phases"]["roll"]
    unowned_ms = roll["unowned_partition_ms"]
    (kill,) = (event for event in events if event["action"] == "kill")
    stops = [event for event in events if event["action"] == "stop"]
    restarts = sum(event["wall_ms"] < kill["wall_ms"] for event in stops)
    reassigned = kill.get("reassigned_after_ms")
    slow_and_frozen = (
        [event for event in events if event["action"] == action] for action in ("slow", "freeze")
    )
    return (
        group,
        ", ".join(version.split(", ")[:3]),
        on_close(stops),
        f"{roll['rebalances'] / restarts:.1f}",
        "-" if unowned_ms is None else f"{unowned_ms / restarts / 1000:.1f}",
        f"{max(reassigned) / 1000:.1f}" if reassigned else "-",
        *("; ".join(map(reaction, own)) or "-" for own in slow_and_frozen),
        (truth.get("handled") or {}).get("duplicates", "-"),
    )


def on_close(stops: Sequence[Row]) -> str:
    left = [ms for each in stops if (ms := each["left_group_after_ms"]) is not None]
    return f"leaves after {median(left) / 1000:.1f} s" if left else "does not leave"


def reaction(event: Row) -> str:
    """What the coordinator's lines say of the member, and the first callback of its process that
    takes partitions away, each in s after the action.
    """
    lines = event.get("broker_said") or ()
    seen = f"{SEEN[lines[0][0]]} at {lines[0][1] / 1000:.0f}" if lines else "stays a member"
    taken = [each for each in event["own_callbacks"] if each[0] in ("revoked", "lost")]
    return f"{seen}; {taken[0][0]} at {taken[0][1] / 1000:.0f}" if taken else seen


def print_row(*values: Any) -> None:
    print("|", " | ".join(map(str, values)), "|")


if __name__ == "__main__":
    main(sys.argv[1:])
