-- findings: one row per finding: a known defect of Kafka or of a client library, a wrong setting, or a failure of a coordinator, by name. A problem that lasts past midnight has one row per date.
-- Key: (cluster_id, event_date, finding, group_id, incarnation, member_id, process, broker_id, topic_partition, from_time)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.findings
cluster_id      STRING    NOT NULL COMMENT 'cluster',
finding         STRING    NOT NULL COMMENT 'id of the problem: KAFKA-10284, librdkafka-4783, coordinator_stall, ...; docs/known-problems.md describes each',
kind            STRING    NOT NULL COMMENT 'broker_bug, client_bug, configuration, operation, coordinator, data or evidence',
group_id        STRING             COMMENT 'consumer group; null for a finding about several groups or a broker',
incarnation     INT                COMMENT 'incarnation of the group',
member_id       STRING             COMMENT 'member concerned',
process         STRING             COMMENT 'process concerned, as in generation_members',
broker_id       INT                COMMENT 'broker concerned; -1 if its id is unknown',
topic_partition STRING             COMMENT 'partition concerned, as topic-partition',
event_date      DATE      NOT NULL COMMENT 'UTC date of from_time',
from_time       TIMESTAMP NOT NULL COMMENT 'first event that shows the problem',
to_time         TIMESTAMP          COMMENT 'last event that shows the problem; null if the problem had not ended by the end of the next date',
rebalances      INT                COMMENT 'rebalances that the problem caused; null if unknown',
confidence      DOUBLE    NOT NULL COMMENT '0 to 1: confidence that this problem is the cause; lower if version_seen is false',
version_seen    BOOLEAN            COMMENT 'true if the evidence shows a version that has the defect; false if the version is unknown, or the evidence also allows versions without the defect; null for a problem that does not depend on a version',
version         STRING             COMMENT 'versions that the evidence allows, as 2.4-2.5; null if the evidence shows none',
summary         STRING    NOT NULL COMMENT 'the finding in one sentence',
remedy          STRING    NOT NULL COMMENT 'what to do, in sentences; further lines are settings or SQL to paste',
evidence        STRING             COMMENT 'log lines, or a description of the rows, that show the finding; one per line',
reference       STRING    NOT NULL COMMENT 'addresses of ticket, pull request or KIP; one per line'
