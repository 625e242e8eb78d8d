"""`regroup what-if` of one group: observed figures and predictions; without a JVM."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.figures import counted
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
    check,
    instance_ids_of,
)
from coordinator_core.whatif.calibration import range_of
from coordinator_core.whatif.client_libraries import slow_handlers
from coordinator_core.whatif.config_blocks import broker_properties, client_properties
from coordinator_core.whatif.currencies import (
    PREFERENCES,
    better_and_worse,
    pareto,
    worse_changes,
)
from coordinator_core.whatif.deployment_forms import Form, UnfitForm, require_fit
from coordinator_core.whatif.figures import Converted, PredictedMigration, median_of
from coordinator_core.whatif.fit import misses
from coordinator_core.whatif.judgement import ADVICE_SEEDS, GroupJudgement, judge
from coordinator_core.whatif.kafka_names import SETTING_OF
from coordinator_core.whatif.migration import blockers_of
from coordinator_core.whatif.predict import predict_each
from coordinator_core.whatif.reasons import assumption_of
from coordinator_core.whatif.settings import TIMES
from jobs.console.errors import UsageError
from jobs.console.printing import Format, jsonable, print_rows, printable, time_text
from jobs.console.spinner import spinner
from jobs.lake.dates import NEVER_MS, moment_ms
from jobs.lake.evidence import Row, of_group, rows_of_cluster, rows_of_group
from jobs.lake.sql import query_all
from jobs.modern_history.evidence import RECORDS as MODERN_RECORDS
from jobs.replay.group_rows import EVENTS, RECORDS, require_evidence, with_date
from jobs.what_if.advice_columns import ADVICE_TEXTS
from jobs.what_if.earlier_outcomes import OUTCOME_COLUMNS, outcomes_of
from jobs.what_if.evidence import (
    CLASSIC_KINDS,
    CLUSTER_KINDS,
    MODERN_GROUPS,
    MODERN_KINDS,
    PERIOD_KINDS,
    PredictionEvidence,
    cluster_evidence_of,
)
from jobs.what_if.periods import (
    TIMED_REBALANCES,
    EvaluatedPeriod,
    period_of,
    timed_rebalances,
)

# Tables that a lake of an older version lacks.  Kinds of evidence that show that a group exists.
SHOWN_BY = (EVENTS, RECORDS, MODERN_RECORDS)
_OPTIONAL = (
    *("group_records", "topic_ids", "handover_costs", "configurations"),
    *("broker_log_events", "ingested_files"),
)


@dataclass(frozen=True, kw_only=True)
class WhatIfOptions:
    """``settings``: KEY=VALUE; without any, the group's candidates are tried, and advice is given.

    ``first`` and ``last`` are times or dates in UTC, as given by the user; None: no limit.
    ``deploy_as`` have the form of the lines to paste; None means the value that the evidence shows.
    """

    lake: str
    cluster_id: str
    group_id: str
    settings: tuple[str, ...] = ()
    seeds: int = ADVICE_SEEDS
    prefer: str = "downtime"
    first: str | None = None
    last: str | None = None
    era: str | None = None
    deploy_as: str | None = None


@dataclass(frozen=True)
class WhatIfResult:
    """``judged`` has a prediction per change.  Given settings have one prediction, and a second
    prediction with the other source of instance ids if the source matters.  ``gives_advice`` means
    that no settings were given.  ``conversions``: observed.
    """

    baseline: Baseline
    judged: GroupJudgement
    gives_advice: bool
    conversions: Sequence[Converted] = ()
    form: Form | None = None

    @property
    def observed(self) -> Figures:
        return self.judged.observed

    @property
    def model(self) -> Prediction:
        return self.judged.model

    @property
    def predicted(self) -> Sequence[Prediction]:
        return self.judged.predicted

    @property
    def advice(self) -> Advice | None:
        if not self.gives_advice:
            return None
        advice = self.judged.advice
        return replace(advice, client_properties=self.client_properties(advice.change or UNCHANGED))

    def client_properties(self, change: SettingsChange) -> str | None:
        return client_properties(self.baseline, change, self.form)


def run(options: WhatIfOptions, format: Format) -> None:
    with spinner("what-if"):
        result = evaluate(options)
    if format is Format.JSON:
        sys.stdout.write(json.dumps(jsonable(as_json(options, result)), indent=1) + "\n")
        return
    shown = shown_figures(result, format)
    rows = _rows(result, shown, format)
    print_rows(["basis", "setting", *shown, "range"], rows, format)
    if format is Format.TABLE:
        _print_summary(result)


def evaluate(options: WhatIfOptions) -> WhatIfResult:
    """Predict the changes.  Raises UsageError for an invalid setting, era or time, for a value that
    the group's brokers or clients would refuse, and for a group that cannot be simulated.
    """
    if options.era is not None and options.era not in ERAS:
        raise UsageError(f"--era {options.era}: not one of {', '.join(ERAS)}")
    if options.prefer not in PREFERENCES:
        raise UsageError(f"--prefer {options.prefer}: not one of {', '.join(PREFERENCES)}")
    if options.seeds < 1:
        raise UsageError(f"--seeds {options.seeds}: must be at least 1")
    form = form_of(options.deploy_as)
    try:
        change = SettingsChange.of(_with_dates(options))
        begin_ms, end_ms = _period(options)
        evidence, baseline = evidence_and_baseline(options, begin_ms, end_ms)
        check(baseline, change)
    except InvalidSetting as error:
        raise UsageError(f"--set {error}") from None
    if form is not None:
        require_form(baseline, change, form)
    judged = judge(
        baseline,
        evidence.observed(baseline),
        changes=[change] if options.settings else None,
        seeds=options.seeds,
        prefer=PREFERENCES[options.prefer],
        earlier={} if options.settings else _earlier(options),
    )
    conversions = evidence.conversions(baseline)
    return WhatIfResult(baseline, judged, not options.settings, conversions, form)


def form_of(deploy_as: str | None) -> Form | None:
    if deploy_as is not None and deploy_as not in list(Form):
        raise UsageError(f"--deploy-as {deploy_as}: not one of {', '.join(Form)}")
    return None if deploy_as is None else Form(deploy_as)


def require_form(baseline: Baseline, change: SettingsChange, form: Form) -> None:
    try:
        require_fit(baseline, change, form)
    except UnfitForm as error:
        raise UsageError(f"--deploy-as {error}") from None


def _earlier(options: WhatIfOptions) -> dict[str, Outcomes]:
    """The outcomes of the group's simulations in table what_if."""
    sql = f"""SELECT {", ".join(OUTCOME_COLUMNS)} FROM what_if
        WHERE {of_group(options.cluster_id, options.group_id)} AND simulation IS NOT NULL"""
    [rows] = query_all(options.lake, [sql], optional=["what_if"], notices=False)
    return outcomes_of(rows)


