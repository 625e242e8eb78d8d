"""What runs beside the consumers: the producer, ListOffsets, and the load of the machine."""

from __future__ import annotations

import csv
import gzip
import json
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from tools.data_costs_play.handler import PILL

TICK_S = 0.05
LOAD_EVERY_S = 5


def create_topics(bootstrap: str, topics: Mapping[str, list[float]], replicas: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    new = [NewTopic(name, len(rates), replicas) for name, rates in topics.items()]
    for created in admin.create_topics(new).values():
        created.result(30)


def _until_sigterm() -> Callable[[], bool]:
    stops: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stops.append(number))
    return lambda: not stops


def produce(bootstrap: str, topics: Mapping[str, list[float]], folder: Path) -> None:
    """Records at each partition's rate, with the time of their production, until SIGTERM.

    FOLDER/control/producer.json: ``factor`` multiplies the rates of topics; ``pill`` is a list of
    topic and partition whose next record is a pill.
    """
    goes_on = _until_sigterm()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    rows: list[tuple[str, int, int, int]] = []

    def delivered(error: Any, message: Any) -> None:
        if error is None:
            row = (message.topic(), message.partition(), message.offset(), message.timestamp()[1])
            rows.append(row)
            if message.value() == PILL:
                _note_pill(folder, row)

    due = {(topic, n): 0.0 for topic, rates in topics.items() for n in range(len(rates))}
    pills = 0
    last_s = time.time()
    while goes_on():
        time.sleep(TICK_S)
        control = json.loads((folder / "control" / "producer.json").read_text())
        now_s = time.time()
        for topic, partition in due:
            rate = topics[topic][partition] * control["factor"].get(topic, 1)
            due[topic, partition] += rate * (now_s - last_s)
        for topic, partition in control["pills"][pills:]:
            producer.produce(topic, PILL, partition=partition, on_delivery=delivered)
            pills += 1
        for (topic, partition), number in due.items():
            for _ in range(int(number)):
                producer.produce(topic, b"x", partition=partition, on_delivery=delivered)
            due[topic, partition] -= int(number)
        last_s = now_s
        producer.poll(0)
    producer.flush(10)
    with gzip.open(folder / "produced.csv.gz", "wt", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["topic", "partition", "offset", "wall_ms"])
        writer.writerows(rows)


def _note_pill(folder: Path, row: tuple[str, int, int, int]) -> None:
    topic, partition, offset, at_ms = row
    pill = {"topic": topic, "partition": partition, "offset": offset}
    with open(folder / "timeline.jsonl", "a") as timeline:
        line = {"wall_ms": at_ms, "action": "pill produced", **pill}
        timeline.write(json.dumps(line) + "\n")


def list_end_offsets(
    bootstrap: str, topics: Mapping[str, list[float]], every_s: float, folder: Path
) -> None:
    """ListOffsets (latest) of all partitions, until SIGTERM; time: of the response."""
    goes_on = _until_sigterm()
    admin = AdminClient({"bootstrap.servers": bootstrap})
    request = {
        TopicPartition(topic, number): OffsetSpec.latest()
        for topic, rates in sorted(topics.items())
        for number in range(len(rates))
    }
    next_s = time.time()
    with open(folder / "end_offsets.jsonl", "w", buffering=1) as out:
        while goes_on():
            try:
                answers = admin.list_offsets(request, request_timeout=10)
                offsets = {each: answer.result().offset for each, answer in answers.items()}
            except KafkaException:  # The partitions of new topics may not have a leader yet.
                time.sleep(TICK_S)
                continue
            at_ms = int(time.time() * 1000)
            for each, offset in offsets.items():
                line = {
                    "time": at_ms,
                    "topic": each.topic,
                    "partition": each.partition,
                    "log_end_offset": offset,
                }
                out.write(json.dumps(line) + "\n")
            next_s += every_s
            while goes_on() and time.time() < next_s:
                time.sleep(TICK_S)


def note_load(folder: Path) -> None:
    """The share of the processors' time that was used, until SIGTERM."""
    goes_on = _until_sigterm()
    last = _cpu_times()
    with open(folder / "load.jsonl", "w", buffering=1) as out:
        while goes_on():
            time.sleep(LOAD_EVERY_S)
            now = _cpu_times()
            total, idle = (now[place] - last[place] for place in range(2))
            load = Path("/proc/loadavg").read_text().split()[0]
            at_ms = int(time.time() * 1000)
            busy = round(100 * (total - idle) / max(total, 1))
            out.write(json.dumps({"wall_ms": at_ms, "cpu_busy_pct": busy, "loadavg": load}) + "\n")
            last = now


def _cpu_times() -> tuple[int, int]:
    """All ticks, and the idle ones."""
    times = list(map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:]))
    return sum(times[:8]), times[3] + times[4]
