"""Keys and values of records that Kafka's tools print as JSON or text, as bytes again.

JSON has every field, so the bytes equal the bytes in the topic.  Fields that text omits are written
as the value that the decoders read as null.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from coordinator_core.records import encode_key, encode_value
from coordinator_core.records.compiler import snake_case
from coordinator_core.records.consumer_protocol import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_subscription,
)
from coordinator_core.records.errors import BadRecord
from coordinator_core.records.printed_members import member_of_text
from schemas.record_layouts import Field, Layout, layouts

Pair = tuple[bytes, bytes | None]

_OFFSET_COMMIT, _GROUP_METADATA = 1, 2
_VERSION = 3  # version of values printed as text, whose unknown fields are null
_UNKNOWN = -1
_TOMBSTONES = ("<DELETE>", "null", "NULL", "")
_WRONG = (BadRecord, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)

_COMMIT_KEY = re.compile(r"offset_commit::group=(?=.*-\d+\Z)(.*),partition=(.*)-(\d+)", re.DOTALL)
_OLD_COMMIT_KEY = re.compile(r"offset::(.*):([^:]*):(\d+)", re.DOTALL)
_COMMITTED = re.compile(r"offset=(-?\d+)(?:,metadata=(.*))?", re.DOTALL)
_OLD_COMMITTED = re.compile(r"(-?\d+):(.*)", re.DOTALL)
_GROUP_KEY = re.compile(r"(?:group_metadata::group=|metadata::)(.*)", re.DOTALL)
_OLD_GROUP = re.compile(r"([^:]*):([^:]*):(\d+):(\{.*\})", re.DOTALL)
_FORMATTED_LINE = re.compile(r"\[(.*),([\w.-]+),(\d+)\]::(.*)", re.DOTALL)
_FORMATTED_COMMIT = re.compile(
    r"OffsetAndMetadata\((?=.*\)\Z)offset=(?P<offset>-?\d+), leaderEpoch=Optional"
    r"(?:\[(?P<epoch>\d+)\]|\.empty), metadata=(?P<metadata>.*), commitTimestamp=(?P<time>-?\d+), "
    r"expireTimestamp=(?:None|Some\((?P<expires>\d+)\)|Optional.*)\)",
    re.DOTALL,
)
_OLD_FORMATTED_COMMIT = re.compile(
    r"\[OffsetMetadata\[(?P<offset>-?\d+),(?P<metadata>.*)\],CommitTime (?P<time>-?\d+),"
    r"(?:ExpirationTime (?P<expires>-?\d+)|NoExpiration)\]",
    re.DOTALL,
)


class Unprintable(ValueError):
    """A text that is not a whole record."""


# JSON -----------------------------------------------------------------------------------------


def pair_of_json(key: Any, value: Any) -> Pair:
    """``key``: ``{"type", "data"}``, before Kafka 4 with ``version`` instead of ``type``;
    ``value``: ``{"version", "data"}``, None for a tombstone.  Raises Unprintable.
    """
    try:
        type_ = int(key["type"] if "type" in key else key["version"])
        key_fields = _fields(key["data"], _layouts(type_, "coordinator-key")[0].fields)
        key_bytes = encode_key(type_, key_fields)
        if value is None:
            return key_bytes, None
        version, data = int(value["version"]), value["data"]
        candidates = _layouts(type_, "coordinator-value")
        layout = next((each for each in candidates if _has_all(each, data)), candidates[0])
        return key_bytes, encode_value(type_, version, _fields(data, layout.fields))
    except _WRONG as error:
        raise Unprintable(f"not JSON of a coordinator's record: {_why(error)}") from None


def _why(error: Exception) -> str:
    return f"{type(error).__name__} {error}"[:200].encode("ascii", "backslashreplace").decode()


@cache
def _layouts(type_: int, kind: str) -> Sequence[Layout]:
    of_type = [each for each in layouts() if each.api_key == type_ and each.type == kind]
    if not of_type:
        raise ValueError(f"no record type {type_} is known")
    return of_type


def _has_all(layout: Layout, data: Mapping[str, Any]) -> bool:
    return data.keys() <= {field.name[0].lower() + field.name[1:] for field in layout.fields}


def _fields(data: Mapping[str, Any], fields: Sequence[Field]) -> dict[str, Any]:
    """The fields by their names in snake_case; unknown names stay, so that writing refuses them."""
    by_name = {field.name[0].lower() + field.name[1:]: field for field in fields}
    return {
        snake_case(name): _value(value, by_name[name]) if name in by_name else value
        for name, value in data.items()
    }


def _value(value: Any, field: Field) -> Any:
    if value is None:
        return None
    if field.type == "bytes":
        return _bytes(value, field.name)
    if field.is_array and field.fields:
        return [_fields(each, field.fields) for each in value]
    return _fields(value, field.fields) if field.fields else value


def _bytes(value: Any, name: str) -> bytes:
    """Base64; kafka-dump-log prints what consumers wrote with its fields."""
    if isinstance(value, str):
        return base64.b64decode(value, validate=True)
    return _subscription(value) if name == "subscription" else _assignment(value)


def _subscription(data: Mapping[str, Any]) -> bytes:
    """The version is not printed: the oldest that has the fields."""
    version = 3 if "rackId" in data else 2 if "generationId" in data else 0
    if version == 0 and "ownedPartitions" in data:
        version = 1
    return encode_subscription(
        Subscription(
            version,
            data["topics"],
            _user_data(data),
            [(each["topic"], each["partitions"]) for each in data.get("ownedPartitions", ())],
            data.get("generationId", _UNKNOWN),
            data.get("rackId"),
        )
    )


def _assignment(data: Mapping[str, Any]) -> bytes:
    pairs = [(each["topic"], each["partitions"]) for each in data["assignedPartitions"]]
    return encode_assignment(Assignment(0, pairs, _user_data(data)))


def _user_data(data: Mapping[str, Any]) -> bytes | None:
    printed = data["userData"]
    return None if printed is None else base64.b64decode(printed, validate=True)


# Text -----------------------------------------------------------------------------------------


def pair_of_dump_log(key: str, payload: str) -> Pair:
    """The output of kafka-dump-log after ``key:`` and ``payload:``:

    JSON, before 3.8 text.  Raises Unprintable.
    """
    if key.startswith("{"):
        return pair_of_json(json_of(key), None if payload in _TOMBSTONES else json_of(payload))
    if commit := _COMMIT_KEY.fullmatch(key) or _OLD_COMMIT_KEY.fullmatch(key):
        group_id, topic, partition = commit.groups()
        return _commit_pair(group_id, topic, partition, _committed(payload))
    if group := _GROUP_KEY.fullmatch(key):
        key_bytes = encode_key(_GROUP_METADATA, {"group": group[1]})
        return key_bytes, None if payload in _TOMBSTONES else _group_value(payload)
    raise Unprintable("the key is not in the format of --offsets-decoder")


def pair_of_offsets_formatter(line: str) -> Pair:
    """A line of OffsetsMessageFormatter before 3.8.  Raises Unprintable."""
    line_found = _FORMATTED_LINE.fullmatch(line)
    if not line_found:
        raise Unprintable("not a line of OffsetsMessageFormatter")
    group, topic, partition, value = line_found.groups()
    if value in _TOMBSTONES:
        return _commit_pair(group, topic, partition, None)
    commit = _FORMATTED_COMMIT.fullmatch(value) or _OLD_FORMATTED_COMMIT.fullmatch(value)
    if not commit:
        raise Unprintable("not a commit of OffsetsMessageFormatter")
    fields = {
        "offset": int(commit["offset"]),
        "leader_epoch": int(commit.groupdict().get("epoch") or _UNKNOWN),
        "metadata": commit["metadata"],
        "commit_timestamp": int(commit["time"]),
    }
    expires = int(commit["expires"] or _UNKNOWN)
    if expires != _UNKNOWN:
        fields["expire_timestamp"] = expires
    return _commit_pair(group, topic, partition, fields)


def json_of(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Unprintable("truncated or damaged JSON") from None


def _commit_pair(group: str, topic: str, partition: str, fields: Mapping[str, Any] | None) -> Pair:
    try:
        key = {"group": group, "topic": topic, "partition": int(partition)}
        key_bytes = encode_key(_OFFSET_COMMIT, key)
        if fields is None:
            return key_bytes, None
        version = 1 if "expire_timestamp" in fields else _VERSION  # Only version 1 has this field.
        return key_bytes, encode_value(_OFFSET_COMMIT, version, fields)
    except _WRONG as error:
        raise Unprintable(f"not a commit: {_why(error)}") from None


def _committed(payload: str) -> dict[str, Any] | None:
    if payload in _TOMBSTONES:
        return None
    fields = _COMMITTED.fullmatch(payload) or _OLD_COMMITTED.fullmatch(payload)
    if not fields:
        raise Unprintable("payload is not a committed offset")
    return {
        "offset": int(fields[1]),
        "metadata": fields[2] or "",
        "commit_timestamp": _UNKNOWN,
    }


def _group_value(payload: str) -> bytes:
    if old := _OLD_GROUP.fullmatch(payload):
        printed: Any = dict(
            zip(
                ("protocolType", "protocol", "generationId", "assignment"),
                old.groups(),
                strict=True,
            )
        )
    else:
        printed = json_of(payload)
    try:
        is_consumer = printed["protocolType"] == "consumer"
        return encode_value(
            _GROUP_METADATA,
            _VERSION,
            {
                "protocol_type": printed["protocolType"],
                "generation": int(printed["generationId"]),
                "protocol": printed["protocol"] if printed["protocol"] != "null" else None,
                "leader": None,
                "members": [
                    member_of_text(member_id, assignment)
                    for member_id, assignment in _members(printed["assignment"], is_consumer)
                ],
            },
        )
    except _WRONG as error:
        raise Unprintable(f"payload is not a group: {_why(error)}") from None


def _members(text: str, is_consumer: bool) -> Iterator[tuple[str, bytes]]:
    """``{MEMBER=[TOPIC-PARTITION, ...],...}``, each with ``:HEX`` behind it if it has user data;
    ``{MEMBER=HEX,...}`` of other protocol types.  The hexadecimal number lacks leading zeros, so
    its bytes cannot be determined.
    """
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError("assignment is truncated")
    position, end = 1, len(text) - 1
    while position < end:
        equals = text.find("=[" if is_consumer else "=", position, end)
        close = text.find("]", equals, end) if is_consumer else equals
        if min(equals, close) < 0:
            raise ValueError("assignment is truncated")
        partitions = _partitions(text[equals + 2 : close]) if is_consumer else None
        assignment = (
            b"" if partitions is None else encode_assignment(Assignment(0, partitions, None))
        )
        yield text[position:equals], assignment
        comma = text.find(",", close, end)
        position = end if comma < 0 else comma + 1


def _partitions(text: str) -> list[tuple[str, list[int]]]:
    """Partitions by topic, in the order of the text, which is the order of the assignment."""
    topics: dict[str, list[int]] = {}
    for each in text.split(", ") if text else ():
        topic, _, partition = each.rpartition("-")
        topics.setdefault(topic, []).append(int(partition))
    return list(topics.items())
