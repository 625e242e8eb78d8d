"""Lines of a trace: answers, records and states, as plain JSON values."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    BareError,
    CommitResponse,
    DeleteResponse,
    DescribeResponse,
    FetchResponse,
    HeartbeatResponse,
    JoinResponse,
    LeaveResponse,
    Response,
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


def record_event(at_ms: int, key: bytes, value: bytes | None) -> dict[str, Json]:
    shown = None if value is None else _encoded(value)
    return {"at_ms": at_ms, "event": "record", "key": _encoded(key), "value": shown}


def state_event(
    at_ms: int, group_id: str, state: tuple[str, int], group: ClassicGroup | None
) -> dict[str, Json]:
    """``state``: its name and the generation.  ``group``: None if it was removed."""
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
