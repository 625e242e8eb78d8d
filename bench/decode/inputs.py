"""Generated records as in a busy ``__consumer_offsets``, and segments of them."""

from __future__ import annotations

import gzip
import json
import random
from base64 import b64decode
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

import cramjam
import pyarrow as pa

from coordinator_core.records import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_key,
    encode_subscription,
    encode_value,
)
from jobs.segments.batch import Batch
from jobs.segments.compression import LZ4_MAGIC, xxh32_short
from jobs.segments.reader import read_segment
from jobs.segments.writer import framed, records_bytes

Record = tuple[bytes, bytes | None]

FRAMEWORKS = Path(__file__).parents[2] / "tests/data/frameworks/segment.log.gz"
GROUP_METADATA = b"\x00\x02"
CAPTURED = Path(__file__).parents[2] / "tests/data/records/captured.jsonl.gz"
NOW = 1_790_000_000_000
COMPRESSION = {"none": 0, "lz4": 3}


def group_records(count: int, seed: int = 1) -> Iterator[Record]:
    """Generations of 1 to 40 consumers with clients of several versions; 3 % are tombstones."""
    rnd = random.Random(seed)
    for generation in range(count):
        group = f"orders-service-{generation % 997}"
        key = encode_key(2, {"group": group})
        if rnd.random() < 0.03:
            yield key, None
            continue
        members = [_member(rnd, group, index) for index in range(rnd.randint(1, 40))]
        value = {
            "protocol_type": "consumer",
            "generation": generation,
            "protocol": "range",
            "leader": members[0]["member_id"],
            "current_state_timestamp": NOW + generation,
            "members": members,
        }
        yield key, encode_value(2, 3, value)


def _member(rnd: random.Random, group: str, index: int) -> dict[str, object]:
    topics = [f"{group}-events"]
    partitions = [(topics[0], list(range(4 * index, 4 * index + 4)))]
    version = rnd.choice((0, 1, 3, 3, 3))
    return {
        "member_id": f"consumer-{group}-{index}-{rnd.getrandbits(128):032x}",
        "group_instance_id": None,
        "client_id": f"consumer-{group}-{index}",
        "client_host": f"/10.1.{index}.{rnd.randint(1, 250)}",
        "rebalance_timeout": 300_000,
        "session_timeout": 45_000,
        "subscription": encode_subscription(Subscription(version, topics, None, partitions, 7)),
        "assignment": encode_assignment(Assignment(min(version, 1), partitions)),
    }


def empty_groups(count: int) -> Iterator[Record]:
    """Records of groups without members."""
    value = {
        "protocol_type": "consumer",
        "protocol": None,
        "leader": None,
        "current_state_timestamp": NOW,
        "members": [],
    }
    for generation in range(count):
        key = encode_key(2, {"group": f"orders-service-{generation % 997}"})
        yield key, encode_value(2, 3, value | {"generation": generation})


def task_groups(copies: int) -> list[Record]:
    """GroupMetadata of real groups of Kafka Connect and classic Kafka Streams, repeated."""
    data = gzip.decompress(FRAMEWORKS.read_bytes())
    read = read_segment(data, partition=0, file=FRAMEWORKS.name)
    batches = [each for each in read if isinstance(each, Batch)]
    pairs = [pair for each in batches for pair in zip(each.keys, each.values, strict=True)]
    records = [(key, value) for key, value in pairs if key and key[:2] == GROUP_METADATA]
    return records * copies


def targets(count: int) -> Iterator[Record]:
    """Target assignments of one member with 60 partitions of each of 20 topics."""
    topic_ids = [f"{number:022}" for number in range(20)]
    partitions = [{"topic_id": each, "partitions": list(range(60))} for each in topic_ids]
    value = encode_value(7, 0, {"topic_partitions": partitions})
    for number in range(count):
        yield encode_key(7, {"group_id": f"orders-{number % 997}", "member_id": "m" * 22}), value


def commit_records(count: int, seed: int = 2) -> Iterator[Record]:
    """Commits of 200 groups with 30 partitions each; 1 % are tombstones."""
    rnd = random.Random(seed)
    for number in range(count):
        group = f"orders-service-{rnd.randint(0, 199)}"
        key = {"group": group, "topic": f"{group}-events", "partition": rnd.randint(0, 29)}
        value = {
            "offset": rnd.getrandbits(36),
            "leader_epoch": rnd.randint(0, 3),
            "metadata": "",
            "commit_timestamp": NOW + number,
        }
        is_tombstone = rnd.random() < 0.01
        yield encode_key(1, key), None if is_tombstone else encode_value(1, 3, value)


def captured(types: Container[int], copies: int) -> pa.RecordBatch:
    """Keys and values of the records of these types in the test data, repeated."""
    lines = gzip.decompress(CAPTURED.read_bytes()).splitlines()
    records = [(b64decode(r["key"]), r["value"]) for r in map(json.loads, lines)]
    chosen = [each for each in records if int.from_bytes(each[0][:2]) in types]
    decoded = [(key, None if value is None else b64decode(value)) for key, value in chosen]
    return batch_of(decoded * copies)


def batch_of(records: Iterable[Record]) -> pa.RecordBatch:
    keys, values = zip(*records, strict=True)
    return pa.record_batch(
        {"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary())}
    )


def segment(size: int, compression: str) -> Iterator[bytes]:
    """Yields batches with ascending offsets, at least ``size`` bytes in total.

    A batch with one group record follows every ten batches of ten commits.
    """
    commits, groups = commit_records(60_000), group_records(600)
    batches = []
    for _ in range(600):
        batches += [[next(commits) for _ in range(10)] for _ in range(10)]
        batches.append([next(groups)])
    encoded = [(len(records), _batch(records, compression)) for records in batches]
    offset = written = 0
    while written < size:
        for count, batch in encoded:
            yield offset.to_bytes(8, "big") + batch[8:]  # the checksum does not cover the offset
            offset += count
            written += len(batch)


def _batch(records: list[Record], compression: str) -> bytes:
    payload = records_bytes(records)
    if compression == "lz4":
        payload = _lz4(payload)
    return framed(0, 0, NOW, payload, len(records), -1, COMPRESSION[compression])


def _lz4(payload: bytes) -> bytes:
    """A frame of one block: Kafka requires independent blocks, which cramjam does not write."""
    descriptor = b"\x60\x40"  # independent blocks of at most 64 KiB
    checksum = xxh32_short(descriptor) >> 8 & 0xFF
    block = bytes(cramjam.lz4.compress_block(payload, store_size=False))
    size = len(block).to_bytes(4, "little")
    return b"".join((LZ4_MAGIC, descriptor, bytes((checksum,)), size, block, bytes(4)))
