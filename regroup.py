"""Regroup from Python, for notebooks: SQL over a lake as DataFrames, replay, what-if, reports.

Every function reads a lake in a folder or an object store, without Spark and without a JVM.  A
wrong argument raises UsageError with one line that says what to change.  docs/python.md has
examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs import __version__
from jobs.console.errors import RunFailed, UsageError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = [
    "RunFailed",
    "UsageError",
    "__version__",
    "replay",
    "report",
    "sql",
    "tables",
    "timeline",
    "view",
    "views",
    "what_if",
]


def sql(lake: str, statement: str, *, allow_files: bool = False) -> pd.DataFrame:
    """The rows of one SELECT (DuckDB's SQL) over the lake's tables and views.

    Times are UTC; integer columns are pandas' nullable Int64 or Int32.  ``allow_files``: the
    statement may read other files, and write files by COPY.
    """
    from jobs.lake.sql import arrow_table

    return _frame(arrow_table(str(lake), statement, allow_files=allow_files))


def tables(lake: str) -> pd.DataFrame:
    """One row per table that the lake has: its name, its columns and its description."""
    import pandas as pd

    from jobs.lake.sql import existing_tables
    from schemas import table_about, table_columns

    rows = [(name, table_columns(name), table_about(name)) for name in existing_tables(str(lake))]
    return pd.DataFrame(rows, columns=["table", "columns", "about"])


def views() -> pd.DataFrame:
    """One row per SQL view: its name, its columns and the question it answers."""
    import pandas as pd

    from schemas import view_about, view_columns, view_names

    rows = [(name, [*view_columns(name)], view_about(name)) for name in view_names()]
    return pd.DataFrame(rows, columns=["view", "columns", "about"])


def timeline(lake: str, cluster_id: str, group: str) -> pd.DataFrame:
    """All events of one group in order, from logs and records: the rows of table timeline."""
    from jobs.lake.literals import quoted

    where = f"cluster_id = {quoted(cluster_id)} AND group_id = {quoted(group)}"
    return sql(lake, f"SELECT * FROM timeline WHERE {where} ORDER BY seq")


def replay(
    lake: str,
    cluster_id: str,
    group: str,
    *,
    from_time: str | None = None,
    to_time: str | None = None,
    era: str | None = None,
) -> dict[str, Any]:
    """Replay one group's incident; return what `regroup replay --format json` prints.

    The keys include ``generations``, ``reproduced``, ``diverged`` and ``undecided`` (counts),
    ``divergences``, ``verdicts`` and ``story`` (lists of objects).
    """
    from jobs.console.printing import jsonable
    from jobs.replay.command import ReplayOptions, as_json, replay_whole_group

    options = ReplayOptions(str(lake), cluster_id, group, from_time, to_time, era)
    answer: dict[str, Any] = jsonable(as_json(cluster_id, replay_whole_group(options)))
    return answer


def what_if(
    lake: str,
    cluster_id: str,
    group: str,
    settings: Mapping[str, object] | None = None,
    *,
    seeds: int = 3,
    prefer: str = "downtime",
    from_time: str | None = None,
    to_time: str | None = None,
    era: str | None = None,
) -> dict[str, Any]:
    """Predict rebalances under other settings; return what `regroup what-if --format json` prints.

    ``settings``: as for ``--set``, such as ``{"membership": "static"}``; without any, a grid of
    settings is tried, ``predicted`` is a list and ``advice`` names the best.  ``prefer``: the
    figure that advice saves, as for ``--prefer``.
    """
    from jobs.console.printing import jsonable
    from jobs.what_if.command import WhatIfOptions, as_json, evaluate

    changes = tuple(f"{name}={value}" for name, value in (settings or {}).items())
    options = WhatIfOptions(
        lake=str(lake),
        cluster_id=cluster_id,
        group_id=group,
        settings=changes,
        seeds=seeds,
        prefer=prefer,
        first=from_time,
        last=to_time,
        era=era,
    )
    answer: dict[str, Any] = jsonable(as_json(options, evaluate(options)))
    return answer


def report(lake: str, cluster_id: str, out: str, *, group: str | None = None) -> Path:
    """Write the page of a cluster, or of one group, and data files beside a large one; its path."""
    from jobs.report.command import ReportOptions
    from jobs.report.command import report as write

    write(ReportOptions(lake=str(lake), cluster_id=cluster_id, group_id=group, out=str(out)))
    return Path(out)


def view(lake: str, name: str, **parameters: Any) -> dict[str, Any]:
    """Return the answer of ``/api/NAME`` of `regroup serve`, from the lake's present version."""
    from jobs.report.serve.endpoints import answer_of

    return answer_of(str(lake), name, parameters)


def main() -> None:
    """The command `regroup`."""
    from jobs.command_line.cli import main as run

    run()


def _frame(table: pa.Table) -> pd.DataFrame:
    """Integers stay integers where a column has nulls; sums of integers become integers again."""
    import pandas as pd
    import pyarrow as pa

    nullable = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype()}
    for position, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type) and field.type.scale == 0:
            integers = table.column(position).cast(pa.int64())
            table = table.set_column(position, field.name, integers)
    return table.to_pandas(types_mapper=nullable.get)
