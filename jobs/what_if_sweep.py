"""What would have been, for every group: its processes, a grid of settings, and advice.

reads   timeline, group_events, group_metadata, committed_offsets, generations, generation_members,
        assignments
writes  process_lives   one row per start of a process
        what_if         one row per group and setting
        advice          one row per group

All of a cluster's history, whatever the dates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, StructField, StructType

from coordinator_core.incident import incarnations
from coordinator_core.lives import classify_lives, is_flapping
from coordinator_core.protocol.errors import CoordinatorBug
from coordinator_core.whatif import (
    GRID,
    UNCHANGED,
    Advice,
    Baseline,
    Figures,
    InvalidSetting,
    NotAConsumerGroup,
    Prediction,
    SettingsChange,
    advise,
    baseline_of,
    observed,
    predict_each,
)
from jobs.command_line.arguments import main, opened
from jobs.console.errors import UsageError
from jobs.console.printing import Format, print_rows
from jobs.console.spinner import spinner
from jobs.lake.sql import query
from jobs.lake.tables import Lake, schema_of
from jobs.replay.group_rows import LAST_COMMIT, Row, cogrouped_rows, quoted
from jobs.what_if.last_commits import last_commits_sql

READS = (
    "timeline",
    "group_events",
    "group_metadata",
    "committed_offsets",
    "generations",
    "generation_members",
    "assignments",
)
WRITES = ("process_lives", "what_if", "advice")
SEEDS = 3


def what_if(
    tables: dict[str, DataFrame], changes: tuple[SettingsChange, ...] = GRID, seeds: int = SEEDS
) -> DataFrame:
    """One row per group: its rows of each of WRITES, as an array of the table's name."""
    both = cogrouped_rows(*(tables[name] for name in READS[:4]), last_commits=_last_commits(tables))
    until_ms = max(
        _last_ms(tables["group_metadata"], "append_time"),
        _last_ms(tables["committed_offsets"], "append_time"),
        _last_ms(tables["group_events"], "event_time"),
    )
    schema = StructType(
        [StructField(name, ArrayType(schema_of(name)), nullable=False) for name in WRITES]
    )
    played = _player(to_arrow_schema(schema, timezone="UTC"), until_ms, changes, seeds)
    return both.applyInArrow(played, schema)


def _last_commits(tables: dict[str, DataFrame]) -> DataFrame:
    """The query names its tables; the session forgets the names again."""
    spark = tables["assignments"].sparkSession
    names = ("generations", "generation_members", "assignments", "committed_offsets")
    for name in names:
        tables[name].createOrReplaceTempView(name)
    try:
        return spark.sql(last_commits_sql())
    finally:
        for name in names:
            spark.catalog.dropTempView(name)


def _last_ms(table: DataFrame, time: str) -> int:
    return table.agg(F.max(F.unix_millis(time))).first()[0] or 0


def _player(
    schema: pa.Schema, until_ms: int, changes: tuple[SettingsChange, ...], seeds: int
) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """Plays one group; the schema is the driver's, no worker can make it."""

    def played(events: pa.Table, records: pa.Table) -> pa.Table:
        lines, written = events.to_pylist(), records.to_pylist()
        first = next(iter(lines or written))
        own = {"cluster_id": first["cluster_id"], "group_id": first["group_id"]}
        found = _played(own, lines, written, until_ms, changes, seeds)
        return pa.Table.from_pylist([found], schema)

    return played


def _played(
    own: Row,
    lines: list[Row],
    written: list[Row],
    until_ms: int,
    changes: tuple[SettingsChange, ...],
    seeds: int,
) -> Row:
    """A group that cannot be played has advice that says why, and nothing else."""
    commits = {row["member_id"]: row["at_ms"] for row in lines if row["event"] == LAST_COMMIT}
    told = [row for row in lines if row["event"] != LAST_COMMIT]
    try:
        baseline = baseline_of(
            incarnations(own["group_id"], told, written),
            offset_versions={row["offset_version"] for row in written} - {None},
            last_commit_ms=commits,
            until_ms=until_ms,
        )
        model, *predicted = predict_each(baseline, (UNCHANGED, *changes), seeds=seeds)
    except (NotAConsumerGroup, CoordinatorBug) as error:
        nothing = Advice(None, Figures(0, 0, 0, 0), 0.0, f"not played: {error}")
        return {"process_lives": [], "what_if": [], "advice": [_advice(own, nothing, None)]}
    span = {"from_time": _time(baseline.from_ms), "to_time": _time(baseline.to_ms)}
    return {
        "process_lives": [own | row for row in lives_rows(baseline)],
        "what_if": [own | row | span for row in outcome_rows(baseline, model, predicted)],
        "advice": [_advice(own, advise(baseline, model, predicted), span)],
    }


