"""Records of diverged replicas, in copies of one partition from several brokers.

A broker that is killed may have appended records that no other replica has.  When it is back it
truncates them (KIP-101): in the log of a partition each leader epoch begins at one offset, and no
record of an earlier epoch stands at that offset or behind it.  A copy that was taken before that
has these records still, and no consumer ever read them.  Brokers write where each epoch begins to
`leader-epoch-checkpoint`; a record batch has its epoch in its header.
"""

from __future__ import annotations

import mmap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from jobs.lake.files import open_file
from jobs.segments import partition_of
from jobs.segments.frames import LAST_OFFSET_DELTA_AT, OVERHEAD

CHECKPOINT = "leader-epoch-checkpoint"
DIVERGED = "diverged replica"
_HEADER = Struct(">qiiB")  # base offset, length, leader epoch, magic
_LAST_OFFSET_DELTA = Struct(">i")
_NO_EPOCH = -1  # before message format 2


class EpochStarts:
    """Where the leader epochs of a partition begin: ``starts`` by epoch, of all copies."""

    def __init__(self, starts: Mapping[int, int]) -> None:
        self.starts = dict(sorted(starts.items()))
        self._epochs = np.array([*self.starts], np.int64)
        # The least offset at which a later epoch begins, by the number of epochs up to this one.
        ends = np.minimum.accumulate(np.array([*self.starts.values()][::-1], np.int64))[::-1]
        self._ends = np.append(ends, np.iinfo(np.int64).max)

    def are_diverged(self, epochs: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Per record, whether a later epoch begins at its offset or before it."""
        later = np.searchsorted(self._epochs, epochs, side="right")
        return np.asarray((self._ends[later] <= offsets) & (epochs > _NO_EPOCH))

    def reason(self, epoch: int, offset: int) -> str:
        """Why a diverged record is in quarantine."""
        later, start = next(
            (later, start)
            for later, start in self.starts.items()
            if later > epoch and start <= offset
        )
        return (
            f"{DIVERGED}: offset {offset} of leader epoch {epoch}, but epoch {later} begins at"
            f" offset {start} in another copy of the partition"
        )


class _Batch(NamedTuple):
    epoch: int
    first_offset: int
    last_offset: int


def epoch_starts(files: Iterable[str]) -> dict[int, EpochStarts]:
    """By partition; of partitions of which ``files`` has copies in several folders."""
    folders: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file in files:
        folders[partition_of(file)][file.rpartition("/")[0]].append(file)
    of_partitions: dict[int, EpochStarts] = {}
    for partition, of_partition in folders.items():
        if len(of_partition) < 2:
            continue
        starts: dict[int, int] = {}
        for folder, copies in of_partition.items():
            own = _checkpointed(folder)
            for file in copies if own is None else ():
                own = _in_headers(file) | (own or {})
            for epoch, offset in (own or {}).items():
                starts[epoch] = min(offset, starts.get(epoch, offset))
        of_partitions[partition] = EpochStarts(starts)
    return of_partitions


def of_same_partitions(paths: Iterable[str], files: Iterable[str]) -> list[str]:
    """The paths of segments of the partitions of ``files``, without ``files``."""
    partitions = {partition_of(file) for file in files}
    return sorted(path for path in {*paths} - {*files} if partition_of(path) in partitions)


def diverged_ranges(file: str, replicas: Mapping[int, EpochStarts]) -> list[tuple[int, int]]:
    """First and last offsets of the diverged records in the file; none of a file that is gone."""
    ranges: list[tuple[int, int]] = []
    starts = replicas.get(partition_of(file))
    if starts is None:
        return ranges
    for each in _batches(file):
        if not starts.are_diverged(np.array([each.epoch]), np.array([each.last_offset]))[0]:
            continue
        if ranges and ranges[-1][1] + 1 == each.first_offset:
            ranges[-1] = ranges[-1][0], each.last_offset
        else:
            ranges.append((each.first_offset, each.last_offset))
    return ranges


def epochs_at(data: Any, positions: np.ndarray) -> np.ndarray:
    """The leader epoch of the batch at each position of a segment; -1 before message format 2."""
    unique, places = np.unique(positions, return_inverse=True)
    headers = (_HEADER.unpack_from(data, position) for position in unique.tolist())
    epochs = [epoch if magic >= 2 else _NO_EPOCH for _, _, epoch, magic in headers]
    return np.array(epochs, np.int64)[places]


def _checkpointed(folder: str) -> dict[int, int] | None:
    """None without a readable checkpoint: a version, the number of lines, epochs with offsets."""
    try:
        with open_file(f"{folder}/{CHECKPOINT}") as stream:
            numbers = [int(each) for each in stream.read().split()]
    except (OSError, ValueError):
        return None
    epochs, offsets = numbers[2::2], numbers[3::2]
    return dict(zip(epochs, offsets, strict=False))


def _in_headers(file: str) -> dict[int, int]:
    starts: dict[int, int] = {}
    for each in _batches(file):
        if each.epoch > _NO_EPOCH:
            starts.setdefault(each.epoch, each.first_offset)
    return starts


def _batches(file: str) -> Iterator[_Batch]:
    """Up to the first damaged header; none of a file that is gone."""
    try:
        opened = open_file(file)
    except OSError:
        return
    with opened as stream:
        data, size = mapped(stream)
        position = 0
        while position + LAST_OFFSET_DELTA_AT + _LAST_OFFSET_DELTA.size <= size:
            offset, length, epoch, magic = _HEADER.unpack_from(data, position)
            if length <= 0 or offset < 0:
                return
            if magic >= 2:
                delta = _LAST_OFFSET_DELTA.unpack_from(data, position + LAST_OFFSET_DELTA_AT)[0]
                yield _Batch(epoch, offset, offset + delta)
            position += OVERHEAD + length


def mapped(stream: Any) -> tuple[Any, int]:
    """The file's bytes and their number, memory-mapped if the file system allows it."""
    size = stream.seek(0, 2)
    stream.seek(0)
    if size == 0:
        return b"", 0
    try:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), size
    except (OSError, AttributeError, ValueError):  # an object store's stream has no descriptor
        return stream.read(), size
