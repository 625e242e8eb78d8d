"""Read brokers' records, logs and traces into rows for the bronze tables.

A group coordinator leaves two kinds of evidence.  Its *records* in the topic `__consumer_offsets`
have every generation's members and assignment, but not why a rebalance began; the topic is
compacted, so superseded records are eventually deleted.  Its *log lines* in server.log have the
join phase and the reasons, but no assignment.  A third kind, *traces* of the coordinator model or
of a test broker, has requests and responses in virtual time.

Records arrive in three ways: as segment files of a broker's disk, over the network from a running
cluster, or as an export.  All become rows of the same columns, with these rules:

- Every input record or line is counted once: kept, skipped (not a coordinator's, or of another
  date or topic) or quarantined with position, bytes and reason.  Counts per file add up.
- The identity of a row does not depend on the file's name: records have partition and offset, log
  lines the hash of their log's first line and a byte position.  Renamed, rolled, compressed or
  repeated files give the same rows.
- Times are UTC.  Log lines without a zone are read in a configured time zone.
- A missing input is an error: zero files, or a topic that returns no records, would look like a
  quiet cluster.

Sources return Arrow batches: in Spark's workers, one task per file, or in this process (embedded
engine); the jobs never see files.
A large plain log is read in ranges of bytes, one task per range, with the same rows.

Modules
    files           find and open input files: paths, globs, folders, URIs
    rows            shared by file sources: one task per file, Arrow batches, dates of a run
    segments        `__consumer_offsets-N/*.log` files -> records, with the package jobs.segments
    kafka           the topic of a running cluster: which offsets to read, and whether all arrived
    kafka_spark     the topic, read by Spark's Kafka source
    kafka_client    the topic, read by librdkafka
    kafka_settings  settings of [kafka] for librdkafka
    live_groups     the groups of a running cluster, for snapshots, through the Admin API
    dump            an export: Parquet, Delta, JSON Lines or Avro
    dump_columns    the columns of a dump, found by their names
    dump_files      JSON Lines and Avro dumps, row by row
    dump_tables     Parquet and Delta dumps, in columns
    raw_records     records of `kafka` and `dump` as rows of `segments`
    broker_log      server.log files -> events of group coordinators
    client_log      consumers' logs -> what they say of their membership
    log_files       a log file, or a range of it -> parsed lines, stack traces, counts
    log_reader      the lines of a log in order: their sources, parts and wrapped lines
    log_search      the lines of a log that must be parsed
    log_entries     a line and those that belong to it -> a parsed line
    log_chunks      a log file -> chunks of lines in the order of time
    log_clock       local times -> UTC
    log_json        JSON around log lines: an object per line, arrays, responses of log stores
    log_bytes       a log file's bytes: gzip, zstd, encodings, whole lines, ranges for tasks
    log_order       exports of log stores in the order of time
    log_layouts     what is around a log line: prefixes of containers, JSON, colors
    trace           traces of scenarios, JSON Lines
"""
