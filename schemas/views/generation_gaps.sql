-- generation_gaps: where generations are missing: superseded or failed ones without a log, or compacted away before they were read.
SELECT
    cluster_id,
    group_id,
    incarnation,
    generation - gap_before AS first_missing,
    generation - 1 AS last_missing,
    gap_before AS missing,
    event_date
FROM generations
WHERE gap_before > 0
