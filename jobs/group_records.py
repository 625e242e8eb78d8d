"""Decoded records of consumer, share and streams groups: members, epochs, assignments, topologies.

reads   offsets_records   records of key types 3 to 23
writes  group_records     one row per record, tombstones included

All types share the columns of one table.  Data define which field of a type becomes which column:
`FIELDS` for plain fields, `ASSIGNMENTS` for lists of partitions and tasks, `TOPIC_IDS` for lists of
topics with their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from coordinator_core.records import decode
from jobs.bulk.arrow_buffers import struct_array, with_values
from jobs.bulk.decoder import ColumnArrays, Decoder, decode_into
from jobs.bulk.lists import joined_lists, null_if_empty, uuid_texts
from jobs.bulk.records import DecodedRecords, KeysAndValues
from jobs.bulk.times import known_times
from jobs.lake.dates import known_ms
from jobs.lake.scope import RunScope
from jobs.lake.tables import schema_of
from schemas.record_layouts import layouts

READS = ("offsets_records",)

FIRST_KEY_TYPE, LAST_KEY_TYPE = 3, 23
CARRIED = ("cluster_id", "topic_partition", "log_offset", "event_date", "append_time")
NAMES = {
    layout.api_key: layout.name.removesuffix("Key")
    for layout in layouts()
    if layout.type == "coordinator-key" and FIRST_KEY_TYPE <= (layout.api_key or 0) <= LAST_KEY_TYPE
}
KEY_TYPES = tuple(sorted(type_ for type_ in NAMES if type_ is not None))

_EPOCH = {"epoch": "epoch", "metadata_hash": "metadata_hash"}
_TARGET = {"epoch": "assignment_epoch", "timestamp_ms": "assignment_timestamp"}
_CURRENT = {"epoch": "member_epoch", "previous_epoch": "previous_member_epoch", "state": "state"}
_CLIENT = {"rack_id": "rack_id", "client_id": "client_id", "client_host": "client_host"}
# Columns, with their fields, by key type.
FIELDS: Mapping[int, Mapping[str, str]] = {
    3: _EPOCH,
    5: _CLIENT
    | {
        "instance_id": "instance_id",
        "regex": "subscribed_topic_regex",
        "rebalance_timeout_ms": "rebalance_timeout_ms",
        "server_assignor": "server_assignor",
        "topics": "subscribed_topic_names",
    },
    6: _TARGET,
    8: _CURRENT,
    10: _CLIENT | {"topics": "subscribed_topic_names"},
    11: _EPOCH,
    12: _TARGET,
    14: _CURRENT,
    16: {"topics": "topics", "timestamp_ms": "timestamp"},
    17: _EPOCH | {"topology_epoch": "validated_topology_epoch"},
    19: _CLIENT
    | {
        "instance_id": "instance_id",
        "rebalance_timeout_ms": "rebalance_timeout_ms",
        "topology_epoch": "topology_epoch",
        "process_id": "process_id",
    },
    20: _TARGET,
    22: _CURRENT,
    23: {"epoch": "epoch"},
}
_PARTITIONS = {"assigned": {"active": "assigned_partitions"}}
_TARGET_PARTITIONS = {"assigned": {"active": "topic_partitions"}}
_TASKS = {"active": "active_tasks", "standby": "standby_tasks", "warmup": "warmup_tasks"}
_PENDING_TASKS = {role: f"{field}_pending_revocation" for role, field in _TASKS.items()}
# Fields by key type, column and role.
ASSIGNMENTS: Mapping[int, Mapping[str, Mapping[str, str]]] = {
    7: _TARGET_PARTITIONS,
    8: _PARTITIONS | {"pending_revocation": {"active": "partitions_pending_revocation"}},
    13: _TARGET_PARTITIONS,
    14: _PARTITIONS,
    21: {"assigned": _TASKS},
    22: {"assigned": _TASKS, "pending_revocation": _PENDING_TASKS},
}
# Fields of topic ids, by key type.
TOPIC_IDS: Mapping[int, tuple[str, ...]] = {
    4: ("topics",),
    9: ("topics",),
    15: ("initializing_topics", "initialized_topics", "deleting_topics"),
}
CONSUMER_MEMBER, TOPOLOGY = 5, 23
# Values of the columns of a record without a value.
ABSENT: Mapping[str, Any] = {"regex": "", "timestamp_ms": 0, "topology_epoch": -1}
# Fields with a tag (KIP-482) are not written with their default value.
DEFAULT_HASH = 0


def group_records(offsets_records: DataFrame) -> DataFrame:
    records = offsets_records.where(F.col("key_type").between(FIRST_KEY_TYPE, LAST_KEY_TYPE))
    return decode_into("group_records", records, CARRIED, DECODER)


def group_type(key_type: int) -> str:
    """consumer, share or streams: the first word of the record's name."""
    name = NAMES[key_type]
    return name[: name.index("Group")].lower()