def _with_dates(options: WhatIfOptions) -> Iterator[str]:
    """The settings; a time of day with the cluster's last date."""
    for text in options.settings:
        name, separator, value = text.partition("=")
        if SETTING_OF.get(name, name) in TIMES:
            value = str(with_date(options.lake, options.cluster_id, value)).removesuffix("Z")
        yield f"{name}{separator}{value}"


def _period(options: WhatIfOptions) -> tuple[int, int]:
    """The period from --from to --to; for advice without these options, the period that all
    commands use.
    """
    if not options.settings and options.first is None and options.last is None:
        kinds = [TIMED_REBALANCES]
        rows = rows_of_group(options.lake, options.cluster_id, options.group_id, kinds)
        period = period_of(timed_rebalances(rows[TIMED_REBALANCES]))
        if period is not None:
            return period.from_ms or 0, period.to_ms
    first, last = (
        with_date(options.lake, options.cluster_id, each) for each in (options.first, options.last)
    )
    return moment_ms("--from", first, is_end=False), moment_ms("--to", last, is_end=True)


def prediction_evidence(options: WhatIfOptions, begin_ms: int, end_ms: int) -> PredictionEvidence:
    """Raises UsageError if the lake has no evidence of the group by records or brokers' logs."""
    lake, cluster_id, group_id = options.lake, options.cluster_id, options.group_id
    modern = rows_of_group(lake, cluster_id, group_id, [MODERN_GROUPS], optional=_OPTIONAL)
    kinds = (*CLASSIC_KINDS, *PERIOD_KINDS, *(MODERN_KINDS if modern[MODERN_GROUPS] else ()))
    dates = None
    if not modern[MODERN_GROUPS] and end_ms != NEVER_MS:
        dates = EvaluatedPeriod(begin_ms or None, end_ms).dates
    rows = rows_of_group(
        *(lake, cluster_id, group_id, kinds),
        optional=_OPTIONAL,
        dates=dates,
        begin_ms=begin_ms,
        end_ms=end_ms,
    )
    require_evidence(lake, cluster_id, group_id, rows, SHOWN_BY)
    of_cluster = rows_of_cluster(lake, cluster_id, CLUSTER_KINDS, optional=_OPTIONAL)
    cluster = cluster_evidence_of(*(of_cluster[kind] for kind in CLUSTER_KINDS))
    return PredictionEvidence(group_id, rows, cluster)


