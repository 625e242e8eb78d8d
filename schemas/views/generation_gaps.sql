-- generation_gaps: missing generations: superseded or failed without a log, or compacted away before they were read.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    incarnation,                    -- incarnation of the group
    generation - gap_before AS first_missing, -- first missing generation
    generation - 1 AS last_missing, -- last missing generation
    gap_before AS missing,          -- number of missing generations
    event_date                      -- UTC date of the generation after the gap
FROM generations
WHERE gap_before > 0