# In bulk --------------------------------------------------------------------------------------


def _columns(keys: pa.Array, values: pa.Array) -> tuple[np.ndarray, ColumnArrays]:
    records = KeysAndValues(keys, values)
    by_type = {type_: records.records(type_) for type_ in records.types() if type_ in KEY_TYPES}
    decoded = [_of_type(type_, each) for type_, each in by_type.items()]
    rows = [each.rows for each in by_type.values()]
    return np.concatenate([np.empty(0, np.int64), *rows]), {
        name: pa.concat_arrays([_typed(part, name) for part in decoded])
        if decoded
        else pa.nulls(0, type_)
        for name, type_ in _types().items()
    }


@cache
def _types() -> dict[str, pa.DataType]:
    schema = to_arrow_schema(schema_of("group_records"), timezone="UTC")
    return {field.name: field.type for field in schema if field.name not in CARRIED}


def _typed(columns: ColumnArrays, name: str) -> pa.Array:
    type_ = _types()[name]
    if name in columns:
        return columns[name].cast(type_)
    return pa.nulls(len(columns["key_type"]), type_)


def _of_type(type_: int, records: DecodedRecords) -> ColumnArrays:
    size, value = len(records.rows), records.value
    columns = {
        "group_id": records.key["group_id"],
        "key_type": pa.repeat(type_, size),
        "record": pa.repeat(NAMES[type_], size),
        "group_type": pa.repeat(group_type(type_), size),
        "tombstone": records.version.is_null(),
        "value_version": records.version,
    }
    if "member_id" in records.key.columns:
        columns["member_id"] = records.key["member_id"]
    if "regular_expression" in records.key.columns:
        columns["regex"] = records.key["regular_expression"]
    for column, field in FIELDS.get(type_, {}).items():
        columns[column] = _present(column, value[field], columns["tombstone"])
    for column, roles in ASSIGNMENTS.get(type_, {}).items():
        columns[column] = joined_lists([_assigned(value[f], role) for role, f in roles.items()])
    if type_ in TOPIC_IDS:
        columns["topic_ids"] = joined_lists([_topic_ids(value[f]) for f in TOPIC_IDS[type_]])
    if type_ == CONSUMER_MEMBER:
        columns |= _classic_member(value["classic_member_metadata"])
    if type_ == TOPOLOGY:
        columns["subtopologies"] = _subtopologies(value["subtopologies"])
    return columns


def _present(column: str, array: pa.Array, is_tombstone: pa.Array) -> pa.Array:
    if column == "metadata_hash":
        default = pa.repeat(pa.scalar(DEFAULT_HASH, array.type), len(array))
        return pc.if_else(pc.and_(array.is_null(), pc.invert(is_tombstone)), default, array)
    if column == "timestamp_ms":
        array = known_times(array)
    if column in ABSENT:
        return pc.if_else(pc.equal(array, ABSENT[column]), None, array)
    return array


def _assigned(lists: pa.ListArray, role: str) -> pa.ListArray:
    fields = dict(zip(lists.type.value_type.names, lists.values.flatten(), strict=True))
    size = len(lists.values)
    ids = fields.get("topic_id")
    subtopologies = fields.get("subtopology_id")
    epochs = fields.get("assignment_epochs")
    columns = {
        "role": pa.repeat(role, size),
        "subtopology": pa.nulls(size, pa.string()) if subtopologies is None else subtopologies,
        "topic_id": pa.nulls(size, pa.string()) if ids is None else uuid_texts(ids),
        "partitions": fields["partitions"],
        "epochs": pa.nulls(size, pa.list_(pa.int32())) if epochs is None else null_if_empty(epochs),
    }
    return with_values(lists, pa.StructArray.from_arrays(list(columns.values()), list(columns)))


