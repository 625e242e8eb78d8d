"""The coordinator's assignors re-run on the target assignments of consumer groups.

A target has every partition of the subscribed topics, so it has their partition counts, too.
Topics are topic ids here; subscriptions have names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from coordinator_core.assignors import (
    SERVER_ASSIGNORS,
    Assignment,
    Assignor,
    Member,
    TopicPartition,
    Topics,
)
from coordinator_core.assignors.range import assign_on_server
from coordinator_core.assignors.uniform import equal, unequal
from coordinator_core.coordinator.modern.order import (
    in_order_of_copied_ids,
    in_order_of_ids,
    in_order_of_ints,
    in_order_of_uuids,
)
from coordinator_core.jvm.java_maps import hash_order
from coordinator_core.modern_history import (
    Generation,
    History,
    ListsByTopic,
    Subscriber,
    TargetInput,
)
from jobs.assignments import ACTUAL
from jobs.assignors.recorded import RecordedGeneration, Row, identities
from jobs.assignors.rerun import (
    ASSIGNED_LISTS,
    CHAIN,
    FAILED,
    LARGE,
    LARGE_RERUNS,
    OUT_OF_BOUNDS,
    STEP,
    WITHOUT_MEMORY,
    AssignorResult,
    GenerationRerun,
    PreviousAssignment,
    links,
    start_of_chain,
    steps,
)
from jobs.modern_history.rows import Names, date_of

TARGET = "target"
# Assignors by their name in the coordinator.
_OWN_NAMES = {"range": "server-range"}
UNKNOWN_TOPICS, UNKNOWN_PREVIOUS = "topics_unknown", "previous_target_unknown"
ASSUMED, OTHER = "assignor_assumed", "other"


@dataclass(frozen=True)
class TargetRerun(GenerationRerun):
    """A target, and the results of the server assignors for it.

    ``doubt`` says why the group's own assignor may return another result.
    """

    are_equal: bool = True
    doubt: str = OTHER
    is_first: bool = False
    has_topics: bool = True

    def _assignor(self, name: str) -> Assignor:
        return partial(_assigned, name, self.are_equal)

    def difference(self, assignor: str, result: AssignorResult) -> str | None:
        if result.equals_actual:
            return None
        if self.generation.protocol not in SERVER_ASSIGNORS:
            return "custom_assignor"
        return self.doubt if assignor == self.generation.protocol else "another_assignor"

    def missing(self, assignor: str) -> str | None:
        """The evidence that the assignor needs but does not have."""
        if not self.has_topics:
            return UNKNOWN_TOPICS
        is_blind = self.is_first and assignor not in WITHOUT_MEMORY
        return UNKNOWN_PREVIOUS if is_blind else None


@dataclass(frozen=True)
class TargetRows:
    """The rows of `rerun.SCHEMA` for the targets of a history, but the key of the incarnation.

    ``chunk``: the most links of a chain; chains end at midnight, too.
    """

    names: Names
    assignors: tuple[str, ...]
    chunk: int

    def __call__(self, history: History) -> Iterator[Row]:
        last: TargetRerun | None = None
        chains: dict[str, PreviousAssignment] = {}
        bounds = _Bounds()
        for generation in history.generations:
            if generation.input is None or not generation.input.members:
                continue
            target = _rerun(generation, generation.input, self.names)
            if last is None or self._chunk_of(last) != self._chunk_of(target):
                chains = {name: _chain_from(name, last) for name in self.assignors}
            if bounds.hold(target):
                previous = _previous(target.generation, generation.input, last)
                for row in (*self._steps(target, previous), *self._links(target, chains)):
                    yield _key(target) | row
            else:
                assigned = {"partitions_assigned": target.actual.assigned.assigned}
                yield OUT_OF_BOUNDS | _key(target) | assigned
            last = target

    def _chunk_of(self, target: TargetRerun) -> tuple[object, int]:
        return date_of(target.generation.time_ms), target.generation.number // self.chunk

    def _steps(self, target: TargetRerun, previous: PreviousAssignment) -> Iterator[Row]:
        can_run = [name for name in self.assignors if target.missing(name) is None]
        for row in steps(can_run, target, previous):
            if row["assignor"] == ACTUAL and not target.has_topics:
                row |= {"moves_forced": None, "stickiness": None}
            yield self._named(row)
        for name in self.assignors:
            if (missing := target.missing(name)) is not None:
                yield _failed(target, name, STEP) | {"difference": missing}

    def _links(self, target: TargetRerun, chains: dict[str, PreviousAssignment]) -> Iterator[Row]:
        if target.has_topics:
            yield from links(target, chains)
            return
        for name, previous in chains.items():
            length = previous.chain_length + 1
            yield _failed(target, name, CHAIN) | {"chain_length": length}
            chains[name] = PreviousAssignment()

    def _named(self, row: Row) -> Row:
        """The partitions of the group's own assignor are the target's partitions, so they are not
        repeated.
        """
        if row["own"]:
            return {name: row[name] for name in row.keys() - {*ASSIGNED_LISTS}}
        if "topic" in row:
            row["topic"] = [self.names.get(each, each) for each in row["topic"]]
        return row


class _Bounds:
    """Counts the large targets of each date."""

    def __init__(self) -> None:
        self._large = Counter[object]()

    def hold(self, target: TargetRerun) -> bool:
        """Whether at most LARGE_RERUNS targets of the date, up to this one, are large."""
        size = len(target.generation.members) + target.topics.total
        on_date = date_of(target.generation.time_ms)
        self._large[on_date] += size > LARGE
        return self._large[on_date] <= LARGE_RERUNS


def _key(target: TargetRerun) -> Row:
    return {
        "generation": target.generation.number,
        "event_date": date_of(target.generation.time_ms),
        "partition_count_source": TARGET,
    }


def _failed(target: TargetRerun, name: str, mode: str) -> Row:
    return {"assignor": name, "mode": mode, "own": name == target.generation.protocol} | FAILED


def _rerun(generation: Generation, input_: TargetInput, names: Names) -> TargetRerun:
    counts = _partition_counts(input_)
    ids = {names[each]: each for each in counts if each in names}
    is_one = len({frozenset(each.names) for each in input_.members}) == 1  # one subscription
    topics_of = {each.member_id: _topics(each, is_one, ids, counts) for each in input_.members}
    in_order = dict.fromkeys(topic for topics in topics_of.values() for topic in topics)
    recorded = _recorded(generation, input_, topics_of)
    return TargetRerun(
        recorded,
        Topics({topic: counts[topic] for topic in [*in_order, *(counts.keys() - in_order)]}),
        are_equal=input_.are_equal,
        doubt=_doubt(generation, input_, counts),
        is_first=input_.is_first,
        has_topics=is_one or _is_known(input_, ids, counts),
    )


def _partition_counts(input_: TargetInput) -> dict[str, int]:
    counts: dict[str, int] = {}
    for member in input_.members:
        for topic, partitions in _target(input_, member).items():
            counts[topic] = max(counts.get(topic, 0), *(each + 1 for each in partitions))
    return counts


def _target(input_: TargetInput, member: Subscriber) -> ListsByTopic:
    lists = input_.target.get(member.member_id, {})
    return {topic: partitions for topic, partitions in lists.items() if partitions}


def _topics(
    member: Subscriber, is_one: bool, ids: Mapping[str, str], counts: Mapping[str, int]
) -> tuple[str, ...]:
    """The topics of the target that the member subscribes to; ``is_one``: as all members do."""
    named = [ids[name] for name in member.names if name in ids]
    if is_one:
        return tuple(dict.fromkeys([*named, *sorted(counts)]))
    return tuple(named)


def _is_known(input_: TargetInput, ids: Mapping[str, str], counts: Mapping[str, int]) -> bool:
    """Returns whether every topic has its name, and whether every member subscribes to the topics
    of its target.
    """
    return len(ids) == len(counts) and all(
        _target(input_, each).keys() <= {ids[name] for name in each.names if name in ids}
        for each in input_.members
    )


def _doubt(generation: Generation, input_: TargetInput, counts: Mapping[str, int]) -> str:
    """Every partition has one owner, unless records of members are missing."""
    owners = Counter(
        (topic, partition)
        for member in input_.members
        for topic, partitions in _target(input_, member).items()
        for partition in partitions
    )
    is_whole = len(owners) == owners.total() == sum(counts.values())
    if not (input_.is_complete and is_whole):
        return UNKNOWN_PREVIOUS
    return ASSUMED if generation.is_assumed else OTHER


def _recorded(
    generation: Generation, input_: TargetInput, topics_of: Mapping[str, tuple[str, ...]]
) -> RecordedGeneration:
    by_id = {each.member_id: each for each in input_.members}
    ids = hash_order(by_id)
    process = {each: generation.members[each].process for each in ids}
    own = generation.assignor or ""
    return RecordedGeneration(
        number=generation.number,
        time_ms=generation.preparing_ms,
        protocol=_OWN_NAMES.get(own, own),
        members=[
            Member(
                member_id=each,
                topics=topics_of[each],
                owned=_grouped(input_.previous.get(each, {})),
                instance_id=by_id[each].instance_id,
            )
            for each in ids
        ],
        identity=identities(process),
        process=process,
        last_id={each: each for each in ids},
        actual={each: _partitions(_target(input_, by_id[each])) for each in ids},
        led_by_java=True,
        led_by_librdkafka=False,
    )


def _previous(
    generation: RecordedGeneration, input_: TargetInput, last: TargetRerun | None
) -> PreviousAssignment:
    """The previous target; partitions of members that left belong to them until the target."""
    lists = {each: _partitions(target) for each, target in input_.previous.items()}
    owner = {} if last is None else dict(last.actual.assigned.owner)
    for member_id, partitions in lists.items():
        if member_id in generation.identity:
            owner |= dict.fromkeys(partitions, generation.identity[member_id])
    return PreviousAssignment(None, lists, {}, owner)


def _chain_from(name: str, last: TargetRerun | None) -> PreviousAssignment:
    if last is None or not last.has_topics:
        return PreviousAssignment()
    return start_of_chain(name, last)


def _assigned(
    name: str, are_equal: bool, topics: Topics, members: Sequence[Member], hashed: bool = False
) -> Assignment:
    """Run a server assignor with topics in the order of its maps."""
    if name in WITHOUT_MEMORY:
        lists = assign_on_server(topics, members)
    elif are_equal:
        lists = equal.assign(_ordered(topics, in_order_of_copied_ids), members)
    else:
        lists = unequal.assign(_ordered(topics, in_order_of_uuids), members)
    return {member_id: _in_order(partitions) for member_id, partitions in lists.items()}


def _ordered(topics: Topics, order: Callable[[Sequence[str]], list[str]]) -> Topics:
    counts = topics.partitions
    return Topics({topic: counts[topic] for topic in order(list(counts))})


def _in_order(partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
    lists: dict[str, list[int]] = {}
    for topic, partition in partitions:
        lists.setdefault(topic, []).append(partition)
    return _partitions(lists)


def _grouped(lists: Mapping[str, Sequence[int]]) -> list[tuple[str, list[int]]]:
    """A target as the assignor's maps of topics and partitions iterate over it."""
    topics = [topic for topic, partitions in lists.items() if partitions]
    return [(topic, in_order_of_ints(sorted(lists[topic]))) for topic in in_order_of_ids(topics)]


def _partitions(lists: Mapping[str, Sequence[int]]) -> list[TopicPartition]:
    return [(topic, each) for topic, partitions in _grouped(lists) for each in partitions]
