-- commits: one row per group with offset commits: the newest version of their values, and the times of the first and the last commit.
SELECT
    cluster_id, group_id, MAX(value_version) AS offset_version,
    MIN(UNIX_MILLIS(CASE WHEN NOT tombstone THEN commit_time END)) AS first_ms,
    MAX(UNIX_MILLIS(CASE WHEN NOT tombstone THEN commit_time END)) AS last_ms
FROM committed_offsets
GROUP BY cluster_id, group_id
