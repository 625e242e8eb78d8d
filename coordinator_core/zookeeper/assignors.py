"""What a consumer of 0.8.2 decides to own, out of what it has read; every consumer for itself.

Threads of a topic are ordered by their name, ``CONSUMER-NUMBER``; so -10 comes before -2.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import NamedTuple

from coordinator_core.jvm.java import string_hash

TopicPartition = tuple[str, int]
Decision = dict[TopicPartition, str]  # partition -> the thread of this consumer that takes it


class View:
    """The group as one consumer read it, node by node: possibly never so at any one moment."""

    def __init__(
        self,
        consumer_id: str,
        subscriptions: Mapping[str, Mapping[str, int]],
        partitions: Mapping[str, list[int]],
    ) -> None:
        self.consumer_id = consumer_id
        self.partitions = partitions
        threads: dict[str, list[Thread]] = {}
        for member, streams_of in subscriptions.items():
            for topic, streams in streams_of.items():
                threads.setdefault(topic, []).extend(Thread(member, n) for n in range(streams))
        self.threads = {topic: sorted(found, key=str) for topic, found in threads.items()}


class Thread(NamedTuple):
    consumer_id: str
    number: int

    def __str__(self) -> str:
        return f"{self.consumer_id}-{self.number}"


def range_(view: View) -> Decision | None:
    """Per topic, consecutive partitions; None if this consumer is not in its own view.

    Source: RangeAssignor of 0.8.2.
    """
    decision: Decision = {}
    for topic, partitions in view.partitions.items():
        threads = view.threads.get(topic, [])
        mine = [n for n, thread in enumerate(threads) if thread.consumer_id == view.consumer_id]
        if not mine:
            return None
        share, extra = divmod(len(partitions), len(threads))
        for place in mine:
            begin = share * place + min(place, extra)
            for partition in partitions[begin : begin + share + (place < extra)]:
                decision[topic, partition] = str(threads[place])
    return decision


def round_robin(view: View) -> Decision | None:
    """All partitions in turn; None if the threads of some topics are not those of all topics.

    Partitions are shuffled by the hash of their name.  Source: RoundRobinAssignor of 0.8.2.
    """
    orders = list(view.threads.values())
    if not orders or any(threads != orders[0] for threads in orders):
        return None
    all_partitions = [(topic, p) for topic, found in view.partitions.items() for p in found]
    all_partitions.sort(key=lambda tp: string_hash(f"[{tp[0]},{tp[1]}]"))
    turns = zip(all_partitions, cycle(orders[0]), strict=False)
    return {tp: str(thread) for tp, thread in turns if thread.consumer_id == view.consumer_id}


def decide(strategy: str, view: View) -> Decision | None:
    """By partition.assignment.strategy, of which every name but "roundrobin" means range."""
    return round_robin(view) if strategy == "roundrobin" else range_(view)
