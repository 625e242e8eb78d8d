"""What jobs read about modern groups."""

from __future__ import annotations

from pyspark.sql import DataFrame

from jobs.lake.scope import RunScope


def new_records(scope: RunScope) -> DataFrame | None:
    """The records of modern groups.

    Returns None, without a Spark job, if the lake has no such record in scope.
    """
    return scope.read("group_records") if scope.has_rows("group_records") else None


def topic_names(scope: RunScope) -> dict[str, str]:
    return {row.topic_id: row.topic for row in scope.read("topic_ids").collect()}
