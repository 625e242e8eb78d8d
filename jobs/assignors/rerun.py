"""Assignors re-run on recorded generations: the adapter between Arrow and the assignors.

The group's own assignor reads the recorded subscription bytes, as the leader did; any other
assignor reads what its consumers would have sent with the partitions that they owned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import groupby
from operator import itemgetter

import pyarrow as pa

from coordinator_core.assignors import (
    ASSIGNORS,
    LIBRDKAFKA_ASSIGNORS,
    NO_GENERATION,
    SERVER_ASSIGNORS,
    Assignment,
    Assignor,
    AssignorError,
    Member,
    TopicPartition,
    Topics,
)
from coordinator_core.assignors.quality import NewAssignment, PreviousOwners, Quality
from coordinator_core.assignors.subscriptions import as_sent
from jobs.assignments import ACTUAL
from jobs.assignors.partition_counts import ASSIGNMENTS, PartitionCounts, counts_from_entries
from jobs.assignors.recorded import COOPERATIVE, RecordedGeneration, Row, decode_generation

STEP, CHAIN = "step", "chain"
# Assignors whose result does not depend on owned partitions.
WITHOUT_MEMORY = frozenset({"range", "roundrobin", "server-range"})

CHUNK_COLUMNS = ["cluster_id", "group_id", "incarnation", "chunk"]
GENERATION_COLUMNS = ["cluster_id", "group_id", "incarnation", "generation", "event_date"]
TEXTS = pa.list_(pa.string())
# Lists of equal length, one element per assigned partition.
ASSIGNED_LISTS = ["member_id", "process", "topic", "partition"]
SCHEMA = pa.schema(
    {
        "cluster_id": pa.string(), "group_id": pa.string(), "incarnation": pa.int32(),
        "generation": pa.int32(), "event_date": pa.date32(), "partition_count_source": pa.string(),
        "assignor": pa.string(), "mode": pa.string(), "own": pa.bool_(),
        "chain_length": pa.int32(), "difference": pa.string(), "rounds": pa.int32(),
        "imbalance": pa.int32(), "spread": pa.int32(), "idle_members": TEXTS,
        "partitions_assigned": pa.int32(), "partitions_moved": pa.int32(),
        "moves_forced": pa.int32(), "stickiness": pa.float64(), "equals_actual": pa.bool_(),
        **dict.fromkeys(ASSIGNED_LISTS, TEXTS), "partition": pa.list_(pa.int32()),
    }
)  # fmt: skip


@dataclass(frozen=True)
class PreviousAssignment:
    """Assignment of the previous generation, and the last owner of each partition."""

    number: int | None = None
    lists: Assignment = field(default_factory=dict)
    id_of_instance: dict[str, str] = field(default_factory=dict)
    owner: Mapping[TopicPartition, str] = field(default_factory=dict)
    chain_length: int = 0

    def owned(self, assignor: str, member: Member) -> tuple[Sequence[TopicPartition], int | None]:
        """Owned partitions of a member, and their generation; none for a new member id.

        The coordinator's assignors recognize a static member with a new id by its instance id.
        """
        member_id = member.member_id
        if assignor in SERVER_ASSIGNORS and member.instance_id is not None:
            member_id = self.id_of_instance.get(member.instance_id, member_id)
        return (self.lists[member_id], self.number) if member_id in self.lists else ((), None)


def as_previous(
    generation: RecordedGeneration, lists: Assignment, owner: Mapping[TopicPartition, str]
) -> PreviousAssignment:
    """``owner`` has the last owner of each partition, including partitions that ``generation`` does
    not assign.
    """
    last_id = generation.last_id
    return PreviousAssignment(
        generation.number,
        {last_id[member_id]: partitions for member_id, partitions in lists.items()},
        {m.instance_id: last_id[m.member_id] for m in generation.members if m.instance_id},
        owner,
    )


@dataclass(frozen=True)
class AssignorResult:
    """An assignment by member id, the actual one or an assignor's, and its rebalances."""

    lists: Assignment
    assigned: NewAssignment
    equals_actual: bool
    rounds: int

    @cached_property
    def figures(self) -> Row:
        """Figures that do not depend on the previous assignment."""
        return {
            "rounds": self.rounds,
            "imbalance": self.assigned.imbalance,
            "spread": self.assigned.spread,
            "idle_members": sorted(self.assigned.idle),
            "partitions_assigned": self.assigned.assigned,
            "equals_actual": self.equals_actual,
        }


