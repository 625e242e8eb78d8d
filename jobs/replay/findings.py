"""Problems by name in the time of a replay, with which the story begins."""

from __future__ import annotations

from jobs.lake.evidence import Row
from jobs.lake.literals import quoted
from jobs.lake.sql import query

_SHOWN = (
    "from_ms", "to_ms", "finding", "kind", "member_id", "process", "broker_id", "topic_partition",
    "confidence", "version_seen", "summary", "remedy", "reference",
)  # fmt: skip


def group_findings(
    lake: str, cluster_id: str, group_id: str, begin_ms: int, end_ms: int
) -> list[Row]:
    """The findings about the group, or about no single group, that overlap this time, the surest
    first; none in a lake without the table."""
    columns, rows = query(
        lake,
        f"""SELECT *, epoch_ms(from_time) AS from_ms, epoch_ms(to_time) AS to_ms FROM findings
            WHERE cluster_id = {quoted(cluster_id)}
                AND (group_id IS NULL OR group_id = {quoted(group_id)})
                AND COALESCE(epoch_ms(to_time) >= {begin_ms}, true)
                AND epoch_ms(from_time) <= {end_ms}
            ORDER BY confidence DESC, from_time, finding""",
        optional=["findings"],
    )
    values = [dict(zip(columns, row, strict=True)) for row in rows]
    return [{name: each[name] for name in _SHOWN} for each in values]
