"""What consumers put into a group, read in bulk."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from jobs.bulk.byte_rows import Data
from jobs.bulk.program import Program, program
from schemas.record_layouts import layout

if TYPE_CHECKING:
    from jobs.bulk.reader import Found


def subscriptions(blobs: pa.Array, wanted: np.ndarray) -> dict[str, pa.Array]:
    """Fields of the ``wanted`` ones; null elsewhere, and where they cannot be read.

    Of what a version lacks, lists are empty and the rest is null.
    """
    data = Data(blobs)
    found = _read("ConsumerProtocolSubscription", data, wanted)
    return _with_empty_lists(found, found.good)


def assignments(blobs: pa.Array, wanted: np.ndarray) -> dict[str, pa.Array]:
    """The same of assignments. One of no bytes, which a member has that the leader forgot, is read
    as an empty one."""
    data = Data(blobs)
    found = _read("ConsumerProtocolAssignment", data, wanted)
    return _with_empty_lists(found, found.good | (wanted & (data.start == data.end)))


def _read(name: str, data: Data, wanted: np.ndarray) -> Found:
    """As the reference: a newer version is read as the newest known, and what follows the last
    field is left alone."""
    from jobs.bulk.reader import read  # in who decodes alone: numba takes half a second

    mine = _program(name)
    version = np.where(wanted, np.minimum(data.headers(), len(mine.entries) - 1), -1)
    return read(mine, data, slice(None), version)


@cache
def _program(name: str) -> Program:
    return program(layout(name), whole=False)


def _with_empty_lists(found: Found, rows: np.ndarray) -> dict[str, pa.Array]:
    """All but what the assignors put in. Lists that are null at ``rows`` are empty."""
    columns = {}
    for name, column in found.columns.items():
        if column.type.startswith("[]"):
            length = found.length(name)
            length[rows & (length < 0)] = 0
        if name != "user_data":
            columns[name] = found[name]
    return columns