@dataclass(frozen=True)
class GenerationRerun:
    """One generation, the topics at its time, and the assignors' results for it."""

    generation: RecordedGeneration
    topics: Topics
    # Results that several rows share.
    _without_memory: dict[str, AssignorResult] = field(default_factory=dict)

    @cached_property
    def actual(self) -> AssignorResult:
        return self._result(self.generation.actual)

    def _result(self, lists: Assignment, rounds: int = 1) -> AssignorResult:
        assigned = NewAssignment(self._identified, self.generation.identified(lists))
        equals_actual = _same_partitions(lists, self.generation.actual)
        return AssignorResult(lists, assigned, equals_actual, rounds)

    def actual_as_previous(self) -> PreviousAssignment:
        """A partition that a cooperative round withheld belongs to the member that claimed it."""
        generation = self.generation
        claimed = {tp: generation.identity[member_id] for tp, member_id in generation.claimed}
        owner = claimed | self.actual.assigned.owner
        return as_previous(generation, generation.actual, owner)

    def own_assignor(self) -> AssignorResult:
        assign = self._assignor(self.generation.protocol)
        return self._result(assign(self.topics, self.generation.members))

    def _assignor(self, name: str) -> Assignor:
        """The assignor of the leader's library: librdkafka has its own cooperative-sticky."""
        if self.generation.led_by_librdkafka and name in LIBRDKAFKA_ASSIGNORS:
            return LIBRDKAFKA_ASSIGNORS[name]
        return ASSIGNORS[name]

    def assignor_after(self, assignor: str, previous: PreviousAssignment) -> AssignorResult:
        if assignor not in WITHOUT_MEMORY:
            return self._after(assignor, previous)
        if assignor not in self._without_memory:
            self._without_memory[assignor] = self._after(assignor, PreviousAssignment())
        return self._without_memory[assignor]

    def _after(self, assignor: str, previous: PreviousAssignment) -> AssignorResult:
        """Adds the second cooperative round if the group's own assignor is not cooperative."""
        owned = {m.member_id: previous.owned(assignor, m) for m in self.generation.members}
        first = self._assign(assignor, owned)
        if assignor != COOPERATIVE or self.generation.protocol == COOPERATIVE:
            return self._result(first)
        if all(tps == first[m] or set(tps) <= set(first[m]) for m, (tps, _) in owned.items()):
            return self._result(first)
        number = self.generation.number
        second = self._assign(assignor, {m: (tps, number) for m, tps in first.items()})
        return self._result(second, rounds=2)

    def _assign(
        self, assignor: str, owned: Mapping[str, tuple[Sequence[TopicPartition], int | None]]
    ) -> Assignment:
        topics_of = self.existing if assignor in SERVER_ASSIGNORS else self.subscribed
        members = [
            _sent(assignor, m, topics, *owned[m.member_id])
            for m, topics in zip(self.generation.members, topics_of, strict=True)
        ]
        return self._assignor(assignor)(self.topics, members)

    @cached_property
    def subscribed(self) -> list[Sequence[str]]:
        return [member.topics for member in self.generation.members]

    @cached_property
    def existing(self) -> list[Sequence[str]]:
        """Existing topics of each subscription; the coordinator's assignors refuse other topics."""
        if self.topics.partitions.keys() >= set(self.generation.topics):
            return self.subscribed
        existing = self.topics.partitions
        return [tuple(t for t in topics if t in existing) for topics in self.subscribed]

    @cached_property
    def _identified(self) -> list[Member]:
        identity = self.generation.identity
        pairs = zip(self.generation.members, self.existing, strict=True)
        return [
            Member(member_id=identity[member.member_id], topics=topics) for member, topics in pairs
        ]

    def owners_before(self, previous: PreviousAssignment) -> PreviousOwners:
        return PreviousOwners(self.topics, self._identified, previous.owner)

    def difference(self, assignor: str, result: AssignorResult) -> str | None:
        generation = self.generation
        if result.lists == generation.actual:
            return None
        if result.equals_actual:
            return None if _same_on_the_wire(result.lists, generation.actual) else "order"
        if generation.protocol not in ASSIGNORS:
            return "custom_assignor"
        if assignor != generation.protocol:
            return "another_assignor"
        if self._equal_with_fewer_partitions():
            return "topic_growth"
        is_of_library = generation.led_by_java or generation.led_by_librdkafka
        return "other" if is_of_library else "custom_assignor"

    def _equal_with_fewer_partitions(self) -> bool:
        """Returns whether the leader only knew the partitions that it assigned or that members
        claimed.
        """
        generation, counts = self.generation, dict[str, int]()
        partitions = [*self.actual.assigned.owner, *(tp for tp, _ in generation.claimed)]
        for topic, partition in partitions:
            counts[topic] = max(counts.get(topic, 0), partition + 1)
        try:
            lists = self._assignor(generation.protocol)(Topics(counts), generation.members)
            return _same_partitions(lists, generation.actual)
        except AssignorError:
            return False


