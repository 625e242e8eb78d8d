"""Read brokers' records, logs and traces into rows for the bronze tables.

A group coordinator leaves two kinds of evidence.  Its *records* in the topic `__consumer_offsets`
have every generation's members and assignment, but not why a rebalance began; the topic is
compacted, so superseded records are eventually deleted.  Its *log lines* in server.log have the
join phase and the reasons, but no assignment.  A third kind, *traces* of the coordinator model or
of a test broker, has requests and responses in virtual time.

Records arrive in three ways: as segment files of a broker's disk, over the network from a running
cluster, or as an export.  All sources become rows of the same columns, with these rules:

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

Folders, by what is read
    topic        records of `__consumer_offsets`: segment files, or a running cluster
    dumps        exports of the topic: Parquet, Delta, JSON Lines or Avro
    broker_logs  server.log files -> events of group coordinators
    end_offsets  files with log end offsets of topics, as monitors export them
    configurations  settings in force: configuration files, DescribeConfigs
    client_logs  consumers' logs -> what they say of their membership
    logs         what both kinds of logs share: lines, their times, what is around them

Modules
    rows         shared by file sources: one task per file, Arrow batches
    trace        traces of scenarios, JSON Lines
"""
