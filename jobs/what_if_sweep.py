"""Predict other settings for every group: its process lives, a grid of changes, and advice.

reads   timeline, group_events, group_metadata, committed_offsets, generations, generation_members,
        assignments, ownership_gaps
writes  process_lives   one row per start of a process
        what_if         one row per group and setting
        advice          one row per group

Covers a cluster's whole history, whatever the dates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, StructField, StructType

from coordinator_core.incident import incarnations
from coordinator_core.lives import classify_lives, is_flapping
from coordinator_core.protocol.errors import CoordinatorBug
from coordinator_core.whatif import (
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
    candidates,
    observed,
    predict_each,
    refusals,
    with_both_instance_ids,
)
from jobs.command_line.arguments import open_existing_lake
from jobs.command_line.config import Config
from jobs.console.errors import UsageError
from jobs.console.printing import Format, print_rows
from jobs.console.spinner import spinner
from jobs.engine.keeping import kept
from jobs.engine.union import union_of
from jobs.lake.sql import missing_table, query
from jobs.lake.tables import Lake, schema_of
from jobs.replay.group_rows import FOREVER_MS, Row, evidence_by_group, quoted, unpacked
from jobs.what_if.advice_columns import ADVICE_TEXTS
from jobs.what_if.downtime import downtime_within
from jobs.what_if.last_commits import last_commits_sql

READS = (
    "timeline",
    "group_events",
    "group_metadata",
    "committed_offsets",
    "generations",
    "generation_members",
    "assignments",
    "ownership_gaps",
)
# Events that are added to a group's evidence: the last commit of a departed member, and the group's
# partition downtime in place of a time.
LAST_COMMIT, DOWNTIME = "LAST_COMMIT", "DOWNTIME"
WRITES = ("process_lives", "what_if", "advice")
SEEDS = 3


def what_if(
    tables: dict[str, DataFrame],
    changes: tuple[SettingsChange, ...] | None = None,
    seeds: int = SEEDS,
) -> DataFrame:
    """One row per group, with a column per table of WRITES: an array of the group's rows.

    ``changes`` None: the candidates of each group; else those that its brokers and clients accept.
    """
    until_ms = max(
        _last_ms(tables["group_metadata"], "append_time"),
        _last_ms(tables["committed_offsets"], "append_time"),
        _last_ms(tables["group_events"], "event_time"),
    )
    span = Span(None, until_ms, seeds)
    return _predicted(tables, _lasted(span), lambda _: span, changes)


class Span(NamedTuple):
    """A period to evaluate, in ms since the epoch, and the number of seeds.  ``from_ms`` None: from
    the group's first event.
    """

    from_ms: int | None
    to_ms: int
    seeds: int


def what_if_of_spans(tables: dict[str, DataFrame], spans: dict[str, Span]) -> DataFrame:
    """`what_if` of these groups, each in its own period."""
    lasted = [F.when(F.col("group_id") == name, _lasted(span)) for name, span in spans.items()]
    return _predicted(tables, F.coalesce(*lasted), spans.__getitem__, None)


def _predicted(
    tables: dict[str, DataFrame],
    lasted: Column,
    span_of: Callable[[str], Span],
    changes: tuple[SettingsChange, ...] | None,
) -> DataFrame:
    """``lasted``: the part of a gap of ownership that is within its group's period, in ms."""
    downtime = _downtime(tables["ownership_gaps"], lasted)
    grouped = evidence_by_group(
        tables["timeline"],
        tables["group_events"],
        tables["group_metadata"],
        tables["committed_offsets"],
        union_of(_last_commits(tables), downtime),
    )
    schema = StructType(
        [StructField(name, ArrayType(schema_of(name)), nullable=False) for name in WRITES]
    )
    arrow_schema = to_arrow_schema(schema, timezone="UTC")
    return grouped.applyInArrow(_predict_group(arrow_schema, span_of, changes), schema)


def _last_commits(tables: dict[str, DataFrame]) -> DataFrame:
    spark = tables["assignments"].sparkSession
    frames: dict[str, Any] = {**tables}
    commits = spark.sql(last_commits_sql(table="{{{}}}".format), **frames)
    return commits.select(
        "cluster_id",
        "group_id",
        "member_id",
        F.lit(LAST_COMMIT).alias("event"),
        F.unix_millis("committed").alias("at_ms"),
    )


