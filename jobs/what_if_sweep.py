"""Predict other settings for every group: its process lives, a grid of changes, advice, and whether
to migrate it to the consumer protocol.

reads   timeline, group_events, group_metadata, committed_offsets, generations, generation_members,
        assignments, ownership_gaps; of groups of the new types also group_records,
        rebalance_causes, churn, rebalance_latency
writes  process_lives      one row per start of a process
        what_if            one row per group and setting
        advice             one row per group
        migration_advice   one row per group

Covers a cluster's whole history, whatever the dates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, GroupedData, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, StructField, StructType

from coordinator_core.incident import Incarnation, incarnations
from coordinator_core.incident.broker_settings import InferredEra
from coordinator_core.incident.evidence import GroupRecord
from coordinator_core.lives import ConsumerProcess, classify_lives, is_flapping
from coordinator_core.protocol.errors import CoordinatorBug
from coordinator_core.whatif import (
    UNCHANGED,
    Advice,
    Baseline,
    Figures,
    InvalidSetting,
    NotAConsumerGroup,
    Outcomes,
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
from coordinator_core.whatif.candidates import to_consumer
from coordinator_core.whatif.readiness import (
    Blocker,
    blockers_of_clients,
    blockers_of_group,
    commits_without_members,
)
from coordinator_core.whatif.settings import CLASSIC_PROTOCOL, CONSUMER_PROTOCOL
from coordinator_core.whatif.verdict import (
    MIGRATED,
    NOT_APPLICABLE,
    UNKNOWN,
    Verdict,
    not_predicted,
    verdict_of,
)
from jobs.command_line.arguments import open_existing_lake
from jobs.command_line.config import Config
from jobs.console.errors import UsageError
from jobs.console.printing import Format, print_rows
from jobs.console.spinner import spinner
from jobs.engine.keeping import kept
from jobs.engine.union import union_of
from jobs.epochs import lives
from jobs.lake.keys import GROUP_KEY
from jobs.lake.sql import missing_table, query
from jobs.lake.tables import Lake, schema_of
from jobs.replay.group_rows import FOREVER_MS, Row, evidence_by_group, quoted, unpacked
from jobs.what_if import consumer_evidence
from jobs.what_if.advice_columns import ADVICE_TEXTS
from jobs.what_if.consumer_evidence import ConsumerRows, groups_of_new_types
from jobs.what_if.downtime import downtime_within
from jobs.what_if.last_commits import last_commits_sql
from jobs.what_if.migration_rows import ORDER, migrated, migration_row, predicted_row

READS = tuple(
    dict.fromkeys(
        (
            "timeline",
            "group_events",
            "group_metadata",
            "committed_offsets",
            "generations",
            "generation_members",
            "assignments",
            "ownership_gaps",
            *consumer_evidence.READS,
        )
    )
)
# Events that are added to a group's evidence: the last commit of a departed member, the group's
# first and last commit, and its partition downtime in place of a time.
LAST_COMMIT, FIRST_OF_ALL, LAST_OF_ALL = "LAST_COMMIT", "FIRST_OF_ALL", "LAST_OF_ALL"
DOWNTIME = "DOWNTIME"
_ADDED = (LAST_COMMIT, FIRST_OF_ALL, LAST_OF_ALL, DOWNTIME)
WRITES = ("process_lives", "what_if", "advice", "migration_advice")
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
    return _predicted(tables, _lasted(span), Sweep(lambda _: span, changes))


class Span(NamedTuple):
    """A period to evaluate, in ms since the epoch, and the number of seeds.  ``from_ms`` None: from
    the group's first event.
    """

    from_ms: int | None
    to_ms: int
    seeds: int


def what_if_of_spans(
    tables: dict[str, DataFrame],
    spans: dict[str, Span],
    earlier: dict[str, dict[str, Outcomes]],
) -> DataFrame:
    """`what_if` of these groups, each in its own period, without the changes that only
    migration_advice needs.  ``earlier``: by group, outcomes that are not simulated again.
    """
    lasted = [F.when(F.col("group_id") == name, _lasted(span)) for name, span in spans.items()]
    sweep = Sweep(spans.__getitem__, None, migrations=False, earlier=earlier)
    return _predicted(tables, F.coalesce(*lasted), sweep)


def known_outcomes(rows: DataFrame) -> dict[str, dict[str, Outcomes]]:
    """The outcomes in rows of what_if, by group and simulation."""
    earlier: dict[str, dict[str, Outcomes]] = {}
    stored = rows.where("simulation IS NOT NULL")
    columns = ("group_id", "simulation", "sessions_matter", "outcomes")
    for group_id, simulation, depends, outcomes in stored.select(*columns).collect():
        figures = [Figures(*each) for each in outcomes]
        earlier.setdefault(group_id, {})[simulation] = Outcomes(figures, depends)
    return earlier


class Sweep(NamedTuple):
    """What all groups' predictions depend on.  ``changes`` None: the candidates of each group;
    ``era``: of brokers with consumer groups, where their records tell it; ``migrations``: whether
    changes to the consumer protocol of a newer broker are tried, too; ``earlier``: by group.
    """

    span_of: Callable[[str], Span]
    changes: tuple[SettingsChange, ...] | None
    era: str | None = None
    migrations: bool = True
    earlier: Mapping[str, Mapping[str, Outcomes]] = {}

    def predict(self, baseline: Baseline, changes: Sequence[SettingsChange]) -> list[Prediction]:
        earlier = self.earlier.get(baseline.group_id, {})
        seeds = self.span_of(baseline.group_id).seeds
        return predict_each(baseline, (UNCHANGED, *changes), seeds=seeds, earlier=earlier)


def _predicted(tables: dict[str, DataFrame], lasted: Column, sweep: Sweep) -> DataFrame:
    """``lasted``: the part of a gap of ownership that is within its group's period, in ms."""
    sweep = sweep._replace(era=consumer_evidence.consumer_era(tables["group_records"]))
    schema = StructType(
        [StructField(name, ArrayType(schema_of(name)), nullable=False) for name in WRITES]
    )
    arrow_schema = to_arrow_schema(schema, timezone="UTC")
    downtime = _downtime(tables["ownership_gaps"], lasted)
    groups = groups_of_new_types(tables["generations"], tables["group_records"])
    classic = _classic_evidence(tables, downtime, groups).applyInArrow(
        _predict_group(arrow_schema, sweep), schema
    )
    if tables["group_records"].limit(1).count() == 0:
        return classic
    new = consumer_evidence.evidence_of_new_types(tables, groups, downtime).applyInArrow(
        _predict_new_type(arrow_schema, sweep), schema
    )
    return classic.unionByName(new)


