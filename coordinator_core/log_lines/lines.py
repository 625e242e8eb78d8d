"""Line -> envelope and event: date, level, prefix and logger round a coordinator's message."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator_core.log_lines.messages import ParsedEvent


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a coordinator's logger.

    ``local_ms``: the printed date in ms since 1970-01-01T00:00 of the same, unnamed zone; None where
    the line has no date.  ``event`` is None where no wording knows the message: quarantine it.
    """

    local_ms: int | None
    level: str | None
    logger: str | None
    broker_id: int | None
    topic_partition: str | None  # from the prefix, else from the message
    message: str  # without prefix and logger
    event: ParsedEvent | None


def parse_line(line: str) -> LogLine | None:
    """A line without its end, or None when it is not a coordinator's (other logger, continuation)."""
    raise NotImplementedError
