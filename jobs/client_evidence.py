"""What only clients' logs show: generations without broker evidence, their causes and episodes.

reads   client_events   what clients logged
        generations     those with broker evidence, which are left as they are
writes  generations, generation_members, assignments, rebalance_latency, rebalance_causes, episodes
                        rows of evidence 'clients'

A run reads the whole history of each group with a client's line on its dates, and of each group in
its scope, and writes the dates whose rows differ.  The rules are in
`coordinator_core.client_history`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import PurePath
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from coordinator_core.client_history import (
    BrokerGeneration,
    ClientGeneration,
    ClientMember,
    ClientMembership,
    ClientRow,
    causes_of_clients,
    episodes_of_clients,
    generations_of,
    history_of_clients,
    leader_assignment,
    memberships_of_clients,
)
from coordinator_core.episodes.evidence import EMPTY, Cause
from jobs.assignments import IS_CONSUMER
from jobs.causes.clients import WITHOUT_PARTITIONS
from jobs.engine.keeping import computed
from jobs.engine.union import union_of
from jobs.episodes import episode_row
from jobs.lake.client_rows import CLIENT_EVENTS, OF_BROKERS, OF_CLIENTS, TABLES, may_exist
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY
from jobs.lake.scope import RunScope
from jobs.lake.tables import Lake, conform, dates_in, schema_of
from jobs.modern_history.played import BUCKETS
from jobs.modern_history.rows import ACTUAL, Row, date_of, time_of
from jobs.rebalance_latency import rebalance_latency

READS = (CLIENT_EVENTS, *TABLES)
# Two jobs that write the same table at the same time would have to repeat their commits.
AFTER = ("assign_partitions",)

EVIDENCE = "clients"
DERIVED = ("generations", "generation_members", "assignments", "rebalance_causes", "episodes")
# Role of rows of rebalance_causes about generations that have broker evidence.
BESIDE = "beside"
TRIGGER, ABSORBED = "trigger", "absorbed"
# Lines about a failure: if several clients of a process log them at once, the process did not run.
FAILURES = (
    *("COMMIT_FAILED", "COORDINATOR_LOST", "FENCED", "HEARTBEAT_FAILED", "MEMBER_RESET"),
    *("PARTITIONS_LOST", "POLL_TIMEOUT", "SESSION_EXPIRED"),
)
ASSIGNED = ("ASSIGNED", "JOINED", "SYNCED")
# Events whose line has more information than the columns.
WITH_LINE = ("LEADER_ASSIGNED", "POLL_TIMEOUT")
# Each row has the columns of the table named in ``table``, in the struct of this name.
ROWS = StructType(
    [
        *(field for field in schema_of("generations") if field.name in GROUP_KEY),
        StructField("table", StringType()),
        *(
            StructField(
                name,
                StructType(
                    [
                        StructField(field.name, field.dataType)
                        for field in schema_of(name)
                        if field.name not in GROUP_KEY
                    ]
                ),
            )
            for name in DERIVED
        ),
    ]
)


def client_evidence(
    client_events: DataFrame, broker_generations: DataFrame, broker_assignments: DataFrame
) -> DataFrame:
    """ROWS of the groups with rows of ``client_events``: what ``broker_generations`` lacks."""
    evidence = union_of(
        _lines(client_events),
        _broker(client_events, broker_generations),
        _owners(client_events, broker_assignments),
    )
    # Import here, because workers have no SparkSession.
    arrow_schema = to_arrow_schema(ROWS, timezone="UTC")

    def of_bucket(bucket: pa.Table) -> pa.Table:
        groups: defaultdict[tuple[str, ...], list[Row]] = defaultdict(list)
        for row in bucket.to_pylist():
            groups[tuple(row[name] for name in GROUP_KEY)].append(row)
        rows = [
            dict(zip(GROUP_KEY, key, strict=True)) | row
            for key, own in sorted(groups.items())
            for row in _rows(own)
        ]
        return pa.Table.from_pylist(rows, arrow_schema)

    bucket = F.pmod(F.xxhash64(*GROUP_KEY), F.lit(BUCKETS)).alias("bucket")
    return evidence.select("*", bucket).groupBy("bucket").applyInArrow(of_bucket, ROWS)


def _lines(client_events: DataFrame) -> DataFrame:
    line = F.when(F.col("event").isin(*WITH_LINE), F.col("line"))
    return client_events.select(
        *GROUP_KEY,
        "file_id",
        "file",
        "source",
        "position",
        F.unix_millis("event_time").alias("time_ms"),
        "event",
        "client_id",
        "instance_id",
        "member_id",
        "generation",
        "epoch",
        "assignor",
        "state",
        "previous_state",
        "reason",
        "logger",
        "partitions",
        "topics",
        "duration_ms",
        "together",
        line.alias("line"),
    )


def _broker(client_events: DataFrame, generations: DataFrame) -> DataFrame:
    """The generations that need no clients, of the groups of clients."""
    groups = client_events.select(*GROUP_KEY).distinct()
    time = F.coalesce("joined_time", "stable_time", "preparing_time", "ended_time")
    return generations.join(groups, on=GROUP_KEY, how="left_semi").select(
        *GENERATION_KEY, F.unix_millis(time).alias("time_ms"), "outcome"
    )


def _owners(client_events: DataFrame, assignments: DataFrame) -> DataFrame:
    """The members' partitions in the groups with a client whose log has no member id."""
    groups = client_events.where("event = 'JOINED' AND member_id IS NULL").select(*GROUP_KEY)
    partition = F.concat("topic", F.lit("-"), F.col("partition").cast("string"))
    return (
        assignments.where(IS_CONSUMER)
        .join(groups.distinct(), on=GROUP_KEY, how="left_semi")
        .groupBy(*GENERATION_KEY, "member_id")
        .agg(F.collect_set(partition).alias("partitions"))
    )


