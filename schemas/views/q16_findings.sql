-- q16_findings: problems by name: known defects, wrong settings and failures; highest confidence first.
SELECT
    f.cluster_id,                           -- cluster
    f.finding,                              -- id of the problem; docs/known-problems.md describes each
    f.kind,                                 -- broker_bug, client_bug, configuration, operation, coordinator, data or evidence
    f.group_id,                             -- consumer group; null for a finding about several groups or a broker
    f.process,                              -- process concerned
    f.member_id,                            -- member concerned
    f.broker_id,                            -- broker concerned
    f.topic_partition,                      -- partition concerned
    f.from_time,                            -- first event that shows the problem
    f.to_time,                              -- last event that shows the problem
    f.rebalances,                           -- rebalances that the problem caused
    f.confidence,                           -- 0 to 1: confidence that this problem is the cause
    f.version_seen,                         -- true if the evidence shows a version that has the defect
    f.version,                              -- versions that the evidence allows
    f.summary,                              -- the finding in one sentence
    f.remedy,                               -- what to do
    f.reference                             -- addresses of ticket, pull request or KIP
FROM findings f
ORDER BY f.confidence DESC, f.from_time, f.finding, f.group_id
