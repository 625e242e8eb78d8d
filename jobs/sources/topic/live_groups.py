"""The groups of a running cluster, as their coordinators describe them to librdkafka's Admin API.

ListGroups of every broker names the groups; the coordinator of each group is asked for its state
and members, in batches. librdkafka lists and describes only groups of consumers, of both protocols;
its deprecated call `list_groups` names all other groups: Kafka Connect's with their members, share
and streams groups by their names alone.

The response contains neither generations nor epochs nor any time, so no row has them.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka._model import ConsumerGroupState, ConsumerGroupType
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._group import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    MemberDescription,
)

from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.coordinator.consumer.group_type import CONSUMER
from jobs.console.errors import RunFailed, UsageError
from jobs.sources.topic.broker_metadata import require_answer
from jobs.sources.topic.kafka import ANSWER_LIMIT_MS, Kafka
from jobs.sources.topic.kafka_settings import client_settings

# Groups per call: more groups per call are not faster, and fewer are slower.
GROUPS_PER_BATCH = 500
FIXED: dict[str, Any] = {
    "allow.auto.create.topics": False,
    "client.id": "regroup-snapshot",
    "enable.metrics.push": False,
    "log_level": 0,
}
STATES: dict[Enum, str] = {
    ConsumerGroupState.PREPARING_REBALANCING: "PreparingRebalance",
    ConsumerGroupState.COMPLETING_REBALANCING: "CompletingRebalance",
    ConsumerGroupState.STABLE: "Stable",
    ConsumerGroupState.DEAD: "Dead",
    ConsumerGroupState.EMPTY: "Empty",
    # librdkafka does not know the two states that only consumer groups have.
    ConsumerGroupState.UNKNOWN: "Reconciling",
}
TYPES: dict[Enum, str] = {
    ConsumerGroupType.CLASSIC: CLASSIC.name,
    ConsumerGroupType.CONSUMER: CONSUMER.name,
}
NOT_DESCRIBABLE = "a share or streams group, which the client library cannot describe"

Partitions = list[dict[str, Any]]  # {topic, partitions}


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """The columns of group_snapshots that do not depend on the snapshot.

    ``members`` are structs of its column members, or None if the group was not described.
    ``assignment_bytes`` has the assignments by member id, for a group whose assignments are not a
    consumer's.
    """

    group_id: str
    requested_time: datetime
    described_time: datetime
    group_type: str | None = None
    protocol_type: str | None = None
    state: str | None = None
    protocol: str | None = None
    coordinator_id: int | None = None
    members: list[dict[str, Any]] | None = None
    error: str | None = None
    assignment_bytes: Mapping[str, bytes] = field(default_factory=dict)

    def columns(self) -> dict[str, Any]:
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        del own["assignment_bytes"]
        count = None if self.members is None else len(self.members)
        return own | {"member_count": count, "assignment_hash": self._hash()}

    def _hash(self) -> str | None:
        """A hash of the values that a rebalance changes; a static member that was replaced keeps
        its assignment.

        Snapshots of different versions are compared, so the hashed text must stay as it is.
        """
        if self.members is None:
            return None
        of_members = (
            (
                member["instance_id"] or member["member_id"],
                member["assigned"],
                self.assignment_bytes.get(member["member_id"]),
            )
            for member in self.members
        )
        assigned = sorted(of_members, key=repr)
        return hashlib.sha256(repr(assigned).encode()).hexdigest()[:16]


class LiveGroups:
    """``problems`` say what the last call of `rows` could not list, a line each."""

    def __init__(self, bootstrap: str, settings: Mapping[str, str]) -> None:
        """Raises UsageError for settings of [kafka] that librdkafka refuses or has no equivalent
        for; raises RunFailed if no broker answers or lets this user log in."""
        self._bootstrap = Kafka(bootstrap, option="--bootstrap").bootstrap
        security = client_settings(settings)
        if security.untranslatable:
            raise UsageError(
                f"[kafka] {security.untranslatable[0]}: the client library, librdkafka, has no "
                "equivalent; give PEM certificates, and PLAIN or SCRAM logins"
            )
        self._limit_s = int(settings.get("default.api.timeout.ms", ANSWER_LIMIT_MS)) / 1000
        require_answer(Kafka(self._bootstrap, option="--bootstrap"), security.values, settings)
        self._client = AdminClient(
            {**security.values, **FIXED, "bootstrap.servers": self._bootstrap}
        )
        self.problems: list[str] = []

    def rows(self, previous: Collection[str] = ()) -> Iterator[GroupRow]:
        """One row per group, by group id within each batch.  ``previous`` has groups of the
        previous snapshot, which are asked for even if no broker lists them.

        Raises RunFailed if the brokers do not answer.
        """
        self.problems = []
        # List these groups first, so that a group created in the meantime is in the second list.
        others = self._all_groups()
        types = self._consumer_groups()
        if not types and not others and not self.problems:
            self.problems.append(
                "no group is listed: the cluster has no groups, or this user lacks DESCRIBE on them"
            )
        seen_at = datetime.now(UTC)
        other_rows = [
            other_group(group, seen_at)
            for name, group in others.items()
            if name not in types and not _has_consumers(group)
        ]
        yield from other_rows
        # Groups that no broker lists any more, or whose broker did not respond.
        unlisted = {*previous, *others} - types.keys() - {row.group_id for row in other_rows}
        names = sorted({*types, *unlisted})
        for start in range(0, len(names), GROUPS_PER_BATCH):
            yield from self._described(names[start : start + GROUPS_PER_BATCH], types)

    def _consumer_groups(self) -> dict[str, str | None]:
        """The type of each group of consumers; a broker that does not answer is a problem."""
        try:
            listed = self._client.list_consumer_groups(request_timeout=self._limit_s).result()
        except KafkaException as error:
            raise RunFailed(f"--bootstrap {self._bootstrap}: {_reason(error)}") from None
        reasons = sorted({_reason(error) for error in listed.errors or ()})
        if reasons and not listed.valid:
            raise RunFailed(f"--bootstrap {self._bootstrap}: ListGroups: {reasons[0]}")
        self.problems += [f"a broker did not list its groups: {reason}" for reason in reasons]
        return dict(map(_type_by_name, listed.valid or ()))

    def _all_groups(self) -> dict[str, Any]:
        """Groups of all types."""
        with warnings.catch_warnings():
            # This call is deprecated, but no other call lists groups whose type is not consumer.
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                groups: list[Any] = self._client.list_groups(timeout=self._limit_s)
            except KafkaException as error:
                self.problems.append(
                    f"groups of Kafka Connect, share and streams groups not listed: "
                    f"{_reason(error)}"
                )
                return {}
        return {group.id: group for group in groups}

    def _described(self, names: list[str], types: Mapping[str, str | None]) -> Iterator[GroupRow]:
        requested = datetime.now(UTC)
        # librdkafka refuses a whole batch that contains an empty group id.
        asked = [name for name in names if name]
        futures: dict[str, Future[ConsumerGroupDescription]] = {}
        if asked:
            futures = self._client.describe_consumer_groups(asked, request_timeout=self._limit_s)
        for name in names:
            try:
                description = futures[name].result() if name else None
            except KafkaException as error:
                code, reason = error.args[0].code(), _reason(error)
                if code == KafkaError.GROUP_ID_NOT_FOUND:
                    yield _deleted(name, requested, types.get(name))
                else:
                    yield not_described(name, requested, types.get(name), reason)
                continue
            if description is None:
                reason = "the client library cannot describe a group without a name"
                yield not_described(name, requested, types.get(name), reason)
            else:
                yield described(description, requested, datetime.now(UTC))


def described(description: ConsumerGroupDescription, requested: datetime, at: datetime) -> GroupRow:
    """A group of consumers, or one that only commits offsets."""
    members = [_member(each) for each in description.members]
    return GroupRow(
        group_id=description.group_id,
        requested_time=requested,
        described_time=at,
        group_type=TYPES.get(description.type),
        protocol_type="" if description.is_simple_consumer_group else "consumer",
        state=STATES[description.state],
        protocol=description.partition_assignor or None,
        coordinator_id=description.coordinator.id if description.coordinator else None,
        members=sorted(members, key=lambda member: str(member["member_id"])),
    )


def not_described(name: str, requested: datetime, group_type: str | None, reason: str) -> GroupRow:
    return GroupRow(
        group_id=name,
        requested_time=requested,
        described_time=datetime.now(UTC),
        group_type=group_type,
        error=reason,
    )


def other_group(group: Any, at: datetime) -> GroupRow:
    """A group of another type than a consumer's.  ``group`` is confluent_kafka's GroupMetadata,
    whose members have their assignment as bytes.
    """
    name = group.id
    if group.error is not None:
        return GroupRow(
            group_id=name, requested_time=at, described_time=at, error=group.error.str()
        )
    if not group.protocol_type and group.state == "Dead":
        return GroupRow(group_id=name, requested_time=at, described_time=at, error=NOT_DESCRIBABLE)
    members = [
        {
            "member_id": member.id,
            "instance_id": None,
            "client_id": member.client_id,
            "client_host": member.client_host,
            "assigned": None,
            "target": None,
        }
        for member in sorted(group.members, key=lambda member: str(member.id))
    ]
    return GroupRow(
        group_id=name,
        requested_time=at,
        described_time=at,
        group_type=CLASSIC.name,
        protocol_type=group.protocol_type,
        state=group.state,
        protocol=group.protocol or None,
        coordinator_id=group.broker.id if group.broker else None,
        members=members,
        assignment_bytes={member.id: member.assignment for member in group.members},
    )


def _has_consumers(group: Any) -> bool:
    """Returns whether a group of `list_groups` is a classic group of consumers, or only commits
    offsets.
    """
    is_other_type = not group.protocol_type and group.state == "Dead"
    return group.error is None and group.protocol_type in ("", "consumer") and not is_other_type


def _deleted(name: str, requested: datetime, group_type: str | None) -> GroupRow:
    """The row has the state that brokers return to older versions of DescribeGroups."""
    at = datetime.now(UTC)
    return GroupRow(
        group_id=name,
        requested_time=requested,
        described_time=at,
        group_type=group_type,
        state="Dead",
        members=[],
    )


def _member(member: MemberDescription) -> dict[str, Any]:
    target = member.target_assignment
    return {
        "member_id": member.member_id,
        "instance_id": member.group_instance_id or None,
        "client_id": member.client_id,
        "client_host": member.host,
        "assigned": _by_topic(member.assignment.topic_partitions),
        "target": None if target is None else _by_topic(target.topic_partitions),
    }


def _by_topic(partitions: Iterable[TopicPartition]) -> Partitions:
    """Topics and partitions in order, so that equal assignments are equal values."""
    by_topic: dict[str, list[int]] = defaultdict(list)
    for each in partitions:
        by_topic[each.topic].append(each.partition)
    return [{"topic": topic, "partitions": sorted(by_topic[topic])} for topic in sorted(by_topic)]


def _type_by_name(listing: ConsumerGroupListing) -> tuple[str, str | None]:
    return listing.group_id, TYPES.get(listing.type)


def _reason(error: Exception) -> str:
    cause = error.args[0]
    return cause.str() if isinstance(cause, KafkaError) else str(error)
