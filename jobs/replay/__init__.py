"""`regroup replay`: reproduce a group's incident from the evidence in a lake.

The replay itself is coordinator_core.incident: it infers the requests from log events and records,
runs the coordinator model, and compares.  This package reads the evidence and prints the result.

The evidence is read by SQL that all engines run (schemas/evidence).  The evidence of a classic
group is in four tables.  `group_events` (log lines) and `group_metadata` (group records) have no
incarnation; `timeline` has the incarnation of each event and record, so both are joined with it.
`committed_offsets` gives the value version of commits, which helps to infer the broker's era, and
the commits to replay.

A group that was of another type at some time is replayed from the bytes of its records: the records
of `offsets_records` that `timeline` places in its incarnations, with names of topics from
`topic_ids`.

One group is read with DuckDB, and its commits are replayed, too.  All groups are replayed by a job
(jobs.incident_replay): events and records are grouped, so that a task has the whole history of a
group, but without the commits, which are many.

- group_rows: the rows of one group; periods in the form in which users give them
- findings, episodes: of one group, within a period
- command:    `regroup replay` of one group: findings, episodes, story, verdicts, divergences
"""
