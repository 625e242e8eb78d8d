"""`regroup plan`: ways to deploy a group, predicted and ranked; without a JVM."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.figures import counted
from coordinator_core.whatif import Baseline, Figures
from coordinator_core.whatif.broker_limits import cost_of
from coordinator_core.whatif.calibration import PLAN, PredictedRange, range_of
from coordinator_core.whatif.candidates import settings_to_deploy
from coordinator_core.whatif.client_libraries import slow_handlers
from coordinator_core.whatif.config_blocks import broker_properties, client_properties
from coordinator_core.whatif.deployment_forms import Form
from coordinator_core.whatif.deployments import (
    MANY,
    DeployedGroup,
    PlannedDeployment,
    Restart,
    RestartTime,
    Scale,
    Strategy,
    deployments,
    last_deployment,
    restarts,
    running,
    ways_to_scale,
)
from coordinator_core.whatif.fit import not_explained
from coordinator_core.whatif.kafka_names import seconds
from coordinator_core.whatif.manifests import manifest, scaling_policy
from coordinator_core.whatif.settings import UNCHANGED, SettingsChange
from jobs.configuration.alert_settings import span_s
from jobs.console.errors import UsageError
from jobs.console.printing import Format, jsonable, print_rows, printable, time_text
from jobs.console.spinner import spinner
from jobs.lake.evidence import Row
from jobs.what_if.command import (
    WhatIfOptions,
    evidence_and_baseline,
    form_of,
    model_misses,
    require_form,
)

MOST_PROCESSES = 500
# Limits of the number of seeds per way to deploy, and of the processes in all its simulations.
_LEAST_SEEDS, _MOST_SEEDS, _SIMULATED_PROCESSES = 2, 16, 128
_SCALE = re.compile(r"(\d{1,4})\.\.(\d{1,4})")
# The rebalances of an observed deployment end within this time after its last start.
_SETTLE_MS = 60_000
SHOWN = {
    "rebalances": "rebalances",
    "not_stable_ms": "not stable",
    "unavailable_partition_ms": "partition downtime",
    "moved_partitions": "moved",
    "records_reprocessed": "reprocessed",
    "catch_up_ms": "catch-up",
}
# Figures by the value of --prefer.
_PREFERRED = {
    "downtime": "unavailable_partition_ms",
    "rebalances": "rebalances",
    "reprocessed": "records_reprocessed",
}


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """``processes`` None: as many as run; ``restart_time`` None: as observed; ``scale`` is e.g.
    6..12, the numbers of processes before and after; None: a deployment.  ``seeds`` is None for a
    number that is smaller for more processes, whose simulations take longer.
    """

    lake: str
    cluster_id: str
    group_id: str
    processes: int | None = None
    restart_time: str | None = None
    seeds: int | None = None
    prefer: str = "downtime"
    scale: str | None = None
    era: str | None = None
    deploy_as: str | None = None


class Observed(NamedTuple):
    """``deployment`` has the restarts of the last deployment, whose figures these are; empty:
    figures of all evidence.
    """

    from_ms: int
    to_ms: int
    figures: Figures
    deployment: Sequence[Restart]


class PlanResult(NamedTuple):
    """``misses`` are observed figures that the model misses; ``recommended`` is an index of
    ``plans``, None with misses.
    """

    baseline: Baseline
    observed: Observed
    restart: RestartTime
    processes: int
    scale: Scale | None
    plans: Sequence[PlannedDeployment]
    misses: Sequence[str]
    recommended: int | None
    form: Form | None

    @property
    def chosen(self) -> PlannedDeployment | None:
        return None if self.recommended is None else self.plans[self.recommended]


def run(options: PlanOptions, format: Format) -> None:
    with spinner("plan"):
        result = evaluate(options)
    if format is Format.JSON:
        sys.stdout.write(json.dumps(jsonable(as_json(options, result)), indent=1) + "\n")
    elif format is Format.CSV:
        print_rows(*_all_figures(result), format)
    else:
        _print(options, result)


def evaluate(options: PlanOptions) -> PlanResult:
    """Raises UsageError for an invalid option, and for a group that cannot be simulated."""
    given_ms = None
    if options.restart_time is not None:
        given_ms = 1000 * span_s(options.restart_time, "--restart-time")
    if options.era is not None and options.era not in ERAS:
        raise UsageError(f"--era {options.era}: not one of {', '.join(ERAS)}")
    for name, value in (("--processes", options.processes), ("--seeds", options.seeds)):
        if value is not None and not 1 <= value <= MOST_PROCESSES:
            raise UsageError(f"{name} {value}: must be 1 to {MOST_PROCESSES}")
    if options.prefer not in _PREFERRED:
        raise UsageError(f"--prefer {options.prefer}: not one of {', '.join(_PREFERRED)}")
    what_if = WhatIfOptions(
        lake=options.lake,
        cluster_id=options.cluster_id,
        group_id=options.group_id,
        era=options.era,
    )
    form = form_of(options.deploy_as)
    _, baseline = evidence_and_baseline(what_if)
    if form is not None:
        require_form(baseline, UNCHANGED, form)
    seen = restarts(baseline)
    scale = None if options.scale is None else _scale(options)
    count = options.processes if scale is None else max(scale)
    group = DeployedGroup.of(baseline, count, seen, given_ms)
    seeds = options.seeds or seeds_for(len(group.slots))
    if options.prefer == "reprocessed" and baseline.consumption is None:
        raise UsageError(f"--prefer reprocessed: the lake has no commits of {options.group_id}")
    plans = list(_plans(group, scale, seeds))
    missed = model_misses(what_if)
    return PlanResult(
        baseline=baseline,
        observed=observed_within(what_if, baseline, last_deployment(seen, len(running(baseline)))),
        restart=group.restart,
        processes=len(group.slots),
        scale=scale,
        plans=plans,
        misses=missed,
        recommended=None if missed else recommended(baseline, plans, options.prefer),
        form=form,
    )


def seeds_for(processes: int) -> int:
    """The default number of simulations of one way to deploy."""
    return min(_MOST_SEEDS, max(_SIMULATED_PROCESSES // processes, _LEAST_SEEDS))


def _scale(options: PlanOptions) -> Scale:
    match = _SCALE.fullmatch(options.scale or "")
    counts = [] if match is None else [int(count) for count in match.groups()]
    if len(set(counts)) != 2 or not all(1 <= each <= MOST_PROCESSES for each in counts):
        raise UsageError(
            f"--scale {options.scale}: give two different numbers of processes, as 6..12"
        )
    if options.processes is not None:
        raise UsageError("give --scale without --processes")
    return Scale(*counts)


def _plans(group: DeployedGroup, scale: Scale | None, seeds: int) -> Iterator[PlannedDeployment]:
    heartbeat_ms, restart_ms = group.baseline.heartbeat_ms, group.restart.usual_ms
    if scale is not None:
        for way in ways_to_scale(scale, heartbeat_ms):
            yield group.scale(scale, way, seeds)
        return
    changes = [UNCHANGED]
    if len(group.slots) <= MANY:
        changes = settings_to_deploy(group.baseline, restart_ms)
    for change in changes:
        for way in deployments(len(group.slots), restart_ms, heartbeat_ms):
            yield group.plan(way, change, seeds)


def observed_within(
    options: WhatIfOptions, baseline: Baseline, deployment: Sequence[Restart]
) -> Observed:
    """The figures of the last deployment, or of all evidence."""
    from_ms, to_ms = baseline.from_ms, baseline.to_ms
    if deployment:
        last_ms = max(each.started_ms for each in deployment)
        from_ms, to_ms = deployment[0].ended_ms - 1000, min(last_ms + _SETTLE_MS, to_ms)
    evidence, within = evidence_and_baseline(options, from_ms, to_ms)
    return Observed(from_ms, to_ms, evidence.observed(within), deployment)


def recommended(baseline: Baseline, plans: Sequence[PlannedDeployment], prefer: str) -> int:
    """Index of the plan to recommend: the best plan with the present settings, unless the worst
    simulation of the best plan of all is better than the best simulation of this plan.
    """
    key = _order(baseline, prefer)
    present = min((each for each in plans if each.change == UNCHANGED), key=key)
    best = min(plans, key=key)
    figure = _PREFERRED[prefer]
    worst, least = getattr(best.maximum, figure), getattr(present.minimum, figure)
    is_better = worst is not None and worst < least
    return plans.index(best if is_better else present)


def _order(baseline: Baseline, prefer: str) -> Callable[[PlannedDeployment], tuple[int, ...]]:
    """Sort by the preferred figure, the other figures, the effort of the change, and the
    duration.
    """
    names = [_PREFERRED[prefer], *_PREFERRED.values()]

    def key(plan: PlannedDeployment) -> tuple[int, ...]:
        figures = [getattr(plan.median, name) or 0 for name in names]
        return (*figures, cost_of(baseline, plan.change), plan.lasts_ms)

    return key


# -- output ----------------------------------------------------------------------------------------


def as_json(options: PlanOptions, result: PlanResult) -> Row:
    observed = result.observed
    return {
        "cluster_id": options.cluster_id,
        "group_id": options.group_id,
        "observed": {
            "from": time_text(observed.from_ms),
            "to": time_text(observed.to_ms),
            "processes": len(running(result.baseline)),
            "restarts": len(observed.deployment),
            "restart_ms": result.restart.usual_ms if result.restart.restarts else None,
            **shown_figures(observed.figures),
        },
        "processes": result.processes,
        "scale": None if result.scale is None else list(result.scale),
        "restart_ms": result.restart.usual_ms,
        "plans": [_plan(result, each) for each in result.plans],
        "misses": result.misses,
        "recommended": result.recommended,
    }


def _manifest(result: PlanResult, plan: PlannedDeployment) -> str:
    if result.scale is not None:
        return scaling_policy(plan.deployment, result.scale.after > result.scale.before)
    return manifest(plan.deployment, result.restart.usual_ms, result.processes)


def shown_figures(figures: Figures) -> Row:
    return {name: getattr(figures, name) for name in SHOWN}


def _plan(result: PlanResult, plan: PlannedDeployment) -> Row:
    low, high = plan_range(result.baseline, plan)
    return {
        "strategy": plan.deployment.strategy.value,
        "pace_ms": plan.deployment.pace_ms,
        "batch": plan.deployment.batch,
        "settings": plan.change.values(),
        "lasts_ms": plan.lasts_ms,
        **shown_figures(plan.median),
        "range": {name: [getattr(low, name), getattr(high, name)] for name in SHOWN},
        "manifest": _manifest(result, plan),
    }


def _all_figures(result: PlanResult) -> tuple[list[str], list[list[Any]]]:
    limits = [f"{name}_{limit}" for name in SHOWN for limit in ("least", "most")]
    columns = ["strategy", "pace_ms", "batch", "settings", "lasts_ms", *SHOWN, *limits]
    baseline, rows = result.baseline, []
    for plan in result.plans:
        both = [getattr(figures, name) for name in SHOWN for figures in plan_range(baseline, plan)]
        way = plan.deployment
        values = [getattr(plan.median, name) for name in SHOWN]
        first = [way.strategy.value, way.pace_ms, way.batch, str(plan.change), plan.lasts_ms]
        rows.append([*first, *values, *both])
    return columns, rows


def _print(options: PlanOptions, result: PlanResult) -> None:
    plans, chosen = result.plans, result.chosen
    print_line(observed_text(result.observed))
    print_line(_restart_text(result))
    if (text := slow_handlers(result.baseline)) is not None:
        print_line(f"slow handlers: {text}")
    if result.processes > MANY:
        print_line(
            f"Above {MANY} processes, a batch is at least a tenth of them, and settings stay "
            "unchanged."
        )
    shown = [name for name in SHOWN if getattr(plans[0].median, name) is not None]
    order = sorted(plans, key=_order(result.baseline, options.prefer))
    rows = [
        [
            "recommended" if plan is chosen else "",
            way_text(plan),
            settings_text(plan.change),
            seconds(plan.lasts_ms),
            *(_range_text(result.baseline, plan, name) for name in shown),
        ]
        for plan in order
    ]
    names = [SHOWN[name] for name in shown]
    print_rows(["", "deployment", "settings", "lasts", *names], rows)
    print_line(
        no_recommendation(result.misses) if chosen is None else _why(options, result, chosen)
    )
    if not shown.count("records_reprocessed"):
        print_line(
            "Records reprocessed are unknown: the lake has no commits from the end of an ownership."
        )
    if chosen is not None:
        _print_blocks(
            _manifest(result, chosen),
            client_properties(result.baseline, chosen.change, result.form),
            broker_properties(result.baseline, chosen.change),
        )


def _print_blocks(*blocks: str | None) -> None:
    for block in filter(None, blocks):
        for line in ["", *block.splitlines()]:
            print_line(line)


def print_line(text: str) -> None:
    print(printable(text))


def observed_text(observed: Observed) -> str:
    times = f"{time_text(observed.from_ms)} to {time_text(observed.to_ms)} UTC"
    figures = ", ".join(
        f"{SHOWN[name]} {value_text(name, value)}"
        for name, value in shown_figures(observed.figures).items()
        if value is not None
    )
    if observed.deployment:
        what = f"last deployment of {counted(len(observed.deployment), 'process')}, {times}"
    else:
        what = f"no deployment of all processes was observed; the evidence, {times}"
    return f"observed: {what}: {figures}"


def _restart_text(result: PlanResult) -> str:
    if result.scale is not None:
        return f"scaled: from {result.scale.before} to {counted(result.scale.after, 'process')}"
    restart, count = result.restart, result.processes
    usual = seconds(restart.usual_ms)
    if restart.restarts:
        low, high = seconds(restart.least_ms), seconds(restart.most_ms)
        how = f"{usual} ({low} to {high}); observed restarts: {restart.restarts}"
    elif restart.is_assumed:
        how = f"{usual}, assumed: no restart was observed; give --restart-time"
    else:
        how = f"{usual}, as given"
    return f"deployed: {counted(count, 'process')}; a process is back after {how}"


def way_text(plan: PlannedDeployment) -> str:
    strategy, pace_ms, batch = plan.deployment
    pace = seconds(pace_ms)
    if strategy is Strategy.ONE_BY_ONE:
        return f"one by one, every {pace}"
    if strategy is Strategy.BATCHES and not pace_ms:
        return f"{batch} at once"
    if strategy is Strategy.BATCHES:
        return f"batches of {batch}, every {pace}"
    if strategy is Strategy.SURGE:
        return f"surge: start {batch} new, stop {batch} old after {pace}"
    return "recreate: stop all, start all"


def settings_text(change: SettingsChange) -> str:
    return "as they are" if change == UNCHANGED else change.in_kafka_names()


def plan_range(baseline: Baseline, plan: PlannedDeployment) -> PredictedRange:
    return range_of(baseline, plan.change, plan.outcomes, PLAN)


def _range_text(baseline: Baseline, plan: PlannedDeployment, name: str) -> str:
    least, most = (getattr(each, name) for each in plan_range(baseline, plan))
    value = value_text(name, getattr(plan.median, name))
    if least == most:
        return value
    return f"{value} ({value_text(name, least)} to {value_text(name, most)})"


def value_text(name: str, value: int) -> str:
    return f"{value / 1000:.1f} s" if name.endswith("_ms") else str(value)


def no_recommendation(missed: Sequence[str]) -> str:
    return f"no recommendation: {not_explained(missed)}"


def _why(options: PlanOptions, result: PlanResult, chosen: PlannedDeployment) -> str:
    present = [each for each in result.plans if each.change == chosen.change]
    worst = max(present, key=_order(result.baseline, options.prefer))
    name = _PREFERRED[options.prefer]
    best_text, worst_text = (_range_text(result.baseline, each, name) for each in (chosen, worst))
    text = (
        f"recommended: {way_text(chosen)}, settings {settings_text(chosen.change)}:"
        f" {SHOWN[name]} {best_text}"
    )
    if worst is not chosen:
        text += f"; {way_text(worst)}: {worst_text}"
    return text
