"""The figures of each group, from the callbacks of its processes and from the records.

    .venv/bin/python -m tools.cluster_play.truth FOLDER

- first_full_ms:        when every partition first had an owner
- unowned_partition_ms: per phase, and from first_full_ms to the end: over all partitions, the time
                        without an owner by the callbacks (see tools.twins.truth)
- rebalances:           generations whose members have an assignment; target assignments
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from tools.twins.truth import Window, lines_of, records_of, unowned_ms

Json = Any


def truth_of(folder: Path) -> Json:
    timeline, clients = lines_of(folder / "timeline.jsonl"), lines_of(folder / "clients.jsonl")
    records = list(records_of(folder / "b1"))
    marks = [line for line in timeline if line["action"] in ("phase", "ends")]
    groups = {}
    for group in sorted({line["group"] for line in clients}):
        own = [line for line in clients if line["group"] == group]
        first_ms = _first_full_ms(own)

        def unowned(from_ms: int, to_ms: int, group: str = group, own: Json = own) -> int:
            return unowned_ms(group, own, timeline, Window(from_ms, to_ms))

        groups[group] = {
            "first_full_ms": first_ms,
            "unowned_partition_ms": unowned(first_ms, marks[-1]["wall_ms"]),
            "by_phase": {
                mark["phase"]: unowned(max(mark["wall_ms"], first_ms), after["wall_ms"])
                for mark, after in pairwise(marks)
            },
            "rebalances": _rebalances(group, records, marks[-1]["wall_ms"]),
        }
    return {"ends_ms": marks[-1]["wall_ms"], "groups": groups}


def _first_full_ms(clients: Iterable[Json]) -> int:
    """When every partition had had an owner."""
    first: dict[tuple[str, int], int] = {}
    for line in clients:
        if line["what"] == "assigned":
            for topic, number in line["partitions"]:
                first.setdefault((topic, number), line["wall_ms"])
    if not first:
        raise RuntimeError("no consumer was assigned a partition")
    return max(first.values())


def _rebalances(group: str, records: Iterable[Json], until_ms: int) -> int:
    """A group that is converted to the other protocol continues its numbers."""
    numbers = set()
    for line in records:
        key, value = line["decoded"]["key"], line["decoded"]["value"]
        if not value or line["timestamp"] > until_ms:
            continue
        if line["type"] == "GroupMetadata" and key["group"] == group and value["members"]:
            numbers.add(value["generation"])
        elif (
            line["type"] == "ConsumerGroupTargetAssignmentMetadata"
            and key["group_id"] == group
            and value["assignment_epoch"]
        ):
            numbers.add(value["assignment_epoch"])
    return len(numbers)


def main(folder: Path) -> None:
    truth = truth_of(folder)
    (folder / "truth.json").write_text(json.dumps(truth, indent=1))
    for group, figures in truth["groups"].items():
        print(group, figures)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
