"""The rows of symptoms; a symptom is planned only if the evidence that it needs exists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

from pyspark.sql import DataFrame

from jobs.lake.shared import SharedFrames
from jobs.lake.tables import Lake
from schemas import table_partitioning, view_sql
from schemas.known_problems import KnownProblem, Need, problem_sql, tables_of

Row = dict[str, Any]
_TIMES = ("from_time", "to_time")
# Number of concurrent queries: planning a query takes longer than running it, and keeps one thread
# busy.
AT_ONCE = 4
# Views over all commits are computed once per run, because symptoms read them up to four times
# each.
COMPUTED_ONCE = frozenset({"commits_by_generation", "offset_rewinds"})


class Evidence(Protocol):
    """The tables of one cluster."""

    def has(self, table: str) -> bool:
        """Returns whether the table may have rows; False is certain."""

    def rows(self, select: str) -> list[Row]:
        """The rows of a SELECT in the SQL of schemas/known_problems, times in UTC."""


def may_have_rows(lake: Lake, table: str) -> bool:
    """Returns whether the cluster may have rows in the table. The result False is certain, and
    costs no query.
    """
    is_of_one_cluster = "cluster_id" in table_partitioning(table)
    return not is_of_one_cluster or lake.rows_on_dates(table, None) != 0


class EngineEvidence:
    """Tables as frames of the run's engine.

    ``frame`` returns a table's frame; ``has`` is as in `Evidence`.
    """

    def __init__(self, frame: Callable[[str], DataFrame], has: Callable[[str], bool]) -> None:
        self._frame, self.has = frame, has
        self._frames: dict[str, DataFrame] = {}
        self._views = SharedFrames()

    def rows(self, select: str) -> list[Row]:
        return [row.asDict(recursive=True) for row in self.result(select).collect()]

    def result(self, select: str) -> DataFrame:
        """The frame of the SELECT, which the engine has analysed and not yet run."""
        tables = sorted(tables_of(select, COMPUTED_ONCE))
        frames: Mapping[str, Any] = {name: self._table(name) for name in tables}
        # Braces mark frames, so a pattern such as \d{3} needs two of each brace.
        escaped = select.replace("{", "{{").replace("}", "}}")
        text = problem_sql(escaped, "{{{}}}".format, COMPUTED_ONCE)
        session = next(iter(frames.values())).sparkSession
        result: DataFrame = session.sql(text, **frames)
        return result

    def _table(self, name: str) -> DataFrame:
        if name in COMPUTED_ONCE:
            return self._views.computed(name, lambda: self.result(view_sql(name)))
        if name not in self._frames:
            self._frames[name] = self._frame(name)
        return self._frames[name]


def rows_of_symptoms(
    problems: Iterable[KnownProblem],
    evidence: Evidence,
    failed: Callable[[KnownProblem, Exception], None],
) -> Iterator[tuple[KnownProblem, list[Row]]]:
    """Each problem, with the rows of its symptom that nothing contradicts.

    ``failed`` is called with the error of a query; the other problems are still searched.
    """
    searched = list(problems)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for problem, rows in zip(
            searched, pool.map(partial(_searched, evidence), searched), strict=True
        ):
            if isinstance(rows, Exception):
                failed(problem, rows)
            elif rows:
                yield problem, rows


def _searched(evidence: Evidence, problem: KnownProblem) -> list[Row] | Exception:
    try:
        return _uncontradicted(problem, evidence)
    except Exception as error:
        return error


def _uncontradicted(problem: KnownProblem, evidence: Evidence) -> list[Row]:
    rows = evidence.rows(problem.symptom)
    if not rows or problem.contradicted_by is None:
        return rows
    against = evidence.rows(problem.contradicted_by)
    return [row for row in rows if not any(_contradicts(each, row) for each in against)]


def with_needs_met(problems: Iterable[KnownProblem], evidence: Evidence) -> list[KnownProblem]:
    """The problems whose needs are met, among the problems whose tables have rows."""
    problems = list(problems)
    needs = {need for problem in problems for need in problem.needs}
    tables = {need.table for need in needs}
    filled = {table for table in tables if evidence.has(table)}
    valued = sorted({(n.table, n.column) for n in needs if n.column and n.table in filled})
    seen = _values(valued, evidence)

    def is_met(need: Need) -> bool:
        if need.column is None:
            return need.table in filled
        return not need.values.isdisjoint(seen.get((need.table, need.column), ()))

    return [problem for problem in problems if all(map(is_met, problem.needs))]


def _values(columns: list[tuple[str, str]], evidence: Evidence) -> dict[tuple[str, str], set[str]]:
    """The distinct values of these columns, in one query."""
    if not columns:
        return {}
    selects = (
        f"SELECT '{table}' AS a_table, '{column}' AS a_column, CAST({column} AS STRING) AS a_value"
        f" FROM {table} GROUP BY {column}"
        for table, column in columns
    )
    seen: dict[tuple[str, str], set[str]] = {}
    for row in evidence.rows(" UNION ALL ".join(selects)):
        seen.setdefault((row["a_table"], row["a_column"]), set()).add(row["a_value"])
    return seen


def _contradicts(against: Row, row: Row) -> bool:
    """Returns whether the rows are equal in the columns that both rows have, and their times
    overlap.
    """
    shared = against.keys() & row.keys()
    if any(against[name] != row[name] for name in shared.difference(_TIMES)):
        return False
    if "from_time" not in shared:
        return True
    (a_from, a_to), (b_from, b_to) = map(_period, (against, row))
    return a_from <= b_to and b_from <= a_to


def _period(row: Row) -> tuple[int, int]:
    begin = ms_of(row["from_time"])
    assert begin is not None
    end = ms_of(row.get("to_time"))
    return begin, begin if end is None else end


def ms_of(time: datetime | int | None) -> int | None:
    """A time of a symptom, which may be in ms already."""
    if not isinstance(time, datetime):
        return time
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1000)