def evidence_and_baseline(
    options: WhatIfOptions, begin_ms: int = 0, end_ms: int = NEVER_MS
) -> tuple[PredictionEvidence, Baseline]:
    """Raises UsageError for a group that cannot be simulated, and for a period without evidence."""
    evidence = prediction_evidence(options, begin_ms, end_ms)
    try:
        baseline = evidence.baseline(
            era=options.era,
            from_ms=begin_ms or None,
            to_ms=None if end_ms == NEVER_MS else end_ms,
        )
    except NotAConsumerGroup as error:
        raise UsageError(f"--group {error}") from None
    if baseline.from_ms >= baseline.to_ms:
        ends_ms = [
            generation.ends_ms
            for explained in baseline.explained.incarnations
            for generation in explained.generations
        ]
        last = f"; the last one is at {time_text(max(ends_ms))} UTC" if ends_ms else ""
        raise UsageError(
            f"--group {options.group_id}: no events or records from --from to --to{last}"
        )
    return evidence, baseline


def model_misses(options: WhatIfOptions) -> Sequence[str]:
    """The observed figures that the model misses, judged in the same period as advice."""
    begin_ms, end_ms = _period(options)
    evidence, baseline = evidence_and_baseline(options, begin_ms, end_ms)
    [model] = predict_each(baseline, [UNCHANGED], seeds=ADVICE_SEEDS, earlier=_earlier(options))
    return misses(evidence.observed(baseline), model)


# -- output ----------------------------------------------------------------------------------------


def as_json(options: WhatIfOptions, result: WhatIfResult) -> Row:
    """``predicted`` is one object if settings were given, else a list, one per change of GRID."""
    baseline = result.baseline
    best = pareto(result.model, result.predicted, baseline.group_protocol)
    predicted = [
        _prediction(baseline, each) | {"pareto": each in best} for each in result.predicted
    ]
    row: Row = {
        "cluster_id": options.cluster_id,
        "group_id": options.group_id,
        "from": time_text(baseline.from_ms),
        "to": time_text(baseline.to_ms),
        "era": baseline.explained.era.name,
        "processes": len(baseline.processes),
        "observed": result.observed._asdict() | {"conversions": _conversions(result.conversions)},
        "model": _prediction(baseline, result.model),
        "predicted": predicted[0] if options.settings else predicted,
    }
    if options.settings:
        row["other_instance_ids"] = predicted[1] if len(predicted) > 1 else None
        change = result.predicted[0].change
        row["client_properties"] = result.client_properties(change)
        row["broker_properties"] = broker_properties(baseline, change)
        row["worse"] = worse_changes(result.model, result.predicted[:1], baseline.group_protocol)
    if result.advice is not None:
        row["advice"] = _advice(baseline, result.advice)
    return row


