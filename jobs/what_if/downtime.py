"""The part of a gap of ownership within a period.  The same SQL runs on Spark and DuckDB."""

from __future__ import annotations


def downtime_within(from_ms: str, unowned_ms: str, begin_ms: int, end_ms: int) -> str:
    """An SQL expression, in ms; ``from_ms``, ``unowned_ms``: expressions of the gap."""
    return (
        f"GREATEST(LEAST({from_ms} + {unowned_ms}, {end_ms}) - GREATEST({from_ms}, {begin_ms}), 0)"
    )
