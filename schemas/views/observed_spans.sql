-- observed_spans: the time span that the lake covers per cluster, by its groups' events and commits; without any, by its clients' logs.
SELECT
    cluster_id,                     -- cluster
    COALESCE(MIN(broker_time), MIN(client_time)) AS first_time, -- time of the first event or commit; without any, of a client's first line
    COALESCE(MAX(broker_time), MAX(client_time)) AS last_time -- time of the last event or commit; without any, of a client's last line
FROM (
    SELECT cluster_id, event_time AS broker_time, NULL AS client_time FROM timeline
    UNION ALL
    SELECT cluster_id, append_time, NULL FROM committed_offsets
    UNION ALL
    SELECT cluster_id, NULL, event_time FROM client_events
) AS seen
GROUP BY cluster_id
