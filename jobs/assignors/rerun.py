"""Assignors re-run on recorded generations: the adapter between Arrow and the assignors.

The group's own assignor gets the members' own bytes, as their leader read them; any other what its
consumers would have sent, had they owned what they really owned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from coordinator_core.assignors import (
    ASSIGNORS,
    NO_GENERATION,
    SERVER_ASSIGNORS,
    Assignment,
    AssignorError,
    Member,
    TopicPartition,
    Topics,
)
from coordinator_core.assignors.quality import After, Before, Quality
from coordinator_core.assignors.subscriptions import as_read, as_sent
from coordinator_core.records import BadRecord, decode_assignment
from jobs.assignments import ACTUAL
from jobs.assignors.partition_counts import counts_said

STEP, CHAIN = "step", "chain"
COOPERATIVE = "cooperative-sticky"
# What these give does not rest on what was owned.
WITHOUT_MEMORY = frozenset({"range", "roundrobin", "server-range"})

CHUNK_OF = ["cluster_id", "group_id", "incarnation", "chunk"]
PLACE = ["cluster_id", "group_id", "incarnation", "generation", "event_date"]
TEXTS, NUMBERS = pa.list_(pa.string()), pa.list_(pa.int32())
# Partitions given, one place each: whose of the members, of which topic, and which it is.
GIVEN = ["member", "topic", "partition"]
NAMES = ["member_ids", "processes", "topics"]
SCHEMA = pa.schema(
    {
        "cluster_id": pa.string(), "group_id": pa.string(), "incarnation": pa.int32(),
        "generation": pa.int32(), "event_date": pa.date32(), "partition_count_source": pa.string(),
        "assignor": pa.string(), "mode": pa.string(), "own": pa.bool_(),
        "chain_length": pa.int32(), "difference": pa.string(), "rounds": pa.int32(),
        "imbalance": pa.int32(), "spread": pa.int32(), "idle_members": TEXTS,
        "partitions_assigned": pa.int32(), "partitions_moved": pa.int32(),
        "moves_forced": pa.int32(), "stickiness": pa.float64(), "equals_actual": pa.bool_(),
        **dict.fromkeys(NAMES, TEXTS), **dict.fromkeys(GIVEN, NUMBERS),
    }
)  # fmt: skip

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

    def identified(self, lists: Assignment) -> Assignment:
        return {self.identity[member_id]: had for member_id, had in lists.items()}

    @cached_property
    def names(self) -> Row:
        ids = self.identity
        return {
            "member_ids": [self.last_id[member_id] for member_id in ids],
            "processes": [self.process[member_id] for member_id in ids],
        }


@dataclass(frozen=True)
class Past:
    """What was given in the generation before, and who had each partition last."""

    number: int | None = None
    held: Assignment = field(default_factory=dict)
    id_of_instance: dict[str, str] = field(default_factory=dict)
    owner: Mapping[TopicPartition, str] = field(default_factory=dict)
    chain_length: int = 0

    def owned(self, assignor: str, member: Member) -> tuple[Sequence[TopicPartition], int | None]:
        """A new member id owns nothing; the coordinator's assignors know an instance again."""
        member_id = member.member_id
        if assignor in SERVER_ASSIGNORS and member.instance_id is not None:
            member_id = self.id_of_instance.get(member.instance_id, member_id)
        return (self.held[member_id], self.number) if member_id in self.held else ((), None)


def past(generation: Generation, lists: Assignment, owner: Mapping[TopicPartition, str]) -> Past:
    """``owner``: who has each partition, those included that nobody was given now."""
    last_id = generation.last_id
    return Past(
        generation.number,
        {last_id[member_id]: had for member_id, had in lists.items()},
        {m.instance_id: last_id[m.member_id] for m in generation.members if m.instance_id},
        owner,
    )


@dataclass(frozen=True)
class Given:
    """What an assignor gave, by member id, in how many rebalances."""

    lists: Assignment
    after: After
    equals_actual: bool
    rounds: int

    @cached_property
    def figures(self) -> Row:
        """Those that do not rest on what was before."""
        return {
            "rounds": self.rounds,
            "imbalance": self.after.imbalance,
            "spread": self.after.spread,
            "idle_members": sorted(self.after.idle),
            "partitions_assigned": self.after.assigned,
            "equals_actual": self.equals_actual,
        }


