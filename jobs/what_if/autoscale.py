"""`regroup plan --autoscaler`: the observed load replayed under the policy of a KEDA ScaledObject,
and under other policies."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from statistics import median
from typing import Any, NamedTuple

from coordinator_core.figures import counted
from coordinator_core.simulation.spec import Topic
from coordinator_core.whatif import Baseline, Figures
from coordinator_core.whatif.autoscaler import (
    SCALE_DOWN,
    SCALE_UP,
    Load,
    Policy,
    Replayed,
    ScalingPolicy,
    replay,
)
from coordinator_core.whatif.deployments import (
    DeployedGroup,
    Deployment,
    PlannedDeployment,
    Scale,
    Strategy,
    restarts,
    running,
)
from jobs.console.errors import UsageError
from jobs.console.printing import Format, jsonable, print_rows, time_text
from jobs.console.spinner import spinner
from jobs.lake.evidence import Row, of_group
from jobs.lake.literals import quoted
from jobs.replay.group_rows import rows
from jobs.what_if.command import WhatIfOptions, evidence_and_baseline, model_misses
from jobs.what_if.plan import (
    MOST_PROCESSES,
    SHOWN,
    Observed,
    no_recommendation,
    observed_text,
    observed_within,
    print_line,
    shown_figures,
    value_text,
)
from jobs.what_if.scaled_object import scaled_object_of

_SEEDS = 3
# The rate of a process is its highest mean rate over this time.
_RATE_S = 30
# A policy is recommended only if its peak lag is at most this multiple of the file's.
_MORE_LAG = 1.1


@dataclass(frozen=True, kw_only=True)
class AutoscaleOptions:
    """``file`` is a YAML file with a KEDA ScaledObject."""

    lake: str
    cluster_id: str
    group_id: str
    file: str
    era: str | None = None


class ObservedLoad(NamedTuple):
    """``from_ms`` and ``to_ms`` count from the epoch; ``source`` is end offsets or commits."""

    load: Load
    from_ms: int
    to_ms: int
    source: str


class PlannedPolicy(NamedTuple):
    """``changed`` has values that the file does not have, by names of Kubernetes and KEDA.
    ``least``, ``usual`` and ``most`` are figures of all changes of the number of processes, over
    simulations.
    """

    policy: Policy
    changed: dict[str, int]
    replayed: Replayed
    least: Figures
    usual: Figures
    most: Figures

    @property
    def peak_lag(self) -> int:
        return round(max(self.replayed.lags))

    @property
    def mean_lag(self) -> int:
        return round(sum(self.replayed.lags) / len(self.replayed.lags))

    @property
    def mean_processes(self) -> float:
        return round(sum(self.replayed.replicas) / len(self.replayed.replicas), 1)


class AutoscaleResult(NamedTuple):
    """``misses`` and ``recommended``: as in PlanResult; ``not_simulated`` has the file's fields."""

    observed: Observed
    load: ObservedLoad
    plans: Sequence[PlannedPolicy]
    misses: Sequence[str]
    recommended: int | None
    not_simulated: Sequence[str]


def run(options: AutoscaleOptions, format: Format) -> None:
    with spinner("plan"):
        result = evaluate(options)
    if format is Format.JSON:
        sys.stdout.write(json.dumps(jsonable(as_json(options, result)), indent=1) + "\n")
        return
    if format is Format.TABLE:
        print_line(observed_text(result.observed))
        print_line(_load_text(result.load))
        if result.not_simulated:
            print_line(f"not simulated: {', '.join(result.not_simulated)}")
    print_rows(*_rows(result, format), format)
    if format is Format.TABLE:
        print_line(_why(result))


