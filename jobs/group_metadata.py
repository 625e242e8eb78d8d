"""Decoded GroupMetadata records: the state of each group as stored by the coordinator.

reads   offsets_records   records of key type 2
writes  group_metadata    one row per record, tombstones included
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from coordinator_core.records import BadRecord, decode, decode_assignment, decode_subscription
from coordinator_core.records.printed_members import NOT_IN_TEXT, is_of_text
from coordinator_core.records.task_members import AssignedTask, has_task_members, task_members
from jobs.bulk.arrow_buffers import struct_array, with_values
from jobs.bulk.consumer_protocol import assignments, subscriptions
from jobs.bulk.decoder import ColumnArrays, Decoder, decode_into
from jobs.bulk.records import read_records
from jobs.bulk.times import known_times
from jobs.lake.dates import known_ms
from jobs.lake.keys import GROUP_KEY
from jobs.lake.scope import RunScope

READS = ("offsets_records",)

KEY_TYPE = 2
# The protocol type whose subscriptions and assignments have the layout of ConsumerProtocol.
CONSUMER = "consumer"
NO_FIELDS: Mapping[str, str] = {}
TASKS = "array<struct<role:string,subtopology:string,topic:string,partition:int>>"
TASK = pa.struct(
    [
        ("role", pa.string()),
        ("subtopology", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
    ]
)
TASK_MEMBER = pa.struct(
    [
        ("member_id", pa.string()),
        ("version", pa.int32()),
        ("process_id", pa.string()),
        ("endpoint", pa.string()),
        ("config_offset", pa.int64()),
        ("assigned_config_offset", pa.int64()),
        ("delay_ms", pa.int32()),
        ("next_rebalance_ms", pa.int64()),
        ("error_code", pa.int32()),
        ("tasks", pa.list_(TASK)),
        ("revoked", pa.list_(TASK)),
        ("unreadable", pa.string()),
    ]
)
# The end of a Kafka Streams subscription since 3.2: number of the thread's joins, no error, no
# client tags.  No owned partitions follow.  A new process joins twice, once without a member id.
_STREAMS_JOINS = "([0-9A-F]{2})0{24}[0-9A-F]{8}(FFFF|0[0-9A-F]{3}.*)$"
_JOINS_OF_NEW, _JOINS_OF_OLD = "02", "04"
_NO_BYTES = "FFFFFFFF"
# Java's assignors write -1 in a new process, franz-go's write 0.
_NO_GENERATION = ("FFFFFFFF", "00000000")
CARRIED = ("cluster_id", "topic_partition", "log_offset", "event_date", "append_time")


def group_metadata(offsets_records: DataFrame) -> DataFrame:
    records = offsets_records.where(F.col("key_type") == KEY_TYPE)
    return decode_into("group_metadata", records, CARRIED, DECODER)


def members_with(*fields: str, own: Mapping[str, str] = NO_FIELDS) -> Column:
    """A record's members with these fields only: Spark then does not read the other fields, such as
    the subscription and assignment bytes, which are most of the table.

    ``own`` has fields of task_members with their types; null in groups that have none.
    """
    values = [F.col(f"members.{field}").alias(field) for field in fields]
    for field, type_ in own.items():
        # Arrays that are shorter than the list of members are padded with nulls.
        none = F.array().cast(f"array<{type_}>")
        values.append(F.coalesce(F.col(f"task_members.{field}"), none).alias(field))
    return F.arrays_zip(*values)


# The state of clients -------------------------------------------------------------------------


def kept_states(group_metadata: DataFrame) -> DataFrame:
    """Returns whether a member's process had been a member before, under another id, by the
    member's first subscription: GROUP_KEY, ``member_id``, ``kept_state`` (null if it does not show
    this) and ``kept_generation`` of the previous membership, in hex, null if the subscription lacks
    it.
    """
    records = group_metadata.where(
        "protocol IN ('cooperative-sticky', 'sticky', 'stream')"
        " OR protocol_type = 'connect' AND protocol IN ('compatible', 'sessioned')"
    ).select(*GROUP_KEY, "log_offset", "protocol", F.explode("members").alias("member"))
    state = F.struct(_kept_state().alias("state"), _kept_generation().alias("generation"))
    first = records.groupBy(*GROUP_KEY, F.col("member.member_id").alias("member_id")).agg(
        F.min_by(state, "log_offset").alias("kept")
    )
    is_kept = F.col("kept.state")
    return first.select(
        *GROUP_KEY,
        "member_id",
        is_kept.alias("kept_state"),
        F.when(is_kept, F.col("kept.generation")).alias("kept_generation"),
    )


def _kept_state() -> Column:
    generation = _kept_generation()
    # Java's cooperative-sticky assignor has user data since 2.8.1, and version 3 since 3.4.
    is_librdkafka = (
        (F.col("protocol") == "cooperative-sticky")
        & F.hex("member.subscription").startswith("0003")
        & (_user_data(0, 4) == "00000000")
    )
    joins = F.when(
        F.col("protocol") == "stream",
        F.regexp_extract(F.hex("member.subscription"), _STREAMS_JOINS, 1),
    )
    return (
        F.when(joins >= _JOINS_OF_OLD, True)
        .when((joins > "") & (joins <= _JOINS_OF_NEW), False)
        .when(joins.isNotNull(), None)
        # The worker's metadata end with its assignment.
        .when(
            F.col("protocol").isin("compatible", "sessioned"),
            ~F.hex("member.subscription").endswith(_NO_BYTES),
        )
        .when(generation.isNotNull(), ~generation.isin(*_NO_GENERATION))
        # Partitions of the previous assignment, followed by that assignment's generation.
        .when(_user_data(0, 4).between("00000009", "7FFFFFFF"), True)
        # The assignor sends no user data in a new process.
        .when(is_librdkafka, False)
    )


def _kept_generation() -> Column:
    """The user data of a sticky assignor is the last generation; of some assignors, the partitions
    that the member had in it come first."""
    has_none = (_user_data(0, 4) == "00000008") & (_user_data(4, 4) == "00000000")
    return (
        F.when(F.col("protocol") == "stream", None)
        .when(_user_data(0, 4) == "00000004", _user_data(4, 4))
        .when(has_none, _user_data(8, 4))
    )


def _user_data(begin: int, size: int) -> Column:
    """Bytes of the user data in hex; the first four bytes are its length."""
    topics = F.col("member.subscribed_topics")
    # The version, the number of topics, and each topic with its length precede the user data.
    at = 6 + 2 * F.size(topics) + F.octet_length(F.array_join(topics, ""))
    return F.hex("member.subscription").substr(2 * (at + begin) + 1, F.lit(2 * size))


# In bulk --------------------------------------------------------------------------------------


def _columns(keys: pa.Array, values: pa.Array) -> tuple[np.ndarray, ColumnArrays]:
    records = read_records(KEY_TYPE, keys, values)
    value = records.value
    protocol_type = value["protocol_type"]
    return records.rows, {
        "group_id": records.key["group"],
        "tombstone": records.version.is_null(),
        "value_version": records.version,
        "generation": value["generation"],
        "protocol_type": protocol_type,
        "protocol": value["protocol"],
        "leader": value["leader"],
        "state_timestamp_ms": known_times(value["current_state_timestamp"]),
        "members": _members(value["members"], pc.equal(protocol_type, CONSUMER)),
        "task_members": _task_members(protocol_type, value["protocol"], value["members"]),
    }


def _task_members(protocol_types: pa.Array, protocols: pa.Array, members: pa.ListArray) -> pa.Array:
    """The reference decoder reads record by record, because few groups are Connect's or Streams',
    and their records are written only in rebalances.
    """
    types, names = protocol_types.dictionary_encode(), protocols.dictionary_encode()
    is_task_group = {
        (t, n): has_task_members(types.dictionary[t].as_py(), names.dictionary[n].as_py())
        for t in range(len(types.dictionary))
        for n in range(len(names.dictionary))
    }
    if not any(is_task_group.values()):
        return pa.nulls(len(members), pa.list_(TASK_MEMBER))
    pairs = zip(types.indices.to_pylist(), names.indices.to_pylist(), strict=True)
    rows: list[Any] = [None] * len(members)
    for row, (type_, name) in enumerate(pairs):
        if is_task_group.get((type_, name)):
            pair = types.dictionary[type_].as_py(), names.dictionary[name].as_py()
            rows[row] = _task_member_rows(*pair, members[row].as_py())
    return pa.array(rows, pa.list_(TASK_MEMBER))


def _members(members: pa.ListArray, is_consumer: pa.BooleanArray) -> pa.ListArray:
    is_readable = is_consumer.take(pc.list_parent_indices(members)).to_numpy(zero_copy_only=False)
    member = dict(zip(members.type.value_type.names, members.values.flatten(), strict=True))
    subscribed = subscriptions(member["subscription"], is_readable)
    assigned = assignments(member["assignment"], is_readable)
    columns = {
        "member_id": member["member_id"],
        "instance_id": member["group_instance_id"],
        "client_id": member["client_id"],
        "client_host": member["client_host"],
        "rebalance_timeout_ms": pc.fill_null(member["rebalance_timeout"], -1),
        "session_timeout_ms": member["session_timeout"],
        "subscribed_topics": subscribed["topics"],
        "owned": subscribed["owned_partitions"],
        "owned_generation": _null_if_negative(subscribed["generation_id"]),
        "rack_id": subscribed["rack_id"],
        "assigned": assigned["assigned_partitions"],
        "subscription": member["subscription"],
        "assignment": member["assignment"],
    }
    of_text = is_of_text(member["session_timeout"].to_numpy(zero_copy_only=False))
    if of_text.any():
        mask = pa.array(of_text)
        columns |= {name: pc.if_else(mask, None, columns[name]) for name in NOT_IN_TEXT}
    return with_values(members, struct_array(columns))


def _null_if_negative(numbers: pa.Array) -> pa.Array:
    return pc.if_else(pc.less(numbers, 0), None, numbers)


# The reference --------------------------------------------------------------------------------


def _row(key: bytes, value: bytes | None) -> dict[str, Any]:
    record = decode(key, value)
    fields = record.value or {}
    return {
        "group_id": record.key["group"],
        "tombstone": value is None,
        "value_version": record.version,
        "generation": fields.get("generation"),
        "protocol_type": fields.get("protocol_type"),
        "protocol": fields.get("protocol"),
        "leader": fields.get("leader"),
        # The value is -1 if a version with the field does not set it.
        "state_timestamp_ms": known_ms(fields.get("current_state_timestamp")),
        "members": None if value is None else [_member(m, fields) for m in fields["members"]],
        "task_members": _task_member_rows(
            fields.get("protocol_type"), fields.get("protocol"), fields.get("members") or ()
        ),
    }


def _task_member_rows(
    protocol_type: str | None, protocol: str | None, members: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]] | None:
    own = task_members(protocol_type, protocol, members)
    if own is None:
        return None
    return [
        {name: getattr(each, name) for name in TASK_MEMBER.names}
        | {"tasks": _task_rows(each.tasks), "revoked": _task_rows(each.revoked)}
        for each in own
    ]


def _task_rows(tasks: Iterable[AssignedTask]) -> list[dict[str, Any]]:
    return [task._asdict() for task in tasks]


def _member(member: dict[str, Any], group: dict[str, Any]) -> dict[str, Any]:
    row = {
        "member_id": member["member_id"],
        "instance_id": member.get("group_instance_id"),
        "client_id": member["client_id"],
        "client_host": member["client_host"],
        "rebalance_timeout_ms": member.get("rebalance_timeout", -1),
        "session_timeout_ms": member["session_timeout"],
        "subscription": member["subscription"],
        "assignment": member["assignment"],
    }
    if is_of_text(member["session_timeout"]):
        row |= dict.fromkeys(NOT_IN_TEXT)
    if group["protocol_type"] == CONSUMER:
        row |= _subscription(member["subscription"]) | _assignment(member["assignment"])
    return row


def _subscription(data: bytes) -> dict[str, Any]:
    """Null columns if it is unreadable: the coordinator stores it without reading it."""
    try:
        subscription = decode_subscription(data)
    except BadRecord:
        return {}
    return {
        "subscribed_topics": subscription.topics,
        "owned": _topics(subscription.owned_partitions),
        "owned_generation": _none_if_negative(subscription.generation_id),
        "rack_id": subscription.rack_id,
    }


def _assignment(data: bytes) -> dict[str, Any]:
    """A member that the leader's SyncGroup leaves out is stored with no bytes: no partitions."""
    if not data:
        return {"assigned": []}
    try:
        return {"assigned": _topics(decode_assignment(data).partitions)}
    except BadRecord:
        return {}


def _topics(partitions: Iterable[tuple[str, list[int]]] | None) -> list[dict[str, Any]] | None:
    if partitions is None:
        return None
    return [{"topic": topic, "partitions": list(numbers)} for topic, numbers in partitions]


def _none_if_negative(number: int | None) -> int | None:
    return None if number is None or number < 0 else number


DECODER = Decoder(_row, _columns)


def run(scope: RunScope) -> None:
    scope.replace_days("group_metadata", group_metadata(*map(scope.read_days, READS)))


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("group_metadata")
