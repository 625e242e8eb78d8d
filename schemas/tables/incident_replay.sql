-- incident_replay: one row per generation replayed through the coordinator model from its evidence.
-- Key: (cluster_id, group_id, incarnation, generation)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.incident_replay
cluster_id  STRING  NOT NULL COMMENT 'cluster',
group_id    STRING  NOT NULL COMMENT 'consumer group',
incarnation INT     NOT NULL COMMENT 'incarnation of the group',
generation  INT     NOT NULL COMMENT 'generation',
event_date  DATE    NOT NULL COMMENT 'UTC date of the first event of the generation',
verdict     STRING  NOT NULL COMMENT 'reproduced: the model''s events, records and times match production''s; diverged: something differs; undecided: something differs, and no record of the incarnation remains',
difference  STRING           COMMENT 'the first difference, with the value in production and in the replay; null if reproduced',
differs_at  STRING           COMMENT 'record (log@offset) or line (broker, log:position) with the value in production',
likely      STRING           COMMENT 'probable cause of the difference',
evidence    STRING  NOT NULL COMMENT 'records, log or both: the evidence from which the clients'' actions were inferred',
exact       BOOLEAN NOT NULL COMMENT 'true if all records are equal byte for byte, including state timestamps',
late_ms     BIGINT           COMMENT 'largest difference of an event''s time, production minus replay; null without times in a log',
stimuli     INT     NOT NULL COMMENT 'number of requests, missed heartbeats and takeovers that were inferred for the generation',
assumed     INT     NOT NULL COMMENT 'number of stimuli that no log line and no record shows',
era         STRING  NOT NULL COMMENT 'era of the coordinator model'
