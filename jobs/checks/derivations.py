"""Laws that hold a derived table against what it was derived from, row by row, as SQL.

A law's two sides are queries of (cluster_id, place, said): ``place`` names a row and is there once,
``said`` is all of it that the other side knows too.
"""

from __future__ import annotations

from dataclasses import dataclass

LIFE = "cluster_id, group_id, incarnation"
PLACE = "group_id || ' ' || incarnation || '/' || generation"
KNOWN = "role = 'trigger' AND cause <> 'UNKNOWN'"
MADE_BY = (
    "event IN ('RECORD', 'RECORD_EMPTY', 'JOIN_COMPLETE', 'ASSIGNMENT_RECEIVED', 'GROUP_EMPTY')"
)


@dataclass(frozen=True)
class Agreement:
    """``found``, what ``table`` says, is ``expected``, what ``of`` makes of it."""

    table: str
    of: tuple[str, ...]
    expected: str
    found: str

    @property
    def name(self) -> str:
        return f"{self.table} agrees with {' and '.join(self.of)}"

    @property
    def tables(self) -> tuple[str, ...]:
        return (self.table, *self.of)

    @property
    def sql(self) -> str:
        return f"""
            SELECT COALESCE(e.cluster_id, f.cluster_id), COALESCE(e.place, f.place),
                COALESCE(e.said, 'no row'), COALESCE(f.said, 'no row')
            FROM ({self.expected}) e FULL JOIN ({self.found}) f
                ON f.cluster_id = e.cluster_id AND f.place = e.place
            WHERE e.said IS DISTINCT FROM f.said"""


def _said(*columns: str) -> str:
    """The columns as one text; null is a word of its own."""
    return " || ', ' || ".join(f"COALESCE(CAST({column} AS VARCHAR), '-')" for column in columns)


_TIMES = _said("preparing_time", "joined_time", "stable_time", "ended_time", "outcome")
_EVENT = ("event_time", "event", "generation", "member_id", "instance_id", "client_id",
          "client_host", "reason", "client_reason", "member_count", "members")  # fmt: skip
_MEMBER = ("instance_id", "client_id", "client_host", "session_timeout_ms", "rebalance_timeout_ms",
           "subscribed_topics")  # fmt: skip
_RECORDS = """
    SELECT m.*, t.incarnation, t.seq, MAX(t.seq) OVER (
        PARTITION BY m.cluster_id, m.group_id, t.incarnation, m.generation) AS last_seq
    FROM timeline t JOIN group_metadata m ON m.cluster_id = t.cluster_id
        AND m.topic_partition = t.topic_partition AND m.log_offset = t.log_offset
    WHERE t.event IN ('RECORD', 'RECORD_EMPTY') AND t.event_generation IS NOT NULL"""
_READABLE = f"""
    SELECT {LIFE}, generation FROM generation_members
    GROUP BY ALL HAVING BOOL_AND(subscribed_topics IS NOT NULL)"""

