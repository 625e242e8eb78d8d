"""PySpark jobs over the logs and records of Kafka's group coordinators, and the command `regroup`.

A consumer group leaves two kinds of evidence.  Records in the topic `__consumer_offsets` have each
generation's members and assignment, and the commits.  Lines in the log of the group's coordinator
say when each rebalance began and why, and which members joined, left or expired.  Records alone
give membership, assignments and the sync phase of a rebalance; log lines give its join phase and
its cause.  The column ``evidence`` says which of the two a row is derived from.

The tables of a lake come in three layers; `schemas/tables` defines them, one file per table.

- Bronze: the input with its positions.  offsets_records, broker_log_events, client_events,
  end_offsets, trace_events; unreadable input goes to quarantine.  Every input record is in exactly
  one of these tables.
- Silver: decoded, ordered input.  group_metadata, group_records, committed_offsets and group_events
  interpret the bronze rows one by one; timeline puts all events of a group in one order;
  generations, generation_members and assignments have one row per generation, per member of a
  generation and per assigned partition.
- Gold: results.  churn, rebalance_latency, rebalance_causes, ownership_gaps, handovers,
  handover_costs, unserved_times, episodes, broker_episodes,
  findings, assignor_quality, incident_replay, process_lives, what_if, advice, advice_outcomes,
  migration_advice, and the SQL views in `schemas/views`.

A deleted group can be created again, and its generations then start at 1 again.  Therefore a
generation is identified by (cluster_id, group_id, incarnation, generation), see `jobs.lake.keys`.
A record is identified by its offset in its partition, a log line by its byte position.  Events are
ordered by position, not by time alone: clocks jump, and one millisecond has many events.

A job is a module here, named after its table or its task.  It has pure functions from DataFrame to
DataFrame, and ``run(scope)``, which reads its tables, calls these functions and replaces the rows
that the run may change.  Therefore a run can be repeated, and a run for one date does not change
the other dates; group_days carries over the facts that the run needs from earlier dates.  The jobs,
in dependency order:

    ingest              sources -> bronze tables, quarantine, ingested_files
    group_metadata, group_records, committed_offsets, group_events
                        bronze -> decoded records, events
    timeline            group_events, group_metadata -> events by incarnation
    generations, generation_members, assignments          timeline, records -> generations
    group_epochs, member_epochs, topic_ids
                        consumer, share and streams groups: bumps, steps of members, names
    churn, rebalance_latency, rebalance_causes            what changed, how long it took, why
    ownership_gaps      times in which a partition had no owner
    handovers           partitions that changed their process, and what they waited for
    handover_costs      records handled again, pauses and lag after each tenure
    unserved_times      times in which owned partitions had records that nobody handled
    episodes            rebalances by root cause
    broker_episodes     upgrades, restarts and crashes of brokers, and their cost to groups
    client_evidence     generations, causes and episodes that only clients' logs show
    group_days          facts about this date that a run for a later date needs
    assign_partitions   the assignors run again on each generation -> assignor_quality
    findings            known defects, mistakes and failures, by name
    incident_replay     each group through the coordinator model, compared with production
    what_if_sweep       processes behind the members, other settings tried, advice,
                        whether to migrate to the consumer protocol
    advice_outcomes     advice that was given, and what came of it
    nightly             ingest and all jobs above, except incident_replay and what_if_sweep
    snapshot            the groups of a running cluster -> group_snapshots
    topic_partitions, register, maintain                  partition counts, metastore, housekeeping

Rooms, from top to bottom.  A room is a folder with the jobs that belong to it; it imports only
rooms below it.  tests/test_layers.py checks this order.

    command_line   `regroup`: commands and arguments
    investigate    `regroup investigate`: one answer from logs and records
    watch          `regroup watch`: nightly, alerts and the page in a loop
    doctor         `regroup doctor`: the checks before a run
    alerts         `regroup alerts`: the checks of groups after a run, and `regroup dashboard`:
                   the same checks for Grafana and Prometheus
    spans          `regroup spans`: rebalances as OpenTelemetry spans
    report         `regroup report`: the HTML page
    simulate       `regroup simulate`: the simulated cluster; `regroup scenario`: scenarios played
                   on the coordinator model
    decode         `regroup decode`: segment files to JSON Lines
    checks         `regroup check`: the laws that hold for every lake
    nightly_run    the steps of a run, their order, the dates to recompute, the table runs
                   jobs: nightly, group_days
    what_if        other settings tried: `regroup what-if` for one group, the sweep for all;
                   `regroup plan`: ways to deploy a group; `regroup gate`: whether a
                   deployment is complete
                   jobs: what_if_sweep, advice_outcomes
    replay         the coordinator model beside production: `regroup replay`, and for all groups
                   jobs: incident_replay
    known_problems  the symptoms of known problems, and the versions of brokers and clients
                   jobs: findings, broker_episodes
    causes         why groups rebalanced, and what the processes did
                   jobs: rebalance_causes, episodes, client_evidence
    costs          what the end of a tenure cost the data, and owners that stopped
                   jobs: handover_costs, unserved_times
    ownership      when members owned partitions
                   jobs: ownership_gaps, handovers
    assignors      assignors on Spark: runs again, forced moves
                   jobs: assign_partitions, churn
    generations    what each generation had, and how long its rebalance took
                   jobs: generations, generation_members, assignments, rebalance_latency
    modern_history  modern groups: their records played by one worker per group
                   jobs: group_epochs, member_epochs, topic_ids
    decoded        records and log lines as events of groups, in one order
                   jobs: group_metadata, group_records, committed_offsets, group_events, timeline
    bronze         rows of sources -> bronze tables, on either engine
                   jobs: ingest, snapshot, topic_partitions
    sources        what ingest reads: the topic, dumps, logs of brokers and clients, traces
    segments       the file format of `.log` segments: batches, codecs, damage
    bulk           record decoding by whole Arrow batches
    lake           paths, reads and writes of Delta tables; the scope of a run; SQL without a JVM
                   jobs: maintain, register
    engine         the Spark session and its jars; the embedded engine
    configuration  settings of an installation: a TOML file
    console        output: rows, progress, errors, Ctrl-C

The jobs of the nightly run stand below it.  The same is true of replay and what_if: the nightly run
fills `incident_replay`, `what_if` and `advice` for all groups, and their commands answer for one
group.
"""

__version__ = "0.1.0"
