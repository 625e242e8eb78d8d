-- group_snapshots: one row per group and snapshot: the coordinator's response to DescribeGroups or ConsumerGroupDescribe.
-- Key: (cluster_id, group_id, snapshot_time)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.snapshot
cluster_id       STRING    NOT NULL COMMENT 'cluster',
group_id         STRING    NOT NULL COMMENT 'group',
snapshot_time    TIMESTAMP NOT NULL COMMENT 'start of the snapshot by the clock of the machine that took it; the same in all its rows',
event_date       DATE      NOT NULL COMMENT 'UTC date of snapshot_time',
requested_time   TIMESTAMP NOT NULL COMMENT 'time at which the group''s batch was requested, by the same clock',
described_time   TIMESTAMP NOT NULL COMMENT 'time of the response about the group; the group was in this state between requested_time and described_time',
group_type       STRING             COMMENT 'classic or consumer; null if the client library does not name it (share and streams groups)',
protocol_type    STRING             COMMENT 'consumer, connect, ...; empty for a group that only commits offsets; null if unknown',
state            STRING             COMMENT 'Empty, PreparingRebalance, CompletingRebalance, Stable, Dead (no such group any more); consumer groups: Reconciling, also for Assigning, which the client library does not distinguish; null if not described',
protocol         STRING             COMMENT 'assignor chosen; null without members, and in classic groups while they rebalance',
coordinator_id   INT                COMMENT 'broker id of the coordinator',
member_count     INT                COMMENT 'members; null if not described',
members          ARRAY<STRUCT<
    member_id: STRING COMMENT 'member id',
    instance_id: STRING COMMENT 'group.instance.id of a static member',
    client_id: STRING COMMENT 'client.id',
    client_host: STRING COMMENT 'address that the member joined from',
    assigned: ARRAY<STRUCT<topic: STRING, partitions: ARRAY<INT>>> COMMENT 'assigned partitions; for a classic group in a rebalance the partitions of the previous generation; null for other protocol types than consumer',
    target: ARRAY<STRUCT<topic: STRING, partitions: ARRAY<INT>>> COMMENT 'target assignment (consumer groups); null for classic groups'>> COMMENT 'members by member id; empty without members, null if not described',
assignment_hash  STRING             COMMENT 'hash of the members (by instance id, else member id) and their assignments; equal in two snapshots if neither changed; null if not described',
error            STRING             COMMENT 'reason why the group was not described, in the words of the broker or the client library; null if it was described'
