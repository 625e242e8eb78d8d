"""Problems by name: known defects of Kafka and of client libraries, mistakes, failures.

reads   the tables that the symptoms in schemas/known_problems name
writes  findings   one row per finding

A finding belongs to the date of its first event, and depends on rows of this date, the previous and
the next one.  A run writes its dates and the dates next to them, and reads one date more on each
side.
"""

from __future__ import annotations

import sys
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.known_problems.rows import GroupDays, findings_of
from jobs.known_problems.search import EngineEvidence, may_have_rows
from jobs.lake.scope import RunScope
from jobs.lake.tables import schema_of
from schemas import table_partitioning
from schemas.known_problems import KnownProblem, problems, tables_of

READS = tuple(
    sorted(
        set().union(
            *(
                tables_of(select)
                for problem in problems()
                for select in (problem.symptom, problem.contradicted_by or "")
            ),
            *({need.table for need in problem.needs} for problem in problems()),
        )
    )
)
# client_evidence adds rows to tables of other jobs, and a symptom may read any table.
AFTER = ("client_evidence", "episodes")

# Number of days around a run's dates whose findings depend on the run's dates.
AROUND = 1


def run(scope: RunScope) -> None:
    def frame(table: str) -> DataFrame:
        if "event_date" not in table_partitioning(table):
            return scope.lake.read(table)
        return scope.read_days(table, before=2 * AROUND, after=2 * AROUND)

    def groups() -> GroupDays:
        rows = scope.lake.read("timeline").groupBy("group_id")
        return rows.agg(
            F.max("topic_partition").alias("topic_partition"), F.min("event_date").alias("since")
        ).collect()

    evidence = EngineEvidence(frame, partial(may_have_rows, scope.lake))
    findings = findings_of(problems(), evidence, groups, failed=_not_searched)
    cluster = {"cluster_id": scope.lake.cluster_id}
    names = schema_of("findings").names
    rows = [[(cluster | finding)[name] for name in names] for finding in findings]
    scope.replace_days("findings", scope.lake.frame("findings", rows), before=AROUND, after=AROUND)


def _not_searched(problem: KnownProblem, error: Exception) -> None:
    why = str(error).strip().splitlines()
    print(f"findings: {problem.id} not searched: {why[0] if why else type(error)}", file=sys.stderr)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("findings")