def _classic_evidence(
    tables: dict[str, DataFrame], downtime: DataFrame, others: DataFrame
) -> GroupedData:
    """Of all groups but those of the new types, ``others``."""

    def own(table: str) -> DataFrame:
        return tables[table].join(others, on=GROUP_KEY, how="left_anti")

    added = union_of(_last_commits(tables), _commits(tables["committed_offsets"]), downtime)
    return evidence_by_group(
        own("timeline"),
        tables["group_events"],
        tables["group_metadata"],
        tables["committed_offsets"],
        added.join(others, on=GROUP_KEY, how="left_anti"),
    )


def _commits(committed: DataFrame) -> DataFrame:
    """Each group's first and last commit, as rows of its evidence."""
    kept_commits = committed.where("NOT tombstone AND commit_time IS NOT NULL")
    times = kept_commits.groupBy(*GROUP_KEY).agg(
        F.min(F.unix_millis("commit_time")).alias("first_ms"),
        F.max(F.unix_millis("commit_time")).alias("last_ms"),
    )
    first, last = (
        times.select(*GROUP_KEY, F.lit(event).alias("event"), F.col(column).alias("at_ms"))
        for event, column in ((FIRST_OF_ALL, "first_ms"), (LAST_OF_ALL, "last_ms"))
    )
    return first.unionByName(last)


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


