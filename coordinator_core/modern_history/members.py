"""A member of a group, what it has, and the process behind it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.modern_history.evidence import GroupRecord, Partition
from coordinator_core.protocol.processes import process_name

STABLE = "STABLE"
# States of current assignments, from the code of STABLE on.
STATES = (STABLE, "UNREVOKED", "UNRELEASED")
_THREAD = re.compile(r"-StreamThread-[0-9]+-consumer$")
AWAY = -2
"""The member epoch of a static member that left for a while."""


def state_name(code: int | None, group_type: GroupType) -> str:
    number = (code or 0) - (group_type.stable_state or 0)
    return STATES[number] if 0 <= number < len(STATES) else f"UNKNOWN({code})"


@dataclass(slots=True, kw_only=True)
class ModernMember:
    """``metadata``: the last member metadata record; ``epoch`` and ``state``: of the last step."""

    member_id: str
    metadata: GroupRecord
    process: str
    joined_ms: int
    change: str
    epoch: int | None = None
    state: str | None = None
    assigned: frozenset[Partition] = frozenset()

    def has_reached(self, target_epoch: int) -> bool:
        return self.state == STABLE and self.epoch == target_epoch


@dataclass(slots=True)
class Processes:
    """Names the processes: by instance id, else by client id and host.

    A client id and host are one process until two of its members write at the same time: then each
    of its members is a process.  A killed member stays in the group until its session expires, but
    writes nothing, so its next life under the same client id is the same process.  The threads of a
    streams process have its client id and a suffix.
    """

    _newest: dict[str, str] = field(default_factory=dict)
    _shared: set[str] = field(default_factory=set)

    def name(self, record: GroupRecord, member_id: str) -> str:
        client = _client(record)
        return member_id if client is None or client in self._shared else client

    def joined(self, record: GroupRecord, member_id: str) -> None:
        if (client := _client(record)) is not None:
            self._newest[client] = member_id

    def writes(self, member: ModernMember, members: dict[str, ModernMember]) -> None:
        """The member heartbeats: if a newer member of its client is there, too, they are two."""
        client = _client(member.metadata)
        newest = members.get(self._newest.get(client or "", ""))
        if newest is None or newest is member or not _is_dynamic(member.metadata):
            return
        self._shared.add(client or "")
        for each in members.values():
            each.process = self.name(each.metadata, each.member_id)


def _is_dynamic(record: GroupRecord) -> bool:
    return record.instance_id is None and not record.type.has_topology


def _client(record: GroupRecord) -> str | None:
    if record.instance_id:
        return record.instance_id
    if record.client_id is None:
        return None
    client = record.client_id
    if record.type.has_topology:
        client = _THREAD.sub("", client)
    return process_name(client, record.client_host)
