"""From when to when a report looks."""

from __future__ import annotations

from typing import NamedTuple

from jobs.console.errors import UsageError
from jobs.replay.group_rows import FOREVER_MS, moment_ms


class Window(NamedTuple):
    """Both ends belong to it, ms since the epoch."""

    from_ms: int = 0
    to_ms: int = FOREVER_MS

    @property
    def is_all(self) -> bool:
        return self == Window()


def window(first: str | None, last: str | None) -> Window:
    """Of moments or dates in UTC as they are written; UsageError for what cannot be read."""
    found = Window(moment_ms("--from", first, is_end=False), moment_ms("--to", last, is_end=True))
    if found.from_ms > found.to_ms:
        raise UsageError(f"--from {first} is after --to {last}: swap them")
    return found