def _predict_group(schema: pa.Schema, sweep: Sweep) -> Callable[[pa.Table], pa.Table]:
    """Predicts one group; ``schema`` comes from the driver, as workers have no SparkSession."""

    def predicted(evidence: pa.Table) -> pa.Table:
        keys, event_rows, record_rows = unpacked(evidence)
        row = _rows_of_group(keys, event_rows, record_rows, sweep)
        return pa.Table.from_pylist([row], schema)

    return predicted


def _predict_new_type(schema: pa.Schema, sweep: Sweep) -> Callable[[pa.Table], pa.Table]:
    """Likewise, of a group that is not classic."""

    def predicted(evidence: pa.Table) -> pa.Table:
        row = _rows_of_new_type(ConsumerRows(evidence), sweep)
        return pa.Table.from_pylist([row], schema)

    return predicted


class GroupEvidence(NamedTuple):
    """Of a classic group.  ``logged``: events, steps and causes of its lines; ``commits``: times of
    its first and last commit, in ms; None: it has none.
    """

    incarnations: list[Incarnation]
    offset_versions: set[int]
    last_commit_ms: Mapping[str, int]
    downtime_ms: int
    logged: set[str]
    commits: tuple[int | None, int | None]

    @property
    def records(self) -> list[GroupRecord]:
        """Those with members."""
        return [record for each in self.incarnations for record in each.records if record.members]


def _evidence(group_id: str, event_rows: list[Row], record_rows: list[Row]) -> GroupEvidence:
    added: dict[str, list[Row]] = {name: [] for name in _ADDED}
    events: list[Row] = []
    for row in event_rows:
        added.get(row["event"], events).append(row)
    logged = {row[name] for row in events for name in ("event", "step", "cause")} - {None}
    return GroupEvidence(
        incarnations(group_id, events, record_rows),
        {row["offset_version"] for row in record_rows} - {None},
        {row["member_id"]: row["at_ms"] for row in added[LAST_COMMIT]},
        sum(row["at_ms"] for row in added[DOWNTIME]),
        logged,
        (_time_of(added[FIRST_OF_ALL]), _time_of(added[LAST_OF_ALL])),
    )


def _time_of(rows: list[Row]) -> int | None:
    return rows[0]["at_ms"] if rows else None


def _rows_of_group(
    keys: Row, event_rows: list[Row], record_rows: list[Row], sweep: Sweep
) -> dict[str, list[Row]]:
    """The group's rows, by table of WRITES.  A group that cannot be simulated has no rows but an
    advice and a migration advice that say why.
    """
    evidence = _evidence(keys["group_id"], event_rows, record_rows)
    if not evidence.incarnations and not evidence.logged:
        return _without_members(keys)
    span = sweep.span_of(keys["group_id"])
    try:
        baseline = _classic_baseline(evidence, span, sweep.era)
        changes = _changes_of(baseline, sweep.changes)
        others = to_consumer(baseline) if sweep.changes is None and sweep.migrations else []
        migrations = [each for each in others if each not in changes]
        tried = [*with_both_instance_ids(baseline, changes), *migrations]
        model, *predicted = sweep.predict(baseline, tried)
    except (NotAConsumerGroup, CoordinatorBug) as error:
        blockers = blockers_of_group(evidence.records, evidence.logged, None)
        return _not_predicted(keys, error, _type_of(evidence), blockers)
    figures = observed(baseline, evidence.downtime_ms)
    possible = [each for each in predicted if each.change not in migrations]
    advice = advise(baseline, figures, model, possible)
    verdict = verdict_of(baseline, model, predicted, _blockers(baseline, evidence))
    return _predicted_rows(keys, baseline, figures, model, predicted, advice, verdict)