def _downtime(gaps: DataFrame, lasted: Column) -> DataFrame:
    """Each group's partition downtime, as a row of its evidence."""
    sums = gaps.groupBy("cluster_id", "group_id").agg(F.sum(lasted).alias("at_ms"))
    return sums.withColumn("event", F.lit(DOWNTIME))


def _lasted(span: Span) -> Column:
    begin_ms, end_ms = (0, FOREVER_MS) if span.from_ms is None else (span.from_ms, span.to_ms)
    return F.expr(downtime_within("unix_millis(from_time)", "unowned_ms", begin_ms, end_ms))


def _last_ms(table: DataFrame, time: str) -> int:
    last = table.agg(F.max(F.unix_millis(time))).first()
    return 0 if last is None else last[0] or 0


def _predict_group(
    schema: pa.Schema,
    span_of: Callable[[str], Span],
    changes: tuple[SettingsChange, ...] | None,
) -> Callable[[pa.Table], pa.Table]:
    """Predicts one group; ``schema`` comes from the driver, as workers have no SparkSession."""

    def predicted(evidence: pa.Table) -> pa.Table:
        keys, event_rows, record_rows = unpacked(evidence)
        span = span_of(keys["group_id"])
        row = _rows_of_group(keys, event_rows, record_rows, span, changes)
        return pa.Table.from_pylist([row], schema)

    return predicted


def _rows_of_group(
    keys: Row,
    event_rows: list[Row],
    record_rows: list[Row],
    span: Span,
    changes: tuple[SettingsChange, ...] | None,
) -> dict[str, list[Row]]:
    """The group's rows, by table of WRITES.  A group that cannot be simulated has no rows but an
    advice that says why.
    """
    commits = [row for row in event_rows if row["event"] == LAST_COMMIT]
    downtime_ms = sum(row["at_ms"] for row in event_rows if row["event"] == DOWNTIME)
    events = [row for row in event_rows if row["event"] not in (LAST_COMMIT, DOWNTIME)]
    try:
        baseline = baseline_of(
            incarnations(keys["group_id"], events, record_rows),
            offset_versions={row["offset_version"] for row in record_rows} - {None},
            last_commit_ms={row["member_id"]: row["at_ms"] for row in commits},
            from_ms=span.from_ms,
            to_ms=None if span.from_ms is None else span.to_ms,
            until_ms=span.to_ms,
        )
        tried = with_both_instance_ids(baseline, _changes_of(baseline, changes))
        model, *predicted = predict_each(baseline, (UNCHANGED, *tried), seeds=span.seeds)
    except (NotAConsumerGroup, CoordinatorBug) as error:
        return {"process_lives": [], "what_if": [], "advice": [keys | _no_advice(error)]}
    period = {"from_time": _time(baseline.from_ms), "to_time": _time(baseline.to_ms)}
    figures = observed(baseline, downtime_ms)
    advice = _advice(advise(baseline, figures, model, predicted))
    return {
        "process_lives": [keys | row for row in lives_rows(baseline)],
        "what_if": [
            keys | row | period for row in figure_rows(baseline, figures, model, predicted)
        ],
        "advice": [keys | advice | period],
    }


def _changes_of(
    baseline: Baseline, changes: tuple[SettingsChange, ...] | None
) -> list[SettingsChange]:
    if changes is None:
        return candidates(baseline)
    return [each for each in changes if not any(refusals(baseline, each))]


