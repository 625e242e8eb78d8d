-- trace_events: one row per line of a coordinator's trace of a scenario: responses, records and states, in virtual time.
-- Key: (cluster_id, trace_id, position)
-- Partitioned by: (cluster_id)
-- Written by: jobs.ingest
cluster_id    STRING  NOT NULL COMMENT 'cluster that the trace was ingested for',
trace_id      STRING  NOT NULL COMMENT 'hash of the file''s name and bytes, the same in any folder',
position      BIGINT  NOT NULL COMMENT 'byte position of the line, which is the order of events',
event         STRING  NOT NULL COMMENT 'start, response, record or state; in a real broker''s trace also log, no_response or skipped',
at_ms         BIGINT           COMMENT 'ms since the scenario began; null for start',
group_id      STRING           COMMENT 'group id (state and record lines)',
step          STRING           COMMENT 'id of the request that a response answers',
op            STRING           COMMENT 'join, sync, heartbeat, leave, commit, fetch, describe or delete (response lines)',
error         STRING           COMMENT 'error of the response, or NONE',
state         STRING           COMMENT 'group state (state lines and responses to describe)',
generation    INT              COMMENT 'generation, if the line has one',
protocol_type STRING           COMMENT 'protocol type (response lines)',
protocol_name STRING           COMMENT 'chosen protocol (response lines)',
leader        STRING           COMMENT 'member id of the leader, if the line names one',
member_id     STRING           COMMENT 'member that a response to join is for',
members       ARRAY<STRING>    COMMENT 'member ids in the order of the line; all generated ids (start line)',
assignment    BINARY           COMMENT 'assignment in a response to sync',
key           BINARY           COMMENT 'key of the appended record',
value         BINARY           COMMENT 'value of the record; null for a tombstone',
runner        STRING           COMMENT 'program that ran the scenario (start line)',
line          STRING  NOT NULL COMMENT 'the line, unchanged',
file          STRING  NOT NULL COMMENT 'file that the line was first read from'
