"""A trace that exists already, with its scenario or without, as the entries of a diagram.

A broker's trace has answers, records and log lines one after another, each with its time: here they
come in one order, requests at the times at which they were sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from coordinator_core.diagram.entries import Asked, Entry, Line, Said, Steps, Story, Told
from coordinator_core.log_lines import parse_line
from coordinator_core.protocol.messages import Event

_RANK = {"log": 1, "record": 2, "response": 3, "state": 4}


def recall(trace: Iterable[Line], scenario: Mapping[str, Any] | None = None) -> Story:
    """The story of a trace; KeyError, TypeError or ValueError for what is none."""
    start, *lines = trace
    if start["event"] != "start":
        raise ValueError("a trace begins with a start line")
    steps = {} if scenario is None else {step["id"]: step for step in scenario["steps"]}
    lines = [line for line in lines if line["event"] in _RANK and line["at_ms"] is not None]
    # A trace in virtual time is in order as it stands; a broker's is in order of its kinds.
    is_ordered = all(a["at_ms"] <= b["at_ms"] for a, b in pairwise(lines))
    asked = _requests(lines, steps)
    entries = _in_order(lines, asked) if is_ordered else _by_time(lines, asked)
    name = "trace" if scenario is None else scenario["name"]
    title, timeouts = f"{name}, {start['runner']}", ("session", "rebalance")
    return Story(title, steps, tuple(entries), tuple(start["member_ids"]), False, timeouts, {})


def _requests(lines: list[Line], steps: Steps) -> list[Asked]:
    sent = {line["to"]: line["sent_at_ms"] for line in lines if "sent_at_ms" in line}
    return [
        Asked(sent[step_id] if step_id in sent else step["at_ms"], step_id)
        for step_id, step in steps.items()
        if step["op"] != "wait"
    ]


def _by_time(lines: list[Line], asked: list[Asked]) -> list[Entry]:
    """Of one moment, a request comes before what it leads to."""
    placed: list[tuple[int, int, Entry]] = [(each.at_ms, -1, each) for each in asked]
    placed += [(line["at_ms"], _RANK[line["event"]], entry) for line, entry in _told(lines)]
    return [entry for _, _, entry in sorted(placed, key=lambda each: each[:2])]


def _in_order(lines: list[Line], asked: list[Asked]) -> list[Entry]:
    """A request stands before the lines of its moment, but after the answers to those before."""
    answers = {line["to"]: (line["at_ms"], at) for at, line in enumerate(lines) if "to" in line}
    placed: list[tuple[int, int, int, Entry]] = []
    after_ms, after = -1, -1
    for each in asked:
        if each.at_ms > after_ms:
            after_ms, after = each.at_ms, -1
        placed.append((each.at_ms, after, 1, each))
        answered_ms, place = answers.get(each.step_id, (None, -1))
        if answered_ms == each.at_ms:
            after = max(after, place)
    positions = {id(line): at for at, line in enumerate(lines)}
    placed += [(line["at_ms"], positions[id(line)], 0, entry) for line, entry in _told(lines)]
    return [entry for _, _, _, entry in sorted(placed, key=lambda each: each[:3])]


def _told(lines: list[Line]) -> Iterator[tuple[Line, Entry]]:
    for line in lines:
        if line["event"] != "log":
            yield line, Said(line["at_ms"], line)
        elif (event := _event(line["line"])) is not None:
            yield line, Told(line["at_ms"], event)


def _event(text: str) -> Event | None:
    """The group's event that a broker's log line tells."""
    parsed = parse_line(text)
    event = None if parsed is None else parsed.event
    if event is None or event.group_id is None:
        return None
    fields = {name: value for name, value in event._asdict().items() if value not in (None, ())}
    kind, generation = event.event, event.generation
    return Event(kind, event.group_id, "", -1 if generation is None else generation, fields)