def evaluate(options: AutoscaleOptions) -> AutoscaleResult:
    """Raises UsageError for an unreadable file, and for a group whose load is unknown."""
    scaled = scaled_object_of(options.file, options.group_id)
    policy = scaled.policy
    what_if = WhatIfOptions(
        lake=options.lake,
        cluster_id=options.cluster_id,
        group_id=options.group_id,
        era=options.era,
    )
    _, baseline = evidence_and_baseline(what_if)
    topics = _topics(options, baseline, scaled.topic)
    load = observed_load(options, baseline, topics)
    most = max(policy.max_replicas, policy.min_replicas, len(running(baseline)))
    group = DeployedGroup.of(baseline, min(most, MOST_PROCESSES), restarts(baseline))
    scaler = Scaler(group, load.load.partitions)
    plans = [scaler.plan(each, changed, load.load) for each, changed in policies(policy)]
    missed = model_misses(what_if)
    return AutoscaleResult(
        observed_within(what_if, baseline, ()),
        load,
        plans,
        missed,
        None if missed else recommended_policy(plans),
        scaled.not_simulated,
    )


# -- output ----------------------------------------------------------------------------------------


def as_json(options: AutoscaleOptions, result: AutoscaleResult) -> Row:
    observed, load = result.observed, result.load
    return {
        "cluster_id": options.cluster_id,
        "group_id": options.group_id,
        "observed": {
            "from": time_text(load.from_ms),
            "to": time_text(load.to_ms),
            "load": load.source,
            "records_per_second": _rate(load.load),
            "records_per_second_per_process": round(load.load.capacity, 1),
            **shown_figures(observed.figures),
        },
        "plans": [_plan(each) for each in result.plans],
        "misses": result.misses,
        "recommended": result.recommended,
        "not_simulated": result.not_simulated,
    }


def _plan(plan: PlannedPolicy) -> Row:
    return {
        "strategy": "autoscaler",
        "pace_ms": None,
        "batch": None,
        "settings": plan.changed,
        **shown_figures(plan.usual),
        "range": {name: [getattr(plan.least, name), getattr(plan.most, name)] for name in SHOWN},
        "scalings": len(plan.replayed.scales),
        "processes": [min(plan.replayed.replicas), max(plan.replayed.replicas)],
        "mean_processes": plan.mean_processes,
        "peak_lag": plan.peak_lag,
        "mean_lag": plan.mean_lag,
    }


def _rows(result: AutoscaleResult, format: Format) -> tuple[list[str], list[list[Any]]]:
    columns = ["policy", "rebalances", "partition downtime", "scalings", "processes"]
    columns += ["mean processes", "peak lag", "mean lag"]
    rows = []
    for plan in result.plans:
        downtime_ms = plan.usual.unavailable_partition_ms
        is_table = format is Format.TABLE
        downtime = value_text("unavailable_partition_ms", downtime_ms) if is_table else downtime_ms
        processes = f"{min(plan.replayed.replicas)} to {max(plan.replayed.replicas)}"
        values = [_policy_text(plan), plan.usual.rebalances, downtime, len(plan.replayed.scales)]
        rows.append([*values, processes, plan.mean_processes, plan.peak_lag, plan.mean_lag])
    return columns, rows


def _policy_text(plan: PlannedPolicy) -> str:
    return ", ".join(f"{name}: {value}" for name, value in plan.changed.items()) or "as in the file"


def _load_text(load: ObservedLoad) -> str:
    return (
        f"load: {time_text(load.from_ms)} to {time_text(load.to_ms)} UTC, by {load.source}:"
        f" {_rate(load.load)} records per second, at most {max(load.load.records):.0f}; a process"
        f" handled up to {load.load.capacity:.1f} per second"
    )


def _rate(load: Load) -> float:
    return round(sum(load.records) / len(load.records), 1)


def _why(result: AutoscaleResult) -> str:
    if result.recommended is None:
        return no_recommendation(result.misses)
    first, chosen = result.plans[0], result.plans[result.recommended]
    text = f"recommended: {_policy_text(chosen)}: {_costs(chosen)}"
    if chosen is first:
        return f"{text}; no other policy has fewer rebalances with this lag"
    return f"{text}; as in the file: {_costs(first)}"


