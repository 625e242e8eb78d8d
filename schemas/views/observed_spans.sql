-- observed_spans: from when to when the lake knows a cluster, by its groups' events and commits.
SELECT
    cluster_id,                     -- cluster
    MIN(seen_time) AS first_time,   -- first event of any group
    MAX(seen_time) AS last_time     -- last event of any group, or last commit
FROM (
    SELECT cluster_id, event_time AS seen_time FROM timeline
    UNION ALL
    SELECT cluster_id, append_time AS seen_time FROM committed_offsets
) AS seen
GROUP BY cluster_id
