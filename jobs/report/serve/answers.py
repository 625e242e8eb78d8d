"""The views of the server as values that JSON can represent; times are in ms since the epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from coordinator_core.episodes.episode_kind import NOT_INCIDENTS
from jobs.console.errors import UsageError
from jobs.lake.sql import WRITERS
from jobs.report import episodes, findings, queries
from jobs.report.data import GROUP_ROOM, cut_timeline, overview, timelines
from jobs.report.lake import ReportLake, Table, no_generations, table_of
from jobs.report.page import page
from jobs.report.serve.live import LiveLake, Version
from jobs.report.serve.statements import DEFAULT_LIMITS, Limits, Statements
from jobs.report.serve.summary import SORTED_BY, GroupsAsked, has_words
from jobs.report.timeline import group_rows
from jobs.report.window import parse_window
from schemas import view_about, view_names, view_sql

if TYPE_CHECKING:
    import duckdb

Json = dict[str, Any]

_MOVES = """
    SELECT SUM(partitions_moved)::BIGINT AS partitions_moved,
        SUM(moves_forced)::BIGINT AS moves_forced
    FROM shown"""
_CAUSES = """
    SELECT cause, story, COUNT(*) AS generations FROM shown WHERE cause IS NOT NULL
    GROUP BY ALL ORDER BY generations DESC, cause, story"""

MOST_ROWS = 1000  # maximum rows of a list in one response
MOST_EXPORTED = 100  # maximum groups in one file


class Answers:
    """The answers of one lake.  UsageError for a cluster or group that the lake does not have."""

    def __init__(
        self,
        lake: LiveLake,
        plan: Callable[[str, str], Json] | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        """``plan``: ways to deploy a group of a cluster, as `regroup plan` predicts them."""
        self._lake, self._plan = lake, plan
        self._statements = Statements(lake.root, limits)

    def status(self, asked: Json) -> Json:
        version = self._lake.version
        return {
            "version": version.number,
            "read_at_ms": int(version.opened_at.timestamp() * 1000),
            "clusters": version.clusters,
            "tables": version.tables,
        }

    def overview(self, asked: Json) -> Json:
        version = self._lake.version
        return {**version.summary(_cluster(version, asked)).overview, "version": version.number}

    def groups(self, asked: Json) -> Json:
        version = self._lake.version
        if asked["sort"] not in SORTED_BY:
            raise UsageError(f"sort {asked['sort']}: give one of {', '.join(SORTED_BY)}")
        return version.summary(_cluster(version, asked)).groups(
            GroupsAsked(
                search=asked["search"],
                sort=asked["sort"],
                is_ascending=asked["ascending"],
                is_folded=asked["fold"],
                fold=asked["of_fold"],
                ids=tuple(asked["group"]),
                limit=asked["limit"],
                offset=asked["offset"],
            )
        )

    def timeline(self, asked: Json) -> Json:
        version = self._lake.version
        lake = _of_group(version, asked)
        (rows,) = group_rows(lake, [asked["group"]])
        return cut_timeline(rows, GROUP_ROOM)

    def findings(self, asked: Json) -> Json:
        columns = "finding, group_id, summary"
        return self._listed(asked, "findings", findings.ROWS, columns, findings.ORDER)

    def episodes(self, asked: Json) -> Json:
        rows = f"SELECT * FROM shown_episodes WHERE kind NOT IN {NOT_INCIDENTS}"
        return self._listed(asked, "episodes", rows, "REPLACE(kind, '_', ' '), group_id, summary",
                            "place")  # fmt: skip

    def advice(self, asked: Json) -> Json:
        columns = "group_id, sentence"
        return self._listed(asked, "advice", episodes.ADVICE_ROWS, columns, episodes.ADVICE_ORDER)

    def _listed(self, asked: Json, table: str, rows: str, words: str, order: str) -> Json:
        """Rows of a table that have the words in their columns, and how many there are."""
        version = self._lake.version
        summary = version.summary(_cluster(version, asked))
        if table not in version.opened.has:
            return {"count": None, "run": f"regroup {WRITERS.get(table, 'nightly')}"}
        cursor = summary.scoped(asked["group"], parse_window(asked["from"], asked["to"]))
        where, parameters = has_words(f"LOWER(CONCAT_WS(' ', {words}))", asked["search"])
        cursor.execute(
            f"CREATE TEMP TABLE listed AS SELECT * FROM ({rows}) WHERE {where}", parameters
        )
        (count,) = cursor.execute("SELECT COUNT(*) FROM listed").fetchall()[0]
        part = f"LIMIT {asked['limit']} OFFSET {asked['offset']}"
        listed = _rows(cursor, f"SELECT * FROM listed ORDER BY {order} {part}")
        return {"count": count, "listed": listed.json()}

    def compare(self, asked: Json) -> Json:
        version = self._lake.version
        cluster_id = _cluster(version, asked)
        return {
            side: _figures(version, cluster_id, asked[group], asked[first], asked[last])
            for side, group, first, last in (
                ("one", "group", "from", "to"),
                ("other", "other_group", "other_from", "other_to"),
            )
        }

    def plans(self, asked: Json) -> Json:
        version = self._lake.version
        if self._plan is None:
            raise UsageError("plans: run `regroup plan`")
        plans: Json = self._plan(_cluster(version, asked), asked["group"])
        return plans

    def sql(self, asked: Json) -> Json:
        return self._statements.rows(asked["query"], self._lake.version.number)

    def questions(self, asked: Json) -> Json:
        names = [name for name in view_names() if name.startswith("q")]
        return {
            "questions": [
                {"name": name, "about": view_about(name), "sql": view_sql(name)} for name in names
            ]
        }

    def exported(self, asked: Json) -> str:
        """A page for offline use, of these groups, or of the groups in the list of groups."""
        version = self._lake.version
        cluster_id = _cluster(version, asked)
        ids = asked["group"]
        if not ids:
            listed = self.groups({**asked, "fold": False, "limit": MOST_EXPORTED})["listed"]
            ids = [row[listed["columns"].index("group_id")] for row in listed["rows"]]
        if len(ids) > MOST_EXPORTED:
            raise UsageError(f"{len(ids)} groups: a file has at most {MOST_EXPORTED}")
        if not ids:
            raise UsageError("no such group; change the search")
        window = parse_window(asked["from"], asked["to"])
        lake = ReportLake(
            self._lake.root, cluster_id, None, window, opened=version.opened, only=ids
        )
        data = overview(lake, cluster_id)
        return page(data | {"timelines": list(timelines(lake, data)), "elsewhere": None})


def _figures(
    version: Version, cluster_id: str, group_id: str | None, first: str | None, last: str | None
) -> Json:
    """Totals, causes and kinds of episodes of all groups or of one, within a window."""
    window = parse_window(first, last)
    opened = version.opened
    rows = partial(_rows, version.summary(cluster_id).scoped(group_id or None, window))
    totals = rows(queries.TOTALS).dicts()[0]
    if group_id and not totals["groups"]:
        raise UsageError(no_generations(opened, cluster_id, group_id, window))
    return {
        "totals": totals | rows(_MOVES).dicts()[0],
        "causes": rows(_CAUSES).dicts(),
        "kinds": rows(episodes.KINDS).dicts() if "episodes" in opened.has else None,
    }


def _rows(cursor: duckdb.DuckDBPyConnection, sql: str) -> Table:
    return table_of(cursor.execute(sql))


def _cluster(version: Version, asked: Mapping[str, Any]) -> str:
    cluster_id: str = asked["cluster"] or version.clusters[0]
    return cluster_id


def _of_group(version: Version, asked: Mapping[str, Any]) -> ReportLake:
    window = parse_window(asked.get("from"), asked.get("to"))
    cluster_id = _cluster(version, asked)
    opened = version.opened
    return ReportLake(opened.root, cluster_id, asked["group"], window, opened=opened)