def _advice(baseline: Baseline, advice: Advice) -> Row:
    return {
        "setting": None if advice.change is None else str(advice.change),
        "saved": advice.saved._asdict(),
        "share_saved": round(advice.share, 3),
        "sentence": advice.sentence,
        "predicted": None if advice.change is None else _prediction(baseline, advice.predicted),
        **{name: getattr(advice, name) for name in ADVICE_TEXTS},
    }


def _prediction(baseline: Baseline, each: Prediction) -> Row:
    least, most = range_of(baseline, each.change, each.outcomes)
    return {
        "setting": str(each.change),
        "settings": each.change.in_kafka_names(),
        "instance_ids": instance_ids_of(baseline, each.change),
        **each.median._asdict(),
        "least": least._asdict(),
        "most": most._asdict(),
        "seeds": len(each.outcomes),
        "conversions": list(map(_conversions, each.conversions)),
        "migrations": [_migration(baseline, each.change, own) for own in each.migrations],
    }


def _conversions(conversions: Iterable[Converted]) -> list[Row]:
    return [{"at": time_text(each.at_ms), "protocol": each.protocol} for each in conversions]


def _migration(baseline: Baseline, change: SettingsChange, each: PredictedMigration) -> Row:
    least, most = range_of(baseline, change, each.outcomes)
    return {
        "protocol": each.protocol,
        "from": time_text(each.from_ms),
        "to": time_text(each.to_ms),
        **median_of(each.outcomes)._asdict(),
        "least": least._asdict(),
        "most": most._asdict(),
        "conversions": list(map(_conversions, each.conversions)),
        "blockers": blockers_of(each),
    }


def shown_figures(result: WhatIfResult, format: Format) -> list[str]:
    """The columns of figures; a printed table leaves out static_refused if all are 0, and unknown
    figures.
    """
    if format is not Format.TABLE:
        return list(Figures._fields)
    figures = [result.observed, *(each.median for each in (result.model, *result.predicted))]
    hidden = {name for name in Figures._fields if all(getattr(f, name) is None for f in figures)}
    if not any(each.static_refused for each in figures):
        hidden.add("static_refused")
    return [name for name in Figures._fields if name not in hidden]


def _rows(result: WhatIfResult, shown: list[str], format: Format) -> list[list[Any]]:
    """The printed table has Kafka's names of the settings, and only changes that none beats."""
    predicted = result.predicted
    if format is Format.TABLE and result.gives_advice:
        predicted = pareto(result.model, predicted, result.baseline.group_protocol)

    def name_of(change: SettingsChange) -> str:
        return change.in_kafka_names() if format is Format.TABLE else str(change)

    def values(figures: Figures) -> list[int | None]:
        return [getattr(figures, name) for name in shown]

    rows: list[list[Any]] = [["observed", str(UNCHANGED), *values(result.observed), None]]
    for basis, each in [("model", result.model), *(("predicted", p) for p in predicted)]:
        own = _downtime_range(result.baseline, each.change, each.outcomes)
        rows.append([basis, name_of(each.change), *values(each.median), own])
        for migration in each.migrations:
            when = f"{time_text(migration.from_ms)} to {time_text(migration.to_ms)}"
            figures = values(median_of(migration.outcomes))
            own = _downtime_range(result.baseline, each.change, migration.outcomes)
            rows.append([f"migration to {migration.protocol}", when, *figures, own])
    return rows


def _downtime_range(baseline: Baseline, change: SettingsChange, outcomes: Sequence[Figures]) -> str:
    least, most = range_of(baseline, change, outcomes)
    return f"{least.unavailable_partition_ms} to {most.unavailable_partition_ms}"