def _classic_baseline(evidence: GroupEvidence, span: Span, era: str | None) -> Baseline:
    """With the newer of two eras that only records of consumer groups tell apart."""
    baseline = baseline_of(
        evidence.incarnations,
        offset_versions=evidence.offset_versions,
        last_commit_ms=evidence.last_commit_ms,
        from_ms=span.from_ms,
        to_ms=None if span.from_ms is None else span.to_ms,
        until_ms=span.to_ms,
    )
    if era is None or baseline.explained.era.name != "4.1":
        return baseline
    newer = InferredEra(era, "records of the cluster's consumer groups")
    return replace(baseline, explained=replace(baseline.explained, era=newer))


def _blockers(baseline: Baseline, evidence: GroupEvidence) -> list[Blocker]:
    records = evidence.records
    return [
        *blockers_of_group(records, evidence.logged, baseline.explained.era),
        *blockers_of_clients(baseline, records),
        *commits_without_members(baseline, *evidence.commits),
    ]


def _type_of(evidence: GroupEvidence) -> str:
    """classic, or the protocol type of members that are not consumers."""
    last = evidence.records[-1].protocol_type if evidence.records else CONSUMER_PROTOCOL
    return CLASSIC_PROTOCOL if last == CONSUMER_PROTOCOL else last


def _without_members(keys: Row) -> dict[str, list[Row]]:
    """A group that only has commits."""
    reason = "commits without members: tools, or consumers that assign their own partitions"
    row = migration_row(Verdict(NOT_APPLICABLE, reason, ()), "commits")
    return {name: [] for name in WRITES} | {"migration_advice": [keys | row]}


def _not_predicted(
    keys: Row, error: Exception, group_type: str, blockers: list[Blocker]
) -> dict[str, list[Row]]:
    verdict = not_predicted(UNKNOWN, f"no prediction: {error}", blockers)
    return {
        "process_lives": [],
        "what_if": [],
        "advice": [keys | _no_advice(error)],
        "migration_advice": [keys | migration_row(verdict, group_type)],
    }


def _predicted_rows(
    keys: Row,
    baseline: Baseline,
    figures: Figures,
    model: Prediction,
    predicted: list[Prediction],
    advice: Advice,
    verdict: Verdict,
) -> dict[str, list[Row]]:
    period = {"from_time": _time(baseline.from_ms), "to_time": _time(baseline.to_ms)}
    migration = predicted_row(verdict, baseline, figures, model, advice.confidence)
    is_classic = baseline.group_protocol == CLASSIC_PROTOCOL
    return {
        "process_lives": [keys | row for row in lives_rows(baseline)] if is_classic else [],
        "what_if": [
            keys | row | period for row in figure_rows(baseline, figures, model, predicted)
        ],
        "advice": [keys | _advice(advice) | period],
        "migration_advice": [keys | migration | period],
    }


def _rows_of_new_type(rows: ConsumerRows, sweep: Sweep) -> dict[str, list[Row]]:
    """Likewise, of a group that is not classic."""
    span = sweep.span_of(rows.keys["group_id"])
    to_ms = None if span.from_ms is None else span.to_ms
    try:
        baseline = rows.baseline(sweep.era, from_ms=span.from_ms, to_ms=to_ms, until_ms=span.to_ms)
        tried = with_both_instance_ids(baseline, _changes_of(baseline, sweep.changes))
        model, *predicted = sweep.predict(baseline, [*tried])
    except (NotAConsumerGroup, CoordinatorBug) as error:
        return _not_predicted_new_type(rows, error)
    figures = rows.observed(baseline)
    advice = advise(baseline, figures, model, predicted)
    verdict = migrated(model, predicted)
    return _predicted_rows(rows.keys, baseline, figures, model, predicted, advice, verdict)


def _not_predicted_new_type(rows: ConsumerRows, error: Exception) -> dict[str, list[Row]]:
    group_type = rows.types[-1] if rows.types else CONSUMER_PROTOCOL
    is_consumer = group_type == CONSUMER_PROTOCOL
    reason = f"a {group_type} group, not a group of consumers"
    if is_consumer and rows.has_classic_members:
        reason = "has the consumer protocol already; members of the classic protocol were in it"
    elif is_consumer:
        reason = f"has the consumer protocol already; no prediction: {error}"
    verdict = Verdict(MIGRATED if is_consumer else NOT_APPLICABLE, reason, ())
    return {name: [] for name in WRITES} | {
        "advice": [rows.keys | _no_advice(error)],
        "migration_advice": [rows.keys | migration_row(verdict, group_type)],
    }


