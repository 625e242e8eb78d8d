"""Lists of several columns joined row by row, and topic ids as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coordinator_core.records.primitives import read_uuid
from jobs.bulk.arrow_buffers import bits, from_buffers


def joined_lists(lists: Sequence[pa.ListArray]) -> pa.ListArray:
    """The elements of all lists, in their order, per row; null if the first list is null."""
    if len(lists) == 1:
        return lists[0]
    rows = np.concatenate([pc.list_parent_indices(each).to_numpy() for each in lists])
    values = pa.concat_arrays([each.flatten() for each in lists])
    counts = np.bincount(rows, minlength=len(lists[0]))
    bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    is_valid = lists[0].is_valid().to_numpy(zero_copy_only=False)
    in_order = values.take(pa.array(np.argsort(rows, kind="stable")))
    return from_buffers(pa.list_(values.type), len(lists[0]), [bits(is_valid), bounds], [in_order])


def null_if_empty(lists: pa.ListArray) -> pa.ListArray:
    """The same lists; null instead of a list without elements."""
    is_empty = pc.fill_null(pc.equal(pc.list_value_length(lists), 0), False)
    if not pc.any(is_empty).as_py():
        return lists
    is_valid = pc.and_(lists.is_valid(), pc.invert(is_empty)).to_numpy(zero_copy_only=False)
    return pa.Array.from_buffers(
        lists.type,
        len(lists),
        [pa.py_buffer(bits(is_valid)), lists.buffers()[1]],
        children=[lists.values],
    )


def uuid_texts(uuids: pa.Array) -> pa.Array:
    """Kafka's text form of UUIDs of 16 bytes, of which only a few differ."""
    encoded = uuids.dictionary_encode()
    texts = [read_uuid(value, 0)[0] for value in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)
