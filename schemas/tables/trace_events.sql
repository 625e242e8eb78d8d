-- trace_events: one row per line of an engine's trace: what a scenario was answered, stored and went through, in virtual time.
-- Key: (cluster_id, trace_id, position)
-- Partitioned by: (cluster_id)
-- Written by: jobs.ingest
cluster_id    STRING  NOT NULL COMMENT 'cluster the trace was read for',
trace_id      STRING  NOT NULL COMMENT 'hash of the file''s name and bytes: the same trace in another folder is the same',
position      BIGINT  NOT NULL COMMENT 'byte position of the line: the only order there is',
event         STRING  NOT NULL COMMENT 'start, response, record or state; in a real broker''s trace also log, no_response or skipped',
at_ms         BIGINT           COMMENT 'ms since the scenario began; null for start',
group_id      STRING           COMMENT 'group of a state or a record',
step          STRING           COMMENT 'id of the request that a response answers',
op            STRING           COMMENT 'join, sync, heartbeat, leave, commit, fetch, describe or delete, of a response',
error         STRING           COMMENT 'error of a response, NONE if there is none',
state         STRING           COMMENT 'group state, of a state or an answer to describe',
generation    INT              COMMENT 'generation, where the line has one',
protocol_type STRING           COMMENT 'protocol type in a response',
protocol_name STRING           COMMENT 'protocol that was chosen, in a response',
leader        STRING           COMMENT 'member id of the leader, where the line names one',
member_id     STRING           COMMENT 'member that a join''s answer is for',
members       ARRAY<STRING>    COMMENT 'member ids in the order of the line; of start every generated one',
assignment    BINARY           COMMENT 'assignment in an answer to sync',
key           BINARY           COMMENT 'key of a record that was appended',
value         BINARY           COMMENT 'its value; null is a tombstone',
runner        STRING           COMMENT 'what ran the scenario, of start',
line          STRING  NOT NULL COMMENT 'the line as it stood',
file          STRING  NOT NULL COMMENT 'file it was first read from'
