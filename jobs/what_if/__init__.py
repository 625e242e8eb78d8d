"""`regroup what-if`: predict a group's rebalances under other settings, from a lake's evidence.

The prediction itself is coordinator_core.whatif.  This package reads its input and prints the
result.  The evidence is read as for a replay (jobs.replay.group_rows); this package also reads the
last commit of each departed member, because auto-commits show until when a process ran.

One group is read with DuckDB, without a JVM; jobs.what_if_sweep predicts all groups by Spark into
the tables process_lives, what_if,
advice and migration_advice.

- command:        `regroup what-if` of one group: observed, model and predicted figures; advice
- consumer_groups: evidence and observed figures of a group that has, or had, the consumer protocol
- consumer_evidence: the same evidence of all groups of the new types, as a grouped DataFrame
- migration_rows: rows of migration_advice
- advice_columns: the fields of advice that table and JSON share
- last_commits:   SQL for the last commit of each departed member, for Spark and DuckDB
"""
