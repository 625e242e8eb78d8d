"""Generates a day of `__consumer_offsets`: groups that rebalance, and commit in between.

As in real clusters most groups are small and few are large; one or two members join or leave at a
time, sometimes a whole deployment; members are dynamic or static; groups have one to four topics.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from coordinator_core.assignors import ASSIGNORS, Member, Topics
from coordinator_core.jvm.hash_codes import partition_for, string_hash
from coordinator_core.records import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_key,
    encode_subscription,
    encode_value,
)

DAY_MS = 86_400_000
START_MS = 1_795_132_800_000  # 2026-11-20 00:00 UTC
PARTITIONS = 50
# Numbers of rows on a day of size 1.
GROUPS, GENERATIONS, COMMITS = 5_000, 250_000, 2_500_000
MAX_MEMBERS = 40

Row = tuple[int, bytes, bytes, int]
"""Time in ms, key, value, key type."""


@dataclass
class FleetGroup:
    """One group's day; ``generations`` rebalances, spread evenly with some jitter."""

    name: str
    generations: int
    rnd: random.Random
    members: dict[str, dict] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.topics = {
            f"{self.name}.topic-{i}": self.rnd.choice((6, 12, 12, 24, 48))
            for i in range(self.rnd.choice((1, 1, 1, 2, 4)))
        }
        self.cluster = Topics(self.topics)
        self.is_static = self.rnd.random() < 0.2
        # Half of all groups have one to five members, and one group in ten has up to forty.
        self.size = min(MAX_MEMBERS, max(1, int(self.rnd.paretovariate(0.8) * 2)))
        self.subscription = encode_subscription(Subscription(1, sorted(self.topics), None, [], -1))
        self.group_key = encode_key(2, {"group": self.name})
        self.commit_keys = [
            encode_key(1, {"group": self.name, "topic": topic, "partition": number})
            for topic, count in self.topics.items()
            for number in range(count)
        ]

    def rows(self, commits: int) -> Iterator[Row]:
        """Every generation's record and its share of ``commits`` offset commits after it."""
        step = DAY_MS / self.generations
        per_generation, offset = commits / self.generations, 0
        for number in range(1, self.generations + 1):
            at = START_MS + int((number - 1 + 0.5 * self.rnd.random()) * step)
            self._join_or_leave()
            yield at, self.group_key, self._record(number, at), 2
            due = int(number * per_generation) - int((number - 1) * per_generation)
            for n in range(due):
                offset += 100
                key = self.commit_keys[(number + n) % len(self.commit_keys)]
                later = at + 1 + int(0.4 * step * n / max(due, 1))
                yield later, key, _commit(offset, later), 1

    def _join_or_leave(self) -> None:
        if not self.members or self.rnd.random() < 0.02:  # a deployment
            self.members = {}
            for _ in range(self.size):
                self._join()
        elif len(self.members) >= self.size:
            del self.members[self.rnd.choice(list(self.members))]
        else:
            self._join()

    def _join(self) -> None:
        used = {member["client_id"] for member in self.members.values()}
        numbers = range(len(used) + 1)
        client = next(c for n in numbers if (c := f"{self.name}-{n}") not in used)
        static = client if self.is_static else None
        member_id = f"{client}-{_uuid(self.rnd)}"
        self.members[member_id] = {
            "member_id": member_id,
            "group_instance_id": static,
            "client_id": client,
            "client_host": f"/10.{self.rnd.randrange(4)}.{string_hash(client) % 250}.7",
            "rebalance_timeout": 300_000,
            "session_timeout": 45_000,
            "subscription": self.subscription,
        }

    def _record(self, generation: int, at: int) -> bytes:
        topics = tuple(sorted(self.topics))
        assignment = ASSIGNORS["range"](
            self.cluster, [Member(member_id=m, topics=topics) for m in self.members]
        )
        members = []
        for member_id, member in self.members.items():
            by_topic: dict[str, list[int]] = {}
            for topic, partition in assignment[member_id]:
                by_topic.setdefault(topic, []).append(partition)
            stored = encode_assignment(Assignment(1, list(by_topic.items()), None))
            members.append(member | {"assignment": stored})
        fields = {
            "protocol_type": "consumer",
            "generation": generation,
            "protocol": "range",
            "leader": next(iter(self.members)),
            "current_state_timestamp": at - self.rnd.randrange(2, 60),
            "members": members,
        }
        return encode_value(2, 3, fields)


def _commit(offset: int, at: int) -> bytes:
    """The bytes of ``encode_value(1, 3, ...)``, computed faster: millions are generated."""
    head, between, tail = _BLANK_COMMIT
    return head + offset.to_bytes(8) + between + at.to_bytes(8) + tail


_BLANK_COMMIT = encode_value(
    1, 3, {"offset": -1, "leader_epoch": 3, "metadata": "", "commit_timestamp": -1}
).split(b"\xff" * 8)


def _uuid(rnd: random.Random) -> str:
    digits = f"{rnd.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


@dataclass(frozen=True)
class FleetPartition:
    """One partition of the topic: its groups with their numbers of generations and commits."""

    number: int
    groups: list[tuple[str, int, int]]

    def rows(self) -> list[Row]:
        """The partition's records in order of time."""
        rows = [
            row
            for name, generations, commits in self.groups
            for row in FleetGroup(name, generations, random.Random(name)).rows(commits)
        ]
        return sorted(rows, key=lambda row: row[0])


def partitions(scale: float, *, skewed: bool) -> list[FleetPartition]:
    """``scale`` 1 is a day of 250,000 group records and 2.5 million commits; ``skewed``: one group
    has half of all generations.
    """
    rnd = random.Random(7)
    generations, commits = int(GENERATIONS * scale), int(COMMITS * scale)
    groups = max(1, int(GROUPS * scale))
    others = generations // 2 if skewed else generations
    counts = _shares(others, groups, rnd)
    if skewed:
        counts[0] += generations - others
    placed: dict[int, list[tuple[str, int, int]]] = {}
    for number, count in enumerate(counts):
        if count:
            name = f"group-{number:05}"
            share = (name, count, commits * count // generations)
            placed.setdefault(partition_for(name, PARTITIONS), []).append(share)
    return [FleetPartition(number, groups) for number, groups in sorted(placed.items())]


def _shares(total: int, groups: int, rnd: random.Random) -> list[int]:
    """``total`` distributed over the groups: few have many."""
    weights = [rnd.lognormvariate(0, 1) for _ in range(groups)]
    scale = total / sum(weights)
    return [int(weight * scale) for weight in weights]
