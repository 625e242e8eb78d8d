"""Records of diverged replicas, in copies of one partition from several brokers.

A broker that is killed may have appended records that no other replica has.  When the broker is
back it truncates these records (KIP-101): in the log of a partition each leader epoch begins at one
offset, and no record of an earlier epoch is at that offset or behind it.  A copy taken before the
truncation still has these records, which no consumer ever read.  Brokers write the begin of each
epoch to `leader-epoch-checkpoint`; a record batch has its epoch in its header.
`jobs.sources.topic.copies` decides if copies differ within an epoch, or have no epochs.
"""

from __future__ import annotations

import mmap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress, groupby
from struct import Struct
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from jobs.lake.files import open_file
from jobs.segments import partition_of
from jobs.segments.frames import LAST_OFFSET_DELTA_AT, OVERHEAD
from jobs.segments.paths import TOPIC
from jobs.sources.topic.copies import (
    Copies,
    CopyBatch,
    Digests,
    DivergedRange,
    digests_of,
    diverged_offsets,
)

CHECKPOINT = "leader-epoch-checkpoint"
DIVERGED = "diverged replica"
_HEADER = Struct(">qiiB")  # header fields: base offset, length, leader epoch, magic
_OF_BATCH = Struct(">I2xi")  # header fields: checksum, attributes, last offset delta
_LAST_OFFSET_DELTA = Struct(">i")
_NO_EPOCH = -1  # leader epoch of a record in a format before message format 2


