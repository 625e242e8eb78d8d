"""The demo's first incident as segments that grow while the broker writes them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from jobs.nightly_run.demo import INCIDENTS
from jobs.segments.frames import Frame, frames

INCIDENT = INCIDENTS["kafka-3.9"]


class GrowingSegments:
    """A copy of the incident's segments that lacks the last ``records`` of each partition's share,
    and gets them back in pieces, whole batches at a time."""

    def __init__(self, folder: Path, records: int) -> None:
        shutil.copytree(INCIDENT / "segments", folder / "segments")
        # file -> list of (records, bytes), one pair per batch
        self._left: dict[Path, list[tuple[int, bytes]]] = {}
        files = sorted(folder.glob("segments/*/*.log"))
        total = sum(count for file in files for count, _ in batches(file.read_bytes()))
        for file in files:
            data = list(batches(file.read_bytes()))
            kept = sum(count for count, _ in data) * (1 - records / total)
            file.write_bytes(b"".join(part for part, _ in self._split(file, data, kept)))

    def _split(
        self, file: Path, data: list[tuple[int, bytes]], kept: float
    ) -> Iterator[tuple[bytes, int]]:
        passed = 0
        self._left[file] = []
        for count, part in data:
            passed += count
            if passed <= kept:
                yield part, count
            else:
                self._left[file].append((count, part))

    def grow(self, records: int) -> int:
        """Append this many records, or all that are left; returns how many."""
        added = 0
        for file, left in self._left.items():
            with file.open("ab") as segment:
                while left and added < records:
                    count, part = left.pop(0)
                    segment.write(part)
                    added += count
        return added


def batches(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The number of records and the bytes of each batch."""
    for frame in frames(memoryview(data)):
        if isinstance(frame, Frame):
            count = frame.last_offset - frame.first_offset + 1
            yield count, data[frame.position : frame.position + frame.size]
