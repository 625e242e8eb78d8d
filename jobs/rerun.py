"""Assignors re-run on recorded generations: the adapter between pandas and the assignors.

The group's own assignor gets the members' own bytes, as their leader read them; any other what its
consumers would have sent, had they owned what they really owned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

import pandas as pd

from coordinator_core.assignors import (
    ASSIGNORS,
    SERVER_ASSIGNORS,
    Assignment,
    AssignorError,
    Member,
    TopicPartition,
    Topics,
)
from coordinator_core.assignors.quality import Quality
from coordinator_core.assignors.subscriptions import as_read, as_sent, grouped
from coordinator_core.records import BadRecord, decode_assignment
from jobs.assignments import ACTUAL
from jobs.partition_counts import PartitionCounts

STEP, CHAIN = "step", "chain"
COOPERATIVE = "cooperative-sticky"
# What these give does not rest on what was owned.
WITHOUT_MEMORY = frozenset({"range", "roundrobin", "server-range"})

CHUNK_OF = ["cluster_id", "group_id", "incarnation", "chunk"]
PLACE = ["cluster_id", "group_id", "incarnation", "generation", "event_date"]
QUALITY = [
    "rounds", "imbalance", "spread", "idle_members", "partitions_assigned",
    "partitions_moved", "moves_forced", "stickiness", "equals_actual",
]  # fmt: skip
GIVEN = ["member_id", "process", "topic", "partition"]
COLUMNS = [
    *PLACE, "partitions_known_by", "assignor", "mode", "own", "chain_length", "difference",
    *QUALITY, *GIVEN,
]  # fmt: skip

Row = dict[str, Any]


@dataclass(frozen=True)
class Generation:
    """One generation as its records have it, members in the order of the first record.

    ``identity`` (who it is across restarts) and ``last_id`` go by the member ids of the first
    record: a static member that was replaced since has another id in the last one.
    """

    number: int
    time_ms: int
    protocol: str
    members: list[Member]
    identity: dict[str, str]
    process: dict[str, str]
    last_id: dict[str, str]
    actual: Assignment
    led_by_java: bool

    @cached_property
    def topics(self) -> list[str]:
        return sorted({topic for member in self.members for topic in member.topics})

    @cached_property
    def claimed(self) -> list[tuple[TopicPartition, str]]:
        return [
            ((topic, partition), member.member_id)
            for member in self.members
            for topic, partitions in member.owned
            for partition in partitions
        ]

    def owner(self, lists: Assignment) -> dict[TopicPartition, str]:
        return {tp: self.identity[member_id] for member_id, had in lists.items() for tp in had}


@dataclass(frozen=True)
class Past:
    """What was given in the generation before, and who had each partition last."""

    number: int | None = None
    held: Assignment = field(default_factory=dict)
    id_of_instance: dict[str, str] = field(default_factory=dict)
    owner: dict[TopicPartition, str] = field(default_factory=dict)
    chain_length: int = 0

    def owned(self, assignor: str, member: Member) -> tuple[Sequence[TopicPartition], int | None]:
        """A new member id owns nothing; the coordinator's assignors know an instance again."""
        member_id = member.member_id
        if assignor in SERVER_ASSIGNORS and member.instance_id is not None:
            member_id = self.id_of_instance.get(member.instance_id, member_id)
        return (self.held[member_id], self.number) if member_id in self.held else ((), None)

    @cached_property
    def by_owner(self) -> dict[str, list[TopicPartition]]:
        lists: dict[str, list[TopicPartition]] = {}
        for tp, owner in self.owner.items():
            lists.setdefault(owner, []).append(tp)
        return lists


def past(generation: Generation, lists: Assignment, owner: dict[TopicPartition, str]) -> Past:
    last_id = generation.last_id
    return Past(
        generation.number,
        {last_id[member_id]: had for member_id, had in lists.items()},
        {m.instance_id: last_id[m.member_id] for m in generation.members if m.instance_id},
        owner | generation.owner(lists),
    )


def really_had(generation: Generation) -> Past:
    """What a cooperative round withheld belongs to whoever still claimed it."""
    claimed = {tp: generation.identity[member_id] for tp, member_id in generation.claimed}
    return past(generation, generation.actual, claimed)


@dataclass(frozen=True)
class Given:
    """What an assignor gave, by member id, in how many rebalances."""

    lists: Assignment
    rounds: int = 1


