"""The records of a segment as Arrow batches in file order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from jobs.bulk.byte_rows import padded
from jobs.bulk.few import HAS_NUMBA
from jobs.segments.batch import Batch, Quarantined
from jobs.segments.columns import Columns
from jobs.segments.compression import MAX_INFLATED, Allowance
from jobs.segments.control import control_type
from jobs.segments.frames import FrameGap
from jobs.segments.pieces import pieces
from jobs.segments.reader import quarantined, read_frame
from jobs.segments.record_batch import CONTROL, MIN_RECORD_SIZE, TRANSACTIONAL

# `position` is the byte position of the record's batch; time_ms is -1 for a record without a time.
SCHEMA = pa.schema(
    [
        ("position", pa.int64()),
        ("log_offset", pa.int64()),
        ("time_ms", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("magic", pa.int32()),
        ("is_transactional", pa.bool_()),
        ("producer_id", pa.int64()),
        ("control", pa.string()),
    ]
)
ROWS = 20_000  # maximum number of records per Arrow batch
HELD_BYTES = 4 << 20  # maximum bytes of keys and values that are held at a time
# For up to this many records, copying keys and values in Python takes less time than importing
# numba.
FEW_RECORDS = 20_000


def arrow_records(
    view: memoryview, *, partition: int, file: str, max_inflated: int = MAX_INFLATED
) -> Iterator[pa.RecordBatch | Quarantined]:
    """Batches of SCHEMA and quarantined byte ranges, in file order.

    A batch that inflates to more than ``max_inflated`` bytes, or to more than what is left of the
    file's allowance, is quarantined.
    """
    held, allowance = _Held(), Allowance(len(view), max_inflated)
    for piece in pieces(view, max_inflated, allowance):
        if isinstance(piece, Columns):
            yield from held.take()
            yield from _of_columns(piece)
        elif isinstance(piece, FrameGap):
            yield from held.take()
            yield from quarantined(view, piece, file=file)
        else:
            for item in read_frame(
                view, piece, partition=partition, file=file, max_inflated=allowance.of_batch
            ):
                if isinstance(item, Batch) and item.compression != "none":
                    allowance.use(_inflated_size(item))
                yield from held.add(item)
    yield from held.take()


def _of_columns(columns: Columns) -> Iterator[pa.RecordBatch]:
    controls = pa.array(_controls(columns), pa.string())
    is_few = len(columns.offsets) <= FEW_RECORDS or not HAS_NUMBA
    copied = _few_bytes if is_few else _bytes
    for first in range(0, len(columns.offsets), ROWS):
        rows = slice(first, first + ROWS)
        batch = columns.batch[rows]
        headers = columns.headers[batch]
        yield _record_batch(
            columns.positions[batch],
            columns.offsets[rows],
            columns.timestamps[rows],
            copied(columns.data, columns.key_start[rows], columns.key_length[rows]),
            copied(columns.data, columns.value_start[rows], columns.value_length[rows]),
            np.full(len(batch), 2, np.int32),
            headers["attributes"] & TRANSACTIONAL != 0,
            headers["producer_id"].astype(np.int64),
            controls.take(pa.array(batch)),
        )


def _bytes(data: np.ndarray, start: np.ndarray, length: np.ndarray) -> pa.BinaryArray:
    """Offsets relative to the first value: a file may exceed the 2 GiB of Arrow's offsets."""
    # Import here, because importing numba takes half a second.
    from jobs.bulk.arrow_arrays import slices

    base, end = int(start[0]), int(start[-1] + max(length[-1], 0))
    near = (start - base).astype(np.int32)
    return slices(padded(data, base, end), near, length.astype(np.int32), pa.binary())


def _few_bytes(data: np.ndarray, start: np.ndarray, length: np.ndarray) -> pa.BinaryArray:
    """As `_bytes`."""
    view = data.data
    places = zip(start.tolist(), length.tolist(), strict=True)
    values = [None if size < 0 else view[at : at + size].tobytes() for at, size in places]
    return pa.array(values, pa.binary())


def _controls(columns: Columns) -> list[str | None]:
    """The control type of each batch, None for data."""
    controls: list[str | None] = [None] * len(columns.headers)
    for index in np.flatnonzero(columns.headers["attributes"] & CONTROL).tolist():
        first, end = np.searchsorted(columns.batch, [index, index + 1]).tolist()
        controls[index] = control_type([columns.key(row) for row in range(first, end)])
    return controls


def _inflated_size(batch: Batch) -> int:
    data = sum(len(data or b"") for data in (*batch.keys, *batch.values))
    return data + MIN_RECORD_SIZE * len(batch.keys)


class _Held:
    """Collects batches that were read one by one into Arrow batches."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []
        self._rows = self._bytes = 0

    def add(self, item: Batch | Quarantined) -> Iterator[pa.RecordBatch | Quarantined]:
        if isinstance(item, Quarantined):
            yield from self.take()
            yield item
            return
        self._batches.append(item)
        self._rows += len(item.keys)
        self._bytes += sum(len(data or b"") for data in (*item.keys, *item.values))
        if self._rows >= ROWS or self._bytes >= HELD_BYTES:
            yield from self.take()

    def take(self) -> Iterator[pa.RecordBatch]:
        batches, self._batches, self._rows, self._bytes = self._batches, [], 0, 0
        if not batches:
            return
        counts = [len(batch.keys) for batch in batches]
        all_rows = _record_batch(
            np.repeat([batch.position for batch in batches], counts),
            _longs([offset for batch in batches for offset in batch.offsets]),
            _longs([time for batch in batches for time in batch.timestamps]),
            pa.array([key for batch in batches for key in batch.keys], pa.binary()),
            pa.array([value for batch in batches for value in batch.values], pa.binary()),
            np.repeat([batch.magic for batch in batches], counts).astype(np.int32),
            np.repeat([batch.is_transactional for batch in batches], counts),
            np.repeat([batch.producer_id for batch in batches], counts),
            pa.array([batch.control for batch in batches for _ in batch.keys], pa.string()),
        )
        for first in range(0, all_rows.num_rows, ROWS):
            yield all_rows.slice(first, ROWS)


def _longs(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, np.int64)


def _record_batch(*columns: np.ndarray | pa.Array) -> pa.RecordBatch:
    arrays = [c if isinstance(c, pa.Array) else pa.array(c) for c in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
