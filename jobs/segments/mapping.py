"""Memory-mapped files: release pages that were read, or a scan holds the whole file in memory."""

from __future__ import annotations

import mmap

_AROUND_BYTES = 4 << 20  # an access also maps this many of the preceding bytes
KEPT_BYTES = 32 << 20  # maximum bytes behind the current position that stay in memory


def release(view: memoryview, start: int, end: int) -> None:
    """Unmap the pages within a range of a mapped file; the next access maps them again."""
    mapped = view.obj
    start = max(0, start - _AROUND_BYTES) // mmap.PAGESIZE * mmap.PAGESIZE
    if isinstance(mapped, mmap.mmap) and end > start and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED, start, end - start)