@dataclass(frozen=True)
class Scene:
    """One generation, with the partitions that there were."""

    generation: Generation
    topics: Topics
    # Results that more than one row needs.
    _without_memory: dict[str, Given] = field(default_factory=dict)
    _forced: dict[int, int] = field(default_factory=dict)

    def own(self, topics: Topics) -> Given:
        return Given(ASSIGNORS[self.generation.protocol](topics, self.generation.members))

    def other(self, assignor: str, before: Past) -> Given:
        if assignor not in WITHOUT_MEMORY:
            return self._after(assignor, before)
        if assignor not in self._without_memory:
            self._without_memory[assignor] = self._after(assignor, Past())
        return self._without_memory[assignor]

    def _after(self, assignor: str, before: Past) -> Given:
        """Where the group's history has no second cooperative round it follows at once."""
        owned = {m.member_id: before.owned(assignor, m) for m in self.generation.members}
        first = self._given(assignor, owned)
        if assignor != COOPERATIVE or self.generation.protocol == COOPERATIVE:
            return Given(first)
        if all(set(had) <= set(first[member_id]) for member_id, (had, _) in owned.items()):
            return Given(first)
        number = self.generation.number
        second = self._given(assignor, {m: (had, number) for m, had in first.items()})
        return Given(second, rounds=2)

    def _given(
        self, assignor: str, owned: Mapping[str, tuple[Sequence[TopicPartition], int | None]]
    ) -> Assignment:
        topics_of = self.known if assignor in SERVER_ASSIGNORS else self.subscribed
        members = [
            as_sent(assignor, m.member_id, topics, *owned[m.member_id], m.instance_id, m.rack)
            for m, topics in zip(self.generation.members, topics_of, strict=True)
        ]
        return ASSIGNORS[assignor](self.topics, members)

    @cached_property
    def subscribed(self) -> list[Sequence[str]]:
        return [member.topics for member in self.generation.members]

    @cached_property
    def known(self) -> list[Sequence[str]]:
        """To a server a topic that does not exist is an error, to a client it is none."""
        if self.topics.partitions.keys() >= set(self.generation.topics):
            return self.subscribed
        exist = self.topics.partitions
        return [[topic for topic in topics if topic in exist] for topics in self.subscribed]

    @cached_property
    def _identified(self) -> list[Member]:
        identity = self.generation.identity
        pairs = zip(self.generation.members, self.known, strict=True)
        return [Member(identity[member.member_id], topics) for member, topics in pairs]

    def quality(self, given: Given, before: Past) -> Row:
        now = self.generation
        after = {now.identity[member_id]: had for member_id, had in given.lists.items()}
        found = Quality(self.topics, self._identified, before.by_owner, after)
        return {
            "rounds": given.rounds,
            "imbalance": found.imbalance,
            "spread": found.spread,
            "idle_members": sorted(found.idle),
            "partitions_assigned": sum(map(len, after.values())),
            "partitions_moved": found.moved,
            # A cooperative round that only takes away has not moved anything yet.
            "moves_forced": min(self._moves_forced(found, before), found.moved),
            "stickiness": found.stickiness,
            "equals_actual": _same_partitions(given.lists, now.actual),
        }

    def _moves_forced(self, found: Quality, before: Past) -> int:
        """The same whatever was given: worked out once for all steps, and only if any moved."""
        if not found.moved:
            return 0
        if id(before) not in self._forced:
            self._forced[id(before)] = found.moves_forced
        return self._forced[id(before)]

    def difference(self, assignor: str, given: Given) -> str | None:
        now = self.generation
        if given.lists == now.actual:
            return None
        if _same_partitions(given.lists, now.actual):
            return None if _on_the_wire(given.lists) == _on_the_wire(now.actual) else "order"
        if now.protocol not in ASSIGNORS:
            return "custom_assignor"
        if assignor != now.protocol:
            return "another_assignor"
        if self._equal_with_fewer_partitions():
            return "topic_growth"
        return "other" if now.led_by_java else "custom_assignor"

    def _equal_with_fewer_partitions(self) -> bool:
        """The leader knew those partitions only that it gave, or that members claimed."""
        now, counts = self.generation, dict[str, int]()
        shown = [*now.owner(now.actual), *(tp for tp, _ in now.claimed)]
        for topic, partition in shown:
            counts[topic] = max(counts.get(topic, 0), partition + 1)
        try:
            return _same_partitions(self.own(Topics(counts)).lists, now.actual)
        except AssignorError:
            return False


def _same_partitions(given: Assignment, actual: Assignment) -> bool:
    return all(
        had == given[member_id]
        or (len(had) == len(given[member_id]) and set(had) == set(given[member_id]))
        for member_id, had in actual.items()
    )


def _on_the_wire(lists: Assignment) -> dict[str, dict[str, tuple[int, ...]]]:
    """Assignments are stored by topic: in which order a member's topics came, nobody can tell."""
    return {member_id: dict(grouped(had)) for member_id, had in lists.items()}


FAILED: Row = {"rounds": 1, "equals_actual": False}


