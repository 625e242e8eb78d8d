"""What a consumer writes into its JoinGroup, and what a leader makes of everybody's."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from coordinator_core.assignors import AssignorError, Topics
from coordinator_core.assignors.subscriptions import (
    Grouped,
    as_read,
    grouped,
    in_owned_field,
    in_topics_field,
    in_user_data,
)
from coordinator_core.client.messages import NO_GENERATION
from coordinator_core.client.shell import Shell
from coordinator_core.protocol.messages import JoinResponse, Protocols, TopicPartition
from coordinator_core.records import (
    Assignment,
    BadRecord,
    StickyUserData,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_cooperative_sticky_user_data,
    encode_sticky_user_data,
    encode_subscription,
)


class LastAssignment(NamedTuple):
    """What a sticky assignor keeps of the last assignment: as it came, with its generation."""

    partitions: tuple[TopicPartition, ...]
    generation: int


def is_cooperative(protocols: Collection[str]) -> bool:
    """All assignors of a consumer must know the cooperative protocol for it to be used."""
    return all(name == "cooperative-sticky" for name in protocols)


Partitions = Collection[TopicPartition]


def subscriptions(shell: Shell, owned: Partitions, last: LastAssignment | None) -> Protocols:
    """By assignor, most wanted first, as the library writes them."""
    write = _of_librdkafka if shell.library.is_librdkafka else _of_java
    return tuple(
        (name, encode_subscription(write(shell, name, owned, last))) for name in shell.protocols
    )


def _of_java(
    shell: Shell, name: str, owned: Partitions, last: LastAssignment | None
) -> Subscription:
    return Subscription(
        shell.library.subscription_version,
        list(in_topics_field(shell.topics)),
        _java_user_data(shell, name, last),
        _lists(in_owned_field(owned)),
        shell.generation.generation,
        shell.config.rack,
    )


def _java_user_data(shell: Shell, name: str, last: LastAssignment | None) -> bytes | None:
    if name == "cooperative-sticky":
        return encode_cooperative_sticky_user_data(last.generation if last else NO_GENERATION)
    if name != "sticky" or last is None:
        return shell.library.empty_user_data
    generation = last.generation if shell.library.sticky_has_generation else None
    return encode_sticky_user_data(
        StickyUserData(_lists(in_user_data(last.partitions)), generation)
    )


def _of_librdkafka(
    shell: Shell, name: str, owned: Partitions, last: LastAssignment | None
) -> Subscription:
    """All sticky assignors there have the user data of Java's sticky one."""
    is_sticky = name.endswith("sticky") and last is not None
    user_data = shell.library.empty_user_data
    if is_sticky and last is not None:
        user_data = encode_sticky_user_data(
            StickyUserData(_lists(grouped(last.partitions)), last.generation)
        )
    return Subscription(
        shell.library.subscription_version,
        list(in_topics_field(shell.topics)),
        user_data,
        _lists(in_owned_field(owned)),
        last.generation if is_sticky and last is not None else NO_GENERATION,
        shell.config.rack or "",
    )


def topics_of(joined: JoinResponse) -> tuple[str, ...]:
    """Everybody's topics, as the leader learns them.  BadRecord."""
    topics: set[str] = set()
    for _, _, metadata in joined.members:
        topics.update(decode_subscription(metadata).topics)
    return tuple(sorted(topics))


def assign(shell: Shell, joined: JoinResponse, partitions: Mapping[str, int]) -> dict[str, bytes]:
    """The leader's part: everybody's assignment, as it goes into SyncGroup.

    AssignorError where the assignor throws, and for subscriptions that cannot be read.
    """
    name = joined.protocol_name or ""
    try:
        members = [as_read(name, id_, data, instance) for id_, instance, data in joined.members]
    except BadRecord as bad:
        raise AssignorError(str(bad)) from bad
    lists = shell.assignors[name](Topics(partitions), members)
    user_data = _user_data(shell, joined)
    version = shell.library.assignment_version
    return {
        member_id: encode_assignment(
            Assignment(version, _lists(grouped(lists[member_id])), user_data.get(member_id))
        )
        for member_id, _, _ in joined.members
    }


def _user_data(shell: Shell, joined: JoinResponse) -> Mapping[str, bytes | None]:
    """librdkafka hands every member's own back to it; others write none, or an empty one."""
    if not shell.library.is_librdkafka:
        return {member_id: shell.library.empty_user_data for member_id, _, _ in joined.members}
    return {id_: decode_subscription(data).user_data for id_, _, data in joined.members}


def assigned(data: bytes) -> tuple[TopicPartition, ...]:
    """The partitions in the order of the bytes.  BadRecord."""
    lists = decode_assignment(data).partitions
    return tuple((topic, partition) for topic, numbers in lists for partition in numbers)


def _lists(by_topic: Grouped | Sequence[tuple[str, Sequence[int]]]) -> list[tuple[str, list[int]]]:
    return [(topic, list(numbers)) for topic, numbers in by_topic]
