"""``regroup simulate``: a fleet of a spec file, played; what its brokers leave behind, written.

reads   a fleet's spec (TOML, examples/fleets)
writes  OUT/segments/__consumer_offsets-N/*.log, OUT/server.log (of several brokers
        OUT/server-B.log), OUT/trace.jsonl, OUT/truth.jsonl
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from coordinator_core.simulation import (
    Fleet,
    Line,
    Output,
    SpecError,
    Told,
    Traced,
    World,
    Written,
    fleet_of,
)
from jobs.console.errors import UsageError
from jobs.console.working import working
from jobs.segments.writer import SegmentWriter, record_batch

TOPIC = "__consumer_offsets"
START = datetime(2026, 11, 20, 8, tzinfo=UTC)  # where a spec does not say

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


@dataclass(frozen=True)
class Spec:
    """A fleet and when it begins, in ms since the epoch."""

    fleet: Fleet
    start_ms: int


def read_spec(path: str | Path) -> Spec:
    """Raises UsageError with what to change."""
    try:
        values: Mapping[str, Any] = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--spec {path}: {error.strerror}; give a fleet's TOML file") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"--spec {path}: not TOML: {error}") from None
    start = values.get("start", START)
    if not isinstance(start, datetime) or start.tzinfo is None:
        raise UsageError(f"--spec {path}: start wants a time with its zone: 2026-11-20T08:00:00Z")
    try:
        fleet = fleet_of({name: value for name, value in values.items() if name != "start"})
    except SpecError as error:
        raise UsageError(f"--spec {path}: {error}") from None
    return Spec(fleet, round(start.timestamp() * 1000))


def simulate(path: str, out: str, seed: int | None) -> list[list[Any]]:
    """Plays the spec and writes everything to ``out``; a row of COLUMNS a group.

    Raises UsageError for a spec that cannot be played, or a folder that holds something.
    """
    spec, folder = read_spec(path), Path(out)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"--out {out}: it is not empty; name another folder or empty it")
    with working("simulate"):
        return write(spec, folder, spec.fleet.seed if seed is None else seed)


def simulate_into(
    lake: str,
    cluster_id: str,
    path: str,
    seed: int | None,
    groups: int | None,
    conf: str | None,
) -> str:
    """Plays the spec, with so many groups, into the lake's bronze tables; one sentence about it."""
    from jobs.command_line.config import load_config
    from jobs.engine.session import build_session
    from jobs.lake.tables import Lake
    from jobs.simulate.into_lake import of_size, run

    if groups is not None and groups < 1:
        raise UsageError(f"--groups {groups}: at least one is wanted")
    spec, config = read_spec(path), load_config(conf)
    if groups is not None:
        spec = replace(spec, fleet=of_size(spec.fleet, groups))
    opened = Lake(build_session(config), lake, cluster_id)
    with working("simulate"):
        counts = run(opened, spec, spec.fleet.seed if seed is None else seed)
    return f"{counts.groups} groups: {counts.records} records, {counts.lines} coordinator lines"


def write(
    spec: Spec,
    folder: Path,
    seed: int,
    *,
    skips_idle: bool = True,
    traces: bool = True,
    only: frozenset[int] | None = None,
) -> list[list[Any]]:
    """As ``simulate``; ``only`` these partitions, as World takes them."""
    world = World(
        spec.fleet,
        spec.start_ms,
        seed,
        skips_idle=skips_idle,
        traces=traces,
        partitions=only,
    )
    with ExitStack() as stack:
        writer = stack.enter_context(_Writer(folder, spec.fleet))
        for output in world.run():
            writer.write(output)
    _finish_trace(folder, world)
    processes = {name: len(group.processes) for name, group in world.groups.items()}
    return [
        [told["group"], processes[told["group"]], *(told[name] for name in COLUMNS[2:])]
        for told in writer.groups
    ]


class _Writer:
    """``groups``: what was told of each in the end."""

    def __init__(self, folder: Path, fleet: Fleet) -> None:
        self.groups: list[Mapping[str, Any]] = []
        self._folder = folder
        self._fleet = fleet
        self._segments: dict[int, SegmentWriter] = {}
        self._logs: dict[int, TextIO] = {}
        self._stack = ExitStack()

    def __enter__(self) -> _Writer:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._truth = self._open("truth.jsonl")
        self._trace = self._open("trace.part")
        return self

    def __exit__(self, *_: object) -> None:
        for segment in self._segments.values():
            segment.close()
        self._stack.close()

    def write(self, output: Output) -> None:
        if isinstance(output, Written):
            self._append(output)
        elif isinstance(output, Line):
            self._log(output.broker_id).write(f"{output.text}\n")
        elif isinstance(output, Traced):
            self._trace.write(_compact(output.event) + "\n")
        elif isinstance(output, Told):
            self._truth.write(_compact(output.truth) + "\n")
            if output.truth["truth"] == "group":
                self.groups.append(output.truth)

    def _append(self, written: Written) -> None:
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


def _finish_trace(folder: Path, world: World) -> None:
    """The first line has all member ids, and these are known last."""
    fleet, part = world.fleet, folder / "trace.part"
    if world.tracing is None:
        part.unlink()
        return
    runner = f"regroup simulate, fleet {fleet.name}, era {fleet.cluster.era}"
    start = {"event": "start", "runner": runner, "member_ids": world.tracing.member_ids}
    with (folder / "trace.jsonl").open("w", encoding="utf-8", newline="\n") as trace:
        trace.write(_compact(start) + "\n")
        with part.open(encoding="utf-8", newline="\n") as events:
            for line in events:
                trace.write(line)
    part.unlink()


def totals(rows: Sequence[Sequence[Any]]) -> str:
    """One sentence of all groups."""
    generations, rebalance_ms = sum(row[3] for row in rows), sum(row[4] for row in rows)
    unowned_ms = sum(row[7] for row in rows)
    return (
        f"groups: {len(rows)}, generations: {generations};"
        f" {rebalance_ms / 1000:.1f} s of rebalances,"
        f" {unowned_ms / 1000:.1f} partition-seconds without an owner"
    )
