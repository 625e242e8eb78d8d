"""Paths and contents (JSON) of Kafka 0.8's nodes in ZooKeeper."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from coordinator_core.zookeeper.messages import Create

BROKER_IDS = "/brokers/ids"
BROKER_TOPICS = "/brokers/topics"


def broker(broker_id: int) -> str:
    return f"{BROKER_IDS}/{broker_id}"


def topic(name: str) -> str:
    return f"{BROKER_TOPICS}/{name}"


def ids(group_id: str) -> str:
    return f"/consumers/{group_id}/ids"


def consumer(group_id: str, consumer_id: str) -> str:
    return f"{ids(group_id)}/{consumer_id}"


def owner(group_id: str, topic: str, partition: int) -> str:
    return f"/consumers/{group_id}/owners/{topic}/{partition}"


def offset(group_id: str, topic: str, partition: int) -> str:
    return f"/consumers/{group_id}/offsets/{topic}/{partition}"


def kafka_nodes(broker_ids: Sequence[int], partitions: Mapping[str, int]) -> list[Create]:
    """The nodes that brokers create, parents first; ``partitions`` counts by topic."""
    nodes = [Create(path) for path in ("/consumers", "/brokers", BROKER_IDS, BROKER_TOPICS)]
    nodes += [Create(broker(n), broker_data(f"broker-{n}", 9092)) for n in broker_ids]
    for name, count in partitions.items():
        replicas = {p: [broker_ids[p % len(broker_ids)]] for p in range(count) if broker_ids}
        nodes.append(Create(topic(name), topic_data(replicas)))
    return nodes


def broker_data(host: str, port: int) -> str:
    return _json({"version": 1, "host": host, "port": port})


def topic_data(replicas: Mapping[int, Sequence[int]]) -> str:
    """``replicas`` are broker ids by partition."""
    partitions = {str(partition): list(brokers) for partition, brokers in replicas.items()}
    return _json({"version": 1, "partitions": partitions})


def partitions_in(data: str) -> list[int]:
    return sorted(int(partition) for partition in json.loads(data)["partitions"])


def registration(subscription: Mapping[str, int], now_ms: int) -> str:
    """``subscription`` has streams by topic.  The timestamp makes each registration different."""
    return _json(
        {
            "version": 1,
            "subscription": dict(subscription),
            "pattern": "static",
            "timestamp": str(now_ms),
        }
    )


def subscription_in(data: str) -> dict[str, int]:
    subscription: dict[str, int] = json.loads(data)["subscription"]
    return subscription


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
