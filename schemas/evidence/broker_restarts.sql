-- broker_restarts: one row per restart of a broker: start time, and versions before and after.
SELECT cluster_id, b.broker_id, UNIX_MILLIS(b.started_time) AS started_ms, b.from_version, b.to_version
FROM (SELECT cluster_id, EXPLODE(brokers) AS b FROM broker_episodes) AS restarts
