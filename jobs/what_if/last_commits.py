"""The last commit of each departed member, of a partition that it owned.

Auto-commits are sent during poll, so the last one shows how long a process ran, and when its
application stopped polling.  The same SQL runs on Spark and DuckDB.
"""

from __future__ import annotations

from collections.abc import Callable


def last_commits_sql(where: str = "true", table: Callable[[str], str] = str) -> str:
    """Columns cluster_id, group_id, member_id, committed (TIMESTAMP).

    ``where``: a condition on the columns cluster_id and group_id, without table names.
    ``table``: how the query refers to a table; default: by its name.
    """
    return f"""
WITH stable AS (
    SELECT cluster_id, group_id, incarnation, generation, stable_time,
        LEAD(stable_time) OVER (
            PARTITION BY cluster_id, group_id, incarnation ORDER BY generation
        ) AS until_time
    FROM {table("generations")}
    WHERE stable_time IS NOT NULL AND {where}
),
departed AS (
    SELECT DISTINCT cluster_id, group_id, incarnation, member_id, left_time
    FROM {table("generation_members")}
    WHERE left_how IS NOT NULL AND {where}
)
SELECT a.cluster_id, a.group_id, a.member_id, MAX(c.append_time) AS committed
FROM departed d
JOIN {table("assignments")} a
    ON a.cluster_id = d.cluster_id AND a.group_id = d.group_id
    AND a.incarnation = d.incarnation AND a.member_id = d.member_id AND a.assignor = 'actual'
    AND (a.role IS NULL OR a.role = 'active')
JOIN stable s
    ON s.cluster_id = a.cluster_id AND s.group_id = a.group_id
    AND s.incarnation = a.incarnation AND s.generation = a.generation
JOIN (SELECT * FROM {table("committed_offsets")} WHERE NOT tombstone AND {where}) c
    ON c.cluster_id = a.cluster_id AND c.group_id = a.group_id
    AND c.topic = a.topic AND c.partition = a.partition
    AND c.append_time >= s.stable_time
    AND (s.until_time IS NULL OR c.append_time < s.until_time)
    AND (d.left_time IS NULL OR c.append_time <= d.left_time)
GROUP BY a.cluster_id, a.group_id, a.member_id"""
