-- churn: one row per generation, what changed against the one before.
-- Key: (cluster_id, group_id, incarnation, generation)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.churn
cluster_id           STRING NOT NULL COMMENT 'cluster',
group_id             STRING NOT NULL COMMENT 'consumer group',
incarnation          INT    NOT NULL COMMENT 'life of the group',
generation           INT    NOT NULL COMMENT 'generation',
event_date           DATE   NOT NULL COMMENT 'UTC date of the generation',
members_joined       INT             COMMENT 'member ids seen for the first time in a record of this generation (a static replacement is one); null without records',
members_left         INT             COMMENT 'members that left explicitly since the join barrier of the generation before; null without a log',
members_expired      INT             COMMENT 'members whose session expired since then; null without a log',
members_dropped      INT             COMMENT 'members removed since then for not rejoining or not syncing in time; null without a log',
members_replaced     INT             COMMENT 'static members that came back under a new member id, in this generation or on the way to it',
members_retained     INT             COMMENT 'members of the group''s record before that are still there; null without records',
members_gone         INT             COMMENT 'members of the group''s record before that are not there any more; null without records',
partitions_assigned  INT             COMMENT 'partitions that have an owner; null without records',
partitions_moved     INT             COMMENT 'partitions whose owner is another process than the last one that owned them; null without records',
partitions_orphaned  INT             COMMENT 'partitions owned before and by nobody now; null without records',
partitions_new       INT             COMMENT 'partitions that never had an owner before; null without records',
moves_forced         INT             COMMENT 'moves that no assignment could avoid: the owner is gone, or balance needs it; null without records'