def _topic_ids(lists: pa.ListArray) -> pa.ListArray:
    fields = dict(zip(lists.type.value_type.names, lists.values.flatten(), strict=True))
    columns = {"topic_id": uuid_texts(fields["topic_id"]), "topic": fields["topic_name"]}
    return with_values(lists, pa.StructArray.from_arrays(list(columns.values()), list(columns)))


def _classic_member(members: pa.StructArray) -> ColumnArrays:
    session_timeout_ms, protocols = members.flatten()
    names = protocols.values.field("name")
    return {
        "session_timeout_ms": session_timeout_ms,
        "protocols": with_values(protocols, names),
    }


def _subtopologies(lists: pa.ListArray) -> pa.ListArray:
    fields = dict(zip(lists.type.value_type.names, lists.values.flatten(), strict=True))
    internal = fields["repartition_source_topics"]
    columns = {
        "subtopology": fields["subtopology_id"],
        "source_topics": fields["source_topics"],
        "repartition_source_topics": with_values(internal, internal.values.field("name")),
    }
    return with_values(lists, struct_array(columns))


# The reference --------------------------------------------------------------------------------


def _row(key: bytes, value: bytes | None) -> dict[str, Any]:
    record = decode(key, value)
    row = {
        "group_id": record.key["group_id"],
        "key_type": record.type,
        "record": record.name,
        "group_type": group_type(record.type),
        "tombstone": value is None,
        "value_version": record.version,
        "member_id": record.key.get("member_id"),
        "regex": record.key.get("regular_expression"),
    }
    return row if record.value is None else row | _value_columns(record.type, record.value)


def _value_columns(type_: int, value: dict[str, Any]) -> dict[str, Any]:
    columns = {
        column: _none_if_absent(column, value.get(field))
        for column, field in FIELDS.get(type_, {}).items()
    }
    for column, roles in ASSIGNMENTS.get(type_, {}).items():
        columns[column] = [
            _assigned_row(role, each)
            for role, field in roles.items()
            for each in value.get(field) or []
        ]
    if type_ in TOPIC_IDS:
        topics = [topic for field in TOPIC_IDS[type_] for topic in value.get(field) or []]
        columns["topic_ids"] = [
            {"topic_id": topic["topic_id"], "topic": topic["topic_name"]} for topic in topics
        ]
    if classic := value.get("classic_member_metadata"):
        columns["session_timeout_ms"] = classic["session_timeout_ms"]
        columns["protocols"] = _names(classic["supported_protocols"])
    if type_ == TOPOLOGY:
        columns["subtopologies"] = [_subtopology_row(each) for each in value["subtopologies"]]
    return columns


def _none_if_absent(column: str, value: Any) -> Any:
    if column == "timestamp_ms":
        value = known_ms(value)
    return None if column in ABSENT and value == ABSENT[column] else value


def _assigned_row(role: str, assigned: dict[str, Any]) -> dict[str, Any]:
    return {
        "role": role,
        "subtopology": assigned.get("subtopology_id"),
        "topic_id": assigned.get("topic_id"),
        "partitions": assigned["partitions"],
        "epochs": assigned.get("assignment_epochs") or None,
    }


def _subtopology_row(subtopology: dict[str, Any]) -> dict[str, Any]:
    return {
        "subtopology": subtopology["subtopology_id"],
        "source_topics": subtopology["source_topics"],
        "repartition_source_topics": _names(subtopology["repartition_source_topics"]),
    }


def _names(structs: Iterable[dict[str, Any]]) -> list[str]:
    return [struct["name"] for struct in structs]


DECODER = Decoder(_row, _columns)


def run(scope: RunScope) -> None:
    scope.replace_days("group_records", group_records(*map(scope.read_days, READS)))


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("group_records")
