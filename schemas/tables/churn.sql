-- churn: one row per generation: members and partitions that changed since the previous generation.
-- Key: (cluster_id, group_id, incarnation, generation)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.churn
cluster_id           STRING NOT NULL COMMENT 'cluster',
group_id             STRING NOT NULL COMMENT 'consumer group',
incarnation          INT    NOT NULL COMMENT 'incarnation of the group',
generation           INT    NOT NULL COMMENT 'generation',
event_date           DATE   NOT NULL COMMENT 'UTC date of the generation',
members_joined       INT             COMMENT 'member ids that appear first in a record of this generation, including static replacements; null without records',
members_left         INT             COMMENT 'members that left since the previous generation''s join barrier; null without a log',
members_expired      INT             COMMENT 'members whose session expired since the previous generation''s join barrier; null without a log',
members_dropped      INT             COMMENT 'members removed since the previous generation''s join barrier for not rejoining or not syncing in time; null without a log',
members_replaced     INT             COMMENT 'static members replaced by a new member id, in this generation or while the generation was forming',
members_retained     INT             COMMENT 'members of the group''s previous record that are also in this record; null without records',
members_gone         INT             COMMENT 'members of the group''s previous record that are not in this record; null without records',
partitions_assigned  INT             COMMENT 'partitions that have an owner; null without records',
partitions_moved     INT             COMMENT 'partitions whose owner is another process than the previous owner; null without records',
partitions_orphaned  INT             COMMENT 'partitions that had an owner before and are unowned now; null without records',
partitions_new       INT             COMMENT 'partitions that never had an owner before; null without records',
moves_forced         INT             COMMENT 'moves that no assignment could avoid, because the owner has left or balance requires the move; null without records'