def _costs(plan: PlannedPolicy) -> str:
    return f"{counted(plan.usual.rebalances, 'rebalance')}, peak lag {plan.peak_lag}"


# -- the load --------------------------------------------------------------------------------------


def _topics(options: AutoscaleOptions, baseline: Baseline, topic: str | None) -> list[Topic]:
    """The topics whose lag KEDA reads; ``topic`` is the topic of the file. Raises UsageError."""
    topics = [each for each in baseline.topics if topic in (None, each.name)]
    if not topics:
        names = ", ".join(each.name for each in baseline.topics)
        raise UsageError(
            f"--autoscaler {options.file}: topic {topic}: group {options.group_id} has {names}"
        )
    return topics


def observed_load(
    options: AutoscaleOptions, baseline: Baseline, topics: Sequence[Topic]
) -> ObservedLoad:
    """Raises UsageError if the lake does not show how many records are produced and handled."""
    lake, cluster_id, group_id = options.lake, options.cluster_id, options.group_id
    names = ", ".join(quoted(topic.name) for topic in topics)
    commits = _series(
        rows(
            lake,
            f"""SELECT topic, partition, epoch_ms(commit_time) AS at_ms,
                    committed_offset AS "offset"
                FROM committed_offsets
                WHERE {of_group(cluster_id, group_id)} AND NOT tombstone AND outcome = 'plain'
                    AND commit_time IS NOT NULL AND topic IN ({names})
                ORDER BY commit_time, log_offset""",
        )
    )
    if not any(len(each) > 1 for each in commits):
        raise UsageError(
            f"--autoscaler: the lake has no commits of group {group_id}, so the records per second"
            " that its processes handle are unknown; add --segments, --kafka or --dump"
        )
    produced = _series(
        rows(
            lake,
            f"""SELECT topic, partition, epoch_ms(seen_time) AS at_ms, log_end_offset AS "offset"
                FROM end_offsets
                WHERE cluster_id = {quoted(cluster_id)}
                    AND topic IN ({names})
                ORDER BY seen_time, log_end_offset""",
            optional=["end_offsets"],
        )
    )
    source = "end offsets" if any(len(each) > 1 for each in produced) else "commits"
    loads = produced if source == "end offsets" else commits
    from_ms = min(each[0][0] for each in loads if each)
    to_ms = max(each[-1][0] for each in loads if each)
    handled = _per_second(commits, from_ms, to_ms)
    rates = [sum(handled[at : at + _RATE_S]) / _RATE_S for at in range(0, len(handled), _RATE_S)]
    capacity = max(rates) / len(running(baseline))
    load = Load(
        records=_per_second(loads, from_ms, to_ms),
        capacity=capacity,
        partitions=sum(map(_partitions, topics)),
        commit_s=_commit_s(commits),
    )
    return ObservedLoad(load, from_ms, to_ms, source)


def _partitions(topic: Topic) -> int:
    return max([topic.partitions, *(count for _, count in topic.grows)])


def _commit_s(commits: Iterable[Sequence[tuple[int, int]]]) -> float:
    """The median time between two commits of a partition."""
    times_ms = [after - before for own in commits for (before, _), (after, _) in pairwise(own)]
    return median(times_ms) / 1000


def _series(offsets: Iterable[dict[str, int]]) -> list[list[tuple[int, int]]]:
    """Times and offsets per partition, both increasing."""
    series: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row in offsets:
        own = series.setdefault((row["topic"], row["partition"]), [])
        if not own or (row["at_ms"] > own[-1][0] and row["offset"] >= own[-1][1]):
            own.append((row["at_ms"], row["offset"]))
    return list(series.values())


def _per_second(
    series: Iterable[Sequence[tuple[int, int]]], from_ms: int, to_ms: int
) -> list[float]:
    """Records in each second, evenly between two offsets."""
    records = [0.0] * (ceil((to_ms - from_ms) / 1000) + 1)
    for own in series:
        for (before_ms, before), (after_ms, after) in pairwise(own):
            first, last = (before_ms - from_ms) // 1000, (after_ms - from_ms) // 1000
            for second in range(max(first, 0), min(last, len(records) - 1) + 1):
                records[second] += (after - before) / (last - first + 1)
    return records


