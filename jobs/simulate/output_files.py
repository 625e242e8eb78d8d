"""Runs a simulation and writes its output to a folder.

writes  OUT/segments/__consumer_offsets-N/*.log, OUT/server.log (OUT/server-B.log for several
        brokers), OUT/trace.jsonl, OUT/truth.jsonl; OUT/end_offsets.jsonl if the spec asks for it
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TextIO

from coordinator_core.simulation import (
    BrokerLogLine,
    Fleet,
    Output,
    SimulatedCluster,
    TraceLine,
    TruthLine,
    WrittenBatch,
)
from jobs.segments.writer import SegmentWriter, record_batch
from jobs.simulate.spec_file import SimulationSpec

TOPIC = "__consumer_offsets"

COLUMNS = (
    "group",
    "processes",
    "member_ids",
    "generations",
    "rebalance_ms",
    "members_expired",
    "partitions_moved",
    "unowned_partition_ms",
    "double_owned_partition_ms",
)

_compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def write(
    spec: SimulationSpec,
    folder: Path,
    seed: int,
    *,
    skips_idle: bool = True,
    traces: bool = True,
    only: frozenset[int] | None = None,
) -> list[list[Any]]:
    """Simulate the fleet into ``folder``; returns one row of COLUMNS per group.

    ``only`` is only groups of these partitions of `__consumer_offsets`.
    """
    cluster = SimulatedCluster(
        spec.fleet,
        spec.start_ms,
        seed,
        skips_idle=skips_idle,
        traces=traces,
        partitions=only,
    )
    with ExitStack() as stack:
        writer = stack.enter_context(_OutputFiles(folder, spec.fleet))
        for output in cluster.run():
            writer.write(output)
    _finish_trace(folder, cluster)
    if spec.fleet.cluster.end_offsets_ms and 0 in cluster.selected:  # once per cluster
        _write_end_offsets(folder / "end_offsets.jsonl", spec)
    processes = {name: len(group.processes) for name, group in cluster.groups.items()}
    return [
        [
            group["group"],
            processes[group["group"]],
            *(group[name] for name in COLUMNS[2:]),
        ]
        for group in writer.groups
    ]


def _write_end_offsets(file: Path, spec: SimulationSpec) -> None:
    fleet, start = spec.fleet, datetime.fromtimestamp(spec.start_ms / 1000, UTC)
    with file.open("w", encoding="utf-8") as out:
        for since_ms in range(0, fleet.length_ms, fleet.cluster.end_offsets_ms or 1):
            time = (start + timedelta(milliseconds=since_ms)).isoformat(timespec="milliseconds")
            for topic in fleet.topics:
                for partition in range(topic.partitions_at(since_ms)):
                    line = {
                        "time": time,
                        "topic": topic.name,
                        "partition": partition,
                        "log_end_offset": topic.produced(since_ms),
                    }
                    out.write(_compact(line) + "\n")


class _OutputFiles:
    """``groups`` have the truth line of each group."""

    def __init__(self, folder: Path, fleet: Fleet) -> None:
        self.groups: list[Mapping[str, Any]] = []
        self._folder = folder
        self._fleet = fleet
        self._segments: dict[int, SegmentWriter] = {}
        self._logs: dict[int, TextIO] = {}
        self._stack = ExitStack()

    def __enter__(self) -> _OutputFiles:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._truth = self._open("truth.jsonl")
        self._trace = self._open("trace.part")
        return self

    def __exit__(self, *_: object) -> None:
        for segment in self._segments.values():
            segment.close()
        self._stack.close()

    def write(self, output: Output) -> None:
        if isinstance(output, WrittenBatch):
            self._append(output)
        elif isinstance(output, BrokerLogLine):
            self._log(output.broker_id).write(f"{output.text}\n")
        elif isinstance(output, TraceLine):
            self._trace.write(_compact(output.event) + "\n")
        elif isinstance(output, TruthLine):
            self._truth.write(_compact(output.truth) + "\n")
            if output.truth["truth"] == "group":
                self.groups.append(output.truth)

    def _append(self, written: WrittenBatch) -> None:
        segment = self._segments.get(written.partition)
        if segment is None:
            segment = self._segments[written.partition] = SegmentWriter(
                self._folder / "segments",
                f"{TOPIC}-{written.partition}",
                self._fleet.cluster.segment_bytes,
            )
        batch = record_batch(
            written.base_offset,
            written.leader_epoch,
            written.at_ms,
            written.records,
            written.base_sequence,
        )
        segment.append(written.base_offset, batch)

    def _log(self, broker_id: int) -> TextIO:
        log = self._logs.get(broker_id)
        if log is None:
            is_alone = self._fleet.cluster.brokers == 1
            name = "server.log" if is_alone else f"server-{broker_id}.log"
            log = self._logs[broker_id] = self._open(name)
        return log

    def _open(self, name: str) -> TextIO:
        stream = (self._folder / name).open("w", encoding="utf-8", newline="\n")
        return self._stack.enter_context(stream)


def _finish_trace(folder: Path, cluster: SimulatedCluster) -> None:
    """Write the trace's first line, which has all member ids, before the events."""
    fleet, part = cluster.fleet, folder / "trace.part"
    if cluster.tracing is None:
        part.unlink()
        return
    runner = f"regroup simulate, fleet {fleet.name}, era {fleet.cluster.era}"
    start = {"event": "start", "runner": runner, "member_ids": cluster.tracing.member_ids}
    with (folder / "trace.jsonl").open("w", encoding="utf-8", newline="\n") as trace:
        trace.write(_compact(start) + "\n")
        with part.open(encoding="utf-8", newline="\n") as events:
            for line in events:
                trace.write(line)
    part.unlink()