def with_together(events: DataFrame, of_process: DataFrame) -> DataFrame:
    """``events`` with ``together``: the clients of the process, in any group, that logged a failure
    within the same second.

    ``of_process`` has rows of client_events of the same processes.
    """
    process = ["file_id", "source"]
    client = F.struct("client_id", "group_id")
    time_ms = F.unix_millis("event_time")
    failures = of_process.where(F.col("event").isin(*FAILURES)).withColumn("client", client)
    # Two grids of seconds, half a second apart: events within half a second share a second of one
    # of the grids.
    for name, by_ms in (("whole", 0), ("half", 500)):
        second = F.floor((time_ms + by_ms) / 1000)
        counts = failures.groupBy(*process, second.alias(name)).agg(
            F.count_distinct("client").alias(f"in_{name}")
        )
        on = [
            *(F.col(f"e.{each}").eqNullSafe(F.col(f"c.{each}")) for each in process),
            F.col(f"e.{name}") == F.col(f"c.{name}"),
        ]
        events = (
            events.withColumn(name, second)
            .alias("e")
            .join(counts.alias("c"), on=on, how="left")
            .select("e.*", f"in_{name}")
            .drop(name)
        )
    together = F.greatest(F.coalesce("in_whole", F.lit(1)), F.coalesce("in_half", F.lit(1)))
    return events.withColumn("together", together.cast("int")).drop("in_whole", "in_half")


def _rows(evidence: Iterable[Row]) -> Iterator[Row]:
    """The rows of all tables of one group."""
    lines: list[Row] = []
    made: dict[tuple[int, int], Row] = {}
    members: defaultdict[tuple[int, int], dict[frozenset[str], str]] = defaultdict(dict)
    for row in evidence:
        key = row["incarnation"], row["generation"]
        if row["event"] is not None:
            lines.append(row)
        elif row["member_id"] is not None:
            members[key][frozenset(row["partitions"])] = row["member_id"]
        else:
            made[key] = row
    broker = [
        BrokerGeneration(*key, row["time_ms"] or 0, members[key], row["outcome"] == EMPTY)
        for key, row in made.items()
    ]
    history = history_of_clients(lines_of_rows(lines), broker)
    generations = generations_of(history)
    of_broker = set(history.broker)
    causes: list[Cause] = []
    beside: list[Cause] = []
    for each in causes_of_clients(history):
        is_of_broker = (each.incarnation, each.generation) in of_broker
        (beside if is_of_broker else causes).append(each)
    triggers = {
        (each.incarnation, each.generation): each for each in causes if each.role == TRIGGER
    }
    for generation in generations:
        trigger = triggers.get((generation.incarnation, generation.generation))
        for table, rows_of in _ROWS_OF.items():
            for row in rows_of(generation):
                if table == "generations":
                    row |= _of_trigger(trigger)
                yield {"table": table, table: _key(generation) | row}
    dates = {
        (key["incarnation"], key["generation"]): key["event_date"] for key in map(_key, generations)
    }
    for row in _cause_rows(causes, dates):
        yield {"table": "rebalance_causes", "rebalance_causes": row}
    for row in (*_cause_rows(beside, {}), *_idle_rows(lines)):
        yield {"table": BESIDE, "rebalance_causes": row}
    for episode in episodes_of_clients(generations, causes):
        row = episode_row(episode, None) | {
            "activity_last_generation": episode.generation_span[1],
            "evidence": EVIDENCE,
        }
        yield {"table": "episodes", "episodes": row}


