-- claimed_partitions: one row per partition that a member says it owns when it joins a generation (subscription version 1 and up).
SELECT
    c.group_id, g.incarnation, c.generation, c.append_time, c.protocol, c.leader, c.member_id,
    c.instance_id, c.rack_id, c.owned_generation, c.topic, c.partition
FROM (
    SELECT
        group_id, generation, append_time, protocol, leader, topic_partition, log_offset,
        member.member_id, member.instance_id, member.rack_id, member.owned_generation, owned.topic,
        EXPLODE(owned.partitions) AS partition
    FROM (
        SELECT r.*, EXPLODE(member.owned) AS owned
        FROM (
            SELECT
                group_id, generation, append_time, protocol, leader, topic_partition, log_offset,
                EXPLODE(members) AS member
            FROM group_metadata
            WHERE protocol_type = 'consumer'
        ) AS r
    ) AS o
) AS c
-- Further records of a generation belong to static members that were replaced.
JOIN generations g
    ON g.group_id = c.group_id AND g.generation = c.generation
    AND g.topic_partition = c.topic_partition AND g.first_offset = c.log_offset
