"""The groups of a cluster in memory, one row per group, for lists of groups.

The rows are computed once per version of the lake; everything about a single group is read from the
lake when a reader asks for it.  Times are in ms since the epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from jobs.report import queries
from jobs.report.data import SPARKS, of_cluster, spark_parts
from jobs.report.episodes import KINDS_OF_GROUPS
from jobs.report.lake import OpenedLake, ReportLake, table_of
from jobs.report.window import ReportWindow

if TYPE_CHECKING:
    import duckdb

Json = dict[str, Any]

MOST_STORMS = 100

# Groups are similar if their names differ only in digits, and their types, assignor, kinds of
# episodes and order of magnitude of partition downtime are the same.
_GROUPS = """
    CREATE TABLE {schema}.groups AS
    WITH overview AS ({overview}), sparks AS ({sparks}), kinds AS ({kinds}),
    causes AS (
        SELECT group_id, LIST(STRUCT_PACK(cause := cause, story := story,
            generations := generations, not_stable_ms := not_stable_ms)
            ORDER BY generations DESC, cause, story) AS causes
        FROM ({causes}) GROUP BY group_id
    ),
    described AS (
        SELECT o.*, c.causes, s.sparks, k.kinds,
            REGEXP_REPLACE(o.group_id, '[0-9]+', '*', 'g') AS pattern,
            CASE WHEN k.kinds IS NULL THEN c.causes[1].cause ELSE ARRAY_TO_STRING(
                LIST_SORT(LIST_TRANSFORM(k.kinds, lambda each: each.kind)), ', ') END AS why
        FROM overview o
        LEFT JOIN causes c USING (group_id)
        LEFT JOIN sparks s USING (group_id)
        LEFT JOIN kinds k USING (group_id)
    )
    SELECT *, DENSE_RANK() OVER (ORDER BY pattern, types, protocol, why,
            ROUND(LOG10(unowned_partition_ms / 1000 + 1))) AS fold,
        LOWER(CONCAT_WS(' ', group_id, REPLACE(why, '_', ' '), protocol,
            ARRAY_TO_STRING(types, ' '))) AS words
    FROM described"""
_NO_KINDS = """
    SELECT NULL::VARCHAR AS group_id, NULL::STRUCT(kind VARCHAR, episodes BIGINT)[] AS kinds"""

_SHOWN = """
    CREATE TABLE {schema}.shown AS
    SELECT group_id, outcome, cause, story, begin_ms, COALESCE(end_ms, last_ms) AS until_ms,
        total_ms, unowned_partition_ms, partitions_moved, moves_forced,
        rebalances, aborted_rebalances, superseded_targets, is_unlogged
    FROM shown CROSS JOIN last_event"""
_EPISODES = """
    CREATE TABLE {schema}.episodes AS
    SELECT * EXCLUDE (cluster_id, activity_time, event_date, from_time, to_time, hosts, generations,
            summary, text), text AS summary
    FROM shown_episodes"""

# Times without an owner, unserved times and costs, for sums within any window.
_MOMENTS = (
    """
    CREATE TABLE {schema}.gaps AS
    SELECT group_id, from_ms, to_ms, low_ms, high_ms, SUM(partitions)::BIGINT AS partitions
    FROM gaps GROUP BY ALL ORDER BY group_id""",
    """
    CREATE TABLE {schema}.unserved AS
    SELECT group_id, from_ms, to_ms FROM unserved ORDER BY group_id""",
)
_COSTS = """
    CREATE TABLE {schema}.costs AS
    SELECT group_id, EPOCH_MS(to_time) AS at_ms, SUM(records_reprocessed) AS records_reprocessed
    FROM handover_costs JOIN scope USING (cluster_id)
    GROUP BY ALL HAVING SUM(records_reprocessed) IS NOT NULL ORDER BY group_id"""
_NO_COSTS = """
    CREATE TABLE {schema}.costs (group_id VARCHAR, at_ms BIGINT, records_reprocessed DOUBLE)"""
_WITHIN = (
    f"CREATE TEMP VIEW gaps AS {queries.GAPS_WITHIN.format('{schema}.gaps')}",
    """
    CREATE TEMP VIEW unserved AS
    SELECT u.group_id, LEAST(u.to_ms, scope.to_ms) - GREATEST(u.from_ms, scope.from_ms) AS shown_ms
    FROM {schema}.unserved u JOIN scope ON u.from_ms <= scope.to_ms AND u.to_ms >= scope.from_ms
        AND (scope.only_group IS NULL OR u.group_id = scope.only_group)""",
    """
    CREATE TEMP VIEW costs AS
    SELECT c.* FROM {schema}.costs c JOIN scope ON c.at_ms BETWEEN scope.from_ms AND scope.to_ms
        AND (scope.only_group IS NULL OR c.group_id = scope.only_group)""",
)

SORTED_BY = (
    "group_id", "rebalances", "not_stable_ms", "why", "unowned_partition_ms", "unserved_ms",
    "records_reprocessed", "share", "longest_ms", "p50_ms", "partitions_moved", "protocol",
)  # fmt: skip

# One row per group, or per fold of similar groups: sums, the longest duration, and the median of
# the groups' medians.
_MATCHING = (
    "CREATE TEMP TABLE matching AS SELECT *, {key} AS key FROM {schema}.groups WHERE {where}"
)
_ROWS = """
    CREATE TEMP TABLE listed AS
    SELECT key::VARCHAR AS key, COUNT(*) AS size,
        CASE WHEN COUNT(*) = 1 THEN ANY_VALUE(group_id) ELSE ANY_VALUE(pattern) END AS group_id,
        SUM(rebalances)::BIGINT AS rebalances,
        SUM(aborted_rebalances)::BIGINT AS aborted_rebalances,
        SUM(superseded_targets)::BIGINT AS superseded_targets,
        SUM(not_stable_ms)::BIGINT AS not_stable_ms, MAX(longest_ms) AS longest_ms,
        QUANTILE_DISC(p50_ms, 0.5) AS p50_ms,
        SUM(unowned_partition_ms)::BIGINT AS unowned_partition_ms,
        SUM(unowned_partition_ms_low)::BIGINT AS unowned_partition_ms_low,
        SUM(unowned_partition_ms_high)::BIGINT AS unowned_partition_ms_high,
        SUM(unserved_ms)::BIGINT AS unserved_ms,
        SUM(records_reprocessed)::BIGINT AS records_reprocessed,
        SUM(partitions_moved)::BIGINT AS partitions_moved,
        SUM(moves_forced)::BIGINT AS moves_forced,
        SUM(not_stable_ms) / GREATEST(SUM(with_members_ms), 1) AS share,
        ANY_VALUE(protocol) AS protocol, ANY_VALUE(types) AS types, ANY_VALUE(why) AS why,
        BOOL_OR(is_partly_unlogged) AS is_partly_unlogged
    FROM matching GROUP BY ALL
    ORDER BY {order} NULLS LAST, group_id
    LIMIT {limit} OFFSET {offset}"""
_COUNTS = "SELECT COUNT(*) AS groups, COUNT(DISTINCT key) AS rows FROM matching"
_LISTED = """
    WITH items AS (SELECT m.* FROM matching m SEMI JOIN listed USING (key)),
    kinds AS (
        SELECT key, LIST(STRUCT_PACK(kind := kind, episodes := n) ORDER BY n DESC, kind) AS kinds
        FROM (SELECT key, each.kind AS kind, SUM(each.episodes)::BIGINT AS n
            FROM (SELECT key, UNNEST(kinds) AS each FROM items) GROUP BY ALL)
        GROUP BY key
    ),
    causes AS (
        SELECT key, LIST(STRUCT_PACK(cause := cause, story := story, generations := n,
            not_stable_ms := ms) ORDER BY n DESC, cause, story) AS causes
        FROM (SELECT key, each.cause AS cause, each.story AS story,
                SUM(each.generations)::BIGINT AS n, SUM(each.not_stable_ms)::BIGINT AS ms
            FROM (SELECT key, UNNEST(causes) AS each FROM items) GROUP BY ALL)
        GROUP BY key
    ),
    sparks AS (
        SELECT key, LIST([part, n] ORDER BY part) AS sparks
        FROM (SELECT key, each[1] AS part, SUM(each[2])::BIGINT AS n
            FROM (SELECT key, UNNEST(sparks) AS each FROM items) GROUP BY ALL)
        GROUP BY key
    )
    SELECT l.*, k.kinds, c.causes, s.sparks
    FROM listed l
    LEFT JOIN kinds k USING (key)
    LEFT JOIN causes c USING (key)
    LEFT JOIN sparks s USING (key)
    ORDER BY {order} NULLS LAST, group_id"""

_IN_WINDOW = """
    CREATE TEMP VIEW {} AS SELECT t.* FROM {}.{} t JOIN scope
        ON t.{} <= scope.to_ms AND t.{} >= scope.from_ms
        AND (scope.only_group IS NULL OR t.group_id = scope.only_group)"""


class GroupsAsked(NamedTuple):
    """``search`` has words that name, kinds of episodes, assignor and types have.  ``ids`` limits
    the answer to these groups; empty: all.  ``fold`` limits the answer to the groups of this row.
    """

    search: str = ""
    sort: str = "not_stable_ms"
    is_ascending: bool = False
    is_folded: bool = False
    fold: int | None = None
    ids: tuple[str, ...] = ()
    limit: int = 100
    offset: int = 0


class ClusterSummary:
    """The tables of one cluster, in a compressed database of their own.

    ``overview`` is the overview of a page, without rows of groups.
    """

    def __init__(self, opened: OpenedLake, cluster_id: str, schema: str) -> None:
        """Raises UsageError for a cluster that the lake does not have."""
        self._opened, self._schema = opened, schema
        lake = ReportLake(opened.root, cluster_id, None, ReportWindow(), opened=opened)
        lake.rows(f"ATTACH ':memory:' AS {schema} (COMPRESS)")
        lake.rows(
            _GROUPS.format(
                schema=schema,
                overview=queries.OVERVIEW,
                causes=queries.ALL_CAUSES.format(""),
                sparks=queries.ALL_SPARKS.format(""),
                kinds=KINDS_OF_GROUPS if "episodes" in lake.has else _NO_KINDS,
            ),
            **spark_parts(lake),
        )
        costs = _COSTS if "handover_costs" in lake.has else _NO_COSTS
        for statement in (_SHOWN, *_MOMENTS, costs):
            lake.rows(statement.format(schema=schema))
        if "episodes" in lake.has:
            lake.rows(_EPISODES.format(schema=schema))
        self._cluster_id = cluster_id
        ids = [row[0] for row in lake.rows(f"SELECT group_id FROM {schema}.groups").rows]
        overview = of_cluster(lake, cluster_id, ids)
        storms = overview["storms"]
        types = lake.rows(f"SELECT DISTINCT UNNEST(types) FROM {schema}.groups ORDER BY 1").rows
        self.overview: Json = {
            **overview,
            "episodes": overview["episodes"] and {**overview["episodes"], "of_groups": []},
            "storms": {**storms, "rows": storms["rows"][:MOST_STORMS]},
            "storms_count": len(storms["rows"]),
            "spark_parts": SPARKS,
            "types": [name for (name,) in types],
        }

    def scoped(self, group_id: str | None, window: ReportWindow) -> duckdb.DuckDBPyConnection:
        """A cursor with the tables of `queries.TOTALS` within a window, of all groups or one."""
        cursor = self._opened.cursor()
        cursor.execute(
            "CREATE TEMP TABLE scope AS SELECT ? AS cluster_id, ?::VARCHAR AS only_group,"
            " ?::BIGINT AS from_ms, ?::BIGINT AS to_ms",
            [self._cluster_id, group_id, *window],
        )
        has = self._opened.has
        for view in _WITHIN:
            cursor.execute(view.format(schema=self._schema))
        cursor.execute(queries.UNSERVED_SOURCE.format("unserved_times" in has))
        cursor.execute(_IN_WINDOW.format("shown", self._schema, "shown", "begin_ms", "until_ms"))
        if "episodes" in has:
            name = "shown_episodes"
            cursor.execute(_IN_WINDOW.format(name, self._schema, "episodes", "from_ms", "to_ms"))
        return cursor

    def groups(self, asked: GroupsAsked) -> Json:
        """Rows of groups, and how many groups and rows there are without the limit."""
        cursor = self._opened.cursor()
        where, parameters = _condition(asked)
        order = f"{asked.sort} {'ASC' if asked.is_ascending else 'DESC'}"
        key = "fold" if asked.is_folded else "group_id"
        cursor.execute(_MATCHING.format(schema=self._schema, key=key, where=where), parameters)
        cursor.execute(_ROWS.format(order=order, limit=asked.limit, offset=asked.offset))
        ((groups, rows),) = cursor.execute(_COUNTS).fetchall()
        listed = table_of(cursor.execute(_LISTED.format(order=order)))
        return {"groups": groups, "rows": rows, "listed": listed.json()}


def has_words(text: str, search: str) -> tuple[str, Json]:
    """The condition that the SQL expression ``text`` has each word, and its parameters."""
    parameters: Json = {f"word{n}": word for n, word in enumerate(search.lower().split())}
    return " AND ".join(
        ["true", *(f"CONTAINS({text}, ${name})" for name in parameters)]
    ), parameters


def _condition(asked: GroupsAsked) -> tuple[str, Json]:
    condition, parameters = has_words("words", asked.search)
    conditions = [condition]
    if asked.fold is not None:
        conditions.append("fold = $fold")
        parameters["fold"] = asked.fold
    if asked.ids:
        conditions.append("group_id IN $ids")
        parameters["ids"] = list(asked.ids)
    return " AND ".join(conditions), parameters
