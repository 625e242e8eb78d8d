"""The episodes of one group, with their costs: what the story of its rebalances leads with."""

from __future__ import annotations

from jobs.lake.evidence import Row
from jobs.lake.literals import quoted
from jobs.lake.sql import OF_EPISODE_COSTS, query

_SHOWN = (
    "from_ms", "to_ms", "kind", "processes", "rebalances", "not_stable_ms", "unowned_partition_ms",
    "unowned_partition_ms_low", "unowned_partition_ms_high", "partitions_moved", "summary",
    "confidence",
)  # fmt: skip


def group_episodes(
    lake: str, cluster_id: str, group_id: str, begin_ms: int, end_ms: int
) -> list[Row]:
    """The group's episodes that overlap this time, in order; none in a lake without the table."""
    columns, rows = query(
        lake,
        # Name all columns, because the name of a single column would open the view of this name.
        f"""SELECT * REPLACE (text AS summary), epoch_ms(from_time) AS from_ms,
                epoch_ms(to_time) AS to_ms
            FROM episode_costs
            WHERE cluster_id = {quoted(cluster_id)} AND group_id = {quoted(group_id)}
                AND epoch_ms(to_time) >= {begin_ms} AND epoch_ms(from_time) <= {end_ms}
            ORDER BY from_time, activity_time, episode""",
        optional=OF_EPISODE_COSTS,
    )
    values = [dict(zip(columns, row, strict=True)) for row in rows]
    return [{name: each[name] for name in _SHOWN} for each in values]
