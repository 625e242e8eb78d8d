-- last_commits: one row per departed member: its last commit of a partition that it owned.  Clients commit automatically during poll, so the commit shows how long the process ran, and when its application stopped polling.
SELECT d.cluster_id, d.group_id, d.member_id, MAX(UNIX_MILLIS(c.append_time)) AS at_ms
FROM (
    SELECT
        cluster_id, group_id, incarnation, generation, member_id, process, left_how, left_time,
        LAG(left_time) OVER (
            PARTITION BY cluster_id, group_id, incarnation, process ORDER BY left_time, generation
        ) AS previous_left_time
    FROM generation_members
    WHERE left_how IS NOT NULL
) d
-- If a static member was replaced, the generation's partitions are assigned to the next member id.
JOIN assignments a
    ON a.cluster_id = d.cluster_id AND a.group_id = d.group_id
    AND a.incarnation = d.incarnation AND a.process = d.process AND a.assignor = 'actual'
    AND (a.member_id = d.member_id OR d.left_how = 'replaced' AND a.generation = d.generation)
    AND (a.role IS NULL OR a.role = 'active')
JOIN (
    SELECT cluster_id, group_id, incarnation, generation, stable_time,
        LEAD(stable_time) OVER (
            PARTITION BY cluster_id, group_id, incarnation ORDER BY generation
        ) AS until_time
    FROM generations
    WHERE stable_time IS NOT NULL
) s
    ON s.cluster_id = a.cluster_id AND s.group_id = a.group_id
    AND s.incarnation = a.incarnation AND s.generation = a.generation
JOIN committed_offsets c
    ON c.cluster_id = a.cluster_id AND c.group_id = a.group_id
    AND c.topic = a.topic AND c.partition = a.partition AND NOT c.tombstone
    AND c.append_time >= s.stable_time
    AND (s.until_time IS NULL OR c.append_time < s.until_time)
    AND (d.left_time IS NULL OR c.append_time <= d.left_time)
    AND (d.previous_left_time IS NULL OR a.member_id = d.member_id OR c.append_time > d.previous_left_time)
GROUP BY d.cluster_id, d.group_id, d.member_id
