"""From when to when: moments as people write them, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from jobs.errors import UsageError

_BEGIN_MS, _END_MS = 0, 1 << 62


class Window(NamedTuple):
    """Both ends belong to it, ms since the epoch."""

    from_ms: int = _BEGIN_MS
    to_ms: int = _END_MS

    @property
    def is_all(self) -> bool:
        return self == Window()


def window(first: str | None, last: str | None) -> Window:
    """A date alone is its first moment, or its last; without text, all.  UsageError if unread."""
    found = Window(
        _BEGIN_MS if first is None else _moment("--from", first, is_end=False),
        _END_MS if last is None else _moment("--to", last, is_end=True),
    )
    if found.from_ms > found.to_ms:
        raise UsageError(f"--from {first} is after --to {last}: swap them")
    return found


def _moment(option: str, text: str, *, is_end: bool) -> int:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        example = "2026-11-21T00:46:00 or 2026-11-21"
        raise UsageError(f"{option} {text}: not a time; write it in UTC, as {example}") from None
    moment = found.replace(tzinfo=found.tzinfo or UTC)
    if is_end and len(text) == len("2026-11-21"):
        moment += timedelta(days=1, milliseconds=-1)
    return int(moment.timestamp() * 1000)
