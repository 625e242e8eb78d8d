"""Laws that compare a derived table with the tables it was derived from, row by row, as SQL.

Both sides of a law (an invariant) are queries of (cluster_id, row_id, content): ``row_id`` is
unique per cluster, ``content`` is one text with the values of the row that both sides have.
"""

from __future__ import annotations

from dataclasses import dataclass

from coordinator_core.coordinator.consumer.group_type import CONSUMER
from jobs.lake.group_types import COUNTS_AS_CLASSIC, HAS_EPOCHS

INCARNATION = "cluster_id, group_id, incarnation"
GENERATION = "group_id || ' ' || incarnation || '/' || generation"
KNOWN_TRIGGER = "role = 'trigger' AND cause <> 'UNKNOWN'"
MAKES_GENERATION = (
    "event IN ('RECORD', 'RECORD_EMPTY', 'JOIN_COMPLETE', 'ASSIGNMENT_RECEIVED', 'GROUP_EMPTY')"
)


@dataclass(frozen=True)
class Derivation:
    """The invariant that the ``expected`` rows, derived from the tables ``of``, equal the
    ``actual`` rows.
    """

    table: str
    of: tuple[str, ...]
    expected: str
    actual: str

    @property
    def name(self) -> str:
        return f"{self.table} agrees with {' and '.join(self.of)}"

    @property
    def tables(self) -> tuple[str, ...]:
        return (self.table, *self.of)

    @property
    def sql(self) -> str:
        return f"""
            SELECT COALESCE(e.cluster_id, a.cluster_id), COALESCE(e.row_id, a.row_id),
                COALESCE(e.content, 'no row'), COALESCE(a.content, 'no row')
            FROM ({self.expected}) e FULL JOIN ({self.actual}) a
                ON a.cluster_id = e.cluster_id AND a.row_id = e.row_id
            WHERE e.content IS DISTINCT FROM a.content"""


def _text(*columns: str) -> str:
    """The columns as one text; null is `-`."""
    return " || ', ' || ".join(f"COALESCE(CAST({column} AS VARCHAR), '-')" for column in columns)


_TIMES = _text("preparing_time", "joined_time", "stable_time", "ended_time", "outcome")
_EVENT = ("event_time", "event", "generation", "member_id", "instance_id", "client_id",
          "client_host", "reason", "client_reason", "member_count", "members")  # fmt: skip
_MEMBER = ("instance_id", "client_id", "client_host", "session_timeout_ms", "rebalance_timeout_ms",
           "subscribed_topics")  # fmt: skip
_NEW_TYPES = f"""
    SELECT cluster_id, group_id, incarnation, generation FROM generations WHERE {HAS_EPOCHS}"""
_TARGETS = f"""
    SELECT cluster_id, group_id, incarnation, generation FROM generations
    WHERE group_type = '{CONSUMER.name}'"""
_RECORDS = """
    SELECT m.*, t.incarnation, t.seq, MAX(t.seq) OVER (
        PARTITION BY m.cluster_id, m.group_id, t.incarnation, m.generation) AS last_seq
    FROM timeline t JOIN group_metadata m ON m.cluster_id = t.cluster_id
        AND m.topic_partition = t.topic_partition AND m.log_offset = t.log_offset
    WHERE t.event IN ('RECORD', 'RECORD_EMPTY') AND t.event_generation IS NOT NULL"""
_READABLE = f"""
    SELECT {INCARNATION}, generation FROM generation_members
    GROUP BY ALL HAVING BOOL_AND(subscribed_topics IS NOT NULL)"""
# A member can be the trigger twice, for instance if its session expires after it left.
_TRIGGER_CAUSE = f"""COALESCE(MAX(cause) FILTER ({KNOWN_TRIGGER} AND cause = logged),
    MAX(cause) FILTER ({KNOWN_TRIGGER}))"""
# In consumer groups the coordinator does not learn why a member leaves, but the client's log says
# why.
_CAUSES_OF_BROKERS = """
    SELECT c.* REPLACE (CASE
        WHEN c.cause = 'LEAVE_POLL_TIMEOUT' AND c.evidence LIKE 'clients+%' AND g.logged = 'LEAVE'
            THEN g.logged
        ELSE c.cause END AS cause), g.logged
    FROM rebalance_causes c
    LEFT JOIN (SELECT cluster_id, group_id, incarnation, generation, cause AS logged
               FROM generations) g
        USING (cluster_id, group_id, incarnation, generation)"""