def lives_rows(baseline: Baseline) -> Iterator[Row]:
    """Rows of process_lives, without cluster and group."""
    kinds = classify_lives(baseline.processes)
    group = [each.incarnation for each in baseline.explained.incarnations]
    incarnation_of = {
        member.member_id: incarnation.number
        for incarnation in group
        for record in incarnation.records
        for member in record.members
    }
    first = min(incarnation.number for incarnation in group)
    for process in baseline.processes:
        for number, life in enumerate(process.lives):
            kind = kinds[process.name, number]
            ended = life.ended
            yield {
                "process": process.name,
                "life": number + 1,
                "incarnation": incarnation_of.get(life.member_ids[0], first),
                "client_id": life.client_id,
                "client_host": life.client_host,
                "instance_id": life.member.instance_id,
                "member_ids": list(life.member_ids),
                "started_time": _time(life.started.at_ms),
                "ended_time": ended and _time(ended.at_ms),
                "ended_earliest_time": ended and _time(ended.earliest_ms),
                "ended_latest_time": ended and _time(ended.latest_ms),
                "started_how": kind.started_how.value,
                "ended_how": kind.ended_how.value,
                "deploy": kind.deploy,
                "slow_polls": [
                    {
                        "from_time": _time(slow_poll.began.at_ms),
                        "to_time": None if slow_poll.to is None else _time(slow_poll.to.at_ms),
                    }
                    for slow_poll in life.slow_polls
                ],
                "flapping": is_flapping(process),
                "first_generation": life.first_generation,
                "last_generation": life.last_generation,
                "confidence": life.confidence,
                "evidence": life.evidence,
            }


def figure_rows(
    baseline: Baseline, figures: Figures, model: Prediction, predicted: list[Prediction]
) -> Iterator[Row]:
    """Rows of what_if, without cluster, group and period; ``figures``: observed."""
    era = baseline.explained.era.name
    as_observed = Prediction(UNCHANGED, [figures])
    yield {"era": era} | _figures("observed", as_observed) | {"seeds": 0}
    yield {"era": era} | _figures("model", model)
    for each in predicted:
        yield {"era": each.change.era or era} | _figures("predicted", each)


def _figures(basis: str, each: Prediction) -> Row:
    row: dict[str, Any] = {"setting": str(each.change), "basis": basis}
    row |= each.median._asdict() | {"seeds": len(each.outcomes)}
    for end, figures in (("min", each.minimum), ("max", each.maximum)):
        row |= {f"{name}_{end}": value for name, value in figures._asdict().items()}
    return row


def _advice(advice: Advice) -> Row:
    return _saved(advice.saved) | {
        "setting": None if advice.change is None else str(advice.change),
        "share_saved": advice.share,
        "sentence": advice.sentence,
        **{name: getattr(advice, name) for name in ADVICE_TEXTS},
    }


def _no_advice(error: Exception) -> Row:
    columns: Row = dict.fromkeys(("setting", *ADVICE_TEXTS, "from_time", "to_time"))
    nothing = _saved(Figures(0, 0, 0, 0))
    return columns | nothing | {"share_saved": 0.0, "sentence": f"no prediction: {error}"}


def _saved(saved: Figures) -> Row:
    return {f"saved_{name}": value for name, value in saved._asdict().items()}


def _time(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def run(lake: Lake, changes: tuple[SettingsChange, ...] | None = None, seeds: int = SEEDS) -> None:
    tables = {name: lake.read(name) for name in READS}
    with kept(what_if(tables, changes, seeds)) as predictions:
        for table in WRITES:
            rows = predictions.select(F.explode(table).alias("row")).select("row.*")
            lake.replace(table, rows)


def run_all(
    lake: str,
    cluster_id: str,
    combinations: tuple[str, ...],
    seeds: int,
    config: Config,
    format: Format,
) -> None:
    """Predict all groups of a cluster into the tables, and print each group's advice."""
    try:
        changes = tuple(SettingsChange.of(text.split()) for text in combinations)
    except InvalidSetting as error:
        raise UsageError(f"--set {error}") from None
    if seeds < 1:
        raise UsageError(f"--seeds {seeds}: must be at least 1")
    opened_lake = open_existing_lake(lake, cluster_id, config)
    if not opened_lake.has("ownership_gaps"):
        raise UsageError(missing_table(lake, "ownership_gaps"))
    with spinner("what-if-sweep"):
        run(opened_lake, changes or None, seeds)
    sql = f"""SELECT group_id, setting, ROUND(100 * share_saved) AS percent_saved, sentence
        FROM advice WHERE cluster_id = {quoted(cluster_id)} ORDER BY
        saved_unavailable_partition_ms DESC, group_id"""
    print_rows(*query(lake, sql), format)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("what_if_sweep")
