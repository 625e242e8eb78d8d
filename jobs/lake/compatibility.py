"""Messages for tables that another version of Regroup wrote and this version cannot use."""

from __future__ import annotations

_REBUILD = "rebuild the lake in a new folder"


def unknown_column(path: str, column: str) -> str:
    """The message for a column that schemas/ does not have."""
    return (
        f"{path}: column {column} is unknown to this version of Regroup (newer, or renamed "
        f"since): {_REBUILD}, or run the version that wrote it"
    )


def wrong_type(path: str, column: str, actual: str, expected: str) -> str:
    return f"{path}: column {column} is {actual}, not {expected}: {_REBUILD}"
