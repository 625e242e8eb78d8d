"""The window of time of a report."""

from __future__ import annotations

from typing import NamedTuple

from jobs.console.errors import UsageError
from jobs.lake.dates import NEVER_MS, moment_ms


class ReportWindow(NamedTuple):
    """Both ends are included; times are in ms since the epoch."""

    from_ms: int = 0
    to_ms: int = NEVER_MS

    @property
    def is_all(self) -> bool:
        return self == ReportWindow()


def parse_window(first: str | None, last: str | None) -> ReportWindow:
    """``first`` and ``last`` are times or dates in UTC; raises UsageError for anything else."""
    window = ReportWindow(
        moment_ms("--from", first, is_end=False), moment_ms("--to", last, is_end=True)
    )
    if window.from_ms > window.to_ms:
        raise UsageError(f"--from {first} is after --to {last}: swap them")
    return window
