"""The coordinator's log lines, read and written from one list of wordings (schemas/log_lines)."""

from coordinator_core.log_lines.lines import LogLine, parse_line
from coordinator_core.log_lines.messages import ParsedEvent, parse_message
from coordinator_core.log_lines.printing import render_line, render_message, render_reason
from coordinator_core.log_lines.reasons import ParsedReason, client_cause_of, parse_reason

__all__ = [
    "LogLine",
    "ParsedEvent",
    "ParsedReason",
    "client_cause_of",
    "parse_line",
    "parse_message",
    "parse_reason",
    "render_line",
    "render_message",
    "render_reason",
]
