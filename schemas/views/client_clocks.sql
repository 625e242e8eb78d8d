-- client_clocks: how far each client's clock is ahead of the brokers' clocks, or without broker evidence of most clients' clocks.
-- A client asks to join before the coordinator completes the join, and receives the response after it, which gives a lower and an upper bound.
-- A consumer group with clients of the classic protocol responds to each of these clients separately, and one
-- such client may join a generation repeatedly.
-- A restarted static member joins the generation that the group already has, so the first
-- generation of a member id that does not begin with the client id does not count.
WITH told AS (
    SELECT
        *,
        COALESCE(
            (instance_id IS NOT NULL OR SUBSTR(member_id, 1, LENGTH(client_id) + 1) <> CONCAT(client_id, '-'))
            AND (LAG(position) OVER of_client IS NULL OR LAG(member_id) OVER of_client <> member_id),
            FALSE
        ) AS may_replace
    FROM client_generations
    WINDOW of_client AS (PARTITION BY cluster_id, file_id, client_id, group_id ORDER BY position)
),
asked_once AS (
    SELECT cluster_id, group_id, generation
    FROM (
        SELECT t.cluster_id, t.group_id, t.generation, t.client_id, t.file_id, g.generations, COUNT(*) AS joins
        FROM client_generations t
        JOIN (
            SELECT cluster_id, group_id, generation, COUNT(*) AS generations
            FROM generations
            GROUP BY cluster_id, group_id, generation
        ) AS g
            ON g.cluster_id = t.cluster_id AND g.group_id = t.group_id AND g.generation = t.generation
        GROUP BY t.cluster_id, t.group_id, t.generation, t.client_id, t.file_id, g.generations
    ) AS of_client
    GROUP BY cluster_id, group_id, generation
    HAVING MAX(joins - generations) <= 0
),
seen AS (
    SELECT
        t.cluster_id, t.client_id, t.file_id, t.group_id, t.generation, t.joining_time, t.client_joined_time,
        g.joined_time, CASE WHEN g.evidence = 'clients' THEN 'clients' ELSE 'brokers' END AS reference,
        -- Generations start again in each incarnation.
        ROW_NUMBER() OVER (
            PARTITION BY t.cluster_id, t.client_id, t.file_id, t.group_id, t.generation, t.client_joined_time
            ORDER BY ABS(UNIX_MILLIS(t.client_joined_time) - UNIX_MILLIS(g.joined_time)), g.incarnation
        ) AS nearness
    FROM told t
    JOIN generations g
        ON g.cluster_id = t.cluster_id AND g.group_id = t.group_id AND g.generation = t.generation
        AND g.joined_time IS NOT NULL AND COALESCE(g.group_type, 'classic') = 'classic'
    JOIN asked_once a
        ON a.cluster_id = t.cluster_id AND a.group_id = t.group_id AND a.generation = t.generation
    WHERE t.client_joined_time IS NOT NULL AND NOT t.may_replace
),
bounds AS (
    SELECT
        cluster_id, client_id, file_id, reference, COUNT(*) AS generations,
        ROW_NUMBER() OVER (PARTITION BY cluster_id, client_id, file_id ORDER BY reference) AS preference,
        MAX(UNIX_MILLIS(joining_time) - UNIX_MILLIS(joined_time)) AS at_least_ms,
        MIN(UNIX_MILLIS(client_joined_time) - UNIX_MILLIS(joined_time)) AS at_most_ms
    FROM seen
    WHERE nearness = 1
    GROUP BY cluster_id, client_id, file_id, reference
)
SELECT
    cluster_id,                     -- cluster
    client_id,                      -- client.id
    file_id,                        -- log of the client
    reference,                      -- brokers; or clients if only clients logged the generations, with most clients' clocks as reference
    generations,                    -- generations that the client and the reference have in common
    at_least_ms AS ahead_at_least_ms, -- lower bound of the client's clock minus the reference's clock; negative if the client's clock is behind
    at_most_ms AS ahead_at_most_ms, -- upper bound of the client's clock minus the reference's clock; below the lower bound if the clock was set in between
    CASE
        WHEN at_least_ms > 0 THEN at_least_ms
        WHEN at_most_ms < 0 THEN at_most_ms
        ELSE 0
    END AS ahead_ms                 -- smallest difference that the bounds allow: 0 if the clocks may be equal
FROM bounds
WHERE preference = 1
ORDER BY ABS(ahead_ms) DESC, cluster_id, client_id, file_id
