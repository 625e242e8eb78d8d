"""Compares traces: equality, and the first difference.

Two traces of classic groups are equal if they have, at each time, the same answers, and the same
records and states in the same order.  Two orders may differ: that of answers at one time (also
among records and states), and that of partitions within an answer.  In traces of groups of all
types, records of one time may also differ in order, if they have different keys; answers may not.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Any

from coordinator_core.records import decode

JsonLine = dict[str, Any]
_PARTITION_METADATA = "AAQ"


@dataclass(frozen=True)
class TraceDifference:
    """The first time at which two traces differ, with all lines of both at that time."""

    at_ms: int
    expected: list[JsonLine]
    actual: list[JsonLine]

    def only_expected(self) -> list[JsonLine]:
        return [event for event in self.expected if event not in self.actual]

    def only_actual(self) -> list[JsonLine]:
        return [event for event in self.actual if event not in self.expected]

    def kind(self) -> frozenset[tuple[object, ...]]:
        """The kind of lines that differ, to distinguish one cause from another."""
        differing = self.only_expected() + self.only_actual()
        fields = ("event", "op", "error", "state")
        return frozenset(
            (*[event.get(field) for field in fields], _record_type(event)) for event in differing
        )

    def __str__(self) -> str:
        lines = [f"first difference at {self.at_ms} ms"]
        for side, events, own in (
            ("Kafka", self.expected, self.only_expected()),
            ("engine", self.actual, self.only_actual()),
        ):
            lines.append(f"  {side}:" if events else f"  {side}: nothing")
            lines += [f"  {'*' if event in own else ' '} {json.dumps(event)}" for event in events]
        return "\n".join(lines)


def _record_type(event: JsonLine) -> str | None:
    """The type, two bytes, in base64."""
    return event["key"][:3] if event["event"] == "record" else None


def member_ids(trace: Iterable[JsonLine]) -> list[str]:
    """The member ids of the start line, in the order in which they were made."""
    return next((event["member_ids"] for event in trace if event["event"] == "start"), [])


def first_difference(expected: list[JsonLine], actual: list[JsonLine]) -> TraceDifference | None:
    """The first difference, or None. Start lines are not compared: they name the player."""
    return _first_difference(_comparable(expected), _comparable(actual), _ordered)


def first_difference_by_key(
    expected: list[JsonLine], actual: list[JsonLine]
) -> TraceDifference | None:
    """``first_difference`` for traces of groups of all types."""
    return _first_difference(by_key(expected), by_key(actual), lambda moment: moment)


def _first_difference(
    expected: list[JsonLine],
    actual: list[JsonLine],
    ordered: Callable[[list[JsonLine]], object],
) -> TraceDifference | None:
    for theirs, ours in zip_longest(_moments(expected), _moments(actual)):
        at_ms = min(moment[0] for moment in (theirs, ours) if moment)
        left, right = _at(at_ms, theirs), _at(at_ms, ours)
        if left != right and ordered(left) != ordered(right):
            return TraceDifference(at_ms, left, right)
    return None


def same_order(expected: list[JsonLine], actual: list[JsonLine]) -> bool:
    """Returns whether the traces are also equal in the order of answers; partitions may differ in
    order.
    """
    pairs = zip_longest(_comparable(expected), _comparable(actual))
    return all(left == right for left, right in pairs)


def by_key(trace: list[JsonLine]) -> list[JsonLine]:
    """The trace of groups of all types in one order, without the start line.

    Records of one moment come first, by key, those of one key in their order: Kafka's own order is
    that of hash maps.  Everything else keeps its order.
    """
    numbered = enumerate([_with_sorted_topics(e) for e in trace if e["event"] != "start"])
    return [event for _, event in sorted(numbered, key=_moment_and_key)]


def _with_sorted_topics(event: JsonLine) -> JsonLine:
    """Kafka 4.0 writes a group's topics in the order of a hash map, which the engine can miss."""
    if _record_type(event) != _PARTITION_METADATA or event["value"] is None:
        return event
    record = decode(b64decode(event["key"]), b64decode(event["value"]))
    topics = (record.value or {})["topics"]
    return {**event, "value": sorted(topics, key=itemgetter("topic_name"))}


def _moment_and_key(numbered: tuple[int, JsonLine]) -> tuple[int, bool, str, int]:
    number, event = numbered
    is_record = event["event"] == "record"
    return event["at_ms"], not is_record, event["key"] if is_record else "", number


Moment = tuple[int, list[JsonLine]]


def _moments(trace: list[JsonLine]) -> list[Moment]:
    by_time = groupby(trace, key=lambda event: event["at_ms"])
    return [(at_ms, list(events)) for at_ms, events in by_time]


def _at(at_ms: int, moment: Moment | None) -> list[JsonLine]:
    return moment[1] if moment and moment[0] == at_ms else []


def _comparable(trace: list[JsonLine]) -> list[JsonLine]:
    return [_sorted_partitions(event) for event in trace if event["event"] != "start"]


def _sorted_partitions(event: JsonLine) -> JsonLine:
    if "partitions" not in event:
        return event
    return {**event, "partitions": sorted(event["partitions"], key=json.dumps)}


def _ordered(moment: list[JsonLine]) -> tuple[list[JsonLine], list[JsonLine]]:
    answers = [event for event in moment if event["event"] == "response"]
    rest = [event for event in moment if event["event"] != "response"]
    return sorted(answers, key=lambda event: json.dumps(event, sort_keys=True)), rest
