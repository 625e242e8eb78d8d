"""Plays scenarios with brokers at once, and writes a trace of each."""

from __future__ import annotations

import json
import re
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier
from typing import Any, NamedTuple

from coordinator_core.coordinator.eras import era_of_version
from coordinator_core.protocol.errors import Errors
from coordinator_core.records import decode
from jobs.segments.batch import Batch
from jobs.segments.reader import read_segment
from tools.broker_requests.client import Client, client
from tools.broker_requests.messages import Call
from tools.broker_traces.broker import VersionBroker
from tools.broker_traces.player import ClassicPlayer

Json = Any
Scenario = Mapping[str, Json]

TOPICS = {"orders": 6, "payments": 3}
# Settings of the broker by the value of the scenarios' field "instance".
INSTANCES: Mapping[str, Mapping[str, object]] = {
    "a": {"group.initial.rebalance.delay.ms": 3000},
    "b": {
        "group.initial.rebalance.delay.ms": 0,
        "group.max.size": 3,
        "offsets.retention.minutes": 1,
        "offsets.retention.check.interval.ms": 5000,
    },
}
APIS = {
    8: "OffsetCommit",
    9: "OffsetFetch",
    11: "JoinGroup",
    12: "Heartbeat",
    13: "LeaveGroup",
    14: "SyncGroup",
    15: "DescribeGroups",
    42: "DeleteGroups",
}
NOT_YET = {Errors.COORDINATOR_NOT_AVAILABLE, Errors.COORDINATOR_LOAD_IN_PROGRESS}
NOT_YET |= {Errors.NOT_COORDINATOR}
READY_LIMIT_S = 60
WARM_UPS = 30  # number of groups that are played first, so that the broker's classes are compiled
STAGGER_MS = 600  # time between the beginnings of two scenarios
AFTERWARDS_MS = 15_000  # time after the scenarios in which sessions expire
SETTLED_MS = 500  # time until all earlier lines and records are in the broker's files


class Recording(NamedTuple):
    """Scenarios to play with a broker; ``jars``: the broker's; ``out``: see ``record``."""

    version: str
    scenarios: list[Scenario]
    jars: Path
    out: Path


def record(recordings: list[Recording], requests: Path) -> None:
    """Play the scenarios, those of each instance with a broker of its own, all at once.

    Each ``out`` gets traces/NAME.jsonl, and server.log and segments in a folder per play and
    instance.  ``requests``: jars of the program that sends requests.
    """
    plays = []
    for each in recordings:
        (each.out / "traces").mkdir(parents=True, exist_ok=True)
        folder = each.out / f"play-{sum(1 for _ in each.out.glob('play-*')) + 1}"
        for name in INSTANCES:
            chosen = [scenario for scenario in each.scenarios if scenario["instance"] == name]
            if chosen:
                plays.append((each._replace(scenarios=chosen), name, folder / name))
    if not plays:
        return
    # Wait for all brokers, because the start of a broker would delay the answers of the others.
    all_are_ready = Barrier(len(plays), lambda: print("all brokers are ready", flush=True))
    with ThreadPoolExecutor(len(plays)) as pool:
        futures = [pool.submit(_record, *each, requests, all_are_ready) for each in plays]
    for future in futures:
        future.result()


def _record(
    recording: Recording, instance: str, folder: Path, requests: Path, all_are_ready: Barrier
) -> None:
    version, jars = recording.version, recording.jars
    try:
        with VersionBroker(folder, version, jars, INSTANCES[instance]) as broker:
            with client(requests, broker.bootstrap) as asked:
                newest = _versions(asked)
                _prepare(asked)
                fitting = [each for each in recording.scenarios if _is_expressible(each, newest)]
                _play(_warm_ups(fitting), version, newest, asked, 0)
                all_are_ready.wait()
                players = _play(fitting, version, newest, asked, STAGGER_MS)
                until_ms = max(each.planned_end_ms for each in players) + AFTERWARDS_MS
                time.sleep(max(0.0, (until_ms + SETTLED_MS - _now_ms()) / 1000))
            broker.stop()
    except BaseException:
        all_are_ready.abort()
        raise
    records, lines = list(_records(broker.data)), list(_lines(broker.log))
    for player in players:
        start = _start(player, version, instance, jars, broker.broker_id, until_ms)
        events = [
            *sorted(player.events, key=lambda event: event["at_ms"]),
            *_records_of(player, records, until_ms),
            *_lines_of(player, lines, until_ms),
        ]
        text = "".join(json.dumps(each) + "\n" for each in (start, *events))
        file = recording.out / "traces" / f"{player.name}.jsonl"
        file.write_text(text, encoding="utf-8")


def _now_ms() -> float:
    return time.time() * 1000


# -- the broker


def _versions(asked: Client) -> dict[str, int]:
    """The newest version of each API that the broker has."""
    rows = asked.ask(Call("ApiVersions", 0, {}))["apiKeys"]
    return {APIS[row["apiKey"]]: row["maxVersion"] for row in rows if row["apiKey"] in APIS}


def _prepare(asked: Client) -> None:
    """Create the topics, and wait until the broker knows them and coordinates all groups."""
    rows = [
        {"name": name, "numPartitions": count, "replicationFactor": 1}
        | {"assignments": [], "configs": []}
        for name, count in TOPICS.items()
    ]
    asked.ask(Call("CreateTopics", 2, {"topics": rows, "timeoutMs": 10_000, "validateOnly": False}))
    limit = time.monotonic() + READY_LIMIT_S
    while not _is_ready(asked):
        if time.monotonic() > limit:
            raise RuntimeError("the broker is not ready")
        time.sleep(0.2)


