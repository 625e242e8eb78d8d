-- distinct_members: member ids per client, host and date, which shows processes that cannot stay a member.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    event_date,                     -- UTC date
    client_id,                      -- client.id
    client_host,                    -- address
    COUNT(DISTINCT member_id) AS distinct_members, -- member ids on that date
    COUNT(DISTINCT process) AS processes, -- processes behind these member ids
    COUNT(DISTINCT incarnation || '.' || generation) AS generations -- generations with one of these members
FROM generation_members
GROUP BY cluster_id, group_id, event_date, client_id, client_host
