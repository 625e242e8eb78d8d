-- client_rebalances: each generation of a classic group as far as its clients logged it, without any broker evidence.
-- A client without a log is missing here.
WITH told AS (
    SELECT
        cluster_id, group_id, generation, client_id, file_id, member_id, assignor, joining_time, client_joined_time, synced_time,
        -- A deleted group starts again at generation 1: its clients join the same generation minutes apart.
        CASE
            WHEN UNIX_MILLIS(client_joined_time) - UNIX_MILLIS(LAG(client_joined_time) OVER (
                PARTITION BY cluster_id, group_id, generation ORDER BY client_joined_time, file_id, client_id
            )) > 300000 THEN 1
            ELSE 0
        END AS is_again
    FROM client_generations
    WHERE client_joined_time IS NOT NULL
),
turns AS (
    SELECT *, SUM(is_again) OVER (
        PARTITION BY cluster_id, group_id, generation ORDER BY client_joined_time, file_id, client_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS turn
    FROM told
)
SELECT
    cluster_id,                             -- cluster
    group_id,                               -- consumer group
    generation,                             -- generation
    MIN(joining_time) AS first_joining_time, -- first JoinGroup request of these clients
    MIN(client_joined_time) AS joined_time, -- first answer to JoinGroup
    MAX(synced_time) AS synced_time,        -- last response to SyncGroup; null if the generation was superseded
    COUNT(DISTINCT CONCAT(file_id, '/', COALESCE(client_id, ''))) AS clients, -- clients that joined the generation; the same client id in two logs counts as two clients
    MAX(assignor) AS assignor,              -- assignor that the group chose
    CASE WHEN MAX(synced_time) IS NULL THEN 'superseded' ELSE 'stable' END AS outcome, -- superseded if no client received its assignment
    MAX(UNIX_MILLIS(client_joined_time) - UNIX_MILLIS(joining_time)) AS join_ms, -- ms of the join phase, from the first request of these clients on, each by its own clock
    MAX(UNIX_MILLIS(synced_time) - UNIX_MILLIS(client_joined_time)) AS sync_ms, -- ms until the last client received its assignment, each by its own clock
    'clients' AS evidence                   -- always clients: times are from the clients' clocks, which may differ (client_clocks)
FROM turns
GROUP BY cluster_id, group_id, generation, turn
ORDER BY cluster_id, group_id, joined_time
