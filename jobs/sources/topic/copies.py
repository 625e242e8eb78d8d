"""Records that differ between copies of one partition, if no leader epoch decides.

Copies of a partition have the same record at the same offset: followers append what the leader has,
and the log cleaner only removes records.  A broker that was killed may have appended records that
no other replica has, and brokers before message format 2 wrote no leader epochs.  If several
records have the same offset, the record of the live topic is kept, else the record of most copies,
else the record of the copy with the greatest offset.  A copy with another record diverged at this
offset, up to the next record that it shares with a copy that did not diverge.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from jobs.segments.batch import Batch
from jobs.segments.reader import read_segment

Digests = Mapping[int, bytes]
"""Hash of key and value, by offset."""
NO_END = (1 << 63) - 1


class CopyBatch(NamedTuple):
    """A batch of a copy; its content has ``checksum``. ``epoch`` is -1 before message format 2."""

    file: str
    position: int
    size: int
    epoch: int
    first_offset: int
    last_offset: int
    checksum: int

    @property
    def content(self) -> tuple[int, int, int]:
        return self.first_offset, self.last_offset, self.checksum


class DivergedRange(NamedTuple):
    """Offsets of a copy that are not in the partition's log, and why."""

    first_offset: int
    last_offset: int
    why: str


Copies = Mapping[str, Sequence[CopyBatch]]
"""Batches of each copy, in the order of their offsets."""
ReadDigests = Callable[[Iterable[CopyBatch]], Digests]


def diverged_offsets(
    copies: Copies, live: Digests, read: ReadDigests
) -> dict[str, list[DivergedRange]]:
    """The diverged offsets of each copy.

    ``live`` has digests of records from the live topic; ``read`` returns the digests of batches.
    """
    spans = _compared(copies, live)
    if not spans:
        return {}
    digests = {
        copy: read(
            each for each in batches if _overlaps(spans, each.first_offset, each.last_offset)
        )
        for copy, batches in copies.items()
    }
    return _Votes(copies, digests, live, spans).diverged()


def digest(key: bytes | None, value: bytes | None) -> bytes:
    parts = (b"-" if each is None else b"+" + each for each in (key, value))
    return hashlib.md5(b"".join(parts), usedforsecurity=False).digest()


def digests_of(
    view: memoryview, batches: Iterable[CopyBatch], max_inflated: int
) -> Iterator[tuple[int, bytes]]:
    """Offset and digest of each readable record of a file's batches."""
    for each in batches:
        data = view[each.position : each.position + each.size]
        for batch in read_segment(data, partition=0, file=each.file, max_inflated=max_inflated):
            if isinstance(batch, Batch):
                for record in zip(batch.offsets, batch.keys, batch.values, strict=True):
                    yield record[0], digest(*record[1:])


# -- places where copies have to be compared record by record
# ---------------------------------------

_Span = tuple[int, int]


def _compared(copies: Copies, live: Digests) -> list[_Span]:
    """Offsets of the batches that some copy lacks although it has earlier and later offsets."""
    extents = [(each[0].first_offset, each[-1].last_offset) for each in copies.values() if each]
    counts = _counts(copies)
    own = (
        content[:2]
        for content, count in counts.items()
        if count < sum(first <= content[0] <= last for first, last in extents)
    )
    of_live = [(min(live), max(live))] if live else []
    return _merged([*own, *of_live])


def _counts(copies: Copies) -> dict[tuple[int, int, int], int]:
    counts: dict[tuple[int, int, int], int] = defaultdict(int)
    for batches in copies.values():
        for content in {each.content for each in batches}:
            counts[content] += 1
    return counts


def _merged(spans: Iterable[_Span]) -> list[_Span]:
    merged: list[_Span] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return merged


def _overlaps(spans: Sequence[_Span], first: int, last: int) -> bool:
    """Returns whether one of the spans, which are sorted and apart, has an offset from first to
    last.
    """
    place = bisect_right(spans, (last, NO_END))
    return place > 0 and first <= spans[place - 1][1]


def _hash(digests: Digests) -> bytes:
    whole = hashlib.md5(usedforsecurity=False)
    for offset, each in sorted(digests.items()):
        whole.update(b"%d " % offset + each)
    return whole.digest()


# -- choice of the record to keep ------------------------------------------------------------------


class _Votes:
    def __init__(
        self,
        copies: Copies,
        digests: Mapping[str, Digests],
        live: Digests,
        spans: Sequence[_Span],
    ) -> None:
        self._digests, self._live, self._spans = digests, live, spans
        self._ends = {copy: each[-1].last_offset for copy, each in copies.items() if each}
        # Choose among copies that end at the same offset by content, independent of their names.
        self._hashes = {copy: _hash(each) for copy, each in digests.items()}
        counts = _counts(copies)
        # First offsets of the batches that another copy also has, by copy.
        self._shared = {
            copy: sorted({each.first_offset for each in batches if counts[each.content] > 1})
            for copy, batches in copies.items()
        }
        self._open: dict[str, tuple[int, str]] = {}
        self._diverged: dict[str, list[DivergedRange]] = defaultdict(list)

    def diverged(self) -> dict[str, list[DivergedRange]]:
        offsets = sorted({offset for each in self._digests.values() for offset in each})
        previous = -1
        for offset in offsets:
            self._close_shared(previous, offset)
            self._vote(offset)
            previous = offset
        self._close_shared(previous, NO_END)
        for copy in [*self._open]:
            self._close(copy, NO_END)
        return dict(self._diverged)

    def _vote(self, offset: int) -> None:
        voters: dict[bytes, list[str]] = defaultdict(list)
        for copy, digests in self._digests.items():
            if offset in digests:
                voters[digests[offset]].append(copy)
        live = self._live.get(offset)
        kept = max(voters, key=lambda each: (each == live, *self._rank(voters[each])))
        if kept == live or not self._open.keys() >= set(voters[kept]):
            for copy in self._open.keys() & set(voters[kept]):
                self._close(copy, offset - 1)
        is_wrong = live is not None and kept != live
        others = [each for each in voters if each != kept or is_wrong]
        for each in others:
            why = self._why(live, [len(voters[kept]), *(len(voters[one]) for one in others)])
            for copy in voters[each]:
                self._open.setdefault(copy, (offset, why))

    def _rank(self, voters: Sequence[str]) -> tuple[int, int, bytes]:
        """Copies that diverged before have no vote."""
        valid = [each for each in voters if each not in self._open]
        return len(valid), *max((self._ends[each], self._hashes[each]) for each in voters)

    def _why(self, live: bytes | None, votes: Sequence[int]) -> str:
        """``votes`` have the number of copies per record at the offset, the kept record first."""
        if live is not None:
            return "the live topic has other records"
        if votes[0] > max(votes[1:]):
            return f"{votes[0]} of {sum(votes)} copies of the partition have other records"
        return f"{sum(votes)} copies of the partition differ, without a majority,"

    def _close_shared(self, previous: int, offset: int) -> None:
        """End the divergence of copies with a shared, uncompared batch between these offsets."""
        for copy in [*self._open]:
            shared = self._shared[copy]
            again = shared[bisect_right(shared, previous) : bisect_left(shared, offset)]
            first = next((each for each in again if not _overlaps(self._spans, each, each)), None)
            if first is not None:
                self._close(copy, first - 1)

    def _close(self, copy: str, last_offset: int) -> None:
        first_offset, why = self._open.pop(copy)
        self._diverged[copy].append(DivergedRange(first_offset, last_offset, why))
