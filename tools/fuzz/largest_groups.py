"""Groups with as many members and partitions as Kafka allows in practice.

A function writes the segment of one group, and the log of its coordinator if the group is classic.
The assignments are those of Kafka's assignors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from coordinator_core.assignors import ASSIGNORS, NO_GENERATION, Assignment, Member, Topics
from coordinator_core.assignors.subscriptions import in_owned_field
from coordinator_core.records import Assignment as Assigned
from coordinator_core.records import (
    Subscription,
    encode_assignment,
    encode_key,
    encode_subscription,
    encode_value,
)
from jobs.segments.writer import Pair, record_batch

GROUP, FIRST_MS, STEP_MS = "orders", 1_795_219_200_000, 60_000
TOPICS = {f"topic-{letter}": f"{letter * 21}A" for letter in "ABCDEFGHIJ"}
COOPERATIVE = "cooperative-sticky"
RECORDS_PER_BATCH = 1000


def members_of_generations(count: int) -> Iterator[list[str]]:
    """All members; without a hundredth of them; these again with new ids, which takes a
    cooperative group two generations; all with new ids; and without another hundredth."""
    gone = max(count // 100, 1)
    first, again, last = (
        [f"orders-{number:05}-{UUID(int=start << 100 | number)}" for number in range(count)]
        for start in (1, 2, 3)
    )
    yield first
    yield first[gone:]
    yield first[gone:] + again[:gone]
    yield first[gone:] + again[:gone]
    yield last
    yield last[gone:]


def classic(folder: Path, protocol: str, members: int, partitions: int) -> None:
    """A group of the classic protocol: a record per generation, commits and the log's lines."""
    topics, lists = _topics(TOPICS, partitions), Assignment()
    records, lines = list[tuple[int, Pair]](), list[str]()
    for number, ids in enumerate(members_of_generations(members), 1):
        at_ms = FIRST_MS + number * STEP_MS
        lines += _lines(number, at_ms, sorted(lists.keys() - set(ids)), ids)
        sent = [_sent(protocol, each, lists, number) for each in ids]
        lists = ASSIGNORS[protocol](topics, sent)
        records.append((at_ms, _generation(number, at_ms, protocol, sent, lists)))
        records += [(at_ms + STEP_MS // 2, _commit(at_ms, *each)) for each in topics.table]
    _write(folder, records)
    (folder / "server.log").write_text("".join(f"{line}\n" for line in lines))


def _topics(names: Sequence[str] | Mapping[str, str], partitions: int) -> Topics:
    return Topics(dict.fromkeys(names, partitions // len(names)))


def _sent(protocol: str, name: str, lists: Assignment, number: int) -> Member:
    """The member as it joins generation ``number``."""
    own = Member(name, list(TOPICS), instance_id=_instance(name))
    if protocol != COOPERATIVE or name not in lists:
        return own
    owned, generation = in_owned_field(lists[name]), number - 1
    return own._replace(owned=owned, generation=generation, field_generation=generation)


def _number(member_id: str) -> int:
    return int(member_id.split("-")[1])


def _instance(member_id: str) -> str | None:
    """Every other process is a static member."""
    number = _number(member_id)
    return f"orders-{number:05}" if number % 2 else None


def _generation(
    number: int, at_ms: int, protocol: str, members: Sequence[Member], lists: Assignment
) -> Pair:
    fields = {
        "protocol_type": "consumer",
        "generation": number,
        "protocol": protocol,
        "leader": members[0].member_id,
        "current_state_timestamp": at_ms,
        "members": [_classic_member(member, lists) for member in members],
    }
    return encode_key(2, {"group": GROUP}), encode_value(2, 3, fields)


def _classic_member(member: Member, lists: Assignment) -> dict[str, Any]:
    generation = member.generation
    owned = Subscription(3, list(member.topics), None, _lists(member.owned), generation)
    assigned = Assigned(3, _lists(in_owned_field(lists[member.member_id])))
    return {
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        **_client(member.member_id),
        "rebalance_timeout": 300_000,
        "session_timeout": 45_000,
        "subscription": encode_subscription(owned),
        "assignment": encode_assignment(assigned),
    }


def _lists(grouped: Sequence[tuple[str, Sequence[int]]]) -> list[tuple[str, list[int]]]:
    return [(topic, list(partitions)) for topic, partitions in grouped]


def _client(member_id: str) -> dict[str, str]:
    """Each process has a host of its own, so it is the same process after a restart."""
    number = _number(member_id)
    host = f"/10.0.{number >> 8}.{number & 255}"
    return {"client_id": f"orders-{number:05}", "client_host": host}


def _commit(at_ms: int, topic: str, partition: int) -> Pair:
    key = encode_key(1, {"group": GROUP, "topic": topic, "partition": partition})
    offset = (at_ms - FIRST_MS) // 10
    fields = {"offset": offset, "metadata": "", "commit_timestamp": at_ms + STEP_MS // 2}
    return key, encode_value(1, 3, fields)


def _lines(number: int, at_ms: int, gone: Sequence[str], ids: Sequence[str]) -> Iterator[str]:
    cause = f"Adding new member {ids[-1]} with group instance id {_instance(ids[-1])}"
    for each in gone:
        cause = f"removing member {each} on heartbeat expiration"
        yield _line(
            at_ms - 4000,
            f"Member {each} in group {GROUP} has failed, removing it from the group",
        )
    yield _line(
        at_ms - 3000,
        f"Preparing to rebalance group {GROUP} in state PreparingRebalance with old generation"
        f" {number - 1} (__consumer_offsets-0) (reason: {cause})",
    )
    count = len(ids)
    static = sum(_instance(each) is not None for each in ids)
    yield _line(
        at_ms - 50,
        f"Stabilized group {GROUP} generation {number} (__consumer_offsets-0) with {count} members",
    )
    yield _line(
        at_ms,
        f"Assignment received from leader {ids[0]} for group {GROUP} for generation {number}."
        f" The group has {count} members, {static} of which are static.",
    )


def _line(at_ms: int, text: str) -> str:
    time = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    where = "(kafka.coordinator.group.GroupCoordinator)"
    return f"[{time},{at_ms % 1000:03}] INFO [GroupCoordinator 1]: {text} {where}"


def consumer(folder: Path, members: int, partitions: int) -> None:
    """A group of the consumer protocol: its members join in four parts, then some leave and
    return.  Each change is a group epoch with the uniform assignor's target."""
    topics = _topics(list(TOPICS.values()), partitions)
    target, records = Assignment(), list[tuple[int, Pair]]()
    for epoch, ids in enumerate(_members_of_epochs(members), 1):
        at_ms = FIRST_MS + epoch * STEP_MS
        owned = {each: in_owned_field(target.get(each, ())) for each in ids}
        sent = [Member(each, list(topics.partitions), owned[each], NO_GENERATION) for each in ids]
        before, target = target, ASSIGNORS["uniform"](topics, sent)
        pairs = _epoch(epoch, before, target)
        records += [(at_ms, pair) for pair in pairs]
        records += [(at_ms + STEP_MS // 4, _current(each, epoch, target[each])) for each in target]
        names = dict(zip(TOPICS.values(), TOPICS, strict=True))
        records += [
            (at_ms + STEP_MS // 2, _commit(at_ms, names[topic], each))
            for topic, each in topics.table
        ]
    _write(folder, records)


def _members_of_epochs(count: int) -> Iterator[list[str]]:
    generations = list(members_of_generations(count))
    for quarter in (1, 2, 3):
        yield generations[0][: count * quarter // 4]
    yield from generations[:3]
    yield from generations[4:]


def _epoch(epoch: int, before: Assignment, target: Assignment) -> Iterator[Pair]:
    for each in sorted(before.keys() - target.keys()):
        for type_ in (8, 7, 5):
            yield _member_key(type_, each), None
    for each in sorted(target.keys() - before.keys()):
        fields = {
            "instance_id": None,
            "rack_id": None,
            **_client(each),
            "subscribed_topic_names": list(TOPICS),
            "subscribed_topic_regex": None,
            "rebalance_timeout_ms": 300_000,
            "server_assignor": None,
            "classic_member_metadata": None,
        }
        yield _member_key(5, each), encode_value(5, 0, fields)
    yield encode_key(3, {"group_id": GROUP}), encode_value(3, 0, {"epoch": epoch})
    for each, partitions in target.items():
        if before.get(each) != partitions:
            value = encode_value(7, 0, {"topic_partitions": _by_id(partitions)})
            yield _member_key(7, each), value
    yield encode_key(6, {"group_id": GROUP}), encode_value(6, 0, {"assignment_epoch": epoch})


def _current(member_id: str, epoch: int, partitions: Sequence[tuple[str, int]]) -> Pair:
    fields = {
        "member_epoch": epoch,
        "previous_member_epoch": epoch - 1,
        "state": 0,
        "assigned_partitions": _by_id(partitions),
        "partitions_pending_revocation": [],
    }
    return _member_key(8, member_id), encode_value(8, 0, fields)


def _member_key(type_: int, member_id: str) -> bytes:
    return encode_key(type_, {"group_id": GROUP, "member_id": member_id})


def _by_id(partitions: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    grouped = _lists(in_owned_field(partitions))
    return [{"topic_id": topic, "partitions": numbers} for topic, numbers in grouped]


def _write(folder: Path, records: Sequence[tuple[int, Pair]]) -> None:
    file = folder / "segments" / "__consumer_offsets-0" / "00000000000000000000.log"
    file.parent.mkdir(parents=True)
    offset = 0
    with file.open("wb") as out:
        for at_ms, pairs in _batches(records):
            out.write(record_batch(offset, 0, at_ms, pairs))
            offset += len(pairs)


def _batches(records: Sequence[tuple[int, Pair]]) -> Iterator[tuple[int, list[Pair]]]:
    batch: list[Pair] = []
    batch_ms = 0
    for at_ms, pair in records:
        if batch and (at_ms != batch_ms or len(batch) == RECORDS_PER_BATCH):
            yield batch_ms, batch
            batch = []
        batch_ms = at_ms
        batch.append(pair)
    yield batch_ms, batch