@dataclass(frozen=True)
class Rerun:
    """Frames of generations in, frames of COLUMNS out.

    A frame has whole chunks (CHUNK_OF) of a life's generations, each beginning with the last
    recorded generation before it, if there is one: ``carried``, to be read, not written.
    Columns: CHUNK_OF, generation, event_date, carried, time_ms, protocol; lists in the order of
    the generation's first record: member_id, process, instance_id, subscription, assignment; and
    last_ids, the member ids of its last record. Out come one row a step and one a link of a chain;
    GIVEN are lists of equal length, one place a partition, null for a link.
    """

    assignors: tuple[str, ...]
    counts: PartitionCounts

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        rows = frame.sort_values([*CHUNK_OF, "generation"]).to_dict("records")
        chunks = groupby(rows, key=itemgetter(*CHUNK_OF))
        told = [row for _, chunk in chunks for row in self._chunk(chunk)]
        # Objects: pandas would make a float's NaN of a missing list and of a missing number.
        columns = {name: [row.get(name) for row in told] for name in COLUMNS}
        return pd.DataFrame(columns, dtype=object)

    def _chunk(self, rows: Iterable[Row]) -> Iterator[Row]:
        before, topics = Past(), Topics({})
        chains = dict.fromkeys(self.assignors, before)
        for row in rows:
            generation = read(row)
            known, known_by = self.counts.at(generation.topics, generation.time_ms)
            # The same object as long as nothing changes: its tables are made once.
            topics = topics if topics.partitions == known else Topics(known)
            scene = Scene(generation, topics)
            if row["carried"]:
                chains = {name: _began(name, scene) for name in self.assignors}
            else:
                place = {name: row[name] for name in PLACE} | {"partitions_known_by": known_by}
                for told in (*self._steps(scene, before), *self._links(scene, chains)):
                    yield place | told
            before = really_had(generation)

    def _steps(self, scene: Scene, before: Past) -> Iterator[Row]:
        now = scene.generation
        yield {"assignor": ACTUAL, "mode": STEP, "own": False} | scene.quality(
            Given(now.actual), before
        )
        for name in self.assignors:
            own = name == now.protocol
            told = {"assignor": name, "mode": STEP, "own": own}
            try:
                given = scene.own(scene.topics) if own else scene.other(name, before)
            except AssignorError:
                yield told | FAILED | {"difference": "assignor_fails"}
            else:
                told |= {"difference": scene.difference(name, given)}
                yield told | scene.quality(given, before) | _columns(now, given.lists)

    def _links(self, scene: Scene, chains: dict[str, Past]) -> Iterator[Row]:
        """The next row of each chain, which goes on from there."""
        for name, before in chains.items():
            told, chains[name] = _link(name, scene, before)
            yield told


def _link(name: str, scene: Scene, before: Past) -> tuple[Row, Past]:
    now = scene.generation
    length = before.chain_length + 1
    told = {"assignor": name, "mode": CHAIN, "own": name == now.protocol, "chain_length": length}
    try:
        given = scene.other(name, before)
    except AssignorError:
        return told | FAILED, Past()
    after = past(now, given.lists, before.owner)
    return told | scene.quality(given, before), replace(after, chain_length=length)


def _began(name: str, scene: Scene) -> Past:
    """A chain begins with what the group had; one without memory as if it had not been cut."""
    if name not in WITHOUT_MEMORY:
        return really_had(scene.generation)
    given = scene.other(name, Past())
    return past(scene.generation, given.lists, {})


def _columns(generation: Generation, lists: Assignment) -> Row:
    given = [(member_id, *tp) for member_id, had in lists.items() for tp in had]
    return {
        "member_id": [generation.last_id[member_id] for member_id, _, _ in given],
        "process": [generation.process[member_id] for member_id, _, _ in given],
        "topic": [topic for _, topic, _ in given],
        "partition": [partition for _, _, partition in given],
    }


def read(row: Row) -> Generation:
    """A row of Rerun's frame. BadRecord if a subscription cannot be read."""
    ids = list(row["member_id"])
    columns = (ids, row["subscription"], row["instance_id"])
    protocol = row["protocol"]
    process = dict(zip(ids, row["process"], strict=True))
    stored = [_assignment(data) for data in row["assignment"]]
    return Generation(
        int(row["generation"]),
        int(row["time_ms"]),
        protocol,
        [as_read(protocol, *member) for member in zip(*columns, strict=True)],
        _identities(process),
        process,
        _last_ids(ids, row),
        {member_id: given for member_id, (given, _) in zip(ids, stored, strict=True)},
        any(by_java for _, by_java in stored),
    )


def _identities(process: dict[str, str]) -> dict[str, str]:
    """Two members of one process side by side are two."""
    names = list(process.values())
    if len(set(names)) == len(names):
        return process
    return {m: name if names.count(name) == 1 else m for m, name in process.items()}


def _last_ids(ids: list[str], row: Row) -> dict[str, str]:
    """Who came in the place of an instance's first id; members that are still there stay."""
    last_ids = set(row["last_ids"])
    heir = {name: m for m, name in zip(row["last_ids"], row["last_process"], strict=True)}
    process = dict(zip(ids, row["process"], strict=True))
    return {m: m if m in last_ids else heir.get(process[m], m) for m in ids}


def _assignment(data: bytes | None) -> tuple[list[TopicPartition], bool]:
    """Partitions, and whether Kafka's Java client wrote them.

    That one (since 2.4) writes a null for the user data that the built-in assignors lack, in the
    newest version it knows; librdkafka and kafka-python write version 0, and not null.
    """
    try:
        read = decode_assignment(data or b"")
    except BadRecord:
        return [], False
    given = [(topic, number) for topic, numbers in read.partitions for number in numbers]
    return given, read.version > 0 and read.user_data is None
