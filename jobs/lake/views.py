"""Rows of schemas/views by the engine of a run, from frames of tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from schemas import view_dependencies, view_names, view_sql

_SOURCE = re.compile(r"\b(FROM|JOIN) (\w+)")


def view_rows(view: str, read: Callable[[str], DataFrame]) -> DataFrame:
    """The view over the tables that ``read`` returns, for example of some dates only."""
    frames: dict[str, Any] = {
        name: view_rows(name, read) if name in view_names() else read(name)
        for name in sorted(view_dependencies(view))
    }

    def replaced(match: re.Match[str]) -> str:
        keyword, name = match.groups()
        return f"{keyword} {{{name}}}" if name in frames else match[0]

    session: SparkSession = next(iter(frames.values())).sparkSession
    return session.sql(_SOURCE.sub(replaced, view_sql(view)), **frames)
