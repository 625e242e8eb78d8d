-- runs: one row per step of a run: what it was given, how long it took, what it wrote, and how it ended.
-- Key: (cluster_id, run_id, step)
-- Partitioned by: (cluster_id)
-- Written by: jobs.nightly_run.runs
cluster_id       STRING    NOT NULL COMMENT 'cluster',
run_id           STRING    NOT NULL COMMENT 'when the run began, in UTC, and a random part; also the userMetadata of every commit it made',
step             STRING    NOT NULL COMMENT 'ingest or a job; nightly, for the run as a whole',
started_at       TIMESTAMP NOT NULL COMMENT 'when the step began',
seconds          DOUBLE    NOT NULL COMMENT 'how long it took',
outcome          STRING    NOT NULL COMMENT 'done or failed',
error            STRING             COMMENT 'of a step that failed, the error in one line',
first_date       DATE               COMMENT 'first UTC date the run was for; null: no bound',
last_date        DATE               COMMENT 'last UTC date the run was for; null: no bound',
options          MAP<STRING, STRING> COMMENT 'of the whole run: the options it was given, and from where it read',
rows_written     MAP<STRING, BIGINT> COMMENT 'rows added, changed or put in the place of others, by table; of ingest: what was new',
versions         MAP<STRING, STRING> COMMENT 'of the whole run: regroup, spark, delta, python',
bronze_versions  MAP<STRING, BIGINT> COMMENT 'of the whole run: up to which versions of the bronze tables the others are worked out, whatever the date',
own_versions     MAP<STRING, BIGINT> COMMENT 'of the whole run: up to which versions they are worked out for its own dates'
