-- distinct_members: how many member ids each client, host and day went through: a process that cannot stay a member shows here.
SELECT
    cluster_id,
    group_id,
    event_date,
    client_id,
    client_host,
    COUNT(DISTINCT member_id) AS distinct_members,
    COUNT(DISTINCT process) AS processes,
    MAX(generation) - MIN(generation) + 1 AS generations
FROM generation_members
GROUP BY cluster_id, group_id, event_date, client_id, client_host
