"""Lines of a trace: answers, records and states, as plain JSON values."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    BareError,
    CommitResponse,
    ConsumerDescribeResponse,
    DeleteResponse,
    DescribeResponse,
    FetchResponse,
    HeartbeatResponse,
    JoinResponse,
    LeaveResponse,
    ListResponse,
    MemberHeartbeatResponse,
    Response,
    ShareDescribeResponse,
    StreamsDescribeResponse,
    StreamsHeartbeatResponse,
    SyncResponse,
)

Json = Any


@lru_cache(maxsize=4096)
def _encoded(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()


def response_event(at_ms: int, to: str, op: str, response: Response) -> dict[str, Json]:
    """The answer to step ``to``, a request of kind ``op``."""
    event = {"at_ms": at_ms, "event": "response", "to": to, "op": op}
    event.update(_FIELDS[type(response)](response))
    return event


def modern_response_event(
    at_ms: int, to: str, op: str, response: Response, names: Mapping[str, str]
) -> dict[str, Json]:
    """``response_event`` for all group types; ``names`` are names of topics, by id."""
    event = {"at_ms": at_ms, "event": "response", "to": to, "op": op}
    fields = _MODERN_FIELDS.get(type(response))
    if fields is None:
        event.update(_FIELDS[type(response)](response))
    else:
        event.update(fields(response, names))
    return event


def record_event(at_ms: int, key: bytes, value: bytes | None) -> dict[str, Json]:
    shown = None if value is None else _encoded(value)
    return {"at_ms": at_ms, "event": "record", "key": _encoded(key), "value": shown}


def state_event(
    at_ms: int, group_id: str, state: tuple[str, int], group: ClassicGroup | None
) -> dict[str, Json]:
    """``state`` is its name and the generation.  ``group`` is None if the group was removed."""
    return {
        "at_ms": at_ms,
        "event": "state",
        "group": group_id,
        "state": state[0],
        "generation": state[1],
        "leader": None if group is None else group.leader,
        "members": [] if group is None else [m.member_id for m in group.in_order()],
    }


def _join_fields(response: JoinResponse) -> dict[str, Json]:
    fields = {
        "error": response.error.name,
        "generation": response.generation,
        "protocol_type": response.protocol_type,
        "protocol_name": response.protocol_name,
        "leader": response.leader,
        "member": response.member_id,
    }
    if response.skip_assignment:
        fields["skip_assignment"] = True
    fields["members"] = [[who, inst, _encoded(data)] for who, inst, data in response.members]
    return fields


def _sync_fields(response: SyncResponse) -> dict[str, Json]:
    return {
        "error": response.error.name,
        "protocol_type": response.protocol_type,
        "protocol_name": response.protocol_name,
        "assignment": _encoded(response.assignment),
    }


def _leave_fields(response: LeaveResponse) -> dict[str, Json]:
    members = [[who, inst, error.name] for who, inst, error in response.members]
    return {"error": response.error.name, "members": members}


def _commit_fields(response: CommitResponse) -> dict[str, Json]:
    errors = {error for _, _, error in response.partitions}
    error = errors.pop() if len(errors) == 1 else Errors.NONE
    partitions = [[topic, partition, error.name] for topic, partition, error in response.partitions]
    return {"error": error.name, "partitions": partitions}


def _fetch_fields(response: FetchResponse) -> dict[str, Json]:
    partitions = [[*row[:4], row[4].name] for row in response.partitions]
    return {"error": response.error.name, "partitions": partitions}


def _describe_fields(response: DescribeResponse) -> dict[str, Json]:
    return {
        "error": response.error.name,
        "state": response.state,
        "protocol_type": response.protocol_type,
        "protocol_name": response.protocol_name,
        "members": [
            [*member[:4], _encoded(member[4]), _encoded(member[5])] for member in response.members
        ],
    }


def _error_field(response: Any) -> dict[str, Json]:
    return {"error": response.error.name}


_FIELDS: Mapping[type[Response], Callable[[Any], dict[str, Json]]] = {
    JoinResponse: _join_fields,
    SyncResponse: _sync_fields,
    LeaveResponse: _leave_fields,
    CommitResponse: _commit_fields,
    FetchResponse: _fetch_fields,
    DescribeResponse: _describe_fields,
    HeartbeatResponse: _error_field,
    DeleteResponse: _error_field,
    BareError: _error_field,
}


# -- consumer, share and streams groups


def _sorted_rows(rows: Iterable[Any], names: Mapping[str, str]) -> list[Json]:
    """Rows of topics with names for ids, sorted by name; partitions ascending."""
    return sorted([[names.get(each[0], each[0]), sorted(each[1])] for each in rows])


def _sorted_tasks(rows: Iterable[Any], names: Mapping[str, str]) -> list[Json]:
    tasks = [[role, subtopology, sorted(numbers)] for role, subtopology, numbers in rows]
    return sorted(tasks, key=lambda row: (_ROLES.index(row[0]), row[1]))


_ROLES = ("active", "standby", "warmup")


def _heartbeat_fields(response: Any, names: Mapping[str, str]) -> dict[str, Json]:
    rows = response.assignment
    return {
        "error": response.error.name,
        "member": response.member_id,
        "member_epoch": response.member_epoch,
        "heartbeat_interval_ms": response.heartbeat_interval_ms,
        "assignment": None if rows is None else _sorted_rows(rows, names),
    }


def _streams_heartbeat_fields(response: Any, names: Mapping[str, str]) -> dict[str, Json]:
    rows = response.assignment
    return {
        "error": response.error.name,
        "member": response.member_id,
        "member_epoch": response.member_epoch,
        "heartbeat_interval_ms": response.heartbeat_interval_ms,
        "assignment": None if rows is None else _sorted_tasks(rows, names),
        "status": sorted(response.status),
        "creatable_topics": sorted(response.creatable_topics),
    }


def _group_fields(response: Any) -> dict[str, Json]:
    return {
        "error": response.error.name,
        "state": response.state,
        "epoch": response.epoch,
        "assignment_epoch": response.assignment_epoch,
    }


def _member_fields(member: Any, rows_of: Callable[..., Json]) -> dict[str, Json]:
    """Fields of a described member under the names of the trace, assignments as sorted rows."""
    fields: dict[str, Json] = {}
    for name, value in member._asdict().items():
        if name in ("assignment", "target"):
            value = rows_of(value, {})
        elif name == "topics":
            value = sorted(value)
        fields["member" if name == "member_id" else name] = value
    return fields


def _consumer_describe_fields(response: Any, names: Mapping[str, str]) -> dict[str, Json]:
    members = sorted(response.members)
    return _group_fields(response) | {
        "assignor": response.assignor,
        "members": [_member_fields(member, _sorted_rows) for member in members],
    }


def _streams_describe_fields(response: Any, names: Mapping[str, str]) -> dict[str, Json]:
    members = sorted(response.members)
    return _group_fields(response) | {
        "topology_epoch": response.topology_epoch,
        "members": [_member_fields(member, _sorted_tasks) for member in members],
    }


def _list_fields(response: Any, names: Mapping[str, str]) -> dict[str, Json]:
    rows = [[group, kind, state, protocol] for group, protocol, state, kind in response.groups]
    return {"error": Errors.NONE.name, "groups": sorted(rows)}


_MODERN_FIELDS: Mapping[type[Response], Callable[[Any, Mapping[str, str]], dict[str, Json]]] = {
    MemberHeartbeatResponse: _heartbeat_fields,
    StreamsHeartbeatResponse: _streams_heartbeat_fields,
    ConsumerDescribeResponse: _consumer_describe_fields,
    ShareDescribeResponse: _consumer_describe_fields,
    StreamsDescribeResponse: _streams_describe_fields,
    ListResponse: _list_fields,
}