@dataclass(frozen=True)
class Scene:
    """One generation, with the partitions that there were."""

    generation: Generation
    topics: Topics
    # A result that more than one row needs.
    _without_memory: dict[str, Given] = field(default_factory=dict)

    @cached_property
    def actual(self) -> Given:
        return self._told(self.generation.actual)

    def _told(self, lists: Assignment, rounds: int = 1) -> Given:
        now = self.generation
        after = After(self._identified, now.identified(lists))
        return Given(lists, after, _same_partitions(lists, now.actual), rounds)

    def really_had(self) -> Past:
        """What a cooperative round withheld belongs to whoever still claimed it."""
        now = self.generation
        claimed = {tp: now.identity[member_id] for tp, member_id in now.claimed}
        return past(now, now.actual, claimed | self.actual.after.owner)

    def own(self) -> Given:
        return self._told(ASSIGNORS[self.generation.protocol](self.topics, self.generation.members))

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
            return self._told(first)
        if all(had == first[m] or set(had) <= set(first[m]) for m, (had, _) in owned.items()):
            return self._told(first)
        number = self.generation.number
        second = self._given(assignor, {m: (had, number) for m, had in first.items()})
        return self._told(second, rounds=2)

    def _given(
        self, assignor: str, owned: Mapping[str, tuple[Sequence[TopicPartition], int | None]]
    ) -> Assignment:
        topics_of = self.known if assignor in SERVER_ASSIGNORS else self.subscribed
        members = [
            _sent(assignor, m, topics, *owned[m.member_id])
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
        return [tuple(t for t in topics if t in exist) for topics in self.subscribed]

    @cached_property
    def _identified(self) -> list[Member]:
        identity = self.generation.identity
        pairs = zip(self.generation.members, self.known, strict=True)
        return [Member(identity[member.member_id], topics) for member, topics in pairs]

    def before(self, past: Past) -> Before:
        return Before(self.topics, self._identified, past.owner)

    def difference(self, assignor: str, given: Given) -> str | None:
        now = self.generation
        if given.lists == now.actual:
            return None
        if given.equals_actual:
            return None if _same_on_the_wire(given.lists, now.actual) else "order"
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
        shown = [*self.actual.after.owner, *(tp for tp, _ in now.claimed)]
        for topic, partition in shown:
            counts[topic] = max(counts.get(topic, 0), partition + 1)
        try:
            given = ASSIGNORS[now.protocol](Topics(counts), now.members)
            return _same_partitions(given, now.actual)
        except AssignorError:
            return False


def _same_partitions(given: Assignment, actual: Assignment) -> bool:
    return all(
        had == given[member_id]
        or (len(had) == len(given[member_id]) and set(had) == set(given[member_id]))
        for member_id, had in actual.items()
    )


def _same_on_the_wire(given: Assignment, actual: Assignment) -> bool:
    """Assignments are stored by topic: in which order a member's topics came, nobody can tell."""
    topic = itemgetter(0)
    return given.keys() == actual.keys() and all(
        had == given[member_id] or sorted(had, key=topic) == sorted(given[member_id], key=topic)
        for member_id, had in actual.items()
    )


def _sent(
    assignor: str,
    member: Member,
    topics: Sequence[str],
    owned: Sequence[TopicPartition],
    generation: int | None,
) -> Member:
    """``member`` as it would come to an assignor that gave it ``owned`` in ``generation``."""
    number = NO_GENERATION if generation is None else generation
    sent = _anybody(assignor, tuple(topics), tuple(owned), generation is None)
    return Member(
        member.member_id, sent.topics, sent.owned, number, number, member.instance_id, member.rack
    )


@lru_cache(maxsize=1 << 11)
def _anybody(
    assignor: str, topics: tuple[str, ...], owned: tuple[TopicPartition, ...], new: bool
) -> Member:
    """What a member sends but for its names and its generation: most of it as the last time."""
    return as_sent(assignor, "", topics, owned, None if new else 0)


def _quality(given: Given, before: Before) -> Row:
    found = Quality(before, given.after)
    return {
        **given.figures,
        "partitions_moved": found.moved,
        # A cooperative round that only takes away has not moved anything yet.
        "moves_forced": min(before.moves_forced, found.moved) if found.moved else 0,
        "stickiness": found.stickiness,
    }


FAILED: Row = {"rounds": 1, "equals_actual": False}


@dataclass(frozen=True)
class Rerun:
    """Frames of generations in, frames of SCHEMA out.

    A frame has whole chunks (CHUNK_OF) of a life's generations, each beginning with the last
    recorded generation before it, if there is one: ``carried``, to be read, not written.
    Columns: CHUNK_OF, generation, event_date, carried, time_ms, protocol; lists in the order of
    the generation's first record: member_id, process, instance_id, subscription, assignment; and
    last_ids, the member ids of its last record, with last_process; and said, what is known of the
    group's topics (partition_counts), null if nothing is. Out come one row a step and
    one a link of a chain; of a step GIVEN are lists of equal length, one place a partition, that
    index NAMES, null for a link and for what was really given.
    """

    assignors: tuple[str, ...]

    def __call__(self, frame: pa.Table) -> pa.Table:
        rows = sorted(frame.to_pylist(), key=itemgetter(*CHUNK_OF, "generation"))
        chunks = groupby(rows, key=itemgetter(*CHUNK_OF))
        told = [row for _, chunk in chunks for row in self._chunk(list(chunk))]
        return pa.Table.from_pylist(told, SCHEMA)

    def _chunk(self, rows: Sequence[Row]) -> Iterator[Row]:
        counts = counts_said(rows[0]["said"] or ())  # the same in all of them
        before, topics = Past(), Topics({})
        chains = dict.fromkeys(self.assignors, before)
        for row in rows:
            generation = read(row)
            known, known_by = counts.at(generation.topics, generation.time_ms)
            # The same object as long as nothing changes: its tables are made once.
            topics = topics if topics.partitions == known else Topics(known)
            scene = Scene(generation, topics)
            if row["carried"]:
                chains = {name: _began(name, scene) for name in self.assignors}
            else:
                place = {name: row[name] for name in PLACE} | {"partition_count_source": known_by}
                for told in (*self._steps(scene, before), *self._links(scene, chains)):
                    yield place | told
            before = scene.really_had()

    def _steps(self, scene: Scene, past: Past) -> Iterator[Row]:
        now, before = scene.generation, scene.before(past)
        yield {"assignor": ACTUAL, "mode": STEP, "own": False} | _quality(scene.actual, before)
        for name in self.assignors:
            own = name == now.protocol
            told = {"assignor": name, "mode": STEP, "own": own}
            try:
                given = scene.own() if own else scene.other(name, past)
            except AssignorError:
                yield told | FAILED | {"difference": "assignor_fails"}
            else:
                told["difference"] = scene.difference(name, given)
                yield told | _quality(given, before) | now.names | _columns(now, given.lists)

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
    after = past(now, given.lists, {**before.owner, **given.after.owner})
    return told | _quality(given, scene.before(before)), replace(after, chain_length=length)


def _began(name: str, scene: Scene) -> Past:
    """A chain begins with what the group had; one without memory as if it had not been cut."""
    if name not in WITHOUT_MEMORY:
        return scene.really_had()
    given = scene.other(name, Past())
    return past(scene.generation, given.lists, given.after.owner)


def _columns(generation: Generation, lists: Assignment) -> Row:
    rank_of = {member_id: rank for rank, member_id in enumerate(generation.identity)}
    topics: dict[str, int] = {}
    given = [tp for had in lists.values() for tp in had]
    return {
        "member": [rank_of[member_id] for member_id, had in lists.items() for _ in had],
        "topic": [topics.setdefault(topic, len(topics)) for topic, _ in given],
        "partition": [partition for _, partition in given],
        "topics": list(topics),
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


@lru_cache(maxsize=1 << 11)
def _assignment(data: bytes | None) -> tuple[list[TopicPartition], bool]:
    """Partitions, and whether Kafka's Java client wrote them; mostly the same as the last time.

    That one (since 2.4) writes a null for the user data that the built-in assignors lack, in the
    newest version it knows; librdkafka and kafka-python write version 0, and not null.
    """
    try:
        read = decode_assignment(data or b"")
    except BadRecord:
        return [], False
    given = [(topic, number) for topic, numbers in read.partitions for number in numbers]
    return given, read.version > 0 and read.user_data is None
