"""Memory of processes with many threads."""

from __future__ import annotations

import ctypes
from contextlib import suppress

_M_ARENA_MAX = -8  # of glibc's malloc.h
_AREAS = 2


def share_areas() -> None:
    """Let all threads allocate from the same areas of memory.

    By default, glibc gives each of many threads an area of its own: 64 MiB of address space, which
    keep what the thread has freed.
    """
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _AREAS)
