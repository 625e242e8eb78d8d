"""Timelines in the trace event format, which Perfetto and chrome://tracing open.

A group is a process of the trace, and each consumer process is a thread; phases are slices, causes
are instants, and the number of unowned partitions is a counter.  Times are in us since the epoch.
Format: "Trace Event Format", the Chromium project.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jobs.report.lanes import spells
from jobs.report.timeline import objects

Json = dict[str, Any]

_GROUP_THREAD = 1  # the group's own lane; processes follow
_PHASES = {"join": "join", "sync": "sync", "stable": "Stable", "empty": "Empty"}


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
        for at, from_ms, to_ms, assigned, left in spells(lane, generations, timeline["end_ms"]):
            details: Json = {}
            if assigned >= 0:
                details["partitions"] = timeline["assigned"][assigned][0]
            if left:
                details["left_how"] = left
            yield from _slices(pid, tid, base_ms, generations[at], from_ms, to_ms, details)
    yield from _instants(pid, timeline, generations)
    for at_ms, count in timeline["unavailable"]:
        args = {"partitions": count}
        yield {
            "ph": "C", "name": "unavailable", "pid": pid, "tid": 0, "ts": _us(base_ms + at_ms),
            "args": args,
        }  # fmt: skip


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
    for phase, begin_ms, end_ms in phases(generation, from_ms, to_ms):
        names = ("incarnation", "generation", "outcome", "cause", "story", "protocol", "evidence")
        args = {name: generation[name] for name in names if generation[name] is not None}
        yield {
            "ph": "X", "name": f"{_PHASES[phase]} {generation['generation']}", "cat": phase,
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