def _changes_of(
    baseline: Baseline, changes: tuple[SettingsChange, ...] | None
) -> list[SettingsChange]:
    if changes is None:
        return candidates(baseline)
    return [each for each in changes if not any(refusals(baseline, each))]


def lives_rows(baseline: Baseline) -> Iterator[Row]:
    """Rows of process_lives, without cluster and group."""
    group = [each.incarnation for each in baseline.explained.incarnations]
    incarnation_of = {
        member.member_id: incarnation.number
        for incarnation in group
        for record in incarnation.records
        for member in record.members
    }
    first = min(incarnation.number for incarnation in group)
    yield from rows_of_lives(baseline.processes, incarnation_of, first)


def rows_of_lives(
    processes: Sequence[ConsumerProcess], incarnation_of: Mapping[str, int], first: int = 1
) -> Iterator[Row]:
    """``incarnation_of``: by member id; ``first``: of a member that it does not have."""
    kinds = classify_lives(processes)
    for process in processes:
        for number, life in enumerate(process.lives):
            kind = kinds[process.name, number]
            ended = life.ended
            yield {
                "process": process.name,
                "life": number + 1,
                "incarnation": incarnation_of.get(next(iter(life.member_ids), ""), first),
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
    if each.simulation is None:
        return row | dict.fromkeys(("simulation", "sessions_matter", "outcomes"))
    outcomes = [outcome._asdict() for outcome in each.outcomes]
    return row | {
        "simulation": each.simulation,
        "sessions_matter": each.depends,
        "outcomes": outcomes,
    }


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
            if table == "process_lives":
                rows = _with_new_types(rows, lake)
            elif table == "migration_advice":
                rows = ranked(rows)
            lake.replace(table, rows)


def ranked(rows: DataFrame) -> DataFrame:
    """Rows of migration_advice with their rank in the cluster."""
    verdict = F.coalesce(*(F.when(F.col("verdict") == name, n) for n, name in enumerate(ORDER)))
    saved = F.coalesce(
        F.col("unavailable_unchanged_partition_ms") - F.col("unavailable_predicted_partition_ms"),
        F.lit(0),
    )
    in_order = Window.partitionBy("cluster_id").orderBy(verdict, F.desc(saved), "group_id")
    return rows.withColumn("rank", F.row_number().over(in_order))


def _with_new_types(classic: DataFrame, lake: Lake) -> DataFrame:
    """Of a group that is not always classic, the lives by the causes of all its generations."""
    tables = {name: lake.read(name) for name in lives.READS}
    groups = lives.groups_of_new_types(tables["generations"])
    rows = lives.lives_of_new_types(**tables, rows_of=rows_of_lives)
    own = classic.join(groups, on=["cluster_id", "group_id"], how="left_anti")
    return own.select(*rows.columns).unionByName(rows)


# What the command prints of migration_advice.
_MIGRATIONS = """
    SELECT rank, group_id, verdict,
        unavailable_observed_partition_ms AS observed_ms,
        unavailable_unchanged_partition_ms AS unchanged_ms,
        unavailable_predicted_partition_ms AS predicted_ms,
        reason,
        ARRAY_TO_STRING(LIST_DISTINCT([b.blocker FOR b IN blockers]), ', ')
            AS blockers
    FROM migration_advice WHERE cluster_id = {cluster} ORDER BY rank"""


def run_all(
    lake: str,
    cluster_id: str,
    combinations: tuple[str, ...],
    seeds: int,
    config: Config,
    format: Format,
) -> None:
    """Predict all groups of a cluster into the tables, and print each group's advice; as a table,
    also whether to migrate it.
    """
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
    if format is Format.TABLE:
        print_rows(*query(lake, _MIGRATIONS.format(cluster=quoted(cluster_id))), format)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("what_if_sweep")
