"""Generations of consumer, share and streams groups, which are not replayed."""

from __future__ import annotations

from coordinator_core.episodes.sentences import counted
from jobs.replay.group_rows import quoted, rows


def generations_by_type(
    lake: str, cluster_id: str, group_id: str, begin_ms: int, end_ms: int
) -> dict[str, int]:
    """How many generations of other types than classic began in this time, by type."""
    counts = rows(
        lake,
        f"""SELECT group_type, COUNT(*) AS generations FROM generations
            WHERE cluster_id = {quoted(cluster_id)} AND group_id = {quoted(group_id)}
                AND group_type <> 'classic'
                AND epoch_ms(COALESCE(preparing_time, joined_time)) BETWEEN {begin_ms} AND {end_ms}
            GROUP BY group_type ORDER BY group_type""",
        optional=["generations"],
    )
    return {row["group_type"]: row["generations"] for row in counts}


def sentence(by_type: dict[str, int]) -> str:
    """Such as "not replayed, as only classic groups are: 13 generations of type consumer"."""
    listed = [f"{counted(number, 'generation')} of type {each}" for each, number in by_type.items()]
    return f"not replayed, as only classic groups are: {', '.join(listed)}"