def _same_partitions(lists: Assignment, actual: Assignment) -> bool:
    return all(
        partitions == lists[member_id]
        or (len(partitions) == len(lists[member_id]) and set(partitions) == set(lists[member_id]))
        for member_id, partitions in actual.items()
    )


def _same_on_the_wire(lists: Assignment, actual: Assignment) -> bool:
    """Compares within topics only: stored assignments lack the order of a member's topics."""
    topic = itemgetter(0)
    return lists.keys() == actual.keys() and all(
        partitions == lists[member_id]
        or sorted(partitions, key=topic) == sorted(lists[member_id], key=topic)
        for member_id, partitions in actual.items()
    )


def _sent(
    assignor: str,
    member: Member,
    topics: Sequence[str],
    owned: Sequence[TopicPartition],
    generation: int | None,
) -> Member:
    """``member`` as its leader would read it if ``assignor`` had assigned ``owned`` to it."""
    number = NO_GENERATION if generation is None else generation
    sent = _sent_without_names(assignor, tuple(topics), tuple(owned), generation is None)
    return Member(
        member_id=member.member_id,
        topics=sent.topics,
        owned=sent.owned,
        generation=number,
        field_generation=number,
        instance_id=member.instance_id,
        rack=member.rack,
    )


@lru_cache(maxsize=1 << 11)
def _sent_without_names(
    assignor: str, topics: tuple[str, ...], owned: tuple[TopicPartition, ...], new: bool
) -> Member:
    """A member's subscription without its ids and generation; cached, because most subscriptions
    repeat.
    """
    return as_sent(assignor, "", topics, owned, None if new else 0)


def _quality(result: AssignorResult, before: PreviousOwners) -> Row:
    quality = Quality(before, result.assigned)
    return {
        **result.figures,
        "partitions_moved": quality.moved,
        # A cooperative round that only revokes has not moved any partition yet.
        "moves_forced": min(before.moves_forced, quality.moved) if quality.moved else 0,
        "stickiness": quality.stickiness,
    }


# A generation with more members and partitions than this is large.  Of an incarnation's large
# generations on a date, the assignors run again on this many: one takes seconds.
LARGE, LARGE_RERUNS = 5_000, 24
# Assigned partitions that are Python objects at a time.
VALUES_AT_ONCE = 200_000
FAILED: Row = {"rounds": 1, "equals_actual": False}
# The row of a generation on which no assignor runs again.
OUT_OF_BOUNDS: Row = {
    "assignor": ACTUAL,
    "mode": STEP,
    "own": False,
    "rounds": 1,
    "equals_actual": True,
    "difference": "not_rerun",
    "partition_count_source": ASSIGNMENTS,
}


@dataclass(frozen=True)
class Rerun:
    """Frames of generations in, frames of SCHEMA out.

    A frame has whole chunks (CHUNK_COLUMNS) of an incarnation's generations. Each chunk begins with
    the last recorded generation before the chunk, if any: this row is ``carried``, so it is read
    and produces no output.

    Columns in: CHUNK_COLUMNS, generation, event_date, carried, time_ms, protocol; in the order of
    the generation's first record the lists member_id, instance_id, subscription and assignment;
    last_ids, the members of its last record; processes, a member_id and process for each member;
    topic_counts, the entries for the group's topics (partition_counts), or null; in_bounds:
    otherwise no assignor runs again; and partitions_assigned.

    Rows out: one per step and one per link of a chain. ASSIGNED_LISTS are null for a link and for
    the actual assignment.
    """

    assignors: tuple[str, ...]

    def __call__(self, frame: pa.Table) -> pa.Table:
        order = [(name, "ascending") for name in (*CHUNK_COLUMNS, "generation")]
        rows = one_by_one(frame.sort_by(order))
        chunks = groupby(rows, key=itemgetter(*CHUNK_COLUMNS))
        return in_parts((row for _, chunk in chunks for row in self._chunk(chunk)), SCHEMA)

    def _chunk(self, rows: Iterable[Row]) -> Iterator[Row]:
        previous, topics = PreviousAssignment(), Topics({})
        chains = dict.fromkeys(self.assignors, previous)
        counts: PartitionCounts | None = None
        for row in rows:
            if not (row["in_bounds"] or row["carried"]):
                assigned = {"partitions_assigned": row["partitions_assigned"]}
                yield _key(row) | OUT_OF_BOUNDS | assigned
                continue
            # All rows have the same counts.
            counts = counts or counts_from_entries(row["topic_counts"] or ())
            generation = decode_generation(row)
            partitions, source = counts.at(generation.topics, generation.time_ms)
            # Keep the object while the counts do not change, because the object caches its tables.
            topics = topics if topics.partitions == partitions else Topics(partitions)
            rerun = GenerationRerun(generation, topics)
            if row["carried"]:
                chains = {name: start_of_chain(name, rerun) for name in self.assignors}
            else:
                key = _key(row) | {"partition_count_source": source}
                step_rows = steps(self.assignors, rerun, previous)
                for result in (*step_rows, *links(rerun, chains)):
                    yield key | result
            previous = rerun.actual_as_previous()


