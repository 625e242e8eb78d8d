-- distinct_members: how many member ids each client, host and day went through: a process that cannot stay a member shows here.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    event_date,                     -- UTC date
    client_id,                      -- client.id
    client_host,                    -- address
    COUNT(DISTINCT member_id) AS distinct_members, -- member ids it went through on that date
    COUNT(DISTINCT process) AS processes, -- processes behind them
    MAX(generation) - MIN(generation) + 1 AS generations -- from its first generation of that date to its last
FROM generation_members
GROUP BY cluster_id, group_id, event_date, client_id, client_host
