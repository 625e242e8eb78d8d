"""The target assignment: when it is computed, and by which assignor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

from coordinator_core.assignors.model import Member, TopicPartition, Topics
from coordinator_core.assignors.range import assign_on_server
from coordinator_core.assignors.uniform import equal, unequal
from coordinator_core.coordinator.consumer.draft import Draft
from coordinator_core.coordinator.consumer.group import ConsumerMember, Partitions
from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.coordinator.consumer.records import member_target_record, target_record
from coordinator_core.coordinator.consumer.subscriptions import (
    names_in_order,
    next_assignor,
    with_member,
)
from coordinator_core.coordinator.modern.configuration import setting_ms
from coordinator_core.coordinator.modern.order import (
    in_order_of_copied_ids,
    in_order_of_ids,
    in_order_of_uuids,
)
from coordinator_core.coordinator.turn import Turn
from coordinator_core.jvm.hash_codes import uuid_hash
from coordinator_core.jvm.hash_tables import (
    HashTable,
    IntSet,
    copied_ints,
    table_size_for,
)
from coordinator_core.jvm.java_maps import LOAD_FACTOR, hash_order


class Target:
    """A member's part of a target assignment, and the target's epoch."""

    __slots__ = ("epoch", "partitions")

    def __init__(self, epoch: int, partitions: Partitions) -> None:
        self.epoch = epoch
        self.partitions = partitions


def default_assignor(turn: Turn) -> str:
    """The first of group.consumer.assignors."""
    return assignors(turn)[0]


def assignors(turn: Turn) -> list[str]:
    """The names of group.consumer.assignors that are built into Kafka."""
    names = turn.config.modern.other(CONSUMER, "assignors")
    return [name.strip() for name in names.split(",")]


def update_target(draft: Draft, after: ConsumerMember) -> Target:
    """The target of ``after``, computed if the group's epoch is ahead and the interval over.

    Raises AssignorError if Kafka's assignor throws an exception.
    """
    group = draft.group
    if draft.epoch <= group.assignment_epoch or not _may_compute(draft):
        return Target(group.assignment_epoch, group.target_of(after))
    members = with_member(group, after)
    present = _present_targets(draft, members, after)
    assignment = _Assignment(draft, members, present, after)
    for member in members:
        target = assignment.targets[member.member_id]
        if draft.rules.compares_replaced_targets:
            previous = present.get(member.member_id)
        else:
            previous = group.targets.get(member.member_id)
        if target != previous:
            rows = assignment.rows(member)
            draft.records.append(member_target_record(draft.group_id, member.member_id, rows))
    now_ms = draft.turn.now_ms
    draft.records.append(target_record(draft.rules, draft.group_id, draft.epoch, now_ms))
    return Target(draft.epoch, assignment.in_order(after))


def _may_compute(draft: Draft) -> bool:
    if not draft.rules.has_assignment_interval:
        return True
    turn, last_ms = draft.turn, draft.group.assignment_timestamp_ms
    interval_ms = setting_ms(turn, draft.group_id, CONSUMER, "assignment.interval.ms")
    return last_ms == 0 or interval_ms == 0 or turn.now_ms >= last_ms + interval_ms


def _present_targets(
    draft: Draft, members: list[ConsumerMember], after: ConsumerMember
) -> dict[str, Partitions]:
    """The members' current targets; a returning static member takes the target of the replaced
    member.
    """
    targets = draft.group.targets
    present = {
        each.member_id: targets[each.member_id] for each in members if each.member_id in targets
    }
    replaced = draft.group.static_members.get(after.instance_id or "")
    if replaced is not None and replaced in targets:
        present[after.member_id] = targets[replaced]
    return present


class _Assignment:
    """The new targets of all members, and the order of Kafka's maps that hold them."""

    __slots__ = (
        "_counts",
        "_free",
        "_name",
        "_named",
        "_present",
        "_steps",
        "_subscribed",
        "_topics",
        "_turn",
        "targets",
    )

    def __init__(
        self,
        draft: Draft,
        members: list[ConsumerMember],
        present: Mapping[str, Partitions],
        after: ConsumerMember,
    ) -> None:
        self._turn = turn = draft.turn
        self._present = present
        name = next_assignor(draft.group, after, default_assignor(turn))
        turn.effects.modern_event("TARGET", draft.group_id, epoch=draft.epoch, assignor=name)
        are_equal = draft.are_equal
        if are_equal is None:
            are_equal = draft.group.are_equal
        by_id = {member.member_id: member for member in members}
        specs = [
            _spec(draft, by_id[member_id], present.get(member_id, {}))
            for member_id in hash_order(by_id)
        ]
        self._counts = {spec.member_id: len(spec.topics) for spec in specs}
        self._topics = _subscribers(turn, specs)
        self._subscribed = {
            spec.member_id: {turn.image.topics[name].topic_id for name in spec.topics}
            for spec in specs
        }
        self._steps: list[unequal.PartitionMove] = []
        self._free: list[tuple[str, int]] | None = None
        if name == "range":
            self._name = name
            # The assignor sizes its maps by all names, including topics that do not exist.
            self._counts = {each: len(draft.group.topics_of(by_id[each])) for each in self._counts}
            self._named = {spec.member_id: _ids(turn, spec) for spec in specs}
            # The assignor reads this value from the first member and uses it for all members.
            if are_equal:
                first = min(specs, key=_range_order)
                specs = [spec._replace(topics=first.topics) for spec in specs]
                self._counts = dict.fromkeys(self._counts, len(first.topics))
                self._named = dict.fromkeys(self._counts, _ids(turn, first))
            assigned = assign_on_server(_topics(turn, specs, in_order_of_ids), specs)
        elif are_equal:
            self._name = "equal"
            topics = _topics(turn, specs[:1], in_order_of_copied_ids)
            assigned = equal.assign(topics, specs)
        else:
            self._name = "unequal"
            topics = _topics(turn, specs, in_order_of_uuids)
            assigned, self._steps = unequal.assign_in_steps(topics, specs)
        self.targets = {each: _by_id(turn, assigned.get(each, [])) for each in by_id}

    def in_order(self, member: ConsumerMember) -> Partitions:
        """The member's target in the order of ``rows``."""
        return {topic_id: dict.fromkeys(numbers).keys() for topic_id, numbers in self.rows(member)}

    def rows(self, member: ConsumerMember) -> list[tuple[str, list[int]]]:
        """The member's topics and partitions in the order of the maps that the assignor fills."""
        member_id = member.member_id
        if self._name == "range":
            capacity = table_size_for(int(self._counts[member_id] / LOAD_FACTOR + 1))
            target = self.targets[member_id]
            own = [each for each in self._named[member_id] if each in target]
            topics = in_order_of_ids(own, capacity)
            return [(topic_id, sorted(target[topic_id])) for topic_id in topics]
        if self._name == "equal":
            return [(each, numbers.keys()) for each, numbers in self._filled(member_id).items()]
        return [(each, numbers.keys()) for each, numbers in self._stepped(member_id).items()]

    def _copy(self, member_id: str) -> HashTable[str, IntSet]:
        """The assignor's copy of the previous target."""
        before = self._present.get(member_id, {})
        copy: HashTable[str, IntSet] = HashTable(uuid_hash, table_size_for(len(before)))
        for topic_id in in_order_of_ids(before):
            copy.put(topic_id, copied_ints(before[topic_id]))
        return copy

    def _filled(self, member_id: str) -> HashTable[str, IntSet]:
        """If subscriptions are equal: first revoke partitions, then assign free partitions in
        order.

        The map of a member whose target does not change is reused, not copied.
        """
        target, before = self.targets[member_id], self._present.get(member_id, {})
        if target == before:
            same: HashTable[str, IntSet] = HashTable(uuid_hash)
            for topic_id in in_order_of_ids(before):
                same.put(topic_id, IntSet(before[topic_id]))
            return same
        copy = self._copy(member_id)
        for topic_id, partitions in before.items():
            for partition in partitions - target.get(topic_id, frozenset()):
                copy[topic_id].remove(partition)
            if topic_id not in target:
                copy.remove(topic_id)
        if self._free is None:
            self._free = self._free_partitions()
        for topic_id, partition in self._free:
            if partition in target.get(topic_id, ()) and partition not in before.get(topic_id, ()):
                copy.compute_if_absent(topic_id, IntSet).add(partition)
        return copy

    def _free_partitions(self) -> list[tuple[str, int]]:
        """If subscriptions are equal: partitions in the order in which they are assigned.

        Partitions without a previous owner come first, then partitions that members give up.
        """
        had: set[tuple[str, int]] = set()
        given_up: list[tuple[str, int]] = []
        for member_id in self._counts:
            before, target = self._present.get(member_id, {}), self.targets[member_id]
            for topic_id in in_order_of_ids(before):
                for partition in before[topic_id]:
                    had.add((topic_id, partition))
                    if partition not in target.get(topic_id, ()):
                        given_up.append((topic_id, partition))
        by_id = self._turn.image.by_id
        free = [
            (topic_id, partition)
            for topic_id in in_order_of_copied_ids(self._topics)
            for partition in range(by_id[topic_id].partitions)
            if (topic_id, partition) not in had
        ]
        return free + given_up

    def _stepped(self, member_id: str) -> HashTable[str, IntSet]:
        """If subscriptions differ: the steps of filling and balancing."""
        copy, by_name = self._copy(member_id), self._turn.image.topics
        for topic_id in list(copy):
            if topic_id not in self._subscribed[member_id]:
                copy.remove(topic_id)
        own = list(self._counts).index(member_id)
        for step in self._steps:
            topic_id = by_name[step.topic].topic_id
            if step.owner == own:
                copy[topic_id].remove(step.partition)
                if not len(copy[topic_id]):
                    copy.remove(topic_id)
            if step.member == own:
                make = partial(IntSet, (), self._capacity_of_new(topic_id))
                copy.compute_if_absent(topic_id, make).add(step.partition)
        return copy

    def _capacity_of_new(self, topic_id: str) -> int:
        most = -(-self._turn.image.by_id[topic_id].partitions // self._topics[topic_id])
        return table_size_for(int(most / LOAD_FACTOR + 1))


def _range_order(member: Member) -> tuple[bool, str]:
    """Static members by instance id come before dynamic members by member id."""
    is_dynamic = member.instance_id is None
    return is_dynamic, member.member_id if member.instance_id is None else member.instance_id


def _spec(draft: Draft, member: ConsumerMember, present: Partitions) -> Member:
    """The member as the assignor sees it: topics that exist, and its present target."""
    image = draft.turn.image
    owned = [
        (image.by_id[topic_id].name, list(present[topic_id]))
        for topic_id in in_order_of_ids(present)
        if topic_id in image.by_id
    ]
    topics = [name for name in names_in_order(draft.group, member) if name in image.topics]
    return Member(
        member_id=member.member_id, topics=topics, owned=owned, instance_id=member.instance_id
    )


def _ids(turn: Turn, spec: Member) -> list[str]:
    return [turn.image.topics[name].topic_id for name in spec.topics]


def _topics(
    turn: Turn, specs: list[Member], order: Callable[[Collection[str]], list[str]]
) -> Topics:
    """The subscribed topics in this order of their ids."""
    image = turn.image
    names = dict.fromkeys([name for spec in specs for name in spec.topics])
    ids = order([image.topics[name].topic_id for name in names])
    return Topics({image.by_id[each].name: image.by_id[each].partitions for each in ids})


def _subscribers(turn: Turn, specs: list[Member]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for spec in specs:
        for name in spec.topics:
            topic_id = turn.image.topics[name].topic_id
            counts[topic_id] = counts.get(topic_id, 0) + 1
    return counts


def _by_id(turn: Turn, partitions: list[TopicPartition]) -> Partitions:
    targets: dict[str, set[int]] = {}
    for topic, partition in partitions:
        targets.setdefault(turn.image.topics[topic].topic_id, set()).add(partition)
    return {topic_id: frozenset(numbers) for topic_id, numbers in targets.items()}
