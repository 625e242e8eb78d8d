"""The lake: Delta tables, how they are read and written, and which rows a run may change.

Keys.  Every table begins with ``cluster_id``, and a run reads and writes its own cluster's rows
only.  A group can be deleted and created again, and its generation numbers then restart: so a
generation is (cluster_id, group_id, incarnation, generation).  A source record is (cluster_id,
topic_partition, log_offset), a log line (cluster_id, broker, file, byte position).  schemas/ has
each table's key, which no two rows share.

Dates.  Large tables are partitioned by ``event_date``, the UTC date of the row's time; rows without
a time are on 1970-01-01.  A run for some dates replaces these dates, in one transaction per table.

Idempotence.  A run that is repeated, or killed and started again, leaves the same tables: bronze
tables are merged by key, and all other tables are replaced by what the run computes.  Input that
comes late is processed by running its date again.

This is how a run for a date reads earlier dates.  A row can depend on earlier dates: a rebalance
begins before midnight and ends after it, a member is retained because the previous generation had
it.  The table ``group_days`` has one row per group and date with an event, with two positions in
the group's history as of that date:

  open     the last generation recorded some minutes before the date ended: rows from here on may
           still change
  context  the generation recorded before it: with the rows from here on, the open ones can be
           computed

Lists of facts from older generations (such as partitions without an owner) complete them.  A run
for the dates D to E takes the newest row before D of each group with an event on these dates.  It
reads the group's rows from the context generation on, computes them, and writes the open rows; rows
before the open generation are settled and stay.  The dates D to E are always written, other dates
only if one of their open rows differs.  A group with records that have no time is computed in full.
Because rows depend on earlier dates, runs of one cluster wait for each other
(`Lake.derivation_lock`).

tables         Lake: paths, schemas, reads, writes, locks, table history, maintenance
opening        `open_lake`: spark_tables (Spark) or embedded_tables (Sail and delta-rs)
existing       an existing lake, with a session of the engine that its size requires
dates          the dates of a run
files          find and open files: paths, globs, URIs
commit_log     versions, labels and row counts from the Delta log
checksums      checksums of data files, as Hadoop writes them for Spark
new_rows       rows in Arrow whose key a table does not have yet
scope          RunScope, by which jobs read and write: AllDates, or DatedScope from `scope_of`
dated_scope    DatedScope: a run for some dates, as above
shared         frames that several jobs of one run use
coverage       which dates of the bronze tables no run has processed, from the rows of `runs`
client_rows    rows of clients' logs, which a lake may lack
epoch_rows     records of modern groups, which a lake may lack
missing_groups groups that are seen but have no generation
keys           the column lists of keys
literals       strings as literals of SQL
sql            SQL over the tables and views without a JVM (DuckDB)
evidence       rows of schemas/evidence: of all groups as a grouped frame, of one group by DuckDB
views          rows of schemas/views by the engine of a run
integrity      damage of tables: missing or altered files, columns, commits (delta-rs)
compatibility  messages about tables that another version wrote

Jobs get a RunScope and never ask which kind it is; only this package imports Delta for Spark.
"""
