"""Replays process lives of real groups with the model's consumers and coordinator."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict, deque
from itertools import count
from pathlib import Path

from coordinator_core.assignors import CLIENT_ASSIGNORS
from coordinator_core.client import LIBRARIES, Consumer, ConsumerConfig
from tests.core.client.harness import ClientHarness

# Real heartbeats are 2 ms late (median), and these delays add up.  In librdkafka, the delays of the
# six timers between two heartbeats add up.
HEARTBEATS_LATE_MS, TIMERS_LATE_US = 2, 333
DATA = Path(__file__).parents[2] / "data" / "clients" / "incidents.jsonl.gz"


def incidents():
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        return {row["name"]: row for row in map(json.loads, lines)}


def recorded_ids(member_ids):
    """The recorded member ids in order; after the last one, generated ids."""
    remaining = {prefix: deque(ids) for prefix, ids in member_ids.items()}
    more = count(1)

    def next_id(group_id, prefix):
        ids = remaining.get(prefix)
        return f"{prefix}-{ids.popleft() if ids else f'more-{next(more)}'}"

    return next_id


def recorded_assignor(harness, incident):
    """An assignor that returns the real leader's recorded assignment of the generation."""
    recorded = incident["assignments"]

    def assign(topics, members, hashed=True):
        generation = harness.coordinator.groups[incident["group"]].generation
        chosen = recorded.get(str(generation), {})
        return {
            m.member_id: [(t, p) for t, ps in chosen.get(m.member_id, {}).items() for p in ps]
            for m in members
        }

    return assign


def play(incident, delay_ms=1):
    """The harness, and per life its listener calls as [kind, {topic: partitions}, ms]."""
    harness = ClientHarness(
        incident["era"],
        incident["topics"],
        delay_ms,
        recorded_ids(incident["member_ids"]),
        group_initial_rebalance_delay_ms=incident["initial_delay_ms"],
    )
    assignors = CLIENT_ASSIGNORS
    if "assignments" in incident:
        assignors = {**assignors, "cooperative-sticky": recorded_assignor(harness, incident)}
    for number, life in enumerate(incident["lives"]):
        script(harness, incident, f"{life['process']}#{number}", life, assignors)
    for ms, topic, partitions in incident["grows"]:
        harness.at(ms, harness.topics.__setitem__, topic, partitions)
    harness.run(max(life["end_ms"] for life in incident["lives"]) + 40_000)
    return harness, [
        calls(harness, f"{life['process']}#{number}")
        for number, life in enumerate(incident["lives"])
    ]


def script(harness, incident, name, life, assignors):
    config = dict(life["config"])
    config.setdefault("heartbeat_interval_ms", 3000)
    is_librdkafka = incident["library"].startswith("librdkafka")
    if is_librdkafka:
        config["timer_delay_us"] = TIMERS_LATE_US
    else:
        config["heartbeat_interval_ms"] += HEARTBEATS_LATE_MS
    if "assignors" in config:
        config["assignors"] = tuple(config["assignors"])
    client_id = life["process"]
    consumer = Consumer(
        ConsumerConfig(group_id=incident["group"], client_id=client_id, name=name, **config),
        LIBRARIES[incident["library"]],
        assignors=assignors,
    )
    round_trips = 2 if is_librdkafka else 1
    start_ms = life["join_ms"] - (2 * round_trips + 1) * harness.delay_ms
    pattern = life.get("pattern", False)
    harness.at(start_ms, harness.add, consumer, name, sorted(incident["topics"]), True, pattern)
    for from_ms, to_ms in life["slow"]:
        harness.at(from_ms, harness.call, name, "process")
        harness.at(to_ms, harness.call, name, "poll")
    if life["end"] == "close":
        harness.at(life["end_ms"], harness.call, name, "close")
    else:
        harness.at(life["end_ms"], crash, harness, name)


def crash(harness, name):
    if name in harness.consumers:
        harness.crash(name)


def calls(harness, name):
    listener_calls = []
    for ms, owner, effect in harness.log:
        if owner == name and type(effect).__name__ == "ListenerCall":
            by_topic = defaultdict(list)
            for topic, partition in effect.partitions:
                by_topic[topic].append(partition)
            listener_calls.append([effect.kind, dict(by_topic), ms])
    return listener_calls
