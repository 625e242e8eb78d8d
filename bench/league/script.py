"""The groups of the league, and the scripts of process lives that they play."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.league.programs import KAFKA
from tools.data_costs_play.plays import BROKER, Group, Script, Step

TOPIC = "orders"
PARTITIONS, RECORDS_PER_S = 6, 5.0
SLOW_S, FROZEN_S = 30, 15
# Seconds between the beginnings of two groups' scripts: JVMs start one after another.
APART_S = 9
STEPS = [
    *(Step(n / 2, "start", n + 1) for n in range(3)),
    *(Step(32 + 16 * n, "stop", n + 1) for n in range(3)),
    *(Step(34 + 16 * n, "start", n + 1) for n in range(3)),
    *(Step(84, "kill", 2), Step(99, "start", 2)),
    Step(118, "slow", 3, (SLOW_S,)),
    *(Step(164, "start", 4), Step(180, "stop", 4)),
    *(Step(196, "freeze", 1), Step(196 + FROZEN_S, "thaw", 1)),
    *(Step(232, "stop", n + 1) for n in range(3)),
]
# New processes start before old processes stop: first one by one, then all at once.
SURGE = [
    *(Step(n / 2, "start", n + 1) for n in range(3)),
    *(Step(32 + 16 * n, "start", n + 4) for n in range(3)),
    *(Step(40 + 16 * n, "stop", n + 1) for n in range(3)),
    *(Step(100, "kill", 5), Step(115, "start", 5)),
    *(Step(140, "freeze", 4), Step(140 + FROZEN_S, "thaw", 4)),
    *(Step(230 + n / 2, "start", n + 7) for n in range(3)),
    *(Step(245 + n / 2, "stop", n + 4) for n in range(3)),
    *(Step(275, "stop", n + 7) for n in range(3)),
]
SCRIPTS = {"lives": STEPS, "surge": SURGE}
STREAMS = """
group.streams.session.timeout.ms=10000
group.streams.heartbeat.interval.ms=3000
group.streams.min.session.timeout.ms=6000
group.streams.min.heartbeat.interval.ms=1000
"""

_CLASSIC = {
    "session.timeout.ms": 10_000,
    "heartbeat.interval.ms": 3000,
    "max.poll.interval.ms": 20_000,
}
_CONSUMER = {"group.protocol": "consumer", "max.poll.interval.ms": 20_000}
_PYTHON = {"session_timeout_ms": 10_000, "heartbeat_interval_ms": 3000}
_KAFKA_PYTHON = _PYTHON | {"max_poll_interval_ms": 20_000}
_GO = {"session_ms": 10_000, "heartbeat_ms": 3000}


def _group(client: str, protocol: str, conf: Mapping[str, Any]) -> Group:
    return Group(topic=TOPIC, client=client, protocol=protocol, mode="auto", delay_ms=5, conf=conf)


# Libraries by group: the name of a group is league-LIBRARY.
GROUPS = {
    "java": _group("java", "classic", _CLASSIC),
    "aiokafka": _group("aiokafka", "classic", _KAFKA_PYTHON | {"assignor": "roundrobin"}),
    "streams": _group("streams", "classic", _CLASSIC),
    "kafka-python": _group("kafka-python", "classic", _KAFKA_PYTHON),
    "java-consumer": _group("java", "consumer", _CONSUMER),
    "kafka-python-2": _group("kafka-python-2", "classic", _KAFKA_PYTHON),
    "franz-go": _group("franz", "classic", _GO),
    "streams-protocol": _group(
        "streams", "streams", {"group.protocol": "streams", "max.poll.interval.ms": 20_000}
    ),
    "franz-go-consumer": _group("franz", "consumer", _GO | {"consumer_protocol": True}),
    "sarama": _group("sarama", "classic", _GO),
    "librdkafka": _group("confluent", "classic", _CLASSIC),
    # All processes have one client id.
    "librdkafka-shared": _group("confluent", "classic", _CLASSIC | {"client.id": "rdkafka"}),
    "kafkajs": _group("kafkajs", "classic", {"sessionTimeout": 10_000, "heartbeatInterval": 3000}),
    "librdkafka-consumer": _group("confluent", "consumer", _CONSUMER),
    "kafka-go": _group("kafka-go", "classic", _GO),
    "kafka-python-1.4": _group("kafka-python-1.4", "classic", _KAFKA_PYTHON),
}


def script(groups: Mapping[str, Group], name: str = "lives") -> Script:
    """``groups``: by library; ``name``: of SCRIPTS."""
    steps = SCRIPTS[name]
    return Script(
        topics={TOPIC: [RECORDS_PER_S] * PARTITIONS},
        groups={f"league-{name}": each for name, each in groups.items()},
        windows=[],
        steps=steps,
        broker=BROKER.format(delay_ms=3000, session_ms=10_000, heartbeat_ms=3000) + STREAMS,
        kafka=KAFKA,
        apart_s=APART_S,
        end_s=steps[-1].at_s + APART_S * (len(groups) - 1) + 5,
    )