DERIVATIONS = [
    Derivation(
        "group_events",
        ("broker_log_events",),
        # Lines that two files share count once: the n-th line of a text in one file is the n-th
        # line of this text in the other file.
        f"""
        SELECT cluster_id, file_id || ' ' || position || ' ' || group_id AS row_id,
            {_text(*_EVENT)} AS content
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
        SELECT e.cluster_id, e.file_id || ' ' || e.position || ' ' || e.group_id AS row_id,
            {_text(*(f"e.{name}" for name in _EVENT))} AS content
        FROM group_events e ANTI JOIN pending USING (cluster_id, event_date)
        LEFT JOIN broker_log_events b ON b.cluster_id = e.cluster_id
            AND b.file_id = e.file_id AND b.position = e.position AND b.broker_id = e.broker_id
        -- A line about a static member names no group; neighboring lines name the group.
        WHERE e.source = 'broker_log' AND (b.group_id IS NOT NULL OR b.groups IS NOT NULL
            OR b.event IS DISTINCT FROM e.event)""",
    ),
    Derivation(
        "timeline",
        ("group_events", "group_metadata", "group_records"),
        f"""
        SELECT cluster_id, group_id || ' ' || event_seq AS row_id,
            {
            _text("event_time", "event", "member_id", "reason", "member_count", "members")
        } AS content
        FROM group_events
        UNION ALL
        SELECT cluster_id, topic_partition || ' ' || log_offset,
            {
            _text(
                "append_time",
                "group_id",
                "NULLIF(GREATEST(generation, 0), 0)",
                "leader",
                "protocol",
                "state_timestamp_ms",
                "[m.member_id FOR m IN members]",
            )
        }
        FROM group_metadata
        UNION ALL
        SELECT cluster_id, topic_partition || ' ' || log_offset,
            {
            _text(
                "append_time",
                "group_id",
                "CASE WHEN record LIKE '%GroupTargetAssignmentMetadata' AND epoch > 0"
                " THEN epoch END",
                "member_id",
                "NULL",
                "NULL",
                "NULL",
            )
        }
        FROM group_records""",
        f"""
        SELECT cluster_id, group_id || ' ' || seq AS row_id,
            {
            _text("event_time", "event", "member_id", "reason", "member_count", "members")
        } AS content
        FROM timeline WHERE log_offset IS NULL
        UNION ALL
        SELECT cluster_id, topic_partition || ' ' || log_offset,
            {
            _text(
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
    Derivation(
        "generations",
        ("timeline",),
        f"""
        WITH events AS (
            SELECT *, event_generation AS generation FROM timeline
                WHERE event_generation > 0 AND {MAKES_GENERATION}
            UNION ALL SELECT *, event_generation + 1 FROM timeline
                WHERE event = 'REBALANCE_START' AND event_generation IS NOT NULL
            UNION ALL SELECT * REPLACE ('ENDED' AS event), event_generation FROM timeline
                WHERE event = 'REBALANCE_START' AND event_generation > 0
            UNION ALL SELECT * REPLACE ('ENDED' AS event), current_generation FROM timeline
                WHERE (event IN ('GROUP_DEAD', 'ADMIN_DELETE', 'TOMBSTONE')
                        OR (event = 'CONVERSION_RECORD' AND protocol_type IS NULL))  -- an upgrade
                    AND current_generation > 0),
        derived AS (
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
                FIRST(event_time ORDER BY seq) FILTER (event = 'ENDED') AS ended,
                MIN(log_offset) AS first_offset, MAX(log_offset) AS last_offset
            FROM events GROUP BY ALL
            HAVING COUNT(*) FILTER (event <> 'ENDED') > 0)
        SELECT cluster_id, {GENERATION} AS row_id, {
            _text(
                "prepared",
                "COALESCE(joined, emptied, EPOCH_MS(since_ms), EPOCH_MS(empty_ms))",
                "COALESCE(assigned, stored)",
                "ended",
                "leader",
                "member_count",
                "protocol",
                "first_offset",
                "last_offset",
            )
        } AS content
        FROM derived ANTI JOIN ({_NEW_TYPES}) USING (cluster_id, group_id, incarnation, generation)
        -- A generation may have lost its first events to retention.
        QUALIFY prepared IS NOT NULL OR generation > MIN(generation) OVER (
            PARTITION BY cluster_id, group_id, incarnation)""",
        f"""
        SELECT cluster_id, {GENERATION} AS row_id, {
            _text(
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
        } AS content
        FROM generations WHERE {COUNTS_AS_CLASSIC}
        QUALIFY preparing_time IS NOT NULL OR generation > MIN(generation) OVER (
            PARTITION BY cluster_id, group_id, incarnation)""",
    ),
    Derivation(
        "generation_members",
        ("timeline", "group_metadata", "generations"),
        f"""
        SELECT cluster_id, {GENERATION} || ' ' || member.member_id AS row_id,
            LAST({
            _text(
                *(f"member.{name}" for name in _MEMBER),
                "COALESCE(member.member_id = leader, FALSE)",
            )
        } ORDER BY seq) AS content
        FROM (SELECT *, UNNEST(members) AS member FROM ({_RECORDS}))
        ANTI JOIN ({_NEW_TYPES}) USING (cluster_id, group_id, incarnation, generation)
        GROUP BY cluster_id, row_id""",
        f"""
        SELECT cluster_id, {GENERATION} || ' ' || member_id AS row_id,
            {_text(*_MEMBER, "is_leader")} AS content
        FROM generation_members
        ANTI JOIN ({_NEW_TYPES}) USING (cluster_id, group_id, incarnation, generation)""",
    ),
    Derivation(
        "assignments",
        ("timeline", "group_metadata", "generation_members", "generations"),
        f"""
        SELECT DISTINCT g.cluster_id, g.row_id || ' ' || g.part AS row_id, m.process AS content
        FROM (SELECT *, {GENERATION} || ' ' || member_id || ' ' || topic AS row_id,
                  UNNEST(partitions) AS part
              FROM (SELECT *, assigned.topic AS topic, assigned.partitions AS partitions
                    FROM (SELECT *, member.member_id AS member_id,
                              UNNEST(member.assigned) AS assigned
                          FROM (SELECT *, UNNEST(members) AS member FROM ({_RECORDS})
                                WHERE seq = last_seq AND task_members IS NULL)))
              UNION ALL BY NAME
              SELECT *, {GENERATION} || ' ' || member_id || ' ' || task.topic AS row_id,
                  task.partition AS part
              FROM (SELECT *, member.member_id AS member_id, UNNEST(member.tasks) AS task
                    FROM (SELECT *, UNNEST(task_members) AS member FROM ({_RECORDS})
                          WHERE seq = last_seq))) g
        JOIN generation_members m USING (cluster_id, group_id, incarnation, generation, member_id)
        ANTI JOIN ({_NEW_TYPES}) USING (cluster_id, group_id, incarnation, generation)
        """,
        f"""
        SELECT cluster_id, {GENERATION} || ' ' || member_id || ' ' || topic || ' ' || partition
            AS row_id, process AS content
        FROM assignments
        ANTI JOIN ({_NEW_TYPES}) USING (cluster_id, group_id, incarnation, generation)
        WHERE assignor = 'actual'""",
    ),
    Derivation(
        "churn",
        ("generations", "generation_members", "assignments"),
        f"""
        SELECT g.cluster_id, g.{GENERATION} AS row_id, {
            _text(
                "event_date",
                "CASE WHEN evidence <> 'log' THEN COALESCE(joined, 0) END",
                "CASE WHEN evidence <> 'log' THEN COALESCE(retained, 0) END",
                "CASE WHEN evidence <> 'log' THEN COALESCE(assigned, 0) END",
                "true",
            )
        } AS content
        FROM generations g
        LEFT JOIN (SELECT {
            INCARNATION
        }, generation, COUNT(*) FILTER (change <> 'retained') AS joined,
                       COUNT(*) FILTER (change = 'retained') AS retained
                   FROM generation_members GROUP BY ALL)
            USING (cluster_id, group_id, incarnation, generation)
        LEFT JOIN (SELECT {INCARNATION}, generation, COUNT(DISTINCT (topic, partition)) AS assigned
                   FROM assignments WHERE assignor = 'actual'
                       AND (role IS NULL OR role NOT IN ('standby', 'warmup')) GROUP BY ALL)
            USING (cluster_id, group_id, incarnation, generation)""",
        f"""
        SELECT cluster_id, {GENERATION} AS row_id, {
            _text(
                "event_date",
                "members_joined",
                "members_retained",
                "partitions_assigned",
                "COALESCE(partitions_moved + partitions_new <= partitions_assigned"
                " AND moves_forced BETWEEN 0 AND partitions_moved, true)",
            )
        } AS content
        FROM churn""",
    ),
    Derivation(
        "rebalance_latency",
        ("generations",),
        f"""
        SELECT cluster_id, {GENERATION} AS row_id, {
            _text(
                "preparing_time",
                "CASE outcome WHEN 'empty' THEN joined_time WHEN 'stable' THEN stable_time"
                " ELSE ended_time END",
                "CASE WHEN DATE_DIFF('millisecond', preparing_time, joined_time)"
                " BETWEEN 0 AND 2147483647"
                " THEN DATE_DIFF('millisecond', preparing_time, joined_time) END",
                "event_date",
                "cause",
                "outcome",
                "evidence",
                "true",
            )
        } AS content
        FROM generations""",
        f"""
        SELECT cluster_id, {GENERATION} AS row_id, {
            _text(
                "preparing_time",
                "to_time",
                "join_ms",
                "event_date",
                "cause",
                "outcome",
                "evidence",
                "COALESCE(total_ms = join_ms + sync_ms AND sync_ms >= 0"
                " AND round = generation - logical_rebalance + 1, true)",
            )
        } AS content
        FROM rebalance_latency""",
    ),
    Derivation(
        "group_days",
        ("timeline",),
        """
        SELECT DISTINCT cluster_id, group_id || ' ' || event_date AS row_id, 'a row' AS content
        FROM timeline""",
        """
        SELECT cluster_id, group_id || ' ' || event_date AS row_id, 'a row' AS content
        FROM group_days""",
    ),
    Derivation(
        "rebalance_causes",
        ("generations",),
        f"""
        SELECT cluster_id, {GENERATION} AS row_id, cause || ', true' AS content
        FROM generations WHERE cause IS NOT NULL""",
        f"""
        SELECT cluster_id, {GENERATION} AS row_id,
            {_text(_TRIGGER_CAUSE, "COUNT(*) = MAX(cause_seq)")} AS content
        FROM ({_CAUSES_OF_BROKERS}) GROUP BY cluster_id, row_id
        HAVING COUNT(*) FILTER ({KNOWN_TRIGGER}) > 0 OR COUNT(*) < MAX(cause_seq) - 1""",
    ),
    Derivation(
        "assignor_quality",
        ("assignments", "assignor_reruns", "generation_members", "generations"),
        # Modes: step, and for every assignor that was re-run also chain.  For a consumer group, the
        # target is re-run, because the server assignor may compute another target.
        f"""
        SELECT cluster_id, {GENERATION} || ' ' || assignor AS row_id,
            COUNT(*) || ', ' || CASE assignor WHEN 'actual' THEN 1 ELSE 2 END AS content
        FROM (SELECT {INCARNATION}, generation, assignor FROM assignments
                  ANTI JOIN ({_NEW_TYPES}) USING (cluster_id, group_id, incarnation, generation)
                  WHERE role IS NULL OR role = 'active'
              UNION ALL
              SELECT {INCARNATION}, generation, 'actual' FROM assignments
                  SEMI JOIN ({_TARGETS}) USING (cluster_id, group_id, incarnation, generation)
              WHERE is_target
              UNION ALL
              SELECT {INCARNATION}, generation, assignor FROM assignor_reruns)
        SEMI JOIN ({_READABLE}) USING (cluster_id, group_id, incarnation, generation)
        GROUP BY cluster_id, row_id, assignor""",
        f"""
        SELECT cluster_id, {GENERATION} || ' ' || assignor AS row_id,
            MAX(partitions_assigned) FILTER (mode = 'step') || ', ' || COUNT(*) AS content
        FROM assignor_quality SEMI JOIN ({_READABLE})
            USING (cluster_id, group_id, incarnation, generation)
        WHERE NOT (own AND partition_count_source = 'target')
        GROUP BY cluster_id, row_id
        HAVING COALESCE(MAX(partitions_assigned) FILTER (mode = 'step'), 1) > 0""",
    ),
]
