"""`regroup decode`: segment files of `__consumer_offsets` as JSON Lines, without Spark.

The command prints one line per record, control record and quarantined byte range, in file order.
Its output is the reference for other tools, so it must be complete and identical on every machine.
A busy broker's segments have millions of offset commits, so it must also be fast.

The reference path decodes each batch record by record, decodes key and value by their layouts
(coordinator_core.records), and encodes a dict as JSON.  Three shortcuts produce the same text:

- Runs of batches are read as columns (jobs.segments.columns).
- Offset commits, nearly all of the records, are not decoded: their lines are joined from pieces of
  a sample line.  The pieces are cut from a line that the reference made, so that the text cannot
  differ; a commit with unusual bytes goes to the reference.
- Large inputs are divided among forked workers; the parent verifies checksums and finds the
  batches, workers format them, and the parent prints their output in order.

A transactional record is printed with `committed`, which depends on an end marker that may follow
much later, so the first transactional batch of a log makes the command read all of its markers.

Modules
    command         paths -> segments -> lines
    commit_lines    lines of offset commits, column by column
    in_workers      tasks in forked processes, results in order
"""
