"""The subscriptions in a JoinGroup, and the assignments that a leader computes from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
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
from coordinator_core.client.context import ClientContext
from coordinator_core.client.messages import NO_GENERATION
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

# A generation below all later generations of the group.
_CLAIMED_GENERATION = 1


class LastAssignment(NamedTuple):
    """The last assignment in the order received, with its generation, which sticky assignors
    use.
    """

    partitions: tuple[TopicPartition, ...]
    generation: int


def is_cooperative(protocols: Collection[str]) -> bool:
    """Returns whether all assignors support the cooperative protocol; otherwise the member is
    eager.
    """
    return all(name == "cooperative-sticky" for name in protocols)


Partitions = Collection[TopicPartition]


def subscriptions(
    context: ClientContext, owned: Partitions, last: LastAssignment | None
) -> Protocols:
    """The library's subscription bytes per assignor, in order of preference."""
    claims = context.config.claims
    if claims and last is None and is_cooperative(context.protocols):
        owned, last = claims, LastAssignment(claims, _CLAIMED_GENERATION)
    write = _of_librdkafka if context.library.is_librdkafka else _of_java
    return tuple(
        (name, encode_subscription(write(context, name, owned, last))) for name in context.protocols
    )


def _of_java(
    context: ClientContext, name: str, owned: Partitions, last: LastAssignment | None
) -> Subscription:
    return Subscription(
        context.library.subscription_version,
        list(in_topics_field(context.topics)),
        _java_user_data(context, name, last),
        _lists(in_owned_field(owned)),
        context.generation.generation,
        context.config.rack,
    )


def _java_user_data(context: ClientContext, name: str, last: LastAssignment | None) -> bytes | None:
    if name == "cooperative-sticky":
        return encode_cooperative_sticky_user_data(last.generation if last else NO_GENERATION)
    if name != "sticky" or last is None:
        return context.library.empty_user_data
    generation = last.generation if context.library.sticky_has_generation else None
    return encode_sticky_user_data(
        StickyUserData(_lists(in_user_data(last.partitions)), generation)
    )


def _of_librdkafka(
    context: ClientContext, name: str, owned: Partitions, last: LastAssignment | None
) -> Subscription:
    """In librdkafka every sticky assignor writes the user data of Java's StickyAssignor."""
    is_sticky = name.endswith("sticky") and last is not None
    user_data = context.library.empty_user_data
    if is_sticky and last is not None:
        user_data = encode_sticky_user_data(
            StickyUserData(_lists(grouped(last.partitions)), last.generation)
        )
    return Subscription(
        context.library.subscription_version,
        list(in_topics_field(context.topics)),
        user_data,
        _lists(in_owned_field(owned)),
        last.generation if is_sticky and last is not None else NO_GENERATION,
        context.config.rack or "",
    )


def topics_of(joined: JoinResponse) -> tuple[str, ...]:
    """All topics of the group, sorted, from the leader's JoinGroup response.  Raises BadRecord."""
    topics: set[str] = set()
    for _, _, metadata in joined.members:
        topics.update(_subscription(metadata).topics)
    return tuple(sorted(topics))


def assign(
    context: ClientContext, joined: JoinResponse, partitions: Mapping[str, int]
) -> dict[str, bytes]:
    """The leader's assignments for SyncGroup, by member id.

    Raises AssignorError if the assignor fails or a subscription is unreadable.
    """
    name = joined.protocol_name or ""
    try:
        members = [as_read(name, id_, data, instance) for id_, instance, data in joined.members]
    except BadRecord as bad:
        raise AssignorError(str(bad)) from bad
    lists = context.assignors[name](Topics(partitions), members)
    user_data = _user_data(context, joined)
    version = context.library.assignment_version
    return {
        member_id: encode_assignment(
            Assignment(version, _lists(grouped(lists[member_id])), user_data.get(member_id))
        )
        for member_id, _, _ in joined.members
    }


def _user_data(context: ClientContext, joined: JoinResponse) -> Mapping[str, bytes | None]:
    """librdkafka returns each member's own user data; other libraries write null or empty data."""
    if not context.library.is_librdkafka:
        return {member_id: context.library.empty_user_data for member_id, _, _ in joined.members}
    return {id_: _subscription(data).user_data for id_, _, data in joined.members}


# Cache the bytes: simulated members send and receive the same bytes many times, above all in
# what-if.
_subscription = lru_cache(maxsize=4096)(decode_subscription)


@lru_cache(maxsize=4096)
def assigned(data: bytes) -> tuple[TopicPartition, ...]:
    """The partitions of an assignment in the order of the bytes.  Raises BadRecord."""
    lists = decode_assignment(data).partitions
    return tuple((topic, partition) for topic, numbers in lists for partition in numbers)


def _lists(by_topic: Grouped | Sequence[tuple[str, Sequence[int]]]) -> list[tuple[str, list[int]]]:
    return [(topic, list(numbers)) for topic, numbers in by_topic]