def one_by_one(rows: pa.Table) -> Iterator[Row]:
    """The rows as dicts: Python objects need ten times the memory of the table."""
    for batch in rows.to_batches(max_chunksize=1):
        yield from batch.to_pylist()


def in_parts(rows: Iterable[Row], schema: pa.Schema) -> pa.Table:
    """The rows as a table, of which some are Python objects at a time."""
    tables, part, size = [schema.empty_table()], list[Row](), 0
    for row in rows:
        part.append(row)
        size += 1 + len(row.get("partition") or ())
        if size >= VALUES_AT_ONCE:
            tables.append(pa.Table.from_pylist(part, schema))
            part, size = [], 0
    return pa.concat_tables([*tables, pa.Table.from_pylist(part, schema)])


def _key(row: Row) -> Row:
    return {name: row[name] for name in GENERATION_COLUMNS}


def steps(
    assignors: Iterable[str], rerun: GenerationRerun, previous: PreviousAssignment
) -> Iterator[Row]:
    """The rows of one generation: the actual assignment, and a step of each assignor."""
    generation, before = rerun.generation, rerun.owners_before(previous)
    actual = _quality(rerun.actual, before)
    yield {"assignor": ACTUAL, "mode": STEP, "own": False} | actual
    for name in assignors:
        own = name == generation.protocol
        row = {"assignor": name, "mode": STEP, "own": own}
        try:
            result = rerun.own_assignor() if own else rerun.assignor_after(name, previous)
        except AssignorError:
            yield row | FAILED | {"difference": "assignor_fails"}
        else:
            row["difference"] = rerun.difference(name, result)
            lists = _assigned_lists(generation, result.lists)
            yield row | _quality(result, before) | lists


def links(rerun: GenerationRerun, chains: dict[str, PreviousAssignment]) -> Iterator[Row]:
    """Yields the next row of each chain, and extends the chain."""
    for name, previous in chains.items():
        row, chains[name] = _link(name, rerun, previous)
        yield row


def _link(
    name: str, rerun: GenerationRerun, previous: PreviousAssignment
) -> tuple[Row, PreviousAssignment]:
    generation = rerun.generation
    length = previous.chain_length + 1
    own = name == generation.protocol
    row = {"assignor": name, "mode": CHAIN, "own": own, "chain_length": length}
    try:
        result = rerun.assignor_after(name, previous)
    except AssignorError:
        return row | FAILED, PreviousAssignment()
    owner = {**previous.owner, **result.assigned.owner}
    link = as_previous(generation, result.lists, owner)
    quality = _quality(result, rerun.owners_before(previous))
    return row | quality, replace(link, chain_length=length)


def start_of_chain(name: str, rerun: GenerationRerun) -> PreviousAssignment:
    """The actual assignment; for an assignor without memory, its own result."""
    if name not in WITHOUT_MEMORY:
        return rerun.actual_as_previous()
    result = rerun.assignor_after(name, PreviousAssignment())
    return as_previous(rerun.generation, result.lists, result.assigned.owner)


def _assigned_lists(generation: RecordedGeneration, lists: Assignment) -> Row:
    assigned = [tp for partitions in lists.values() for tp in partitions]
    ids = [member_id for member_id, partitions in lists.items() for _ in partitions]
    return {
        "member_id": [generation.last_id[member_id] for member_id in ids],
        "process": [generation.process[member_id] for member_id in ids],
        "topic": [topic for topic, _ in assigned],
        "partition": [partition for _, partition in assigned],
    }
