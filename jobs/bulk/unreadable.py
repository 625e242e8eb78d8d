"""The unreadable records of a batch, with reasons."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coordinator_core.records import BadRecord, decode
from jobs.bulk.records import key_types, read_records


def unreadable_records(keys: pa.Array, values: pa.Array) -> dict[int, str]:
    """Reasons by row number, ascending; ``keys`` and ``values`` are binary columns.

    Records that bulk decoding reads are readable; the reference codec checks the others.
    """
    is_unchecked = np.ones(len(keys), bool)
    for type_ in key_types(keys):
        is_unchecked[read_records(type_, keys, values).rows] = False
    rows = np.flatnonzero(is_unchecked).tolist()
    reasons = ((row, _reason(keys, values, row)) for row in rows)
    return {row: reason for row, reason in reasons if reason is not None}


def _reason(keys: pa.Array, values: pa.Array, row: int) -> str | None:
    key = keys[row].as_py()
    if key is None:
        return "a record of __consumer_offsets without a key"
    try:
        decode(key, values[row].as_py())
    except BadRecord as error:
        return str(error)
    return None
