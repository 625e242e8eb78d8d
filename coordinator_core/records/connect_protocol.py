"""Metadata of Kafka Connect's workers: what they report when they join, and their assignments.

Connect's group has protocol type ``connect``.  By protocol ``eager`` an assignment lists all
connectors and tasks of a worker.  By ``compatible`` and ``sessioned`` (KIP-415, KIP-507) it lists
the connectors and tasks that are new for the worker and those that the worker must give up, and a
worker reports its current assignment when it joins.  Workers treat a newer version as the newest
known one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from coordinator_core.records.client_versions import every_version, read_known_version

PROTOCOL_TYPE = "connect"
CONNECTOR = -1
"""The task number that stands for the connector itself."""

ConnectorTask = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerAssignment:
    """``assigned`` has all connectors and tasks in version 0, and only new ones in later versions.
    After ``delay_ms`` the workers join again; 0 means that they do not.
    """

    version: int
    error: int
    leader: str | None
    leader_url: str | None
    config_offset: int
    assigned: list[ConnectorTask]
    revoked: list[ConnectorTask]
    delay_ms: int

    def after(self, before: Iterable[ConnectorTask]) -> list[ConnectorTask]:
        """The connectors and tasks of the worker with this assignment, if it had ``before``."""
        if self.version == 0:
            return sorted(set(self.assigned))
        return sorted((set(before) - set(self.revoked)) | set(self.assigned))


@dataclass(frozen=True, slots=True)
class WorkerState:
    """``current`` says what the worker has when it joins; empty in version 0, whose workers stop
    everything before they join.
    """

    version: int
    url: str
    config_offset: int
    current: list[ConnectorTask]


_STATE = every_version("ConnectWorkerState")
_ASSIGNMENT = every_version("ConnectAssignment")


def decode_worker_state(data: bytes) -> WorkerState:
    """Raises BadRecord, also for an unreadable current assignment."""
    version, fields = read_known_version(_STATE, data)
    allocation = fields.get("allocation")
    current = decode_worker_assignment(allocation).assigned if allocation else []
    return WorkerState(version, fields["url"], fields["config_offset"], current)


def decode_worker_assignment(data: bytes) -> WorkerAssignment:
    """Raises BadRecord, also for empty bytes."""
    version, fields = read_known_version(_ASSIGNMENT, data)
    return WorkerAssignment(
        version=version,
        error=fields["error"],
        leader=fields["leader"],
        leader_url=fields["leader_url"],
        config_offset=fields["config_offset"],
        assigned=_connector_tasks(fields["assigned"]),
        revoked=_connector_tasks(fields.get("revoked")),
        delay_ms=fields.get("delay", 0),
    )


def _connector_tasks(structs: Iterable[dict[str, Any]] | None) -> list[ConnectorTask]:
    return [(each["connector"], task) for each in structs or () for task in each["tasks"]]
