"""Read and write segment files of a Kafka log, such as `__consumer_offsets-3/0000...0.log`.

A partition's log is a sequence of segment files, each named after its first offset.  A file is a
sequence of batches without any index or end mark; it may end with zeros (preallocated) or in the
middle of a batch (crash).  The magic byte at offset 16 distinguishes three formats:

    magic 0, 1  messages (brokers before 0.11): CRC-32 over one message; a compressed message wraps
                a whole message set.  Magic 1 has timestamps and relative inner offsets.
    magic 2     record batches (KIP-98): CRC-32C over attributes and records; records are
                varint-coded deltas against the batch's first offset and timestamp; producer id and
                epoch; control batches end transactions.

All formats begin with offset (8 bytes) and length (4 bytes), which no checksum covers.  Therefore
one wrong length hides all later batches from a reader that trusts it.  This reader verifies every
checksum, and after damage searches for the next valid batch; the bytes in between are quarantined
with position and reason.  Batches and quarantined ranges together cover the file.

There are two readers of a batch.  The reference, `reader.read_batch`, decodes record by record in
Python.  `columns.read_columns` decodes a run of batches with numpy and without Python objects; it
refuses any unusual batch, which the reference then reads.  Tests check that both decoders give the
same records.

Modules
    batch           the content of a file: Batch, Quarantined; the error BadBatch
    frames          find valid batches: checksums, search after damage, misplaced offsets
    record_batch    decode magic 2            message_set     decode magic 0 and 1
    mapping         release pages of a mapped file, so that memory is bounded
    reader          a file as batches, one by one
    columns         a run of batches as arrays
    pieces          a file as columns where possible, else frames
    arrow_records   a file as Arrow batches
    extents         byte ranges of a file, for workers that have it open
    compression     gzip, snappy, lz4, zstd, with a limit on the inflated size
    control         types of control records
    end_markers     whether a transaction was committed
    paths           the partition in a segment's path
    writer          write batches and segments as a coordinator does
"""

from jobs.segments.batch import BadBatch, Batch, Quarantined
from jobs.segments.end_markers import EndMarkers, transactions
from jobs.segments.paths import copied_topic, not_a_segment, partition_of
from jobs.segments.reader import read_segment

__all__ = [
    "BadBatch",
    "Batch",
    "EndMarkers",
    "Quarantined",
    "copied_topic",
    "not_a_segment",
    "partition_of",
    "read_segment",
    "transactions",
]
