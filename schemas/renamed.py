"""Columns and values renamed since the previous version: old name, present name.

A lake of that version is read under the present names, and a run that writes the table renames its
columns and values.  SQL with an old name works for one version.  Then the entry is deleted, and
Regroup refuses such a lake.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

_SPAN = {"start_time": "from_time", "end_time": "to_time"}
_DOWNTIME = {
    f"unavailable_partition_ms{end}": f"unowned_partition_ms{end}" for end in ("", "_low", "_high")
}
_PREDICTED = {
    f"unavailable_{basis}_partition_ms": f"unowned_{basis}_partition_ms"
    for basis in ("observed", "unchanged", "predicted", "predicted_min", "predicted_max")
}
RENAMED: Mapping[str, Mapping[str, str]] = {
    "advice": {"saved_unavailable_partition_ms": "saved_unowned_partition_ms"},
    "generation_spans": {"start_time": "from_time", "until_time": "to_time"},
    "handovers": {"asked_time": "requested_time"},
    "logical_rebalances": _SPAN,
    "migration_advice": _PREDICTED
    | {"unavailable_defaults_partition_ms": "unowned_defaults_partition_ms"},
    "partition_movement": {
        f"unavailable_ms{end}": f"unowned_ms{end}" for end in ("", "_low", "_high")
    },
    "process_lives": {"started_time": "from_time", "ended_time": "to_time"},
    "q02_each_rebalance": {"end_time": "to_time"},
    "q07_storms": _SPAN,
    "q10_by_protocol": {"until_time": "to_time"} | _DOWNTIME,
    "q10_deploys": _SPAN | _DOWNTIME,
    "q10_each_rebalance": _SPAN
    | _DOWNTIME
    | {
        "longest_unavailable_ms": "longest_unowned_ms",
        "partitions_unavailable": "partitions_unowned",
    },
    "q12_what_if": _PREDICTED,
    "rebalance_latency": {"end_time": "to_time"},
    "rebalances": {"end_time": "to_time"},
    "runs": {"started_at": "from_time"},
    "storms": _SPAN,
    "what_if": {
        f"unavailable_partition_ms{end}": f"unowned_partition_ms{end}"
        for end in ("", "_min", "_max")
    },
}

_CAUSES = {"HEARTBEAT_EXPIRY": "SESSION_EXPIRY"}
_STORIES = {"crash": "session_expired", "stop_or_crash": "stop_or_session_expired"}
# Property of a table that already has the present values.
PRESENT_VALUES: Mapping[str, str] = {"regroup.values": "session_expired"}
# Renamed values, by table and column.
RENAMED_VALUES: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "broker_log_events": {"cause": _CAUSES},
    "generation_members": {"left_how": {"expired": "session_expired"}},
    "generations": {"cause": _CAUSES},
    "group_events": {"cause": _CAUSES},
    "rebalance_causes": {"cause": _CAUSES, "story": _STORIES},
    "rebalance_latency": {"cause": _CAUSES},
    "timeline": {"cause": _CAUSES},
}


def renamed_in(name: str, columns: Collection[str]) -> dict[str, str]:
    """Present names of the old names among the stored ``columns`` of a table."""
    pairs = RENAMED.get(name, {}).items()
    return {old: new for old, new in pairs if old in columns and new not in columns}


def renamed_values(
    table: str, properties: Mapping[str, str | None]
) -> Mapping[str, Mapping[str, str]]:
    """By column, present values of the old values that a table with these properties may have."""
    is_present = PRESENT_VALUES.items() <= properties.items()
    return {} if is_present else RENAMED_VALUES.get(table, {})


def with_present_value(column: str, names: Mapping[str, str]) -> str:
    """SQL of the column's present values."""
    cases = " ".join(f"WHEN '{old}' THEN '{new}'" for old, new in names.items())
    return f"CASE {column} {cases} ELSE {column} END"
