"""Bronze tables from the rows of a source, on either engine.

A source (jobs.sources) reads its input once and returns rows of several kinds in one schema:
records or events, unreadable inputs, counts.  Data define which rows go into which table, and from
which columns:

- `table_rows` has one `TableRows` per source and table.  Spark evaluates it as columns of a
  DataFrame, the embedded engine on Arrow batches.
- `counts` computes the rows of ingested_files with DataFrame functions that both engines run.
- `log_ids` tells which log files are copies of one log.
- `live_end_offsets` stores log end offsets of a running cluster.
- `configurations` stores settings in force.
- `storing` writes the tables.  Spark keeps a source's rows on disk and writes one table after the
  other.  The embedded engine reads the source in this process and writes all tables as rows arrive,
  in chunks of bounded size; only the columns that are counted go through a file.
"""
