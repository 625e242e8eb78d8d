"""The laws of every lake, each as SQL that returns its violations."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.checks.derivations import DERIVATIONS
from jobs.lake.group_types import IS_CLASSIC
from schemas import table_key, table_names

# The column whose UTC date is the row's event_date; the date is 1970-01-01 if the column is null.
TIMES = {
    "offsets_records": "append_time",
    "broker_log_events": "event_time",
    "end_offsets": "seen_time",
    "group_metadata": "append_time",
    "group_records": "append_time",
    "committed_offsets": "append_time",
    "group_events": "event_time",
    "group_snapshots": "snapshot_time",
    "timeline": "event_time",
}


@dataclass(frozen=True)
class Law:
    """``sql`` returns one row (cluster_id, where, expected, found) per violation.

    ``of_brokers`` means that in ``sql``, tables have no rows that only clients' logs show.
    """

    name: str
    tables: tuple[str, ...]
    sql: str
    of_brokers: bool = False


_GAP = "group_id || ' ' || topic || ' ' || partition || ' ' || from_time"


def _unique(table: str) -> Law:
    key = ", ".join(table_key(table))
    where = " || '/' || ".join(
        f"COALESCE(CAST({column} AS VARCHAR), '')" for column in table_key(table)
    )
    sql = f"""
        SELECT ANY_VALUE(cluster_id), '{table} ' || {where}, '1 row', COUNT(*) || ' rows'
        FROM {table} GROUP BY {key} HAVING COUNT(*) > 1"""
    return Law("one row per key", (table,), sql)


def _dated(table: str, time: str) -> Law:
    sql = f"""
        SELECT cluster_id, '{table} of ' || event_date,
            COALESCE(CAST({time} AS DATE), DATE '1970-01-01'), COUNT(*) || ' rows'
        FROM {table} WHERE event_date <> COALESCE(CAST({time} AS DATE), DATE '1970-01-01')
        GROUP BY ALL"""
    return Law("event_date is the UTC date of the row's time", (table,), sql)


_PER_DATE = """
    SELECT cluster_id, source, file, topic_partition, first_offset, last_offset,
        UNNEST(MAP_KEYS(kept_by_date)) AS event_date, UNNEST(MAP_VALUES(kept_by_date)) AS kept
    FROM ingested_files"""


def _dates_stored(table: str, sources: str) -> Law:
    """Retention deletes the oldest dates only, so a later date must have rows."""
    sql = f"""
        WITH files AS ({_PER_DATE}), stored AS (
            SELECT DISTINCT cluster_id, event_date FROM {table}),
        oldest AS (SELECT cluster_id, MIN(event_date) AS oldest FROM stored
                   WHERE event_date > DATE '1970-01-01' GROUP BY cluster_id)
        SELECT f.cluster_id, '{table} of ' || f.event_date, SUM(f.kept), 'nothing'
        FROM files f LEFT JOIN oldest USING (cluster_id)
        ANTI JOIN stored USING (cluster_id, event_date)
        SEMI JOIN runs r ON r.cluster_id = f.cluster_id AND r.step = 'nightly'
            AND r.outcome = 'done'
            AND f.event_date BETWEEN COALESCE(r.first_date, DATE '1970-01-01')
                AND COALESCE(r.last_date, DATE '9999-12-31')
        WHERE f.source IN ({sources}) AND f.kept > 0
            AND (f.event_date > oldest OR oldest IS NULL OR f.event_date = DATE '1970-01-01')
        GROUP BY f.cluster_id, f.event_date"""
    return Law(
        "every requested date with input has rows",
        ("ingested_files", table, "runs"),
        sql,
    )


def _decoded_once(name: str, table: str, key_types: str) -> Law:
    counted = """
        SELECT cluster_id, topic_partition, COUNT(*) AS n
        FROM {} ANTI JOIN pending USING (cluster_id, event_date)
        WHERE {} GROUP BY cluster_id, topic_partition"""
    records = counted.format("offsets_records", f"key_type IN ({key_types})")
    sql = f"""
        SELECT r.cluster_id, '{table} ' || r.topic_partition, r.n, COALESCE(t.n, 0)
        FROM ({records}) r LEFT JOIN ({counted.format(table, "true")}) t
            ON t.cluster_id = r.cluster_id AND t.topic_partition = r.topic_partition
        WHERE r.n <> COALESCE(t.n, 0)"""
    return Law(name, ("offsets_records", table), sql)


def _lines_stored(table: str, source: str, *, has_more: bool = False) -> Law:
    """``has_more`` means that a file that grew may have more rows: its former last lines are no
    longer kept.
    """
    differs = ">" if has_more else "<>"
    sql = f"""
        WITH files AS ({_PER_DATE}), lines AS (
            SELECT cluster_id, file_id, event_date, COUNT(*) AS n
            FROM {table} GROUP BY cluster_id, file_id, event_date)
        SELECT f.cluster_id, f.file || ' ' || f.event_date, f.kept, l.n
        FROM files f JOIN lines l ON l.cluster_id = f.cluster_id AND l.file_id = f.file
            AND l.event_date = f.event_date
        WHERE f.source = '{source}' AND f.kept {differs} l.n"""
    name = f"every readable line of an ingested date is in {table}"
    return Law(name, ("ingested_files", table), sql)


LAWS = [
    _dates_stored("offsets_records", "'segments', 'dump', 'kafka'"),
    _dates_stored("broker_log_events", "'broker_log'"),
    _dates_stored("client_events", "'client_log'"),
    _dates_stored("end_offsets", "'end_offsets'"),
    *(_unique(table) for table in table_names()),
    Law(
        "each input of a file is kept, quarantined or skipped",
        ("ingested_files",),
        """
        SELECT cluster_id, path, inputs, found
        FROM (SELECT *, COALESCE(LIST_SUM(MAP_VALUES(kept_by_date)), 0) + quarantined + skipped
                  AS found FROM ingested_files)
        WHERE inputs <> found""",
    ),
    _lines_stored("broker_log_events", "broker_log"),
    _lines_stored("client_events", "client_log"),
    _lines_stored("end_offsets", "end_offsets", has_more=True),
    Law(
        "every readable line of a trace is in trace_events",
        ("ingested_files", "trace_events"),
        f"""
        WITH files AS ({_PER_DATE})
        SELECT f.cluster_id, f.file, f.kept, COUNT(e.trace_id)
        FROM files f LEFT JOIN trace_events e
            ON e.cluster_id = f.cluster_id AND e.trace_id = f.file
        WHERE f.source = 'trace'
        GROUP BY f.cluster_id, f.file, f.kept HAVING f.kept <> COUNT(e.trace_id)""",
    ),
    Law(
        "every readable record of an ingested date is in offsets_records",
        ("ingested_files", "offsets_records"),
        f"""
        WITH files AS ({_PER_DATE}), counted AS (
            SELECT f.cluster_id, f.source, f.file, f.event_date, f.kept, COUNT(r.log_offset) AS n
            FROM files f LEFT JOIN offsets_records r ON r.cluster_id = f.cluster_id
                AND r.topic_partition = f.topic_partition AND r.event_date = f.event_date
                AND r.log_offset BETWEEN f.first_offset AND f.last_offset
            WHERE f.source IN ('segments', 'dump', 'kafka')
            GROUP BY f.cluster_id, f.source, f.file, f.event_date, f.kept)
        SELECT cluster_id, file || ' ' || event_date, 'at least ' || kept, n
        FROM counted
        -- A Kafka topic is read for all dates, files for the requested dates.
        WHERE n < kept AND (n > 0 OR source = 'kafka' AND event_date >= (
            SELECT COALESCE(MIN(r.event_date), DATE '1970-01-01') FROM offsets_records r
            WHERE r.cluster_id = counted.cluster_id AND r.event_date > DATE '1970-01-01'))""",
    ),
    Law(
        "every input counted as quarantined is in quarantine",
        ("ingested_files", "quarantine"),
        """
        SELECT f.cluster_id, f.path, f.quarantined, COUNT(q.reason)
        FROM ingested_files f LEFT JOIN quarantine q ON q.cluster_id = f.cluster_id
            AND q.source = f.source AND CASE f.source
                WHEN 'segments' THEN q.file = f.file AND q.log_offset >= 0
                WHEN 'dump' THEN q.file = f.path
                    AND q.topic_partition IS NOT DISTINCT FROM f.topic_partition
                ELSE q.file = f.file END
        GROUP BY f.cluster_id, f.file, f.path, f.quarantined
        HAVING COUNT(q.reason) < f.quarantined""",
    ),
    Law(
        "no record of a diverged replica is in offsets_records",
        ("quarantine", "offsets_records"),
        """
        SELECT q.cluster_id, q.file || ' ' || q.log_offset, 'in quarantine only', 'in both'
        FROM quarantine q JOIN offsets_records r
            USING (cluster_id, source, file, topic_partition, log_offset)
        WHERE q.reason LIKE 'diverged replica:%'""",
    ),
    _decoded_once("every classic group's record is decoded once", "group_metadata", "2"),
    _decoded_once(
        "every consumer, share and streams group's record is decoded once",
        "group_records",
        ", ".join(map(str, range(3, 24))),
    ),
    _decoded_once("every offset commit is decoded once", "committed_offsets", "0, 1"),
    Law(
        "times of a generation are in order: preparing, joined, stable, ended",
        ("generations",),
        # Tolerance, because a record and its log line get their times some milliseconds apart.
        """
        SELECT cluster_id, group_id || ' generation ' || generation, 'times in order',
            CONCAT_WS(' > ', preparing_time, joined_time, stable_time, ended_time)
        FROM generations
        WHERE preparing_time > joined_time + INTERVAL 1 SECOND
            OR joined_time > stable_time + INTERVAL 1 SECOND
            OR stable_time > ended_time + INTERVAL 1 SECOND""",
    ),
    Law(
        "every target assignment is a generation",
        ("timeline", "generations"),
        # Retention may have deleted the first generations of an incarnation.
        f"""
        SELECT t.cluster_id, t.group_id || ' generation ' || t.event_generation,
            CAST(t.event_time AS VARCHAR),
            COALESCE(CAST(g.joined_time AS VARCHAR), 'none')
        FROM timeline t LEFT JOIN generations g ON g.cluster_id = t.cluster_id
            AND g.group_id = t.group_id AND g.incarnation = t.incarnation
            AND g.generation = t.event_generation
        WHERE t.event = 'TARGET_RECORD' AND t.event_generation IS NOT NULL
            AND (g.{IS_CLASSIC}) IS NOT TRUE
            AND g.joined_time IS DISTINCT FROM t.event_time
            AND t.event_generation > (
                SELECT MIN(f.generation) FROM generations f WHERE f.cluster_id = t.cluster_id
                    AND f.group_id = t.group_id AND f.incarnation = t.incarnation)""",
    ),
    Law(
        "generations of an incarnation are in order of time",
        ("generations",),
        """
        SELECT cluster_id, group_id || ' generation ' || generation,
            'after ' || previous, joined_time
        FROM (SELECT *, LAG(joined_time) OVER (
                  PARTITION BY cluster_id, group_id, incarnation ORDER BY generation) AS previous
              FROM generations)
        WHERE previous > joined_time + INTERVAL 1 SECOND""",
    ),
    Law(
        "rows refer to an existing generation",
        (
            "generations",
            *("generation_members", "assignments", "assignor_reruns"),
            *("rebalance_causes", "ownership_gaps"),
        ),
        # Retention may have deleted the first generations of an incarnation.
        """
        WITH referring AS (
            SELECT cluster_id, group_id, incarnation, generation FROM generation_members
            UNION SELECT cluster_id, group_id, incarnation, generation FROM assignments
            UNION SELECT cluster_id, group_id, incarnation, generation FROM assignor_reruns
            -- A client's log may name no generation.
            UNION SELECT cluster_id, group_id, incarnation, generation FROM rebalance_causes
                WHERE generation > 0
            UNION SELECT cluster_id, group_id, incarnation, generation FROM ownership_gaps
                WHERE generation IS NOT NULL),
        first_stored AS (
            SELECT cluster_id, group_id, incarnation, MIN(generation) AS first
            FROM generations GROUP BY ALL)
        SELECT s.cluster_id, s.group_id || ' generation ' || s.generation, 'a generation', 'none'
        FROM referring s
        ANTI JOIN generations g ON g.cluster_id = s.cluster_id AND g.group_id = s.group_id
            AND g.incarnation = s.incarnation AND g.generation = s.generation
        ANTI JOIN first_stored f ON f.cluster_id = s.cluster_id AND f.group_id = s.group_id
            AND f.incarnation = s.incarnation AND s.generation < f.first""",
    ),
    Law(
        "partitions are assigned to members of the generation",
        ("assignments", "assignor_reruns", "generation_members"),
        """
        SELECT DISTINCT cluster_id, group_id || ' generation ' || generation || ' ' || assignor,
            'a member and its process', member_id || ' ' || process
        FROM (SELECT * FROM assignments UNION ALL BY NAME SELECT * FROM assignor_reruns)
            ANTI JOIN generation_members
            USING (cluster_id, group_id, incarnation, generation, member_id, process)""",
    ),
    Law(
        "assignments has members' partitions and target assignments",
        ("assignments",),
        """
        SELECT cluster_id, assignor, 'in assignor_reruns: run `regroup nightly` over all dates',
            'rows of a re-run: ' || COUNT(*)
        FROM assignments WHERE assignor <> 'actual' AND is_target IS NOT TRUE GROUP BY ALL""",
    ),
    Law(
        "an ownership gap lasts from from_time to to_time and ends with a generation",
        ("ownership_gaps",),
        f"""
        SELECT cluster_id, {_GAP}, COALESCE(DATE_DIFF('millisecond', from_time, to_time), 0),
            unowned_ms
        FROM ownership_gaps
        WHERE unowned_ms < 0 OR (to_time IS NULL) <> (generation IS NULL)
            OR unowned_ms <> DATE_DIFF('millisecond', from_time, to_time)""",
    ),
    Law(
        "the length of an ownership gap lies within its range",
        ("ownership_gaps",),
        f"""
        SELECT cluster_id, {_GAP}, unowned_ms_low || ' to ' || unowned_ms_high, unowned_ms
        FROM ownership_gaps
        WHERE unowned_ms NOT BETWEEN unowned_ms_low AND unowned_ms_high""",
    ),
    Law(
        "the costs of a handover lie within their bounds",
        ("handover_costs",),
        f"""
        SELECT cluster_id, {_GAP}, low || ' to ' || high, value
        FROM (
            SELECT *, UNNEST([
                {{'value': records_reprocessed, 'low': records_reprocessed_low,
                  'high': records_reprocessed_high}},
                {{'value': consumption_pause_ms, 'low': consumption_pause_ms_low,
                  'high': consumption_pause_ms_high}},
                {{'value': EPOCH_MS(to_time), 'low': EPOCH_MS(to_time_low),
                  'high': EPOCH_MS(to_time_high)}}
            ], recursive := true)
            FROM handover_costs)
        WHERE value NOT BETWEEN low AND high""",
    ),
    Law(
        "unserved times of a partition do not overlap each other or its ownership gaps",
        ("unserved_times", "ownership_gaps"),
        f"""
        SELECT cluster_id, {_GAP}, 'after ' || earlier, CAST(from_time AS VARCHAR)
        FROM (
            SELECT *, MAX(COALESCE(to_time, from_time)) OVER (
                PARTITION BY cluster_id, group_id, incarnation, topic, partition
                ORDER BY from_time, to_time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS earlier
            FROM (
                SELECT cluster_id, group_id, incarnation, topic, partition, from_time, to_time
                FROM unserved_times
                UNION ALL
                SELECT cluster_id, group_id, incarnation, topic, partition, from_time, to_time
                FROM ownership_gaps))
        WHERE from_time < earlier
        UNION ALL
        SELECT cluster_id, {_GAP}, 'until ' || to_time, CAST(unserved_ms AS VARCHAR)
        FROM unserved_times
        WHERE unserved_ms <= 0
            OR unserved_ms <> DATE_DIFF('millisecond', from_time, to_time)""",
    ),
    Law(
        "ownership gaps of a partition do not overlap",
        ("ownership_gaps",),
        f"""
        SELECT cluster_id, {_GAP}, 'until ' || next_time, COALESCE(CAST(to_time AS VARCHAR), 'open')
        FROM (SELECT *, LEAD(from_time) OVER (
                  PARTITION BY cluster_id, group_id, incarnation, topic, partition
                  ORDER BY from_time) AS next_time
              FROM ownership_gaps)
        WHERE next_time <= COALESCE(to_time, next_time)""",
    ),
    Law(
        "an ownership gap ends with an assignment to the next owner",
        ("ownership_gaps", "assignments"),
        f"""
        SELECT cluster_id, {_GAP}, 'assigned in generation ' || generation, to_process
        FROM (SELECT *, to_process AS process FROM ownership_gaps WHERE to_process IS NOT NULL)
        ANTI JOIN (SELECT * FROM assignments WHERE assignor = 'actual')
            USING (cluster_id, group_id, incarnation, generation, topic, partition, process)""",
    ),
    Law(
        "each rebalance is in exactly one episode",
        ("generations", "episodes"),
        """
        WITH explained AS (
            SELECT cluster_id, group_id, incarnation, generation, COUNT(*) AS n
            FROM (SELECT cluster_id, group_id, incarnation, UNNEST(generations) AS generation
                  FROM episodes) GROUP BY ALL),
        -- Retention may have deleted an episode that began before the oldest date.
        cut AS (
            SELECT cluster_id, group_id, incarnation, MIN(event_date) AS oldest FROM generations
            GROUP BY ALL HAVING MIN(generation) > 1)
        SELECT g.cluster_id, g.group_id || ' generation ' || g.generation, '1 episode',
            COALESCE(n, 0) || ' episodes'
        FROM generations g
        ANTI JOIN cut c ON c.cluster_id = g.cluster_id AND c.group_id = g.group_id
            AND c.incarnation = g.incarnation AND c.oldest = g.event_date
        LEFT JOIN explained e
            ON e.cluster_id = g.cluster_id AND e.group_id = g.group_id
            AND e.incarnation = g.incarnation AND e.generation = g.generation
        WHERE COALESCE(n, 0) <> 1""",
        of_brokers=True,
    ),
    Law(
        "every generation that a client joined is in generations",
        ("client_events", "generations"),
        # Retention may have deleted the first generations of an incarnation.
        """
        WITH first_stored AS (
            SELECT cluster_id, group_id, MIN(generation) AS first FROM generations GROUP BY ALL)
        SELECT c.cluster_id, c.group_id || ' generation ' || c.generation, 'a generation', 'none'
        FROM client_events c ANTI JOIN pending USING (cluster_id, event_date)
        ANTI JOIN generations g USING (cluster_id, group_id, generation)
        ANTI JOIN first_stored f ON f.cluster_id = c.cluster_id AND f.group_id = c.group_id
            AND c.generation < f.first
        WHERE c.event = 'JOINED' AND c.generation > 0""",
    ),
    Law(
        "every record is from a file in ingested_files",
        ("ingested_files", "offsets_records"),
        """
        SELECT r.cluster_id, r.source || ' ' || r.file, 'a row of ingested_files', 'none'
        FROM (SELECT DISTINCT cluster_id, source, file FROM offsets_records) r
        ANTI JOIN ingested_files f ON f.cluster_id = r.cluster_id AND f.source = r.source
            AND r.file IN (f.file, f.path)""",
    ),
    Law(
        "every log line is from a file in ingested_files",
        ("ingested_files", "broker_log_events"),
        """
        SELECT l.cluster_id, l.file, 'a row of ingested_files', 'none'
        FROM (SELECT DISTINCT cluster_id, file_id, file FROM broker_log_events) l
        ANTI JOIN ingested_files f ON f.cluster_id = l.cluster_id AND f.source = 'broker_log'
            AND f.file = l.file_id""",
    ),
    Law(
        "every assigned partition is in seen_partitions",
        ("group_metadata", "seen_partitions"),
        """
        SELECT g.cluster_id, g.topic, g.highest + 1, 'not seen'
        FROM (SELECT DISTINCT cluster_id, assigned.topic AS topic,
                  LIST_MAX(assigned.partitions) AS highest
              FROM (SELECT cluster_id, UNNEST(member.assigned) AS assigned
                    FROM (SELECT cluster_id, UNNEST(members) AS member FROM group_metadata))) g
        ANTI JOIN seen_partitions s ON s.cluster_id = g.cluster_id AND s.topic = g.topic
            AND s.partitions = g.highest + 1
        WHERE g.highest IS NOT NULL""",
    ),
    Law(
        "the cost of a broker episode is the cost of its groups",
        ("broker_episodes",),
        """
        WITH costs AS (
            SELECT e.cluster_id, e.from_time, e.first_broker_id,
                COALESCE(SUM(g.moves), 0) AS moves, COALESCE(SUM(g.rebalances), 0) AS rebalances,
                COALESCE(SUM(g.not_stable_ms), 0) AS not_stable_ms,
                COALESCE(SUM(g.unowned_partition_ms), 0) AS unowned_ms
            FROM broker_episodes e LEFT JOIN LATERAL (SELECT UNNEST(e.groups) AS g) ON TRUE
            GROUP BY ALL)
        SELECT cluster_id, from_time || ' broker ' || first_broker_id,
            CONCAT_WS(', ', c.moves, c.rebalances, c.not_stable_ms, c.unowned_ms) AS expected,
            CONCAT_WS(', ', e.moves, e.rebalances, e.not_stable_ms,
                COALESCE(e.unowned_partition_ms, c.unowned_ms)) AS found
        FROM broker_episodes e JOIN costs c USING (cluster_id, from_time, first_broker_id)
        WHERE expected <> found""",
    ),
    Law(
        "the verdict on a predicted figure follows from its interval",
        ("advice_outcomes",),
        """
        SELECT cluster_id, group_id || ' ' || setting || ' ' || f.figure,
            CASE WHEN f.after < f.low THEN 'better' WHEN f.after > f.high THEN 'worse'
                ELSE 'as predicted' END AS expected, f.verdict
        FROM (SELECT cluster_id, group_id, setting, UNNEST(figures) AS f FROM advice_outcomes)
        WHERE f.verdict <> expected""",
    ),
    Law(
        "advice is compared only after it was carried out",
        ("advice_outcomes",),
        """
        SELECT cluster_id, group_id || ' ' || setting, 'carried out, and compared figures',
            carried_out || ', ' || COALESCE(LEN(figures), 0) || ' figures'
        FROM advice_outcomes
        WHERE verdict IN ('as predicted', 'better', 'worse')
            AND (carried_out <> 'yes' OR carried_out_time IS NULL
                OR COALESCE(LEN(figures), 0) = 0)""",
    ),
    *(_dated(table, time) for table, time in TIMES.items()),
    *(
        Law(each.name, each.tables, each.sql, of_brokers=each.table != "rebalance_latency")
        for each in DERIVATIONS
    ),
]
