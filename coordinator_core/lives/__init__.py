"""The processes behind a group's members: who they are across restarts, and what befell them."""

from coordinator_core.lives.processes import Life, Process, Slow, processes
from coordinator_core.lives.spans import Going, Span, When, spans
from coordinator_core.lives.stories import Came, Story, Went, is_flapping, stories

__all__ = [
    "Came",
    "Going",
    "Life",
    "Process",
    "Slow",
    "Span",
    "Story",
    "Went",
    "When",
    "is_flapping",
    "processes",
    "spans",
    "stories",
]
