"""The processes behind a group's members: who they are across restarts, and what befell them."""

from coordinator_core.lives.processes import Life, Process, Slow, processes
from coordinator_core.lives.spans import Going, Span, When, spans

__all__ = ["Going", "Life", "Process", "Slow", "Span", "When", "processes", "spans"]
