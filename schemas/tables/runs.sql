-- runs: one row per step of a run: its options, duration, written rows and outcome.
-- Key: (cluster_id, run_id, step)
-- Partitioned by: (cluster_id)
-- Written by: jobs.nightly_run.runs
cluster_id       STRING    NOT NULL COMMENT 'cluster',
run_id           STRING    NOT NULL COMMENT 'start of the run in UTC and a random part; also the userMetadata of the run''s commits',
step             STRING    NOT NULL COMMENT 'ingest or a job; nightly for the run as a whole; repair for a repair of computed tables, after which every date is recomputed',
from_time        TIMESTAMP NOT NULL COMMENT 'start of the step',
seconds          DOUBLE    NOT NULL COMMENT 'duration of the step',
outcome          STRING    NOT NULL COMMENT 'done or failed',
error            STRING             COMMENT 'error of a failed step, in one line',
first_date       DATE               COMMENT 'first UTC date of the run; null if unbounded',
last_date        DATE               COMMENT 'last UTC date of the run; null if unbounded',
options          MAP<STRING, STRING> COMMENT 'options of the run, with its sources (nightly row only)',
rows_written     MAP<STRING, BIGINT> COMMENT 'rows inserted, changed or replaced by table; for ingest the new rows',
versions         MAP<STRING, STRING> COMMENT 'name of the engine; versions of regroup, of the packages of the engine and of python (nightly row only)',
bronze_versions  MAP<STRING, BIGINT> COMMENT 'versions of the bronze tables up to which all dates are computed (nightly row only)',
own_versions     MAP<STRING, BIGINT> COMMENT 'versions of the bronze tables up to which the dates of the run are computed (nightly row only)'