def lines_of_rows(rows: Sequence[Row]) -> Iterator[ClientRow]:
    """The lines of one group.

    The name of a log is the name of its file if no other log has this name.
    """
    names = {row["file_id"]: PurePath(row["file"] or "").name for row in rows}
    counts = Counter(names.values())
    logs = {
        file_id: name if name and counts[name] == 1 else file_id for file_id, name in names.items()
    }
    return (_line(row, logs[row["file_id"]]) for row in rows)


def _line(row: Row, log: str) -> ClientRow:
    is_plan = row["event"] == "LEADER_ASSIGNED" and row["line"] is not None
    return ClientRow(
        client=(log, row["source"] or "", row["client_id"] or ""),
        position=row["position"],
        time_ms=row["time_ms"],
        event=row["event"],
        client_id=row["client_id"],
        instance_id=row["instance_id"],
        member_id=row["member_id"],
        generation=row["generation"],
        epoch=row["epoch"],
        assignor=row["assignor"],
        state=row["state"],
        previous_state=row["previous_state"],
        reason=row["reason"],
        logger=row["logger"],
        partitions=None if row["partitions"] is None else frozenset(row["partitions"]),
        topics=None if row["topics"] is None else tuple(row["topics"]),
        plan=leader_assignment(row["line"]) if is_plan else None,
        duration_ms=row["duration_ms"],
        together=row.get("together") or 1,
        text=row["line"],
    )


def memberships_by_client(rows: Iterable[Row]) -> dict[tuple[str, ...], list[ClientMembership]]:
    """The memberships in rows of client_events of one group."""
    return memberships_of_clients(line_of_row(row | {"line": None}) for row in rows)


def line_of_row(row: Row) -> ClientRow:
    """The line of a row of client_events."""
    line = row["line"] if row["event"] in WITH_LINE else None
    time_ms = round(row["event_time"].timestamp() * 1000)
    return _line(row | {"time_ms": time_ms, "line": line}, row["file_id"])


def _key(generation: ClientGeneration) -> Row:
    first_ms = generation.joined_ms if generation.preparing_ms is None else generation.preparing_ms
    assert first_ms is not None
    return {
        "incarnation": generation.incarnation,
        "generation": generation.generation,
        "event_date": date_of(first_ms),
        "evidence": EVIDENCE,
    }


def _generation_rows(generation: ClientGeneration) -> Iterator[Row]:
    yield {
        "group_type": generation.group_type,
        "preparing_time": time_of(generation.preparing_ms),
        "joined_time": time_of(generation.joined_ms),
        "stable_time": time_of(generation.stable_ms),
        "ended_time": time_of(generation.ended_ms),
        "protocol": generation.assignor,
        "protocol_type": "consumer",
        "leader": generation.leader,
        "member_count": generation.member_count,
        "outcome": generation.outcome,
        "gap_before": generation.gap_before,
    }


def _of_trigger(trigger: Cause | None) -> Row:
    """The columns of a generation about its trigger."""
    if trigger is None:
        return {}
    return {
        "cause": trigger.cause,
        "client_reason": trigger.client_reason,
        "culprit_member_id": trigger.member_id,
        "culprit_client_id": trigger.client_id,
    }


def _cause_rows(causes: Iterable[Cause], dates: Mapping[tuple[int, int], date]) -> Iterator[Row]:
    """``dates``: of generations."""
    numbers = Counter[tuple[int, int]]()
    for each in causes:
        assert each.at_ms is not None
        key = each.incarnation, each.generation
        numbers[key] += 1
        own_date = date_of(each.at_ms)
        yield {
            "incarnation": each.incarnation,
            "generation": each.generation,
            "cause_seq": numbers[key],
            "event_date": own_date if each.role == ABSORBED else dates.get(key, own_date),
            "event_time": time_of(each.at_ms),
            "role": each.role,
            "cause": each.cause,
            "story": each.story,
            "member_id": each.member_id,
            "instance_id": each.instance_id,
            "client_id": each.client_id,
            "process": each.process,
            "rebalance_timeout_ms": each.rebalance_timeout_ms or None,
            "client_reason": each.client_reason,
            "evidence": EVIDENCE,
        }


def _idle_rows(lines: Iterable[Row]) -> Iterator[Row]:
    """Members whose last assignment in their clients' logs has no partitions."""
    assigned = {
        row["member_id"]: row["partitions"]
        for row in sorted(lines, key=lambda row: row["time_ms"])
        if row["event"] in ASSIGNED and row["member_id"] and row["partitions"] is not None
    }
    for member_id in sorted(member_id for member_id, own in assigned.items() if not own):
        yield {"member_id": member_id, "cause": WITHOUT_PARTITIONS}


