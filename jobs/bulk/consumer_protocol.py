"""Subscriptions and assignments inside group records, read in bulk."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from jobs.bulk.byte_rows import ByteRows
from jobs.bulk.program import Program, program
from schemas.record_layouts import layout

if TYPE_CHECKING:
    from jobs.bulk.reader import DecodedRows


def subscriptions(blobs: pa.Array, selected: np.ndarray) -> dict[str, pa.Array]:
    """Fields of the ``selected`` rows; they are null for other rows and for unreadable rows.

    If a version lacks a field, a list is empty and any other field is null.
    """
    data = ByteRows(blobs)
    decoded = _read("ConsumerProtocolSubscription", data, selected)
    return _with_empty_lists(decoded, decoded.good)


def assignments(blobs: pa.Array, selected: np.ndarray) -> dict[str, pa.Array]:
    """As ``subscriptions``.  A blob without bytes (the leader left the member out) is empty."""
    data = ByteRows(blobs)
    decoded = _read("ConsumerProtocolAssignment", data, selected)
    return _with_empty_lists(decoded, decoded.good | (selected & (data.start == data.end)))


def _read(name: str, data: ByteRows, selected: np.ndarray) -> DecodedRows:
    """Like the reference, reads a newer version as the newest known one, ignoring further bytes."""
    from jobs.bulk.reader import read  # here: imports numba

    blob_program = _program(name)
    version = np.where(selected, np.minimum(data.headers(), len(blob_program.entries) - 1), -1)
    return read(blob_program, data, slice(None), version)


@cache
def _program(name: str) -> Program:
    return program(layout(name), exact=False)


def _with_empty_lists(decoded: DecodedRows, rows: np.ndarray) -> dict[str, pa.Array]:
    """All fields except the user data; null lists of ``rows`` become empty."""
    columns = {}
    for name, column in decoded.columns.items():
        if column.type.startswith("[]"):
            length = decoded.length(name)
            length[rows & (length < 0)] = 0
        if name != "user_data":
            columns[name] = decoded[name]
    return columns
