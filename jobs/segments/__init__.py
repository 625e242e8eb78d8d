"""Reading brokers' ``.log`` segment files of ``__consumer_offsets`` as they lie on disk."""

from jobs.segments.batch import BadBatch, Batch, Quarantined
from jobs.segments.end_markers import EndMarkers, transactions
from jobs.segments.paths import partition_of
from jobs.segments.reader import read_segment

__all__ = [
    "BadBatch",
    "Batch",
    "EndMarkers",
    "Quarantined",
    "partition_of",
    "read_segment",
    "transactions",
]
