"""Timelines in the trace event format, which Perfetto and chrome://tracing open.

A group is a process of the trace, and each consumer process is a thread; phases are slices, causes
are instants, and the number of unowned partitions is a counter.  In consumer, share and streams
groups the slices of a process are its member epochs, with its partitions and the partitions that it
was asked to give up.  Flows lead from the process that gave up partitions to the next owner.  Times
are in us since the epoch.  Format: "Trace Event Format", the Chromium project.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.group_types import GROUP_TYPES
from jobs.report import epochs
from jobs.report.lanes import spells
from jobs.report.timeline import objects

Json = dict[str, Any]

_GROUP_THREAD = 1  # lane of the group itself; the lanes of processes follow below it
_PHASES = {"join": "join", "sync": "sync", "stable": "Stable", "empty": "Empty"}
_SHARE_PHASES = _PHASES | {"join": "no target yet", "sync": "members take up the target"}
_MEMBER_PHASES = {
    epochs.STABLE: "STABLE",
    epochs.BEHIND: "behind the target",
    epochs.REVOKE: "UNREVOKED",
    epochs.WAIT: "UNRELEASED",
    epochs.AWAY: "away (static member)",
}


def trace(timelines: Iterable[Json]) -> str:
    """The events of all timelines as JSON, ordered by time."""
    events = [e for pid, each in enumerate(timelines, 1) for e in _events(pid, each)]
    head = [event for event in events if event["ph"] == "M"]
    rest = sorted((event for event in events if event["ph"] != "M"), key=lambda e: e["ts"])
    return json.dumps({"displayTimeUnit": "ms", "traceEvents": head + rest})


def _events(pid: int, timeline: Json) -> Iterator[Json]:
    base_ms = timeline["base_ms"]
    generations = objects(timeline["generations"])
    yield _named("process_name", pid, 0, timeline["group"])
    yield _named("thread_name", pid, _GROUP_THREAD, "group")
    for generation in generations:
        to_ms = _until(generation, timeline)
        yield from _slices(pid, _GROUP_THREAD, base_ms, generation, generation["begin_ms"], to_ms)
    for place, lane in enumerate(timeline["lanes"]):
        tid = _GROUP_THREAD + 1 + place
        yield _named("thread_name", pid, tid, lane["process"])
        yield {
            "ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid,
            "args": {"sort_index": tid},
        }  # fmt: skip
        yield from _epoch_slices(pid, tid, timeline, lane.get("epochs", ()))
        for at, from_ms, to_ms, assigned, left in spells(lane, generations, timeline["end_ms"]):
            if "epochs" in lane and GROUP_TYPES[generations[at]["group_type"]].has_epochs:
                continue
            details: Json = {}
            if assigned >= 0:
                details["partitions"] = timeline["assigned"][assigned][0]
            if left:
                details["left_how"] = left
            yield from _slices(pid, tid, base_ms, generations[at], from_ms, to_ms, details)
    yield from _instants(pid, timeline, generations)
    yield from _conversions(pid, base_ms, generations)
    yield from _flows(pid, timeline)
    for at_ms, count in timeline["unowned"] or []:
        args = {"partitions": count}
        yield {
            "ph": "C", "name": "unowned", "pid": pid, "tid": 0, "ts": _us(base_ms + at_ms),
            "args": args,
        }  # fmt: skip


def _epoch_slices(
    pid: int, tid: int, timeline: Json, spans: Iterable[Sequence[Any]]
) -> Iterator[Json]:
    """Slices with what a member of a modern group had and did."""
    for from_ms, to_ms, phase, assigned, pending, epoch in spans:
        texts = {"assigned": assigned, "pending revocation": pending}
        held = {name: timeline["assigned"][at][0] for name, at in texts.items() if at >= 0}
        yield {
            "ph": "X", "name": f"{_MEMBER_PHASES[phase]} {epoch}", "cat": phase, "pid": pid,
            "tid": tid, "ts": _us(timeline["base_ms"] + from_ms), "dur": _us(to_ms - from_ms),
            "args": {"member epoch": epoch} | held,
        }  # fmt: skip


def _conversions(pid: int, base_ms: int, generations: Sequence[Json]) -> Iterator[Json]:
    for before, after in pairwise(generations):
        if before["group_type"] != after["group_type"]:
            yield {
                "ph": "i", "s": "p", "cat": "conversion", "pid": pid, "tid": _GROUP_THREAD,
                "name": f"converted: {before['group_type']} -> {after['group_type']}",
                "ts": _us(base_ms + after["begin_ms"]), "args": {},
            }  # fmt: skip


def _flows(pid: int, timeline: Json) -> Iterator[Json]:
    """Flows from the slice in which a process gave up partitions to the slice of the next owner."""
    for number, each in enumerate(objects(timeline["handovers"]), 1):
        if each["from"] is None or each["to"] is None:
            continue
        ends = [("s", each["from"], each["released_ms"]), ("f", each["to"], each["assigned_ms"])]
        for kind, lane, at_ms in ends:
            yield {
                "ph": kind, "bp": "e", "id": f"{pid}.{number}", "cat": "handover",
                "name": timeline["assigned"][each["moved"]][0], "pid": pid,
                "tid": _GROUP_THREAD + 1 + lane, "ts": _us(timeline["base_ms"] + at_ms),
                "args": {"waited for": each["waited_for"]},
            }  # fmt: skip


def _words(group_type: GroupType) -> Mapping[str, str]:
    """The names of the phases of a rebalance in a trace."""
    if not group_type.has_epochs:
        return _PHASES
    if group_type.is_stable_in_phases:
        return _SHARE_PHASES
    return _PHASES | dict(zip(("join", "sync"), group_type.phases, strict=True))


def _until(generation: Json, timeline: Json) -> int:
    end_ms = generation["end_ms"]
    return int(timeline["end_ms"] if end_ms is None else end_ms)


def _slices(
    pid: int,
    tid: int,
    base_ms: int,
    generation: Json,
    from_ms: int,
    to_ms: int,
    details: Mapping[str, Any] | None = None,
) -> Iterator[Json]:
    words = _words(GROUP_TYPES[generation["group_type"]])
    for phase, begin_ms, end_ms in phases(generation, from_ms, to_ms):
        names = (
            "group_type",
            "incarnation",
            "generation",
            "outcome",
            "cause",
            "story",
            "protocol",
            "evidence",
        )
        args = {name: generation[name] for name in names if generation[name] is not None}
        yield {
            "ph": "X", "name": f"{words[phase]} {generation['generation']}", "cat": phase,
            "pid": pid, "tid": tid, "ts": _us(base_ms + begin_ms), "dur": _us(end_ms - begin_ms),
            "args": args | dict(details or {}),
        }  # fmt: skip


def phases(generation: Json, from_ms: int, to_ms: int) -> list[tuple[str, int, int]]:
    """[phase, from, to] of a generation, within from .. to: join, sync, then stable or empty."""
    is_empty = generation["outcome"] == "empty"
    stable_ms = generation["stable_ms"]
    joined_ms = generation["joined_ms"]
    if joined_ms is None:
        joined_ms = to_ms if stable_ms is None else stable_ms
    assigned_ms = to_ms if stable_ms is None else stable_ms
    synced_ms = joined_ms if is_empty else assigned_ms
    all_phases = [
        ("join", from_ms, min(joined_ms, to_ms)),
        ("sync", max(from_ms, joined_ms), min(synced_ms, to_ms)),
        ("empty" if is_empty else "stable", max(from_ms, synced_ms), to_ms),
    ]
    return [each for each in all_phases if each[2] > each[1]]


def _instants(pid: int, timeline: Json, generations: Sequence[Json]) -> Iterator[Json]:
    """Causes, on the lane of their process if it has one, else on the group's lane."""
    for cause in objects(timeline["causes"]):
        at_ms, lane = cause["at_ms"], cause["lane"]
        if at_ms is None:
            at_ms = generations[cause["at"]]["begin_ms"]
        args = {
            name: cause[name]
            for name in ("role", "who", "host", "reason", "client_reason", "evidence")
            if cause[name] is not None
        }
        story = f" ({cause['story']})" if cause["story"] else ""
        yield {
            "ph": "i", "s": "p" if cause["role"] == "trigger" else "t",
            "name": f"{cause['cause']}{story}", "cat": "cause", "pid": pid,
            "tid": _GROUP_THREAD if lane is None else _GROUP_THREAD + 1 + lane,
            "ts": _us(timeline["base_ms"] + at_ms), "args": args,
        }  # fmt: skip


def _named(kind: str, pid: int, tid: int, name: str) -> Json:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def _us(ms: int) -> int:
    return ms * 1000
