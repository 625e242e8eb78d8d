"""Keep each piece of advice that is given, and compare it with its outcome.

reads   advice, configurations, episodes, generations, generation_members, churn, handover_costs,
        and what jobs.what_if_sweep reads
writes  advice_outcomes   one row per advice given to a group
        advice            the rows of groups that have carried out their advice

Nightly runs this after its advice, and `regroup what-if-sweep` after its own.  Only groups with
advice are examined, and among these only the groups that had an episode on the dates of the run.
Deployments before the change are simulated when the advice is given, not afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from coordinator_core.protocol.errors import CoordinatorBug
from coordinator_core.whatif import UNCHANGED, NotAConsumerGroup, SettingsChange, predict_each
from coordinator_core.whatif.advice_outcomes import (
    PredictedFigure,
    SimulatedDeployment,
    predicted_figures,
)
from coordinator_core.whatif.baseline import within_period
from coordinator_core.whatif.carried_out import ConfiguredSetting
from coordinator_core.whatif.judgement import ADVICE_SEEDS
from jobs import what_if_sweep
from jobs.lake.evidence import Row, evidence, reads, unpacked
from jobs.lake.literals import quoted
from jobs.lake.tables import Lake, schema_of
from jobs.what_if.evidence import PredictionEvidence
from jobs.what_if.kept_advice import (
    KINDS_OF_EVIDENCE,
    OPEN,
    TIMES,
    AskedPrediction,
    DeployedHistory,
    asked,
    history_of,
    is_given_no_more,
    kept_rows,
    prediction_row,
    with_outcome,
    with_prediction,
    withdrawn,
)
from jobs.what_if.periods import EvaluatedPeriod
from jobs.what_if.result_rows import time_of
from jobs.what_if.sweep import Sweep, batched

TABLE = "advice_outcomes"
# Limit in estimated seconds on an idle machine, as for the advice itself.
BUDGET_S = 5.0
READS = tuple(sorted({*what_if_sweep.READS, *reads(KINDS_OF_EVIDENCE), "advice", "configurations"}))


def run(
    lake: Lake, first: date | None = None, last: date | None = None, *, budget_s: float = BUDGET_S
) -> None:
    """``first`` and ``last`` are the dates of the run; None: all.  ``budget_s``: of simulation."""
    advised = {
        name: row
        for name, (row,) in _by_group(lake.read("advice").where("setting IS NOT NULL")).items()
    }
    kept = _by_group(_in_ms(lake.read(TABLE), TIMES)) if lake.has(TABLE) else {}
    names = _with_episodes(lake, {*advised, *kept}, first, last)
    if names:
        _update(lake, names, advised, kept, budget_s)


def _in_ms(rows: DataFrame, names: Iterable[str]) -> DataFrame:
    return rows.withColumns({name: F.unix_millis(name) for name in names})


def _by_group(rows: DataFrame) -> dict[str, list[Row]]:
    of_groups: dict[str, list[Row]] = {}
    for row in rows.collect():
        of_groups.setdefault(row["group_id"], []).append(row.asDict(recursive=True))
    return of_groups


def _with_episodes(
    lake: Lake, groups: Collection[str], first: date | None, last: date | None
) -> list[str]:
    """The groups that had an episode on these dates."""
    if not groups:
        return []
    rows = lake.read("episodes").where(F.col("group_id").isin(sorted(groups)))
    rows = rows if first is None else rows.where(F.col("event_date") >= first)
    rows = rows if last is None else rows.where(F.col("event_date") <= last)
    return sorted(row.group_id for row in rows.select("group_id").distinct().collect())


def _update(
    lake: Lake,
    names: list[str],
    advised: Mapping[str, Row],
    kept: Mapping[str, list[Row]],
    budget_s: float,
) -> None:
    tables = _of_groups({name: lake.read(name) for name in READS}, names)
    histories = _histories(tables, names)
    configured = _configured(tables["configurations"], names)
    rows = {
        name: kept_rows(advised.get(name), kept.get(name, ()), histories[name], configured[name])
        for name in names
    }
    questions = {
        name: each
        for name in names
        if (each := asked(rows[name], advised.get(name), histories[name])) is not None
    }
    chosen = within_budget(questions, advised, budget_s)
    predicted: dict[str, list[Row] | None] = {}
    for some in batched(chosen):
        predicted |= _predicted(tables, {name: questions[name] for name in some})
    for name in chosen:
        question = questions[name]
        rows[name] = [
            with_prediction(row, histories[name], predicted.get(name))
            if row["setting"] == question.setting and row["status"].status in OPEN
            else row
            for row in rows[name]
        ]
    written = [with_outcome(row, histories[name]) for name in names for row in rows[name]]
    _write(lake, names, written)
    _withdraw(lake, [row for row in written if is_given_no_more(row, advised)])


def within_budget(
    questions: Mapping[str, AskedPrediction], advised: Mapping[str, Row], budget_s: float
) -> list[str]:
    """The groups to simulate: groups without a prediction come first, sorted by the largest saving.
    All other groups are simulated in a later night.
    """

    def order(name: str) -> tuple[bool, int, str]:
        saved_ms: int = advised[name]["saved_unowned_partition_ms"]
        return questions[name].is_renewed, -saved_ms, name

    chosen, left_s = [], budget_s
    for name in sorted(questions, key=order):
        if questions[name].cost_s <= left_s:
            left_s -= questions[name].cost_s
            chosen.append(name)
    return chosen


def _withdraw(lake: Lake, carried_out: Iterable[Row]) -> None:
    """Replace advice that was carried out: groups that no longer rebalance are not judged again."""
    rows = {row["group_id"]: withdrawn(row) for row in carried_out}
    if not rows:
        return
    columns = schema_of("advice").names
    values = [[row.get(name) for name in columns] for row in rows.values()]
    where = f"group_id IN ({', '.join(map(quoted, rows))})"
    lake.replace("advice", lake.frame("advice", values), where=where, few=True)


def _write(lake: Lake, names: Iterable[str], written: Iterable[Row]) -> None:
    columns = schema_of(TABLE).names
    values = [
        [
            time_of(row[name]) if name in TIMES and row.get(name) is not None else row.get(name)
            for name in columns
        ]
        for row in written
    ]
    where = f"group_id IN ({', '.join(map(quoted, names))})"
    lake.replace(TABLE, lake.frame(TABLE, values), where=where, few=True)


def _of_groups(tables: Mapping[str, DataFrame], names: list[str]) -> dict[str, DataFrame]:
    return {
        name: rows.where(F.col("group_id").isin(names)) if "group_id" in rows.columns else rows
        for name, rows in tables.items()
    }


def _histories(tables: Mapping[str, DataFrame], names: list[str]) -> dict[str, DeployedHistory]:
    of_groups: list[dict[str, list[Row]]] = [
        _by_group(evidence(kind, tables)) for kind in KINDS_OF_EVIDENCE
    ]
    return {name: history_of(*(rows.get(name, ()) for rows in of_groups)) for name in names}


def _configured(rows: DataFrame, names: Iterable[str]) -> dict[str, dict[str, ConfiguredSetting]]:
    """The settings of each group by Kafka's name: its own settings, and the settings in which all
    brokers agree.
    """
    of_brokers: dict[str, ConfiguredSetting] = {}
    of_groups: dict[str, dict[str, ConfiguredSetting]] = {}
    differ = set()
    for row in _in_ms(rows, ["seen_time"]).collect():
        each = ConfiguredSetting(row["value"], row["seen_time"])
        if row["entity_type"] == "group":
            if not row["is_default"]:
                of_groups.setdefault(row["entity"], {})[row["name"]] = each
        elif of_brokers.setdefault(row["name"], each).value != each.value:
            differ.add(row["name"])
    agreed = {name: each for name, each in of_brokers.items() if name not in differ}
    return {name: agreed | of_groups.get(name, {}) for name in names}


# -- predictions -----------------------------------------------------------------------------------


def _predicted(
    tables: Mapping[str, DataFrame], questions: Mapping[str, AskedPrediction]
) -> dict[str, list[Row] | None]:
    """Rows of predictions by group; None for a group whose deployments no model can simulate."""
    own = _of_groups(tables, sorted(questions))
    spans = {name: _span(each) for name, each in questions.items()}
    sweep = Sweep(spans, what_if_sweep.cluster_evidence(tables, own))
    schema = StructType(
        [
            StructField("group_id", schema_of(TABLE)["group_id"].dataType),
            StructField("predictions", schema_of(TABLE)["predictions"].dataType),
        ]
    )
    predict = _predict_group(to_arrow_schema(schema, timezone="UTC"), sweep, questions)
    rows = what_if_sweep.evidence_by_group(own, spans).applyInArrow(predict, schema)
    return {name: each[0]["predictions"] for name, each in _by_group(rows).items()}


def _span(question: AskedPrediction) -> EvaluatedPeriod:
    return EvaluatedPeriod(question.periods[0][0], question.periods[-1][1])


def _predict_group(
    schema: pa.Schema, sweep: Sweep, questions: Mapping[str, AskedPrediction]
) -> Callable[[pa.Table], pa.Table]:
    """Predicts one group; ``schema`` comes from the driver, as workers have no SparkSession."""

    def predicted(of_group: pa.Table) -> pa.Table:
        keys, rows = unpacked(of_group)
        name = keys["group_id"]
        own = PredictionEvidence(name, rows, sweep.cluster)
        figures = _figures(own, questions[name])
        of = None if figures is None else [prediction_row(each) for each in figures]
        return pa.Table.from_pylist([{"group_id": name, "predictions": of}], schema)

    return predicted


def _figures(own: PredictionEvidence, question: AskedPrediction) -> list[PredictedFigure] | None:
    change = SettingsChange.of(question.setting.split())
    simulated = []
    try:
        for from_ms, to_ms in question.periods:
            baseline = within_period(own.baseline(from_ms=from_ms, to_ms=to_ms))
            unchanged, changed = predict_each(baseline, (UNCHANGED, change), seeds=ADVICE_SEEDS)
            simulated.append(SimulatedDeployment(baseline, unchanged, changed))
    except (NotAConsumerGroup, CoordinatorBug):
        return None
    return predicted_figures(simulated)
