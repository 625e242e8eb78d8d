-- One row per member of a generation.
WITH placed AS (
    SELECT
        records.cluster_id, records.group_id, incarnation, generation, records.event_date, seq, leader, records.members,
        lag([member.member_id FOR member IN records.members]) OVER history AS previous_ids,
        lag([member.instance_id FOR member IN records.members]) OVER history AS previous_instances,
        lead([member.member_id FOR member IN records.members]) OVER history AS next_ids
    FROM group_metadata AS records
    JOIN (
        SELECT cluster_id, group_id, topic_partition, log_offset, incarnation, seq
        FROM timeline WHERE event <> 'TOMBSTONE' AND event_generation IS NOT NULL
    ) USING (cluster_id, group_id, topic_partition, log_offset)
    WINDOW history AS (PARTITION BY records.cluster_id, records.group_id, incarnation ORDER BY seq)
), each AS (
    SELECT * EXCLUDE (members), unnest(members) AS member FROM placed
), members AS (
    SELECT
        cluster_id, group_id, incarnation, generation, event_date, seq,
        member.member_id, member.instance_id, member.client_id, member.client_host, member.session_timeout_ms,
        member.rebalance_timeout_ms, member.subscribed_topics,
        member.member_id = leader AS is_leader,
        CASE
            WHEN list_contains(previous_ids, member.member_id) THEN 'retained'
            WHEN list_contains(previous_instances, member.instance_id) THEN 'replaced'
            ELSE 'joined'
        END AS change,
        NOT coalesce(list_contains(next_ids, member.member_id), true) AS gone
    FROM each
), once AS (
    SELECT * REPLACE (first_value(change) OVER in_order AS change, first_value(event_date) OVER in_order AS event_date)
    FROM members
    WINDOW in_order AS (PARTITION BY cluster_id, group_id, incarnation, member_id, generation ORDER BY seq)
    QUALIFY lead(seq) OVER in_order IS NULL
), shared AS (
    SELECT cluster_id, group_id, incarnation, client_id, client_host, min(since) AS since
    FROM (
        SELECT cluster_id, group_id, incarnation, client_id, client_host, generation, min(event_date) AS since
        FROM once
        WHERE change = 'retained' AND instance_id IS NULL
        GROUP BY ALL
        HAVING count(*) > 1
    )
    GROUP BY ALL
), followed AS (
    SELECT *, lead(member_id) OVER instance AS next_member, lead(change) OVER instance AS next_change
    FROM once
    WINDOW instance AS (
        PARTITION BY cluster_id, group_id, incarnation, instance_id, CASE WHEN instance_id IS NULL THEN member_id END
        ORDER BY seq
    )
)
SELECT
    cluster_id, group_id, incarnation, generation, event_date, member_id, instance_id, client_id, client_host,
    CASE
        WHEN instance_id IS NOT NULL THEN instance_id
        WHEN since <= event_date THEN member_id
        ELSE client_id || '@' || ltrim(client_host, '/')
    END AS process,
    session_timeout_ms, rebalance_timeout_ms, subscribed_topics, is_leader, change,
    CASE
        WHEN gone AND instance_id IS NOT NULL AND next_change = 'replaced' AND next_member IS NOT NULL THEN 'replaced'
    END AS left_how,
    gone
FROM followed
LEFT JOIN shared USING (cluster_id, group_id, incarnation, client_id, client_host)