def _is_ready(asked: Client) -> bool:
    topics = [{"name": name} for name in TOPICS]
    answer = asked.ask(Call("Metadata", 4, {"topics": topics, "allowAutoTopicCreation": False}))
    if {each["name"]: len(each["partitions"]) for each in answer["topics"]} != TOPICS:
        return False
    coordinator = asked.ask(Call("FindCoordinator", 1, {"key": "warm-up", "keyType": 0}))
    if coordinator["errorCode"]:
        return False
    group_ids = [f"g{number}" for number in range(30)]  # in all partitions
    groups = asked.ask(Call("DescribeGroups", 0, {"groups": group_ids}))["groups"]
    return not NOT_YET & {Errors(each["errorCode"]) for each in groups}


def _is_expressible(scenario: Scenario, newest: Mapping[str, int]) -> bool:
    needed = dict(scenario["needs"])
    if any(step["op"] == "leave" and len(step["members"]) != 1 for step in scenario["steps"]):
        needed["LeaveGroup"] = 3
    return all(newest.get(api, -1) >= version for api, version in needed.items())


# -- the scenarios


def _warm_ups(scenarios: list[Scenario]) -> list[Scenario]:
    """Copies of short scenarios, in groups of their own."""
    shortest = sorted(scenarios, key=lambda each: each["steps"][-1]["at_ms"])
    copies: list[Scenario] = []
    for number in range(WARM_UPS):
        scenario, name = shortest[number % len(shortest)], f"warm-up-{number}"
        steps = [{**step, "group": name} for step in scenario["steps"]]
        copies.append({**scenario, "name": name, "steps": steps})
    return copies


def _play(
    scenarios: list[Scenario], version: str, newest: Mapping[str, int], asked: Client, apart_ms: int
) -> list[ClassicPlayer]:
    """Play all; the longest begins first."""
    era, start_ms = era_of_version(version), _now_ms() + 500
    in_order = sorted(scenarios, key=lambda each: -each["steps"][-1]["at_ms"])
    players = [
        ClassicPlayer(scenario, era, newest, start_ms + number * apart_ms)
        for number, scenario in enumerate(in_order)
    ]
    by_name = {player.name: player for player in players}
    while open_players := [each for each in players if not each.has_ended]:
        left_ms = min(each.due_ms() for each in open_players) - _now_ms()
        answer = asked.answer(left_ms / 1000) if left_ms > 0 else None
        if answer is not None:
            name, step_id, number = answer.request_id.split(" ")
            if name in by_name:
                by_name[name].note(step_id, f"{name} {number}", answer, asked)
        now_ms = _now_ms()
        for player in open_players:
            if player.due_ms() <= now_ms:
                player.take(now_ms, asked)
    return players


# -- traces


def _start(
    player: ClassicPlayer, version: str, instance: str, jars: Path, broker_id: int, until_ms: float
) -> dict[str, Json]:
    core = next(jars.glob("kafka_2.*.jar")).stem.replace("-", " ", 1)
    return {
        "event": "start",
        "runner": f"Apache Kafka broker {core}",
        "member_ids": list(player.member_ids.values()),
        "member_ids_by_step": player.member_ids,
        "scenario": player.name,
        "era": version,
        "broker_instance": instance,
        "started_wall_ms": round(player.start_ms),
        "captured_until_ms": round(until_ms - player.start_ms),
        "find_coordinator": {"node_id": broker_id},
        "api_versions_used": {api: sorted(used) for api, used in sorted(player.used.items())},
    }


def _records(data: Path) -> Iterator[tuple[dict[str, Json], dict[str, Json]]]:
    """Key and event of each record; the event has the record's time."""
    for folder in sorted(data.glob("__consumer_offsets-*")):
        partition = int(folder.name.rpartition("-")[2])
        for file in sorted(folder.glob("*.log")):
            for batch in read_segment(file.read_bytes(), partition=partition, file=file.name):
                assert isinstance(batch, Batch), f"{file}: {batch}"
                rows = zip(batch.offsets, batch.timestamps, batch.keys, batch.values, strict=True)
                for offset, at_ms, key, value in rows:
                    assert key is not None
                    yield (
                        dict(decode(key, None).key),
                        {
                            "at_ms": at_ms,
                            "event": "record",
                            "key": b64encode(key).decode(),
                            "value": None if value is None else b64encode(value).decode(),
                            "partition": partition,
                            "offset": offset,
                            "timestamp": at_ms,
                            "magic": batch.magic,
                        },
                    )


def _records_of(
    player: ClassicPlayer, records: list[tuple[dict[str, Json], dict[str, Json]]], until_ms: float
) -> Iterator[dict[str, Json]]:
    groups = {step["group"] for step in player.scenario["steps"]}
    for key, event in records:
        if key["group"] in groups and event["at_ms"] <= until_ms:
            yield {**event, "at_ms": event["at_ms"] - round(player.start_ms)}


def _lines(log: Path) -> Iterator[tuple[float, str]]:
    """The lines with their times (UTC), stack traces included."""
    text = log.read_text(encoding="utf-8", errors="replace")
    for line in re.split(r"\n(?=\[\d{4}-)", text.rstrip("\n")):
        if dated := re.match(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\]", line):
            at = datetime.fromisoformat(dated[1]).replace(tzinfo=UTC)
            yield at.timestamp() * 1000 + int(dated[2]), line


def _lines_of(
    player: ClassicPlayer, lines: list[tuple[float, str]], until_ms: float
) -> Iterator[dict[str, Json]]:
    """The lines that name the group."""
    named = re.compile(rf"(?<![\w-]){re.escape(player.name)}(?![\w-])")
    for at_ms, line in lines:
        if at_ms <= until_ms and named.search(line):
            yield {"at_ms": round(at_ms - player.start_ms), "event": "log", "line": line}
