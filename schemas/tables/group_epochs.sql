-- group_epochs: one row per group epoch of a consumer, share or streams group, and per conversion.
-- Key: (cluster_id, group_id, incarnation, epoch, time, cause)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.group_epochs
cluster_id      STRING    NOT NULL COMMENT 'cluster',
group_id        STRING    NOT NULL COMMENT 'group',
incarnation     INT       NOT NULL COMMENT 'incarnation of the group',
epoch           INT       NOT NULL COMMENT 'group epoch; in a conversion to a classic group its generation',
event_date      DATE      NOT NULL COMMENT 'UTC date of the record',
time            TIMESTAMP NOT NULL COMMENT 'time of the record, or without a record of the line',
generation      INT                COMMENT 'assignment epoch of the target for this epoch; a target may be for several epochs that followed fast; null before that target or without one',
cause           STRING    NOT NULL COMMENT 'MEMBER_NEW, LEAVE, SESSION_EXPIRY, REBALANCE_TIMEOUT, MEMBER_GONE (no line says how it left), SUBSCRIPTION_CHANGE, ASSIGNOR_CHANGE, REGEX, TOPIC_CHANGE, STATIC_LEAVE, CONVERSION, UNKNOWN',
reason          STRING             COMMENT 'details for causes with several forms: regular expression of the member resolved; share state initialized; internal topics created, topology validated; null for other causes',
member_id       STRING             COMMENT 'member that caused the epoch; null for topics and conversions',
process         STRING             COMMENT 'process of that member, as in generation_members',
topic_partition STRING             COMMENT 'partition of __consumer_offsets with the record; null without a record',
log_offset      BIGINT             COMMENT 'offset of the record; null without a record',
evidence        STRING    NOT NULL COMMENT 'records; both if a log line also says how the member left; log without records, in which case a departure from a share or streams group has no line for its epoch'
