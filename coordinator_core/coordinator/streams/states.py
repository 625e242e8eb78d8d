"""States of a member of a streams group."""

from __future__ import annotations

from enum import Enum


class StreamsMemberState(Enum):
    """How far a member is; the values are those of records."""

    STABLE = 1
    UNREVOKED_TASKS = 2
    UNRELEASED_TASKS = 3
    UNKNOWN = 127
