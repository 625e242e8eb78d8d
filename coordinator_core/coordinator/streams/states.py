"""States of a member of a streams group."""

from __future__ import annotations

from enum import Enum


class StreamsMemberState(Enum):
    """The progress of a member; the values are the values in records."""

    STABLE = 1
    UNREVOKED_TASKS = 2
    UNRELEASED_TASKS = 3
    UNKNOWN = 127
