"""regroup assign: assignor cases as JSON Lines in, Kafka's assignments as JSON Lines out.

reads   {"case", "assignor", "topics": {topic: {"partitions", "racks"}}, "members": [{"id",
        "instance_id", "rack", "topics", "owned", "generation"}]}, one per line; optional "rounds",
        "map_order", and "generation_in" of a member
writes  {"case", "assignment"}, with "rejoin" and "assignment2" after two cooperative rounds, or
        {"case", "error"} with the exception that Kafka throws
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from coordinator_core.assignors import (
    ASSIGNORS,
    SERVER_ASSIGNORS,
    Assignment,
    AssignorError,
    Topics,
)
from coordinator_core.assignors.subscriptions import as_sent
from jobs.console.errors import UsageError

Case = Mapping[str, Any]


def assign(lines_in: Iterable[str], out: TextIO) -> int:
    """Answers every line in order; returns 0, or 2 at the first invalid line, named on stderr."""
    for number, line in enumerate(lines_in, 1):
        if not line.strip():
            continue
        try:
            row = answer(parsed(line))
        except UsageError as error:
            print(f"regroup assign: line {number}: {error}", file=sys.stderr)
            return 2
        out.write(json.dumps(row, separators=(",", ":"), ensure_ascii=False) + "\n")
    return 0


def parsed(line: str) -> Case:
    """Parses and checks a case; raises UsageError if a field is missing or wrong."""
    try:
        case: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise UsageError(f"not JSON: {error}") from None
    _require(isinstance(case, dict), "expected a JSON object")
    _require(isinstance(case.get("case"), str), '"case" must be a string')
    if case.get("assignor") not in ASSIGNORS:
        raise UsageError(f'"assignor" must be one of {", ".join(sorted(ASSIGNORS))}')
    _require(isinstance(case.get("topics"), dict), '"topics" must be an object')
    for topic, info in case["topics"].items():
        _check_topic(topic, info)
    _require(isinstance(case.get("members"), list), '"members" must be a list')
    for member in case["members"]:
        _check_member(member)
    ids = [member["id"] for member in case["members"]]
    _require(len(set(ids)) == len(ids), "two members have the same id")
    valid_order = case.get("map_order", "hash") in ("hash", "given")
    _require(valid_order, '"map_order" must be hash or given')
    _require(_is_count(case.get("rounds", 1)), '"rounds" must be a number from 0')
    return case


def _check_topic(topic: str, info: Any) -> None:
    _require(
        isinstance(info, dict) and _is_count(info.get("partitions")),
        f'topic {topic}: "partitions" must be a number from 0',
    )
    racks = info.get("racks")
    _require(
        racks is None
        or (
            isinstance(racks, list)
            and len(racks) == info["partitions"]
            and all(isinstance(r, list) and all(_is_name(x) for x in r) for r in racks)
        ),
        f'topic {topic}: "racks" must be null or a list of replica racks per partition',
    )


def _check_member(member: Any) -> None:
    _require(
        isinstance(member, dict) and isinstance(member.get("id"), str),
        'a member must be an object with an "id"',
    )
    who = f"member {member['id']}"
    for field in ("instance_id", "rack"):
        _require(_is_name(member.get(field)), f'{who}: "{field}" must be a string or null')
    topics = member.get("topics")
    _require(
        isinstance(topics, list) and all(isinstance(topic, str) for topic in topics),
        f'{who}: "topics" must be a list of names',
    )
    owned = member.get("owned", [])
    _require(
        isinstance(owned, list) and all(_is_partition(tp) for tp in owned),
        f'{who}: "owned" must be a list of [topic, partition]',
    )
    generation = member.get("generation")
    _require(
        generation is None or (isinstance(generation, int) and generation >= -1),
        f'{who}: "generation" must be a number from -1 or null',
    )
    _require(
        member.get("generation_in", "both") in ("both", "userdata"),
        f'{who}: "generation_in" must be both or userdata',
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_name(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_partition(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and _is_count(value[1])
    )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise UsageError(message)


def answer(case: Case) -> dict[str, Any]:
    """Returns a case's row: the assignment, or the exception that Kafka throws."""
    topics = Topics(
        {topic: info["partitions"] for topic, info in case["topics"].items()},
        {topic: info.get("racks") for topic, info in case["topics"].items()},
    )
    try:
        first = _run(case, topics, case["members"])
        row: dict[str, Any] = {"case": case["case"], "assignment": _in_order(case, first)}
        if case["assignor"] == "cooperative-sticky" and case.get("rounds", 1) > 1:
            row["rejoin"] = _rejoins(case["members"], first)
            second = _run(case, topics, _rejoining(case["members"], first))
            row["assignment2"] = _in_order(case, second)
    except AssignorError as error:
        return {"case": case["case"], "error": error.kafka_name}
    return row


def _run(case: Case, topics: Topics, consumers: Sequence[Mapping[str, Any]]) -> Assignment:
    name = case["assignor"]
    members = [as_sent(name, **_subscription(consumer)) for consumer in consumers]
    hashed = case.get("map_order", "given" if name in SERVER_ASSIGNORS else "hash") == "hash"
    return ASSIGNORS[name](topics, members, hashed=hashed)


def _subscription(member: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "member_id": member["id"],
        "topics": member["topics"],
        "owned": [(topic, partition) for topic, partition in member.get("owned", [])],
        "generation": member.get("generation"),
        "instance_id": member.get("instance_id"),
        "rack": member.get("rack"),
        "generation_field": member.get("generation_in", "both") == "both",
    }


def _in_order(case: Case, assignment: Assignment) -> Assignment:
    return {member["id"]: assignment.get(member["id"], []) for member in case["members"]}


def _rejoins(members: Iterable[Mapping[str, Any]], first: Assignment) -> bool:
    """Returns whether a member must revoke a partition that it lost, and rejoin."""
    return any(
        not set(map(tuple, member.get("owned", []))) <= set(first[member["id"]])
        for member in members
    )


def _rejoining(members: Sequence[Mapping[str, Any]], first: Assignment) -> list[dict[str, Any]]:
    """The members as they rejoin in the next generation, with the partitions of the first round."""
    generation = max([0, *(m["generation"] for m in members if m.get("generation") is not None)])
    return [
        {**member, "owned": first.get(member["id"], []), "generation": generation + 1}
        for member in members
    ]
