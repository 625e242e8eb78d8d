"""`regroup what-if`: predict a group's rebalances under other settings, from a lake's evidence.

The prediction itself is coordinator_core.whatif.  This package reads its input and prints the
result.  The evidence is read as for a replay (jobs.replay.group_rows); this package also reads the
last commit of each departed member, because auto-commits show until when a process ran.

One group is read with DuckDB, without a JVM; jobs.what_if_sweep predicts all groups by Spark into
the tables process_lives, what_if, advice and migration_advice.

One group:

- command:           `regroup what-if`: observed, model and predicted figures; advice
- consumer_groups:   evidence and figures of a group that has, or had, the consumer protocol

All groups:

- sweep_command:     `regroup what-if-sweep`: runs the job, and prints the advice
- sweep:             what all predictions have in common: periods, changes, earlier outcomes
- classic_evidence:  the evidence of all classic groups, as a grouped DataFrame
- consumer_evidence: that of all groups of the new types
- predicted_groups:  the prediction of one group from its evidence
- result_rows:       rows of process_lives, what_if and advice
- migration_rows:    rows of migration_advice

Both:

- advice_columns:    the fields of advice that table and JSON share
- last_commits:      SQL for the last commit of each departed member
- downtime:          SQL for the downtime within a period
"""
