"""Columns of times in ms since the epoch; a value that is no time becomes null."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from jobs.lake.dates import LAST_TIME_MS


def known_times(times_ms: pa.Array) -> pa.Array:
    """The same values; null instead of those before 1970 or after 2261."""
    is_time = pc.and_(pc.greater_equal(times_ms, 0), pc.less_equal(times_ms, LAST_TIME_MS))
    return pc.if_else(is_time, times_ms, None)


def times_of(times_ms: pa.Array) -> pa.TimestampArray:
    return pc.multiply(known_times(times_ms), 1000).cast(pa.timestamp("us", "UTC"))
