"""How a group was deployed since a time, by the lives of its processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import median

from coordinator_core.lives import ProcessLife
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.deployments import Deployment, Strategy


@dataclass(frozen=True)
class ObservedDeployment:
    """Names of processes.  ``before`` has processes that ran at ``since_ms``; ``old`` has processes
    of ``before`` that still run; ``new`` has the running processes that started since then.
    """

    since_ms: int
    before: Sequence[str]
    old: Sequence[str]
    new: Sequence[str]
    deployment: Deployment | None


def deployment_since(baseline: Baseline, since_ms: int) -> ObservedDeployment:
    """``deployment`` is None if no process was replaced since then."""
    before, old, new = list[str](), list[str](), list[str]()
    stops_ms, starts_ms = list[int](), list[int]()
    for process in baseline.processes:
        for life in process.lives:
            ran = _began_ms(life) < since_ms
            ended_ms = None if life.ended is None else life.ended.at_ms
            if ran and (ended_ms is None or ended_ms >= since_ms):
                before.append(process.name)
                stops_ms += [] if ended_ms is None else [ended_ms]
            if not ran:
                starts_ms.append(life.started.at_ms)
            if ended_ms is None:
                (old if ran else new).append(process.name)
    way = _way(sorted(stops_ms), sorted(starts_ms), len(before))
    return ObservedDeployment(since_ms, before, old, new, way)


def _began_ms(life: ProcessLife) -> int:
    return 0 if life.predates_evidence else life.started.at_ms


def _way(stops_ms: Sequence[int], starts_ms: Sequence[int], count: int) -> Deployment | None:
    """The way, inferred from the number of running processes over time.  None: no process stopped,
    or no process ran before.
    """
    if not stops_ms or not count:
        return None
    changes = sorted([*((at_ms, -1) for at_ms in stops_ms), *((at_ms, 1) for at_ms in starts_ms)])
    running = list(accumulate((change for _, change in changes), initial=count))
    fewest, most = min(running), max(running)
    if most > count and count - fewest < most - count:
        return Deployment(Strategy.SURGE, max(stops_ms[0] - starts_ms[0], 0), most - count)
    if fewest <= 0:
        return Deployment(Strategy.RECREATE, 0, count)
    batch = count - fewest
    strategy = Strategy.ONE_BY_ONE if batch == 1 else Strategy.BATCHES
    return Deployment(strategy, _pace_ms(stops_ms, batch), batch)


def _pace_ms(stops_ms: Sequence[int], batch: int) -> int:
    """The median time from one batch to the next."""
    first_ms = stops_ms[::batch]
    gaps_ms = [after - before for before, after in pairwise(first_ms)]
    return round(median(gaps_ms)) if gaps_ms else 0