class EpochStarts:
    """The offsets at which the leader epochs of a partition begin:

    ``starts`` by epoch, of all copies.
    """

    def __init__(self, starts: Mapping[int, int]) -> None:
        self.starts = dict(sorted(starts.items()))
        self._epochs = np.array([*self.starts], np.int64)
        # The least offset at which a later epoch begins, by the number of epochs up to and
        # including the current epoch.
        ends = np.minimum.accumulate(np.array([*self.starts.values()][::-1], np.int64))[::-1]
        self._ends = np.append(ends, np.iinfo(np.int64).max)

    def are_diverged(self, epochs: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """For each record, whether a later epoch begins at or before its offset."""
        later = np.searchsorted(self._epochs, epochs, side="right")
        return np.asarray((self._ends[later] <= offsets) & (epochs > _NO_EPOCH))

    def reason(self, epoch: int, offset: int) -> str:
        """The reason why a diverged record is in quarantine."""
        later, start = next(
            (later, start)
            for later, start in self.starts.items()
            if later > epoch and start <= offset
        )
        return (
            f"{DIVERGED}: offset {offset} of leader epoch {epoch}, but epoch {later} begins at"
            f" offset {start} in another copy of the partition"
        )


class PartitionCopies(NamedTuple):
    """What the copies of a partition show.  ``diverged`` has, by folder of a copy, the offsets at
    which the copy diverged if no epoch decides.
    """

    starts: EpochStarts
    diverged: Mapping[str, Sequence[DivergedRange]] = MappingProxyType({})

    def reasons(self, file: str, epochs: np.ndarray, offsets: np.ndarray) -> dict[int, str]:
        """The reasons why records of this file are from a diverged replica, by their place."""
        reasons = {}
        for each in self.diverged.get(_folder(file), ()):
            for place in np.flatnonzero(
                (offsets >= each.first_offset) & (offsets <= each.last_offset)
            ):
                reasons[int(place)] = (
                    f"{DIVERGED}: offset {offsets[place]}, {each.why} from offset"
                    f" {each.first_offset} on"
                )
        for place in np.flatnonzero(self.starts.are_diverged(epochs, offsets)):
            reasons[int(place)] = self.starts.reason(int(epochs[place]), int(offsets[place]))
        return reasons


def partition_copies(
    files: Iterable[str], live: Mapping[int, Digests], max_inflated: int
) -> dict[int, PartitionCopies]:
    """`PartitionCopies` by partition, for the partitions that ``files`` has in several folders, or
    that have records of the ``live`` topic.
    """
    of_partitions: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file in files:
        of_partitions[partition_of(file)][_folder(file)].append(file)
    return {
        partition: _copies(folders, live.get(partition, {}), max_inflated)
        for partition, folders in of_partitions.items()
        if len(folders) > 1 or partition in live
    }


def _copies(
    folders: Mapping[str, Sequence[str]], live: Digests, max_inflated: int
) -> PartitionCopies:
    batches = {
        folder: [each for file in of_folder for each in _batches(file)]
        for folder, of_folder in folders.items()
    }
    starts = EpochStarts(_epoch_starts(batches) if len(folders) > 1 else {})
    undecided = {
        folder: sorted(
            compress(of_folder, ~_are_decided(of_folder, starts)),
            key=lambda each: each.first_offset,
        )
        for folder, of_folder in batches.items()
    }
    copies = {folder: each for folder, each in undecided.items() if each}
    read = partial(_digests, max_inflated=max_inflated)
    return PartitionCopies(starts, diverged_offsets(copies, live, read))


def _epoch_starts(copies: Copies) -> dict[int, int]:
    """The offset at which each leader epoch begins, by the copies' checkpoints or headers."""
    starts: dict[int, int] = {}
    for folder, batches in copies.items():
        own = _checkpointed(folder)
        for epoch, offset in (_in_headers(batches) if own is None else own).items():
            starts[epoch] = min(offset, starts.get(epoch, offset))
    return starts


def _are_decided(batches: Sequence[CopyBatch], starts: EpochStarts) -> np.ndarray:
    """For each batch, whether its epoch shows that it is from a diverged replica."""
    epochs = np.array([each.epoch for each in batches], np.int64)
    return starts.are_diverged(epochs, np.array([each.last_offset for each in batches], np.int64))


def _digests(batches: Iterable[CopyBatch], max_inflated: int) -> Digests:
    digests: dict[int, bytes] = {}
    for file, of_file in groupby(batches, key=lambda each: each.file):
        with open_file(file) as stream:
            data, _ = mapped(stream)
            digests.update(digests_of(memoryview(data), of_file, max_inflated))
    return digests


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


def of_same_partitions(paths: Iterable[str], files: Iterable[str]) -> list[str]:
    """The paths of segments of the partitions of ``files``, without ``files``."""
    partitions = {partition_of(file) for file in files}
    return sorted(path for path in {*paths} - {*files} if partition_of(path) in partitions)


def partitions_of(files: Iterable[str]) -> dict[str, int]:
    """The numbers of the files' partitions, by name."""
    return {f"{TOPIC}-{each}": each for each in map(partition_of, files)}


def is_contested(file: str, replicas: Mapping[int, PartitionCopies]) -> bool:
    """Returns whether copies of the file's partition differ and no epoch decides."""
    copies = replicas.get(partition_of(file))
    return copies is not None and bool(copies.diverged)


def diverged_ranges(file: str, replicas: Mapping[int, PartitionCopies]) -> list[tuple[int, int]]:
    """First and last offsets of the diverged records in the file; none of a file that is gone."""
    copies = replicas.get(partition_of(file))
    if copies is None:
        return []
    ranges = [(each.first_offset, each.last_offset) for each in _own(file, copies)]
    by_epoch: list[tuple[int, int]] = []
    batches = [*_batches(file)]
    for each in compress(batches, _are_decided(batches, copies.starts)):
        if by_epoch and by_epoch[-1][1] + 1 == each.first_offset:
            by_epoch[-1] = by_epoch[-1][0], each.last_offset
        else:
            by_epoch.append((each.first_offset, each.last_offset))
    return [*ranges, *by_epoch]


def _own(file: str, copies: PartitionCopies) -> Sequence[DivergedRange]:
    return copies.diverged.get(_folder(file), ())


def epochs_at(data: Any, positions: np.ndarray) -> np.ndarray:
    """The leader epoch of the batch at each position of a segment; -1 before message format 2."""
    unique, places = np.unique(positions, return_inverse=True)
    headers = (_HEADER.unpack_from(data, position) for position in unique.tolist())
    epochs = [epoch if magic >= 2 else _NO_EPOCH for _, _, epoch, magic in headers]
    return np.array(epochs, np.int64)[places]


def _checkpointed(folder: str) -> dict[int, int] | None:
    """Returns None without a readable checkpoint: a version, the number of lines, epochs with
    offsets.
    """
    try:
        with open_file(f"{folder}/{CHECKPOINT}") as stream:
            numbers = [int(each) for each in stream.read().split()]
    except (OSError, ValueError):
        return None
    epochs, offsets = numbers[2::2], numbers[3::2]
    return dict(zip(epochs, offsets, strict=False))


def _in_headers(batches: Iterable[CopyBatch]) -> dict[int, int]:
    starts: dict[int, int] = {}
    for each in batches:
        if each.epoch > _NO_EPOCH:
            starts.setdefault(each.epoch, each.first_offset)
    return starts


def _batches(file: str) -> Iterator[CopyBatch]:
    """The batches of a file up to the first damaged or incomplete batch; none if it is gone."""
    try:
        opened = open_file(file)
    except OSError:
        return
    with opened as stream:
        data, size = mapped(stream)
        position = 0
        while position + LAST_OFFSET_DELTA_AT + _LAST_OFFSET_DELTA.size <= size:
            offset, length, epoch, magic = _HEADER.unpack_from(data, position)
            if length <= 0 or offset < 0 or position + OVERHEAD + length > size:
                return
            delta, checksum = 0, epoch
            if magic >= 2:
                checksum, delta = _OF_BATCH.unpack_from(data, position + _HEADER.size)
            yield CopyBatch(
                file=file,
                position=position,
                size=OVERHEAD + length,
                epoch=epoch if magic >= 2 else _NO_EPOCH,
                first_offset=offset,
                last_offset=offset + delta,
                checksum=checksum,
            )
            position += OVERHEAD + length


def mapped(stream: Any) -> tuple[Any, int]:
    """The file's bytes and their number, memory-mapped if the file system allows it."""
    size = stream.seek(0, 2)
    stream.seek(0)
    if size == 0:
        return b"", 0
    try:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), size
    # The stream of an object store has no descriptor.
    except (OSError, AttributeError, ValueError):
        return stream.read(), size
