-- observed_spans: the time span that the lake has of each cluster, by its groups' events and commits.
SELECT
    cluster_id,                     -- cluster
    MIN(seen_time) AS first_time,   -- time of the first event or commit
    MAX(seen_time) AS last_time     -- time of the last event or commit
FROM (
    SELECT cluster_id, event_time AS seen_time FROM timeline
    UNION ALL
    SELECT cluster_id, append_time AS seen_time FROM committed_offsets
) AS seen
GROUP BY cluster_id
