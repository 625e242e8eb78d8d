"""Columns that an earlier version named otherwise, by table or view: old name, present name.

A lake of that version is read under the present names, and a run that writes the table renames its
columns.  SQL with an old name works for one version; then the entry goes, and the lake is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

_SPAN = {"start_time": "from_time", "end_time": "to_time"}
RENAMED: Mapping[str, Mapping[str, str]] = {
    "generation_spans": {"start_time": "from_time", "until_time": "to_time"},
    "handovers": {"asked_time": "requested_time"},
    "logical_rebalances": _SPAN,
    "process_lives": {"started_time": "from_time", "ended_time": "to_time"},
    "q02_each_rebalance": {"end_time": "to_time"},
    "q07_storms": _SPAN,
    "q10_by_protocol": {"until_time": "to_time"},
    "q10_deploys": _SPAN,
    "q10_each_rebalance": _SPAN,
    "rebalance_latency": {"end_time": "to_time"},
    "rebalances": {"end_time": "to_time"},
    "runs": {"started_at": "from_time"},
    "storms": _SPAN,
}


def renamed_in(name: str, columns: Collection[str]) -> dict[str, str]:
    """Present names of the old names among the stored ``columns`` of a table."""
    pairs = RENAMED.get(name, {}).items()
    return {old: new for old, new in pairs if old in columns and new not in columns}
