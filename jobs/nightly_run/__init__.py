"""The nightly run: the dates that it computes, the order of its jobs, and its records.

Order.  Ingest comes first: it reads all new input into the bronze tables.  Then every other table
is derived by the job of its name.  A job lists in READS the tables that it reads.  It starts as
soon as no job that writes one of these tables is waiting or running, with at most two jobs at a
time:

  group_metadata, group_records, committed_offsets   decode offsets_records
  group_events                        log lines as events of groups
  timeline                            all events of a group in one order
  generations, group_epochs, generation_members, topic_ids, assignments, member_epochs, churn,
  rebalance_latency, rebalance_causes, ownership_gaps, handovers, handover_costs, unserved_times
  episodes                            the root causes of rebalances
  broker_episodes                     upgrades, restarts and crashes of brokers
  group_days                          facts about each group's past, for runs of later dates
  assign_partitions                   re-runs the assignors
  client_evidence                     generations that only clients' logs show
  findings                            known defects, mistakes and failures, by name

Last come the standard changes of what-if, tried for the worst groups within a budget (--no-advice
leaves them out).  The rows are advice, not facts: runs of one date each may try other groups than
one run of all dates.

The first failure ends the run.  A run that was killed is started again with the same command, and
its tables come out the same (see `jobs.lake`).

Dates.  With --date, or --from and --to, a run computes these dates.  Without these options, it
computes every date that got bronze rows since earlier runs.  The Delta logs of the bronze tables
say which commit added rows of which dates, and each successful run stores in `runs` the versions
that it covers, for its own dates and for all dates.  All dates are computed if no run of this
version of Regroup has succeeded, if records without a time arrived, if the Delta log no longer goes
back far enough, or with --recompute-all.

Records.  A run writes one row per step into `runs`, however it ends, short of SIGKILL.  The commits
of a run carry its id, by which the rows that it wrote are counted.

pipeline       the jobs, their order, and progress on stderr
pending_dates  the dates that a run without dates computes
advice_step    advice for the groups that rebalanced
runs           table `runs` and the summary on stderr
demo           `regroup demo`: the nightly run on two packaged incidents
class_archive  class archive of Spark sessions, recorded while jobs run

`jobs.nightly` has the options of the command and puts these parts together.
"""
