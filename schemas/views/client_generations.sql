-- client_generations: each generation of a classic group that a client joined, with the client's own times.
WITH ordered AS (
    SELECT
        cluster_id, file_id, position, client_id, group_id, library, event, event_time, generation, member_id, instance_id, assignor,
        MAX(CASE WHEN event = 'JOINING' THEN event_time END) OVER before AS joining_time,
        -- Java before 2.4 and librdkafka log the beginning of a revocation under another name.
        MAX(CASE
            WHEN event = 'PARTITIONS_REVOKING' OR (event = 'PARTITIONS_REVOKED' AND library <> 'librdkafka') THEN event_time
        END) OVER before AS revoked_time,
        MAX(CASE WHEN event = 'JOINED' THEN event_time END) OVER before AS client_joined_time,
        MAX(CASE WHEN event = 'JOINED' THEN position END) OVER before AS joined_position,
        MAX(CASE WHEN event = 'LEADER_ASSIGNED' THEN event_time END) OVER before AS led_time,
        MAX(CASE WHEN event IN ('SYNCED', 'SYNC_FAILED', 'ASSIGNED') THEN event_time END) OVER earlier AS previous_time,
        MAX(CASE WHEN event = 'JOINED' THEN event_time END) OVER earlier AS previous_joined_time,
        MIN(CASE WHEN event IN ('JOINED', 'LEAVING') THEN position END) OVER later AS next_position,
        MIN(CASE
            WHEN event IN ('SYNCED', 'SYNC_FAILED') OR (event = 'ASSIGNED' AND library = 'kafka-python') THEN position
        END) OVER later AS next_sync_position,
        MIN(CASE WHEN event = 'PARTITIONS_ADDED' THEN event_time END) OVER later AS added_time,
        MIN(CASE WHEN event = 'PARTITIONS_ADDED' THEN position END) OVER later AS added_position
    FROM client_events
    WHERE group_id IS NOT NULL
    WINDOW
        before AS (
            PARTITION BY cluster_id, file_id, client_id, group_id ORDER BY position
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ),
        earlier AS (
            PARTITION BY cluster_id, file_id, client_id, group_id ORDER BY position
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ),
        later AS (
            PARTITION BY cluster_id, file_id, client_id, group_id ORDER BY position
            ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
        )
),
told AS (
    SELECT
        *,
        -- Java before 2.6 names no member id, and logs a join only after SyncGroup.
        event = 'JOINED' AS logs_after_sync
    FROM ordered
    WHERE
        event IN ('SYNCED', 'SYNC_FAILED')
        -- kafka-python logs its assignment instead of the answer to SyncGroup.
        OR (event = 'ASSIGNED' AND library = 'kafka-python')
        OR (
            event = 'JOINED' AND member_id IS NULL AND generation > 0
            AND (next_sync_position IS NULL OR next_sync_position > next_position)
        )
),
-- sarama names a generation when its session ends.
sessions AS (
    SELECT
        cluster_id, file_id, position, client_id, group_id, event, event_time, generation, member_id, instance_id, assignor,
        COALESCE(SUM(CASE WHEN event IN ('SESSION_ENDED', 'STARTED') THEN 1 ELSE 0 END) OVER earlier, 0) AS session,
        MAX(CASE WHEN event IN ('SESSION_ENDED', 'STARTED') THEN position END) OVER earlier AS before_position,
        MAX(CASE WHEN event = 'SESSION_ENDED' THEN position END) OVER earlier AS ended_position,
        MAX(CASE WHEN event = 'SESSION_ENDED' THEN event_time END) OVER earlier AS ended_time
    FROM client_events
    WHERE library = 'sarama' AND group_id IS NOT NULL
    WINDOW earlier AS (
        PARTITION BY cluster_id, file_id, client_id, group_id ORDER BY position
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
consumed AS (
    SELECT
        *,
        MIN(CASE WHEN event = 'ASSIGNED_PARTITION' THEN event_time END) OVER (
            PARTITION BY cluster_id, file_id, client_id, group_id, session
        ) AS consuming_time
    FROM sessions
),
times AS (
    SELECT
        cluster_id, file_id, position, client_id, group_id, event, event_time, generation, member_id, instance_id, assignor,
        joining_time, revoked_time, joined_position, next_position, added_time, added_position,
        CASE WHEN logs_after_sync AND led_time >= joining_time THEN led_time ELSE client_joined_time END AS joined_time,
        CASE WHEN logs_after_sync THEN previous_joined_time ELSE previous_time END AS before_time
    FROM told
    UNION ALL
    SELECT
        cluster_id, file_id, position, client_id, group_id, event, consuming_time, generation, member_id, instance_id, assignor,
        CASE WHEN ended_position = before_position THEN ended_time END, CASE WHEN 1 = 0 THEN event_time END,
        CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), consuming_time, CAST(NULL AS BIGINT),
        consuming_time, CASE WHEN 1 = 0 THEN event_time END
    FROM consumed
    WHERE event = 'SESSION_ENDED' AND generation > 0 AND member_id IS NOT NULL
)
SELECT
    o.cluster_id,                   -- cluster
    o.group_id,                     -- consumer group
    COALESCE(o.generation, j.generation) AS generation, -- generation that the client joined
    o.client_id,                    -- client.id; null if the client does not log it
    COALESCE(o.member_id, j.member_id) AS member_id, -- member id, if the client logs it
    COALESCE(o.instance_id, j.instance_id) AS instance_id, -- group.instance.id of a static member
    COALESCE(o.assignor, j.assignor) AS assignor, -- assignor that the group chose
    CASE WHEN o.before_time IS NULL OR o.revoked_time > o.before_time THEN o.revoked_time END AS revoked_time, -- time at which the client began to revoke partitions before this generation
    o.joining_time,                 -- last JoinGroup request
    o.joined_time AS client_joined_time, -- time of the response to JoinGroup, or an upper bound of it if the client logs only after SyncGroup
    CASE WHEN o.event <> 'SYNC_FAILED' THEN o.event_time END AS synced_time, -- time of the response to SyncGroup; null if the generation was superseded
    CASE WHEN o.event <> 'SYNC_FAILED' AND (o.next_position IS NULL OR o.added_position < o.next_position) THEN o.added_time END AS added_time, -- time at which the client began to use its new partitions
    CASE
        WHEN o.revoked_time > o.before_time OR o.before_time IS NULL
            THEN UNIX_MILLIS(o.joining_time) - UNIX_MILLIS(o.revoked_time)
    END AS revoke_ms,               -- ms from the revocation to the JoinGroup request: the callback and the commit before the request
    UNIX_MILLIS(o.joined_time) - UNIX_MILLIS(o.joining_time) AS waited_ms, -- ms that the client waited for the other members
    o.file_id,                      -- log of the client
    o.position                      -- its line
FROM times o
LEFT JOIN client_events j
    ON j.cluster_id = o.cluster_id AND j.file_id = o.file_id AND j.position = o.joined_position
ORDER BY o.cluster_id, o.group_id, synced_time, o.client_id, o.position