def policies(policy: Policy) -> list[tuple[Policy, dict[str, int]]]:
    """The file's policy and other policies, each with the values that it changes."""
    changes: list[dict[str, int]] = [
        {},
        {"lagThreshold": 2 * policy.lag_threshold},
        {"lagThreshold": max(policy.lag_threshold // 2, 1)},
        {"stabilizationWindowSeconds": 2 * policy.down.window_s or 300},
        {"stabilizationWindowSeconds": 60},
    ]
    if policy.idles:
        changes.append({"cooldownPeriod": 2 * policy.cooldown_s or 300})
    if policy.min_replicas == 0:
        changes.append({"minReplicaCount": 1})
    if policy.down.policies == SCALE_DOWN.policies:
        changes.append({"scaleDown.policies.value": 1})
    different = [(_changed(policy, change), change) for change in changes]
    return [each for each in different if not each[1] or each[0] != policy]


def _changed(policy: Policy, change: dict[str, int]) -> Policy:
    """``scaleDown.policies.value`` is in processes per minute.  A change of the behavior uses the
    default behavior for the other direction.
    """
    for name, value in change.items():
        match name:
            case "lagThreshold":
                policy = policy._replace(lag_threshold=value)
            case "cooldownPeriod":
                policy = policy._replace(cooldown_s=value)
            case "minReplicaCount":
                policy = policy._replace(min_replicas=value, idles=False)
            case "stabilizationWindowSeconds":
                down = policy.down._replace(window_s=value)
                policy = policy._replace(down=down, up=policy.up or SCALE_UP)
            case "scaleDown.policies.value":
                down = policy.down._replace(policies=(ScalingPolicy(False, value, 60),))
                policy = policy._replace(down=down, up=policy.up or SCALE_UP)
    return policy


class Scaler:
    """Predicts the cost of each change of the number of processes, once per change."""

    def __init__(self, group: DeployedGroup, partitions: int) -> None:
        self._group, self._partitions = group, partitions
        self._planned: dict[Scale, PlannedDeployment] = {}

    def plan(self, policy: Policy, changed: dict[str, int], load: Load) -> PlannedPolicy:
        count = len(running(self._group.baseline))
        replayed = replay(policy, load, count, self._pause_s)
        costs = [self._cost(scale) for _, scale in replayed.scales]
        least, usual, most = (
            _sum([getattr(each, name) for each in costs])
            for name in ("minimum", "median", "maximum")
        )
        return PlannedPolicy(policy, changed, replayed, least, usual, most)

    def _cost(self, scale: Scale) -> PlannedDeployment:
        if scale not in self._planned:
            way = Deployment(Strategy.BATCHES, 0, abs(scale.after - scale.before))
            self._planned[scale] = self._group.scale(scale, way, _SEEDS)
        return self._planned[scale]

    def _pause_s(self, scale: Scale) -> float:
        return self._cost(scale).median.unavailable_partition_ms / self._partitions / 1000


def _sum(figures: Sequence[Figures]) -> Figures:
    if not figures:
        return Figures(0, 0, 0, 0, records_reprocessed=0, consumption_pause_ms=0)
    values = [None if None in each else sum(each) for each in zip(*figures, strict=True)]
    # The sum of the longest times has no meaning.
    return Figures(*values)._replace(catch_up_ms=None)  # type: ignore[arg-type]


def recommended_policy(plans: Sequence[PlannedPolicy]) -> int:
    """Index of the policy with the fewest rebalances and about the lag of the first, the file's."""
    limit = plans[0].peak_lag * _MORE_LAG
    kept = [each for each in plans if each.peak_lag <= limit]
    best = min(kept, key=lambda each: (each.usual.rebalances, each.mean_processes))
    return plans.index(best)