def _member_rows(generation: ClientGeneration) -> Iterator[Row]:
    for member in generation.members:
        has_left = member.left_ms is not None
        yield {
            "member_id": member.member_id,
            "instance_id": member.instance_id,
            "client_id": member.client_id,
            "process": member.process,
            "subscribed_topics": None if member.topics is None else list(member.topics),
            "is_leader": member.is_leader,
            "change": member.change,
            "left_how": "left" if has_left else None,
            "left_time": time_of(member.left_ms),
            "left_reason": member.left_reason,
            "gone": member.is_gone,
        }


def _assignment_rows(generation: ClientGeneration) -> Iterator[Row]:
    for member in generation.members:
        for topic, partition in _topic_partitions(member):
            yield {
                "assignor": ACTUAL,
                "member_id": member.member_id,
                "process": member.process,
                "topic": topic,
                "partition": partition,
                "role": "active",
                "is_target": False,
            }


def _topic_partitions(member: ClientMember) -> list[tuple[str, int]]:
    split = (each.rpartition("-") for each in member.assigned or ())
    return sorted((topic, int(number)) for topic, _, number in split if number.isdigit())


_ROWS_OF: dict[str, Callable[[ClientGeneration], Iterator[Row]]] = {
    "generations": _generation_rows,
    "generation_members": _member_rows,
    "assignments": _assignment_rows,
}


def run(scope: RunScope) -> None:
    lake = scope.lake
    lake.create(CLIENT_EVENTS)
    if not may_exist(lake):
        return
    groups = computed(_groups(scope))
    events = lake.read(CLIENT_EVENTS).where("group_id IS NOT NULL")
    own = events.join(groups, on=GROUP_KEY, how="left_semi")
    rows = computed(
        client_evidence(
            with_together(own, lake.read(CLIENT_EVENTS)),
            lake.read("generations").where(OF_BROKERS),
            lake.read("assignments").where(OF_BROKERS),
        )
    )
    tables = {name: _of_table(rows, name) for name in DERIVED}
    tables["rebalance_latency"] = rebalance_latency(tables["generations"], lake.frame("churn", []))
    for name, new in tables.items():
        _replace(lake, name, conform(new, name), groups)


def beside_brokers(
    scope: RunScope, generations: DataFrame, assignments: DataFrame
) -> DataFrame | None:
    """Rows of rebalance_causes that clients logged of these generations with broker evidence, or
    None without clients' logs.
    """
    lake = scope.lake
    if not may_exist(lake):
        return None
    groups = generations.select(*GROUP_KEY).distinct()
    events = lake.read(CLIENT_EVENTS).where("group_id IS NOT NULL")
    own = with_together(
        events.join(groups, on=GROUP_KEY, how="left_semi"), lake.read(CLIENT_EVENTS)
    )
    rows = client_evidence(own, generations, assignments)
    beside = rows.where(F.col("table") == BESIDE).select(*GROUP_KEY, "rebalance_causes.*")
    return computed(beside)


def _groups(scope: RunScope) -> DataFrame:
    """The groups with a client's line on the run's dates, or with broker evidence in scope."""
    own = scope.read_days(CLIENT_EVENTS).where("group_id IS NOT NULL").select(*GROUP_KEY)
    return own.unionByName(scope.read("generations").select(*GROUP_KEY)).distinct()


def _of_table(rows: DataFrame, table: str) -> DataFrame:
    own = rows.where(F.col("table") == table)
    return own.select(*GROUP_KEY, f"{table}.*").select(*schema_of(table).names)


def _replace(lake: Lake, table: str, new: DataFrame, groups: DataFrame) -> None:
    """Write the dates on which the rows of these groups differ from the stored rows."""
    lake.create(table)
    stored = lake.read(table).where(OF_CLIENTS)
    own = stored.join(groups, on=GROUP_KEY, how="left_semi").select(*new.columns)
    dates = _differing_dates(new, own)
    if not dates:
        return
    on_dates = f"event_date IN {dates_in(dates)}"
    others = stored.join(groups, on=GROUP_KEY, how="left_anti").select(*new.columns)
    rows = computed(new.unionByName(others).where(on_dates))
    lake.replace(table, rows, where=f"{on_dates} AND {OF_CLIENTS}")


def _differing_dates(new: DataFrame, stored: DataFrame) -> set[date]:
    signed = new.withColumn("sign", F.lit(1)).unionByName(stored.withColumn("sign", F.lit(-1)))
    counted = signed.groupBy("event_date", F.xxhash64(*new.columns).alias("content")).agg(
        F.sum("sign").alias("surplus")
    )
    rows: list[Any] = counted.where("surplus <> 0").select("event_date").distinct().collect()
    return {row.event_date for row in rows}


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("client_evidence")