def _print_summary(result: WhatIfResult) -> None:
    baseline, era = result.baseline, result.baseline.explained.era
    libraries = ", ".join(sorted(set(baseline.libraries.values())))
    print(
        f"{counted(len(baseline.processes), 'process')} ({libraries}),"
        f" {time_text(baseline.from_ms)} to {time_text(baseline.to_ms)} UTC,"
        f" era {era.name} ({era.why})"
    )
    _print_lines(("slow handlers", slow_handlers(baseline)), *_conversion_lines(result))
    if result.advice is None:
        _print_change(result)
    else:
        best = pareto(result.model, result.predicted, baseline.group_protocol)
        others = len(result.predicted) - len(best)
        if others:
            print(
                f"{counted(others, 'further change')} simulated: the unchanged settings or a "
                "change above are as good in all figures"
            )
        _print_advice(baseline, result.advice)


def _print_change(result: WhatIfResult) -> None:
    first = result.predicted[0]
    better, worse = better_and_worse(result.model, first, result.baseline.group_protocol)
    _print_lines(
        ("instance ids", assumption_of(result.baseline, first, result.predicted)),
        ("better", "; ".join(better) or None),
        ("worse", "; ".join(worse) or None),
        *(line for each in first.migrations for line in _migration_lines(each)),
    )
    _print_blocks(
        result.client_properties(first.change),
        broker_properties(result.baseline, first.change),
    )


def _converted(conversions: Iterable[Converted]) -> str:
    texts = [f"to {each.protocol} at {time_text(each.at_ms)} UTC" for each in conversions]
    return f"converted {', '.join(texts)}" if texts else "not converted"


def _conversion_lines(result: WhatIfResult) -> Iterator[tuple[str, str]]:
    """Lines about a group that was converted; of the simulations, the first is shown."""
    if result.conversions:
        yield "observed", _converted(result.conversions)
        yield "model", _converted(result.model.conversions[0])


def _migration_lines(each: PredictedMigration) -> Iterator[tuple[str, str]]:
    """The time at which the group is converted, and the reasons for refusals."""
    converting = [conversions for conversions in each.conversions if conversions]
    of_seeds = f"in {len(converting)} of {counted(len(each.conversions), 'simulation')}"
    text = f"{_converted(converting[0])} ({of_seeds})" if converting else "not converted"
    yield f"migration to {each.protocol}", text
    for sentence in blockers_of(each):
        yield "blocker", sentence


def _print_advice(baseline: Baseline, advice: Advice) -> None:
    _print_lines(
        ("advice", advice.sentence),
        ("better", advice.makes_better),
        ("worse", advice.makes_worse),
        ("whose", advice.whose),
        ("range", None if advice.change is None else _range(baseline, advice.predicted)),
        ("risk", advice.risk),
        ("instance ids", advice.assumption),
        ("in force", advice.settings_in_force),
        ("rejected", advice.rejected),
        ("worse changes", advice.worse),
        ("confidence", f"{advice.confidence:.2f}; {advice.confidence_reason}"),
    )
    _print_blocks(advice.client_properties, advice.broker_properties)


def _range(baseline: Baseline, each: Prediction) -> str:
    low, high = range_of(baseline, each.change, each.outcomes)
    return (
        f"{low.rebalances} to {counted(high.rebalances, 'rebalance')},"
        f" {low.moved_partitions} to {counted(high.moved_partitions, 'partition')} moved,"
        f" partition downtime {low.unavailable_partition_ms} to {high.unavailable_partition_ms} ms"
    )


def _print_lines(*lines: tuple[str, str | None]) -> None:
    for name, text in lines:
        if text is not None:
            print(printable(f"{name}: {text}"))


def _print_blocks(*blocks: str | None) -> None:
    """Lines to paste, each block after an empty line."""
    for block in filter(None, blocks):
        print()
        for line in block.splitlines():
            print(printable(line))
