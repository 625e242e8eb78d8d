"""The types of a group's generations, and how many there are of other types than classic.

Without the generations that only clients' logs show: these have no events to replay or simulate.
"""

from __future__ import annotations

from jobs.lake.client_rows import OF_BROKERS
from jobs.replay.group_rows import quoted, rows


def generations_by_type(
    lake: str, cluster_id: str, group_id: str, begin_ms: int, end_ms: int
) -> dict[str, int]:
    """How many generations of other types than classic began in this time, by type."""
    counts = rows(
        lake,
        f"""SELECT group_type, COUNT(*) AS generations FROM generations
            WHERE cluster_id = {quoted(cluster_id)} AND group_id = {quoted(group_id)}
                AND group_type <> 'classic' AND {OF_BROKERS}
                AND epoch_ms(COALESCE(preparing_time, joined_time)) BETWEEN {begin_ms} AND {end_ms}
            GROUP BY group_type ORDER BY group_type""",
        optional=["generations"],
    )
    return {row["group_type"]: row["generations"] for row in counts}


def types_of(lake: str, cluster_id: str, group_id: str) -> list[str]:
    """The types of all generations of the group, sorted."""
    types = rows(
        lake,
        f"""SELECT DISTINCT COALESCE(group_type, 'classic') AS group_type FROM generations
            WHERE cluster_id = {quoted(cluster_id)} AND group_id = {quoted(group_id)}
                AND {OF_BROKERS}
            ORDER BY 1""",
    )
    return [row["group_type"] for row in types]
