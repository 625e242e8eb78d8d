"""The unreadable records of a batch, with reasons."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coordinator_core.records import BadRecord, decode
from jobs.bulk.few import are_few
from jobs.bulk.records import KeysAndValues
from jobs.console.errors import internal_error


def unreadable_records(keys: pa.Array, values: pa.Array) -> dict[int, str]:
    """Reasons by row number, ascending; ``keys`` and ``values`` are binary columns.

    Records that bulk decoding reads are readable; the reference codec checks all other records.  A
    record that makes either raise anything but BadRecord is unreadable by an internal error, so
    that no later job decodes it.
    """
    try:
        return _unreadable(keys, values)
    except Exception as error:
        if len(keys) == 1:
            return {0: internal_error(error)}
    one_by_one = (
        unreadable_records(keys.slice(n, 1), values.slice(n, 1)) for n in range(len(keys))
    )
    return {row: reasons[0] for row, reasons in enumerate(one_by_one) if reasons}


def _unreadable(keys: pa.Array, values: pa.Array) -> dict[int, str]:
    is_unchecked = np.ones(len(keys), bool)
    if not are_few(keys, values):
        records = KeysAndValues(keys, values)
        for type_ in records.types():
            is_unchecked[records.records(type_).rows] = False
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
        return str(error).encode("utf-8", "backslashreplace").decode()
    return None
