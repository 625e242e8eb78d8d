"""Evidence of modern groups (schemas/evidence) as values: records, and log lines about departures
and targets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.modern_history import (
    GroupRecord,
    History,
    LoggedDeparture,
    LoggedGroupLine,
    RecordKind,
    TargetLine,
    replay,
    replay_lines,
)
from coordinator_core.modern_history.evidence import DROPPED, LEFT, SESSION_EXPIRED, Partition
from jobs.timeline import CONVERSION_RECORD

# Kinds of evidence.  The column ``record`` or ``event`` has the kind of a row's record or line.
RECORDS, LINES = "modern_records", "modern_lines"
# Kind of evidence with lines about incarnations without records.
LOGGED = "logged_lines"
DEPARTURES = ["LEFT", "FENCED", "HEARTBEAT_EXPIRED"]
# Step of a static member that closes: it leaves temporarily, and stays in the group.
TEMPORARILY = "temporarily"
_KINDS = {kind.value: kind for kind in RecordKind}
_LINES = [*DEPARTURES, "EPOCH_BUMP", "TARGET", "MEMBER_JOIN"]


def played_rows(rows: Iterable[dict[str, Any]]) -> History:
    """The history of an incarnation's rows."""
    records, departures, line_times_ms, targets = [], [], [], []
    for row in sorted(rows, key=lambda each: each["seq"]):
        if row.get("record") is not None:
            records.append(_record(row))
        elif row["event"] in _LINES:
            line_times_ms.append(row["time_ms"])
            if row["event"] in DEPARTURES and row["step"] != TEMPORARILY:
                departures.append(_departure(row))
            elif row["event"] == "TARGET" and row["protocol"] is not None:
                targets.append(TargetLine(row["time_ms"], row["protocol"]))
        else:
            records.append(_classic(row))
    return replay(records, departures, line_times_ms, targets)


def played_lines(rows: Iterable[dict[str, Any]]) -> History:
    """The history of an incarnation of which only lines are known; rows of the kind LOGGED."""
    return replay_lines([_logged(row) for row in sorted(rows, key=lambda each: each["seq"])])


def _logged(row: dict[str, Any]) -> LoggedGroupLine:
    is_departure = row["event"] in DEPARTURES and row["step"] not in (TEMPORARILY, "pending")
    is_request = row["event"] == "MEMBER_JOIN" and row["step"] == "id_required"
    return LoggedGroupLine(
        time_ms=row["time_ms"],
        event="OTHER" if is_request else row["event"],
        group_type=row["group_type"],
        epoch=row["epoch"],
        member_id=row["member_id"],
        old_member_id=row["old_member_id"],
        assignor=row["protocol"],
        departure=_departure(row) if is_departure else None,
    )


def unordered_records(rows: Iterable[dict[str, Any]]) -> list[GroupRecord]:
    """Rows of group_records of one group, in the order of the log; ``time_ms`` is optional."""
    in_order = sorted(rows, key=lambda row: row["log_offset"])
    return [_record({"time_ms": 0} | row) for row in in_order]


def _record(row: dict[str, Any]) -> GroupRecord:
    return GroupRecord(
        time_ms=row["time_ms"] or 0,
        position=row["log_offset"],
        kind=_kind(row["record"][len(row["group_type"]) :]),
        group_type=row["group_type"],
        is_tombstone=row["tombstone"],
        member_id=row["member_id"],
        epoch=row["epoch"],
        previous_epoch=row["previous_epoch"],
        state=row["state"],
        metadata_hash=row["metadata_hash"],
        topology_epoch=row["topology_epoch"],
        instance_id=row["instance_id"],
        client_id=row["client_id"],
        client_host=row["client_host"],
        process_id=row["process_id"],
        rebalance_timeout_ms=row["rebalance_timeout_ms"],
        session_timeout_ms=row["session_timeout_ms"],
        server_assignor=row["server_assignor"],
        is_classic=row["protocols"] is not None,
        regex=row["regex"],
        topics=tuple(row["topics"] or ()),
        assigned=_partitions(row["assigned"]),
        topic_ids=tuple(each["topic_id"] or "" for each in row["assigned"] or ()),
        pending=_partitions(row["pending_revocation"]),
        subtopologies=tuple(map(_subtopology, row["subtopologies"] or ())),
    )


def _classic(row: dict[str, Any]) -> GroupRecord:
    return GroupRecord(
        time_ms=row["time_ms"] or 0,
        position=row["log_offset"],
        kind=RecordKind.CLASSIC,
        group_type=CLASSIC.name,
        is_tombstone=row["event"] == CONVERSION_RECORD,
        epoch=row["event_generation"],
        members=tuple(row["members"] or ()),
    )


def _departure(row: dict[str, Any]) -> LoggedDeparture:
    reason = row["reason"] or ""
    is_expiry = row["event"] == "HEARTBEAT_EXPIRED" or "session expired" in reason
    how = LEFT if row["event"] == "LEFT" else SESSION_EXPIRED if is_expiry else DROPPED
    return LoggedDeparture(row["time_ms"], row["member_id"] or "", how, row["client_reason"])


def _subtopology(row: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    return row["subtopology"], (*row["source_topics"], *row["repartition_source_topics"])


def _kind(name: str) -> RecordKind:
    return _KINDS.get(name, RecordKind.OTHER)


def _partitions(assigned: list[dict[str, Any]] | None) -> frozenset[Partition]:
    return frozenset(
        (each["role"], each["subtopology"], each["topic_id"], partition)
        for each in assigned or ()
        for partition in each["partitions"]
    )
