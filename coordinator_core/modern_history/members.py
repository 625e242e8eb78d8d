"""A member of a group, what it has, and the process behind it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.modern_history.evidence import GroupRecord, Partition
from coordinator_core.protocol.processes import process_name

STABLE = "STABLE"
# States of current assignments, by their code, starting with STABLE.
STATES = (STABLE, "UNREVOKED", "UNRELEASED")
_THREAD = re.compile(r"-StreamThread-[0-9]+-consumer$")
AWAY = -2
"""The member epoch of a static member that left temporarily."""


def state_name(code: int | None, group_type: GroupType) -> str:
    number = (code or 0) - (group_type.stable_state or 0)
    return STATES[number] if 0 <= number < len(STATES) else f"UNKNOWN({code})"


@dataclass(slots=True, kw_only=True)
class ModernMember:
    """``metadata`` is the last member metadata record; ``epoch``, ``state`` are of the
    last step.
    """

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

    A client id and host are one process until a member joins beside another one that still sends
    heartbeats: from then on each of its members is a process.  A killed member stays in the group
    until its session expires, but writes nothing, so its next process life under the same client id
    is the same process.  The threads of a streams process have its client id and a suffix.

    ``shared_since``: by client, position of the join that later records show to have been beside
    another member.  The records are then played a second time.
    """

    shared_since: dict[str, int] = field(default_factory=dict)
    _joined: dict[str, dict[str, int]] = field(default_factory=dict)
    _shared: set[str] = field(default_factory=set)

    def join(self, record: GroupRecord, member_id: str, members: dict[str, ModernMember]) -> str:
        """The name of a new member's process; the join may rename the processes of ``members``."""
        if (client := _client(record)) is not None:
            self._joined.setdefault(client, {})[member_id] = record.position
            if self.shared_since.get(client) == record.position:
                self._shared.add(client)
                for each in members.values():
                    each.process = self._name(each.metadata, each.member_id)
        return self._name(record, member_id)

    def _name(self, record: GroupRecord, member_id: str) -> str:
        client = _client(record)
        return member_id if client is None or client in self._shared else client

    def writes(self, member: ModernMember) -> None:
        """The member sends a heartbeat: members of its client that joined later are other
        processes."""
        client = _client(member.metadata)
        if client is None or not _is_dynamic(member.metadata):
            return
        joined = self._joined.get(client, {})
        own = joined.get(member.member_id)
        if own is not None and (later := [each for each in joined.values() if each > own]):
            self.shared_since[client] = min(self.shared_since.get(client, later[0]), *later)


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
