"""The assignors of 0.8.2: each consumer computes its own partitions from its view of the group.

Threads of a topic are ordered by their name, ``CONSUMER-NUMBER``, as strings: -10 before -2.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import NamedTuple

from coordinator_core.jvm.hash_codes import string_hash

TopicPartition = tuple[str, int]
Decision = dict[TopicPartition, str]  # partition -> thread of this consumer


class View:
    """The group as one consumer read it, node by node; not a consistent snapshot."""

    def __init__(
        self,
        consumer_id: str,
        subscriptions: Mapping[str, Mapping[str, int]],
        partitions: Mapping[str, list[int]],
    ) -> None:
        self.consumer_id = consumer_id
        self.partitions = partitions
        threads: dict[str, list[ConsumerThread]] = {}
        for member, streams_of in subscriptions.items():
            for topic, streams in streams_of.items():
                threads.setdefault(topic, []).extend(
                    ConsumerThread(member, n) for n in range(streams)
                )
        self.threads = {topic: sorted(each, key=str) for topic, each in threads.items()}


class ConsumerThread(NamedTuple):
    consumer_id: str
    number: int

    def __str__(self) -> str:
        return f"{self.consumer_id}-{self.number}"


def range_(view: View) -> Decision | None:
    """Per topic, consecutive partitions, or None if this consumer is not in its own view.

    Source: RangeAssignor of 0.8.2.
    """
    decision: Decision = {}
    for topic, partitions in view.partitions.items():
        threads = view.threads.get(topic, [])
        own_threads = [
            n for n, thread in enumerate(threads) if thread.consumer_id == view.consumer_id
        ]
        if not own_threads:
            return None
        share, extra = divmod(len(partitions), len(threads))
        for index in own_threads:
            begin = share * index + min(index, extra)
            for partition in partitions[begin : begin + share + (index < extra)]:
                decision[topic, partition] = str(threads[index])
    return decision


def round_robin(view: View) -> Decision | None:
    """All partitions in turn, or None unless every topic has the same threads.

    Partitions are ordered by the hash of their name.  Source: RoundRobinAssignor of 0.8.2.
    """
    orders = list(view.threads.values())
    if not orders or any(threads != orders[0] for threads in orders):
        return None
    all_partitions = [(topic, p) for topic, numbers in view.partitions.items() for p in numbers]
    all_partitions.sort(key=lambda tp: string_hash(f"[{tp[0]},{tp[1]}]"))
    turns = zip(all_partitions, cycle(orders[0]), strict=False)
    return {tp: str(thread) for tp, thread in turns if thread.consumer_id == view.consumer_id}


def decide(strategy: str, view: View) -> Decision | None:
    """The decision by partition.assignment.strategy; any name but "roundrobin" means range."""
    return round_robin(view) if strategy == "roundrobin" else range_(view)
