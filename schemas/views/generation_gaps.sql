-- generation_gaps: where generations are missing: superseded or failed ones without a log, or compacted away before they were read.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    incarnation,                    -- life of the group
    generation - gap_before AS first_missing, -- first generation that left no trace
    generation - 1 AS last_missing, -- last one
    gap_before AS missing,          -- how many
    event_date                      -- UTC date of the generation after them
FROM generations
WHERE gap_before > 0
