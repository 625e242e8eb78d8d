"""Which records cannot be understood, and why."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coordinator_core.records import BadRecord, decode
from jobs.bulk.records import key_types, read_records


def unreadable_records(keys: pa.Array, values: pa.Array) -> dict[int, str]:
    """Row number -> reason, ascending, of binary columns.

    What bulk decoding reads is readable; the rest is the reference's to judge.
    """
    is_left = np.ones(len(keys), bool)
    for type_ in key_types(keys):
        is_left[read_records(type_, keys, values).rows] = False
    told = ((row, _reason(keys, values, row)) for row in np.flatnonzero(is_left).tolist())
    return {row: reason for row, reason in told if reason is not None}


def _reason(keys: pa.Array, values: pa.Array, row: int) -> str | None:
    key = keys[row].as_py()
    if key is None:
        return "a record of __consumer_offsets without a key"
    try:
        decode(key, values[row].as_py())
    except BadRecord as error:
        return str(error)
    return None