AGREEMENTS = [
    Agreement(
        "group_events",
        ("broker_log_events",),
        # A stretch of log that came by two files counts once: the n-th of a text is the n-th.
        f"""
        SELECT cluster_id, file_id || ' ' || position || ' ' || group_id AS place,
            {_said(*_EVENT)} AS said
        FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY cluster_id, group_id, event_time, line, nth
                  ORDER BY broker_id, file_id, position) AS copy
              FROM (SELECT *, ROW_NUMBER() OVER (
                        PARTITION BY cluster_id, file_id, group_id, event_time, line
                        ORDER BY position) AS nth
                    FROM (SELECT * FROM broker_log_events WHERE group_id IS NOT NULL
                          UNION ALL BY NAME
                          SELECT * EXCLUDE (group_id), UNNEST(groups) AS group_id
                          FROM broker_log_events WHERE group_id IS NULL)))
        ANTI JOIN pending USING (cluster_id, event_date)
        WHERE copy = 1""",
        f"""
        SELECT e.cluster_id, e.file_id || ' ' || e.position || ' ' || e.group_id AS place,
            {_said(*(f"e.{name}" for name in _EVENT))} AS said
        FROM group_events e ANTI JOIN pending USING (cluster_id, event_date)
        LEFT JOIN broker_log_events b ON b.cluster_id = e.cluster_id
            AND b.file_id = e.file_id AND b.position = e.position AND b.broker_id = e.broker_id
        -- A line about a static member names no group: whose it is, its neighbours say.
        WHERE e.source = 'broker_log' AND (b.group_id IS NOT NULL OR b.groups IS NOT NULL
            OR b.event IS DISTINCT FROM e.event)""",
    ),
    Agreement(
        "timeline",
        ("group_events", "group_metadata"),
        f"""
        SELECT cluster_id, group_id || ' ' || event_seq AS place,
            {_said("event_time", "event", "member_id", "reason", "member_count", "members")} AS said
        FROM group_events
        UNION ALL
        SELECT cluster_id, topic_partition || ' ' || log_offset,
            {
            _said(
                "append_time",
                "group_id",
                "NULLIF(GREATEST(generation, 0), 0)",
                "leader",
                "protocol",
                "state_timestamp_ms",
                "[m.member_id FOR m IN members]",
            )
        }
        FROM group_metadata""",
        f"""
        SELECT cluster_id, group_id || ' ' || seq AS place,
            {_said("event_time", "event", "member_id", "reason", "member_count", "members")} AS said
        FROM timeline WHERE log_offset IS NULL
        UNION ALL
        SELECT cluster_id, topic_partition || ' ' || log_offset,
            {
            _said(
                "event_time",
                "group_id",
                "event_generation",
                "member_id",
                "protocol",
                "state_timestamp_ms",
                "members",
            )
        }
        FROM timeline WHERE log_offset IS NOT NULL""",
    ),
    Agreement(
        "generations",
        ("timeline",),
        f"""
        WITH events AS (
            SELECT *, event_generation AS generation FROM timeline WHERE event_generation > 0 AND {
            MADE_BY
        }
            UNION ALL SELECT *, event_generation + 1 FROM timeline WHERE event = 'REBALANCE_START'
            UNION ALL SELECT * REPLACE ('OVER' AS event), event_generation FROM timeline
                WHERE event = 'REBALANCE_START' AND event_generation > 0
            UNION ALL SELECT * REPLACE ('OVER' AS event), current_generation FROM timeline
                WHERE event IN ('GROUP_DEAD', 'ADMIN_DELETE', 'TOMBSTONE')
                    AND current_generation > 0),
        told AS (
            SELECT cluster_id, group_id, incarnation, generation,
                FIRST(event_time ORDER BY seq) FILTER (event = 'REBALANCE_START') AS prepared,
                FIRST(event_time ORDER BY seq) FILTER (event = 'JOIN_COMPLETE') AS joined,
                FIRST(event_time ORDER BY seq) FILTER (event = 'GROUP_EMPTY') AS emptied,
                FIRST(state_timestamp_ms ORDER BY seq) FILTER (event = 'RECORD') AS since_ms,
                FIRST(state_timestamp_ms ORDER BY seq) FILTER (event = 'RECORD_EMPTY') AS empty_ms,
                FIRST(event_time ORDER BY seq) FILTER (event = 'ASSIGNMENT_RECEIVED') AS assigned,
                FIRST(event_time ORDER BY seq) FILTER (event = 'RECORD') AS stored,
                FIRST(member_id ORDER BY seq) FILTER (event = 'RECORD') AS leader,
                COALESCE(
                    FIRST(member_count ORDER BY seq) FILTER (event = 'JOIN_COMPLETE'),
                    FIRST(member_count ORDER BY seq) FILTER (event = 'ASSIGNMENT_RECEIVED'),
                    FIRST(member_count ORDER BY seq) FILTER (event = 'RECORD'),
                    CASE WHEN COUNT(*) FILTER (event IN ('GROUP_EMPTY', 'RECORD_EMPTY')) > 0
                        THEN 0 END) AS member_count,
                FIRST(protocol ORDER BY seq) FILTER (event = 'RECORD') AS protocol,
                FIRST(event_time ORDER BY seq) FILTER (event = 'OVER') AS over_at,
                MIN(log_offset) AS first_offset, MAX(log_offset) AS last_offset
            FROM events GROUP BY ALL
            HAVING COUNT(*) FILTER (event <> 'OVER') > 0)
        SELECT cluster_id, {PLACE} AS place, {
            _said(
                "prepared",
                "COALESCE(joined, emptied, EPOCH_MS(since_ms), EPOCH_MS(empty_ms))",
                "COALESCE(assigned, stored)",
                "over_at",
                "leader",
                "member_count",
                "protocol",
                "first_offset",
                "last_offset",
            )
        } AS said
        FROM told
        -- But what remains of one whose first events were of a date that is kept no more.
        QUALIFY prepared IS NOT NULL OR generation > MIN(generation) OVER (
            PARTITION BY cluster_id, group_id, incarnation)""",
        f"""
        SELECT cluster_id, {PLACE} AS place, {
            _said(
                "preparing_time",
                "joined_time",
                "stable_time",
                "ended_time",
                "CASE WHEN protocol IS NOT NULL THEN leader END",
                "member_count",
                "protocol",
                "first_offset",
                "last_offset",
            )
        } AS said
        FROM generations
        QUALIFY preparing_time IS NOT NULL OR generation > MIN(generation) OVER (
            PARTITION BY cluster_id, group_id, incarnation)""",
    ),
    Agreement(
        "generation_members",
        ("timeline", "group_metadata"),
        f"""
        SELECT cluster_id, {PLACE} || ' ' || member.member_id AS place,
            LAST({
            _said(*(f"member.{name}" for name in _MEMBER), "member.member_id = leader")
        } ORDER BY seq) AS said
        FROM (SELECT *, UNNEST(members) AS member FROM ({_RECORDS}))
        GROUP BY cluster_id, place""",
        f"""
        SELECT cluster_id, {PLACE} || ' ' || member_id AS place,
            {_said(*_MEMBER, "is_leader")} AS said
        FROM generation_members""",
    ),
    Agreement(
        "assignments",
        ("timeline", "group_metadata", "generation_members"),
        f"""
        SELECT DISTINCT g.cluster_id, g.place || ' ' || g.part AS place, m.process AS said
        FROM (SELECT *, {PLACE} || ' ' || member_id || ' ' || topic AS place,
                  UNNEST(partitions) AS part
              FROM (SELECT *, given.topic AS topic, given.partitions AS partitions
                    FROM (SELECT *, member.member_id AS member_id,
                              UNNEST(member.assigned) AS given
                          FROM (SELECT *, UNNEST(members) AS member FROM ({_RECORDS})
                                WHERE seq = last_seq)))) g
        JOIN generation_members m USING (cluster_id, group_id, incarnation, generation, member_id)
        """,
        f"""
        SELECT cluster_id, {PLACE} || ' ' || member_id || ' ' || topic || ' ' || partition
            AS place, process AS said
        FROM assignments WHERE assignor = 'actual'""",
    ),
    Agreement(
        "churn",
        ("generations", "generation_members", "assignments"),
        f"""
        SELECT g.cluster_id, g.{PLACE} AS place, {
            _said(
                "event_date",
                "CASE WHEN evidence <> 'log' THEN COALESCE(joined, 0) END",
                "CASE WHEN evidence <> 'log' THEN COALESCE(retained, 0) END",
                "CASE WHEN evidence <> 'log' THEN COALESCE(assigned, 0) END",
                "true",
            )
        } AS said
        FROM generations g
        LEFT JOIN (SELECT {LIFE}, generation, COUNT(*) FILTER (change <> 'retained') AS joined,
                       COUNT(*) FILTER (change = 'retained') AS retained
                   FROM generation_members GROUP BY ALL)
            USING (cluster_id, group_id, incarnation, generation)
        LEFT JOIN (SELECT {LIFE}, generation, COUNT(DISTINCT (topic, partition)) AS assigned
                   FROM assignments WHERE assignor = 'actual' GROUP BY ALL)
            USING (cluster_id, group_id, incarnation, generation)""",
        f"""
        SELECT cluster_id, {PLACE} AS place, {
            _said(
                "event_date",
                "members_joined",
                "members_retained",
                "partitions_assigned",
                "COALESCE(partitions_moved + partitions_new <= partitions_assigned"
                " AND moves_forced BETWEEN 0 AND partitions_moved, true)",
            )
        } AS said
        FROM churn""",
    ),
    Agreement(
        "rebalance_latency",
        ("generations",),
        f"""
        SELECT cluster_id, {PLACE} AS place, {
            _said(
                "preparing_time",
                "CASE outcome WHEN 'empty' THEN joined_time WHEN 'stable' THEN stable_time"
                " ELSE ended_time END",
                "DATE_DIFF('millisecond', preparing_time, joined_time)",
                "event_date",
                "cause",
                "outcome",
                "evidence",
                "true",
            )
        } AS said
        FROM generations""",
        f"""
        SELECT cluster_id, {PLACE} AS place, {
            _said(
                "preparing_time",
                "end_time",
                "join_ms",
                "event_date",
                "cause",
                "outcome",
                "evidence",
                "COALESCE(total_ms = join_ms + sync_ms AND sync_ms >= 0"
                " AND round = generation - logical_rebalance + 1, true)",
            )
        } AS said
        FROM rebalance_latency""",
    ),
    Agreement(
        "group_days",
        ("timeline",),
        """
        SELECT DISTINCT cluster_id, group_id || ' ' || event_date AS place, 'a row' AS said
        FROM timeline""",
        """
        SELECT cluster_id, group_id || ' ' || event_date AS place, 'a row' AS said
        FROM group_days""",
    ),
    Agreement(
        "rebalance_causes",
        ("generations",),
        f"""
        SELECT cluster_id, {PLACE} AS place, cause || ', true' AS said
        FROM generations WHERE cause IS NOT NULL""",
        f"""
        SELECT cluster_id, {PLACE} AS place,
            {_said(f"MAX(cause) FILTER ({KNOWN})", "COUNT(*) = MAX(cause_seq)")} AS said
        FROM rebalance_causes GROUP BY cluster_id, place
        HAVING COUNT(*) FILTER ({KNOWN}) > 0 OR COUNT(*) < MAX(cause_seq) - 1""",
    ),
    Agreement(
        "assignor_quality",
        ("assignments", "generation_members"),
        # Modes: the one step, and for every assignor that was re-run also the chain.
        f"""
        SELECT cluster_id, {PLACE} || ' ' || assignor AS place,
            COUNT(*) || ', ' || CASE assignor WHEN 'actual' THEN 1 ELSE 2 END AS said
        FROM assignments SEMI JOIN ({_READABLE})
            USING (cluster_id, group_id, incarnation, generation)
        GROUP BY cluster_id, place, assignor""",
        f"""
        SELECT cluster_id, {PLACE} || ' ' || assignor AS place,
            MAX(partitions_assigned) FILTER (mode = 'step') || ', ' || COUNT(*) AS said
        FROM assignor_quality SEMI JOIN ({_READABLE})
            USING (cluster_id, group_id, incarnation, generation)
        GROUP BY cluster_id, place
        HAVING COALESCE(MAX(partitions_assigned) FILTER (mode = 'step'), 1) > 0""",
    ),
]
