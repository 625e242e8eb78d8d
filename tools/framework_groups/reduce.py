"""Reduces a capture to what tests need: `python -m tools.framework_groups.reduce CAPTURE OUT`.

OUT gets the broker's segment and the coordinator's log lines, and truth.jsonl.gz: what the workers,
the applications and the workers' REST interface said, one JSON object per line:

  worker    group, generation, process, tasks, revoked (connector and number, -1 for the connector
            itself), delay_ms, config_offset: an assignment in a worker's log
  thread    group, generation, process, active, standby (task ids): an assignment in the log of an
            application
  warmups   group, generation, process_ids by task: what the leader of an application decided
  rest      group, time_ms, tasks by worker: an answer that held for 5 s
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

Row = dict[str, Any]

STEADY_MS = 5_000
# A task has caught up if at most this many records remain to be restored, as in the applications'
# settings.
ACCEPTABLE_LAG = 100

SYNCED = re.compile(
    r"clientId=([^,]+), groupId=([^\]]+)\] Successfully synced group in generation "
    r"Generation\{generationId=(\d+)"
)
JOINED = re.compile(
    r"clientId=([^,]+), groupId=([^\]]+)\] Joined group at generation (\d+) .*? offset=(-?\d+), "
    r"connectorIds=\[(.*?)\], taskIds=\[(.*?)\], revokedConnectorIds=\[(.*?)\], "
    r"revokedTaskIds=\[(.*?)\], delay=(\d+)"
)
HANDLED = re.compile(r"stream-thread \[([^\]]+)\] Handle new assignment with:")
DECIDED = re.compile(r"\[(\S+)\] INFO \S+ - Decided on assignment: \{(.*)\}")
DECISION = re.compile(
    r"([0-9a-f-]{36})=\[activeTasks: \(\[(.*?)\]\) standbyTasks: \(\[(.*?)\]\).*?"
    r"taskLagTotals: \(\[(.*?)\]\)"
)


def workers(lines: Iterable[str]) -> Iterator[Row]:
    for line in lines:
        if match := JOINED.search(line):
            process, group, generation, offset, *lists, delay_ms = match.groups()
            connectors, tasks, revoked, revoked_tasks = (_split(text) for text in lists)
            yield {
                "kind": "worker",
                "group": group,
                "generation": int(generation),
                "process": process,
                "tasks": _numbered(connectors, tasks),
                "revoked": _numbered(revoked, revoked_tasks),
                "delay_ms": int(delay_ms),
                "config_offset": int(offset),
            }


def threads(lines: list[str]) -> Iterator[Row]:
    """An assignment follows the line about the generation that it belongs to."""
    generations: dict[str, tuple[str, int]] = {}
    decided: dict[str, Row] = {}
    for number, line in enumerate(lines):
        if match := DECIDED.search(line):
            decided[match[1]] = _warmups(match[2])
        elif match := SYNCED.search(line):
            thread = match[1].removesuffix("-consumer")
            generations[thread] = group, generation = match[2], int(match[3])
            if thread in decided:
                process_ids = decided.pop(thread)
                yield {
                    "kind": "warmups",
                    "group": group,
                    "generation": generation,
                    "process_ids": process_ids,
                }
        elif match := HANDLED.search(line):
            group, generation = generations[match[1]]
            active, standby = (
                sorted(_split(lines[number + n].partition("[")[2].rstrip("]\n"))) for n in (1, 2)
            )
            yield {
                "kind": "thread",
                "group": group,
                "generation": generation,
                "process": match[1] + "-consumer",
                "active": active,
                "standby": standby,
            }


def _warmups(decision: str) -> dict[str, list[str]]:
    """Process ids by task: of more than one standby task, those that have not caught up."""
    lags: dict[str, dict[str, int]] = {}
    for process_id, _, standby, totals in DECISION.findall(decision):
        of_process = dict(pair.split("=") for pair in _split(totals))
        for task in _split(standby):
            lags.setdefault(task, {})[process_id] = int(of_process[task])
    return {
        task: sorted(each for each, lag in of_task.items() if lag > ACCEPTABLE_LAG)
        for task, of_task in sorted(lags.items())
        if len(of_task) > 1
    }


def answers(lines: Iterable[str]) -> Iterator[Row]:
    """REST answers of a group that held for a while, with everything running."""
    by_group: dict[str, list[Row]] = {}
    for line in lines:
        row = json.loads(line)
        by_group.setdefault(row["group"], []).append(row)
    for group, rows in by_group.items():
        for row, following in pairwise(rows):
            held_ms = following["time_ms"] - row["time_ms"]
            if held_ms >= STEADY_MS and _all_run(row["connectors"]):
                yield {
                    "kind": "rest",
                    "group": group,
                    "time_ms": row["time_ms"] + held_ms // 2,
                    "tasks": _by_worker(row["connectors"]),
                }


def _by_worker(connectors: Row) -> dict[str, list[list[str | int]]]:
    tasks: dict[str, list[list[str | int]]] = {}
    for name, status in sorted(connectors.items()):
        tasks.setdefault(status["connector"]["worker_id"], []).append([name, -1])
        for task in status["tasks"]:
            tasks.setdefault(task["worker_id"], []).append([name, task["id"]])
    return {worker: sorted(each) for worker, each in sorted(tasks.items())}


def _all_run(connectors: Row) -> bool:
    states = [
        each["state"]
        for status in connectors.values()
        for each in (status["connector"], *status["tasks"])
    ]
    return bool(states) and set(states) == {"RUNNING"}


def _numbered(connectors: list[str], tasks: list[str]) -> list[list[str | int]]:
    """Connector names, and task ids such as store-0, as pairs of name and number."""
    pairs: list[tuple[str, int]] = [(name, -1) for name in connectors]
    for task in tasks:
        name, _, number = task.rpartition("-")
        pairs.append((name, int(number)))
    return [list(pair) for pair in sorted(pairs)]


def _split(text: str) -> list[str]:
    return [part for part in text.split(", ") if part]


def main(
    capture: Annotated[Path, typer.Argument(help="Folder of a capture.")],
    out: Annotated[Path, typer.Argument(help="Folder for the reduced files.")],
) -> None:
    out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for path in sorted(capture.glob("*.out")):
        lines = path.read_text().splitlines()
        rows += workers(lines)
        rows += threads(lines)
    rows += answers((capture / "status.jsonl").read_text().splitlines())
    text = "".join(json.dumps(row) + "\n" for row in rows)
    _write(out / "truth.jsonl.gz", text.encode())
    segment = next(iter(sorted((capture / "__consumer_offsets-0").glob("*.log"))))
    _write(out / "segment.log.gz", segment.read_bytes())
    lines = (capture / "server.log").read_text().splitlines(keepends=True)
    _write(out / "server.log.gz", "".join(x for x in lines if "GroupCoordinator " in x).encode())
    for path in sorted(out.iterdir()):
        print(path.name, path.stat().st_size, "bytes")


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(gzip.compress(data, mtime=0))


if __name__ == "__main__":
    typer.run(main)
