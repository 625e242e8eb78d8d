"""Records an existing trace, with its scenario or without.

A broker's trace lists answers, then records, then log lines, each with its time; the recording has
them in one order, with requests at the times at which they were sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from coordinator_core.diagram.recording import (
    Entry,
    GroupEvent,
    Line,
    Recording,
    RequestArrived,
    Steps,
    TraceEntry,
)
from coordinator_core.log_lines import parse_line
from coordinator_core.protocol.messages import Event

_RANK = {"log": 1, "record": 2, "response": 3, "state": 4}


def record_trace(trace: Iterable[Line], scenario: Mapping[str, Any] | None = None) -> Recording:
    """The recording of a trace; raises KeyError, TypeError or ValueError for an invalid one."""
    start, *lines = trace
    if start["event"] != "start":
        raise ValueError("a trace begins with a start line")
    steps = {} if scenario is None else {step["id"]: step for step in scenario["steps"]}
    lines = [line for line in lines if line["event"] in _RANK and line["at_ms"] is not None]
    # A trace in virtual time is sorted by time; a broker's trace is sorted by its kinds of lines.
    is_ordered = all(a["at_ms"] <= b["at_ms"] for a, b in pairwise(lines))
    requests = _requests(lines, steps)
    entries = _in_order(lines, requests) if is_ordered else _by_time(lines, requests)
    name = "trace" if scenario is None else scenario["name"]
    title, timeouts = f"{name}, {start['runner']}", ("session", "rebalance")
    return Recording(
        title=title,
        steps=steps,
        entries=tuple(entries),
        member_ids=tuple(start["member_ids"]),
        has_engine_events=False,
        timeouts=timeouts,
        state_names={},
    )


def _requests(lines: list[Line], steps: Steps) -> list[RequestArrived]:
    sent = {line["to"]: line["sent_at_ms"] for line in lines if "sent_at_ms" in line}
    return [
        RequestArrived(sent[step_id] if step_id in sent else step["at_ms"], step_id)
        for step_id, step in steps.items()
        if step["op"] != "wait"
    ]


def _by_time(lines: list[Line], requests: list[RequestArrived]) -> list[Entry]:
    """Sort by time; at the same time, a request comes before its consequences."""
    placed: list[tuple[int, int, Entry]] = [(each.at_ms, -1, each) for each in requests]
    placed += [(line["at_ms"], _RANK[line["event"]], entry) for line, entry in _entries(lines)]
    return [entry for _, _, entry in sorted(placed, key=lambda each: each[:2])]


def _in_order(lines: list[Line], requests: list[RequestArrived]) -> list[Entry]:
    """A request comes before the lines of its time, but after the answers to previous requests."""
    answers = {line["to"]: (line["at_ms"], at) for at, line in enumerate(lines) if "to" in line}
    placed: list[tuple[int, int, int, Entry]] = []
    after_ms, after = -1, -1
    for each in requests:
        if each.at_ms > after_ms:
            after_ms, after = each.at_ms, -1
        placed.append((each.at_ms, after, 1, each))
        answered_ms, place = answers.get(each.step_id, (None, -1))
        if answered_ms == each.at_ms:
            after = max(after, place)
    positions = {id(line): at for at, line in enumerate(lines)}
    placed += [(line["at_ms"], positions[id(line)], 0, entry) for line, entry in _entries(lines)]
    return [entry for _, _, _, entry in sorted(placed, key=lambda each: each[:3])]


def _entries(lines: list[Line]) -> Iterator[tuple[Line, Entry]]:
    for line in lines:
        if line["event"] != "log":
            yield line, TraceEntry(line["at_ms"], line)
        elif (event := _event(line["line"])) is not None:
            yield line, GroupEvent(line["at_ms"], event)


def _event(text: str) -> Event | None:
    """The event of a broker's log line, or None without an event of a group."""
    parsed = parse_line(text)
    event = None if parsed is None else parsed.event
    if event is None or event.group_id is None:
        return None
    fields = {name: value for name, value in event._asdict().items() if value not in (None, ())}
    kind, generation = event.event, event.generation
    return Event(kind, event.group_id, "", -1 if generation is None else generation, fields)
