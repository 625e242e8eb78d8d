"""The groups of a lake that are seen but have no generation, each with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from coordinator_core.figures import counted
from jobs.lake.sql import query

VIEW = "groups_without_generations"
GROUPS = f"""
    SELECT cluster_id, group_id, group_type, reason FROM {VIEW}
    ORDER BY cluster_id, reason, group_id"""
# Reasons in the view, for modern groups, classic groups, and groups of unknown type.
NO_TARGET = "no target assignment in the records"
# Reasons by a group's events in the timeline.  The reason with the smallest number applies.
EVENT_REASON = """CASE
            WHEN epoch IS NOT NULL OR group_type IN ('consumer', 'share', 'streams')
                THEN '1 no target assignment in the lines'
            WHEN event IN ('ADMIN_DELETE', 'GROUP_DEAD', 'TOMBSTONE')
                THEN '2 deleted, no rebalance in records or log'
            WHEN event = 'SIMPLE_GROUP' THEN '3 created by a commit, without members'
            WHEN event NOT IN ('LOADED', 'UNLOADED') THEN '4 no rebalance in records or log'
            ELSE '5 loaded or unloaded by a broker, no rebalance in records or log'
        END"""
# Events that do not show the type of a group.
OF_ANY_TYPE = ("LOADED", "UNLOADED", "ADMIN_DELETE", "GROUP_CONFIG")
COMMITS_ONLY = "commits without members"
CLIENTS_ONLY = "clients' lines without a generation"
SELF_ASSIGNED = "assign(): consumers with assign() are not members, so the group has no rebalances"
# Tables that a lake of an older version, or without a complete run, lacks.
OPTIONAL = ("client_events", "committed_offsets", "generations", "group_records", "timeline")


class MissingGroup(NamedTuple):
    cluster_id: str
    group_id: str
    group_type: str | None
    reason: str


def missing_groups(root: str) -> list[MissingGroup]:
    """The groups by cluster and reason."""
    return [MissingGroup(*row) for row in query(root, GROUPS, optional=OPTIONAL)[1]]


def by_reason(groups: Iterable[MissingGroup]) -> Iterator[tuple[str, str, list[str]]]:
    """(cluster, reason, group ids), in the order in which they come first."""
    names: dict[tuple[str, str], list[str]] = {}
    for group in groups:
        names.setdefault((group.cluster_id, group.reason), []).append(group.group_id)
    for (cluster_id, reason), ids in names.items():
        yield cluster_id, reason, ids


def sentence(group_ids: list[str], reason: str) -> str:
    """A line that names every group: ``2 groups without generations (reason): a, b``."""
    return (
        f"{counted(len(group_ids), 'group')} without generations ({reason}): {', '.join(group_ids)}"
    )
