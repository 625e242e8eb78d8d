"""The figures of each deployment, from callbacks, handled records, the topic's records and the log.

    .venv/bin/python -m tools.deployments.truth FOLDER

The figures are those of tools.twins.truth; records_reprocessed: records that a process of the group
handled although another one had handled them before.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from coordinator_core.log_lines import parse_line
from tools.twins.truth import (
    Window,
    classic_figures,
    consumer_figures,
    lines_of,
    records_of,
    unowned_ms,
)

Json = Any


def truth_of(folder: Path) -> Json:
    timeline, clients = lines_of(folder / "timeline.jsonl"), lines_of(folder / "clients.jsonl")
    texts = (folder / "server.log").read_text(encoding="utf-8").splitlines()
    log = [line for line in map(parse_line, texts) if line is not None]
    records = list(records_of(folder / "segments"))
    groups = sorted({line["group"] for line in clients})
    return {
        "groups": {
            group: list(
                _deployments(
                    group,
                    timeline,
                    [line for line in clients if line["group"] == group],
                    records,
                    log,
                    sorted(_handled_again(folder, group)),
                )
            )
            for group in groups
        }
    }


def _deployments(
    group: str, timeline: list[Json], clients: list[Json], records: Json, log: Json, again: Json
) -> Iterator[Json]:
    marks = [line for line in timeline if line["action"] in ("deployment", "ends")]
    for mark, following in pairwise(marks):
        window = Window(mark["wall_ms"], following["wall_ms"])
        figures = consumer_figures(group, records, window) or classic_figures(
            group, records, log, window
        )
        yield {
            "strategy": mark["strategy"]["name"],
            "pace_ms": round(mark["strategy"]["pace_s"] * 1000),
            "batch": mark["strategy"]["batch"],
            "repetition": mark["repetition"],
            "from_ms": window.from_ms,
            "to_ms": window.to_ms,
            "rebalances": figures["rebalances"],
            "not_stable_ms": figures["not_stable_ms"],
            "moved_partitions": figures["partitions_moved"],
            "unavailable_partition_ms": unowned_ms(group, clients, timeline, window),
            "records_reprocessed": sum(window.has(at_ms) for at_ms in again),
        }


def _handled_again(folder: Path, group: str) -> Iterable[int]:
    """The times at which records were handled again."""
    times: dict[tuple[int, int], list[int]] = defaultdict(list)
    for file in (folder / "handled").glob(f"{group}.*"):
        for line in file.read_text().splitlines():
            at_ms, partition, offset = map(int, line.split())
            times[partition, offset].append(at_ms)
    for each in times.values():
        yield from sorted(each)[1:]


def main(folder: Path) -> None:
    truth = truth_of(folder)
    (folder / "truth.json").write_text(json.dumps(truth, indent=1))
    for group, deployments in truth["groups"].items():
        for each in deployments:
            print(group, *(f"{k}={v}" for k, v in each.items() if k not in ("from_ms", "to_ms")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
