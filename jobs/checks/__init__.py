"""`regroup check`: the invariants of a lake, and where a lake violates them.

An invariant (law) is a statement that holds for every lake, for any input and even after killed
runs:

  conservation  each input is in exactly one place: a bronze table, quarantine, or counted as
                skipped; the counts in ingested_files add up
  keys          one row per key; rows about a generation refer to an existing one; partitions are
                assigned to members
  order         the times of a generation, and the generations of an incarnation, are in order;
                event_date is the date of the row's time
  derivation    a derived table has exactly the rows that follow from the tables it was derived from
  decoding      a row equals its record, decoded again
  integrity     tables exist, their files are those that were written, and their logs have the
                commits of the last run

Most invariants are SQL for DuckDB that returns one row (cluster_id, where, expected, found) per
violation.  The invariants are written independently of the jobs, so only the same mistake in both
could hide an error.

Two states are not violations.  A date is pending if bronze tables got rows for it since the last
run: table ``pending`` lists these dates, and invariants of derived tables exclude them.  Retention
may have deleted the oldest dates.

check        runs all laws; missing tables; pending dates
laws         conservation, keys and order
derivations  derived tables compared with their inputs
redecode     records decoded again and compared with their rows

Integrity of the files themselves is in `jobs.lake.integrity`.
"""
