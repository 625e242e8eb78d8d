-- incident_replay: one row per generation that was played again through the engine, from its evidence.
-- Key: (cluster_id, group_id, incarnation, generation)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.incident_replay
cluster_id   STRING  NOT NULL COMMENT 'cluster',
group_id     STRING  NOT NULL COMMENT 'consumer group',
incarnation  INT     NOT NULL COMMENT 'life of the group',
generation   INT     NOT NULL COMMENT 'generation',
event_date   DATE    NOT NULL COMMENT 'UTC date of the first event of the generation',
verdict      STRING  NOT NULL COMMENT 'reproduced: the engine, given what clients did, came to the same; diverged: it did not',
difference   STRING           COMMENT 'the first thing that differs, production''s and the replay''s; null if reproduced',
differs_at   STRING           COMMENT 'the record (log@offset) or the line (broker, log:position) that has production''s',
likely       STRING           COMMENT 'what such a difference points to',
evidence     STRING  NOT NULL COMMENT 'records, log or both: from what it was inferred what clients did',
exact        BOOLEAN NOT NULL COMMENT 'every record is the same to the last bit, state timestamps included',
late_ms      BIGINT           COMMENT 'largest time difference, production''s minus the replay''s; null where no log has times',
stimuli      INT     NOT NULL COMMENT 'requests, silences and takeovers inferred for it',
assumed      INT     NOT NULL COMMENT 'those of them that no line and no record names',
era          STRING  NOT NULL COMMENT 'era of the engine that was asked'