def lives_rows(baseline: Baseline) -> Iterator[Row]:
    """Rows of process_lives, but for cluster and group."""
    told = classify_lives(baseline.processes)
    incarnations = {
        member.member_id: life.life.incarnation
        for life in baseline.told.lives
        for record in life.life.records
        for member in record.members
    }
    first = min(life.life.incarnation for life in baseline.told.lives)
    for process in baseline.processes:
        for number, life in enumerate(process.lives):
            came, went, deploy = told[process.name, number]
            ended = life.ended
            yield {
                "process": process.name,
                "life": number + 1,
                "incarnation": incarnations.get(life.member_ids[0], first),
                "client_id": life.client_id,
                "client_host": life.client_host,
                "instance_id": life.member.instance_id,
                "member_ids": list(life.member_ids),
                "started_time": _time(life.started.at_ms),
                "ended_time": ended and _time(ended.at_ms),
                "ended_earliest_time": ended and _time(ended.earliest_ms),
                "ended_latest_time": ended and _time(ended.latest_ms),
                "started_how": came.value,
                "ended_how": went.value,
                "deploy": deploy,
                "slow_polls": [
                    {
                        "from_time": _time(slow.began.at_ms),
                        "to_time": None if slow.to is None else _time(slow.to.at_ms),
                    }
                    for slow in life.slow_polls
                ],
                "flapping": is_flapping(process),
                "first_generation": life.first_generation,
                "last_generation": life.last_generation,
                "confidence": life.confidence,
                "evidence": life.evidence,
            }


def outcome_rows(
    baseline: Baseline, model: Prediction, predicted: list[Prediction]
) -> Iterator[Row]:
    """Rows of what_if, but for cluster, group and span."""
    seen = observed(baseline)
    shared = {"era": baseline.told.era.name}
    was = Prediction(UNCHANGED, [seen])
    yield shared | _outcome("observed", was) | {"seeds": 0}
    yield shared | _outcome("model", model)
    for each in predicted:
        yield shared | _outcome("predicted", each) | {"era": each.change.era or shared["era"]}


def _outcome(basis: str, each: Prediction) -> Row:
    row: dict[str, Any] = {"setting": str(each.change), "basis": basis}
    row |= each.median._asdict() | {"seeds": len(each.outcomes)}
    for end, outcome in (("min", each.minimum), ("max", each.maximum)):
        row |= {f"{name}_{end}": value for name, value in outcome._asdict().items()}
    return row


def _advice(own: Row, advice: Advice, span: Row | None) -> Row:
    return (
        own
        | {
            "setting": None if advice.change is None else str(advice.change),
            "saved_unavailable_partition_ms": advice.saved.unavailable_partition_ms,
            "saved_not_stable_ms": advice.saved.not_stable_ms,
            "saved_rebalances": advice.saved.rebalances,
            "share_saved": advice.share,
            "sentence": advice.sentence,
        }
        | (span or {"from_time": None, "to_time": None})
    )


def _time(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def run(lake: Lake, changes: tuple[SettingsChange, ...] = GRID, seeds: int = SEEDS) -> None:
    tables = {name: lake.read(name) for name in READS}
    played = what_if(tables, changes, seeds).persist()
    try:
        for table in WRITES:
            rows = played.select(F.explode(table).alias("row")).select("row.*")
            lake.replace(table, rows)
    finally:
        played.unpersist()


def run_all(
    lake: str,
    cluster_id: str,
    combinations: tuple[str, ...],
    seeds: int,
    conf: str | None,
    format: Format,
) -> None:
    """All groups of a cluster into the tables; prints each group's advice."""
    try:
        changes = tuple(SettingsChange.of(text.split()) for text in combinations) or GRID
    except InvalidSetting as error:
        raise UsageError(f"--set {error}") from None
    if seeds < 1:
        raise UsageError(f"--seeds {seeds}: at least 1")
    whole = opened(lake, cluster_id, conf)
    with spinner("what-if-sweep"):
        run(whole, changes, seeds)
    sql = f"""SELECT group_id, setting, ROUND(100 * share_saved) AS percent_saved, sentence
        FROM advice WHERE cluster_id = {quoted(cluster_id)} ORDER BY
        saved_unavailable_partition_ms DESC, group_id"""
    print_rows(*query(lake, sql), format)


if __name__ == "__main__":
    main(__doc__, lambda scope: run(scope.lake))
