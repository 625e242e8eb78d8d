"""What consumers put into a group, read in bulk from where it lies within the records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from jobs.bulk.columns import (
    Struct,
    arrow_array,
    bad_text,
    spread,
    with_empty_lists,
    without_null_lists,
)
from jobs.bulk.data import Data
from jobs.bulk.plan import plan
from schemas.record_layouts import layout

HEADER = 2  # bytes: the version
_NEWEST = {
    name: layout(name).valid_versions.highest or 0
    for name in ("ConsumerProtocolSubscription", "ConsumerProtocolAssignment")
}


def read_blobs(
    name: str, data: Data, start: np.ndarray, end: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, Struct]:
    """Those of the rows that can be read, and the layout's fields in them.

    As the reference: a newer version is read as the newest known, and what follows the last field
    is left alone.
    """
    rows = rows[end[rows] - start[rows] >= HEADER]
    version = np.minimum(data.int16s(start[rows]), _NEWEST[name])
    rows, version = rows[version >= 0], version[version >= 0]
    while True:
        versions = frozenset(np.flatnonzero(np.bincount(version)).tolist() or [0])
        walker = plan(layout(name), versions)
        found, _, bad = walker.walk(data, start[rows] + HEADER, end[rows], version)
        if not bad.any():
            bad[bad_text(data, found)] = True
        if not bad.any():
            return rows, found
        rows, version = rows[~bad], version[~bad]


def subscriptions(
    data: Data, start: np.ndarray, end: np.ndarray, rows: np.ndarray
) -> dict[str, pa.Array]:
    """Fields of the subscriptions at ``rows``; null elsewhere, and where they cannot be read.

    Of what a version lacks, lists are empty and the rest is null.
    """
    return _fields("ConsumerProtocolSubscription", data, start, end, rows)


def assignments(
    data: Data, start: np.ndarray, end: np.ndarray, rows: np.ndarray
) -> dict[str, pa.Array]:
    """The same of assignments. One of no bytes, which a member has that the leader forgot, is read
    as an empty one."""
    found = _fields("ConsumerProtocolAssignment", data, start, end, rows)
    forgotten = rows[start[rows] == end[rows]]
    return {name: with_empty_lists(array, forgotten) for name, array in found.items()}


def _fields(
    name: str, data: Data, start: np.ndarray, end: np.ndarray, rows: np.ndarray
) -> dict[str, pa.Array]:
    good, found = read_blobs(name, data, start, end, rows)
    return {
        field: spread(without_null_lists(arrow_array(data, column)), good, len(start))
        for field, column in found.fields.items()
        if field != "user_data"
    }
