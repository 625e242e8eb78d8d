"""Strings as literals of SQL, in the two dialects that differ in escapes."""

from __future__ import annotations


def quoted(text: str) -> str:
    """A literal for DuckDB and DataFusion, which have no escapes."""
    return "'" + text.replace("'", "''") + "'"


def quoted_for_spark(text: str) -> str:
    """A literal for Spark, in which a backslash escapes the next character."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
