"""`regroup gate`: whether a group's deployment is complete; without a JVM."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from coordinator_core.figures import counted
from coordinator_core.whatif import UNCHANGED, Baseline, Figures
from coordinator_core.whatif.deployments import (
    DeployedGroup,
    PlannedDeployment,
    restarts,
)
from coordinator_core.whatif.kafka_names import listed
from coordinator_core.whatif.observed_deployment import ObservedDeployment, deployment_since
from jobs.configuration.alert_settings import is_span, span_s
from jobs.console.errors import UsageError
from jobs.console.printing import printable, time_text
from jobs.lake.dates import moment_ms
from jobs.lake.evidence import Row, of_group
from jobs.replay.group_rows import rows, with_date
from jobs.what_if.command import WhatIfOptions, evidence_and_baseline
from jobs.what_if.plan import MOST_PROCESSES, SHOWN, seeds_for, value_text, way_text

_POLL_S = 5.0
# A figure may exceed the largest simulation by this share (docs/plan.md).
_TOLERANCE = 0.25
# No other figures are compared: moves depend on the previous assignment, and small numbers of
# records on chance.
_LIMITED = ("rebalances", "not_stable_ms", "unavailable_partition_ms")


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """``since`` is the time in UTC, or how long ago.  ``processes`` None: as many as ran before.
    ``timeout`` says how long to read the lake again while something is missing; None: once.
    """

    lake: str
    cluster_id: str
    group_id: str
    since: str
    processes: int | None = None
    timeout: str | None = None


class Verdict(NamedTuple):
    is_done: bool
    sentence: str


def run(options: GateOptions) -> int:
    """Print one line; 0: the deployment is complete, 1: something is missing."""
    limit_s = 0 if options.timeout is None else span_s(options.timeout, "--timeout")
    if is_span(options.since):
        start = datetime.now(UTC) - timedelta(seconds=span_s(options.since, "--since"))
        options = replace(options, since=start.isoformat())
    ends_s = time.monotonic() + limit_s
    while True:
        verdict = evaluate(options)
        left_s = ends_s - time.monotonic()
        if verdict.is_done or left_s <= 0:
            print(printable(verdict.sentence))
            return 0 if verdict.is_done else 1
        time.sleep(min(_POLL_S, left_s))


def evaluate(options: GateOptions) -> Verdict:
    """Raises UsageError for an invalid option, and for a group that cannot be simulated."""
    if options.processes is not None and not 1 <= options.processes <= MOST_PROCESSES:
        raise UsageError(f"--processes {options.processes}: must be 1 to {MOST_PROCESSES}")
    since = with_date(options.lake, options.cluster_id, options.since)
    since_ms = moment_ms("--since", since, is_end=False)
    what_if = WhatIfOptions(
        lake=options.lake, cluster_id=options.cluster_id, group_id=options.group_id
    )
    _, baseline = evidence_and_baseline(what_if)
    observed = deployment_since(baseline, since_ms)
    missing = [
        *_missing_processes(observed, options.processes, baseline),
        *_not_stable(options),
    ]
    done = ""
    if not missing:
        cost = _Cost.of(what_if, baseline, observed)
        missing, done = list(cost.excess()), cost.sentence()
    sentence = (
        missing[0] if missing else f"deployed: {counted(len(observed.new), 'new process')}{done}"
    )
    return Verdict(not missing, f"group {options.group_id}: {sentence}")


def _missing_processes(
    observed: ObservedDeployment, expected: int | None, baseline: Baseline
) -> Iterator[str]:
    since = f"{time_text(observed.since_ms)} UTC"
    running = len(observed.old) + len(observed.new)
    if not observed.new:
        what = f"no process has started since {since}" if running else "no process runs"
        yield f"{what}; the group's evidence ends at {time_text(baseline.to_ms)} UTC"
    if observed.old:
        of = f"{len(observed.old)} of {counted(running, 'process')}"
        yield f"{of} started before {since}: {listed(sorted(observed.old))}"
    count = len(observed.before) if expected is None else expected
    if running < count:
        yield f"{running} of {counted(count, 'process')} running"


def _not_stable(options: GateOptions) -> Iterator[str]:
    last = _last_generation(options)
    if last is None:
        yield "no generation in the lake"
    elif last["ended_ms"] is not None:
        yield f"a rebalance began at {time_text(last['ended_ms'])} UTC and has not ended"
    elif last["stable_ms"] is None:
        yield f"generation {last['generation']} is not stable"


def _last_generation(options: GateOptions) -> Row | None:
    last = rows(
        options.lake,
        f"""SELECT generation, epoch_ms(stable_time) AS stable_ms, epoch_ms(ended_time) AS ended_ms
            FROM generations WHERE {of_group(options.cluster_id, options.group_id)}
            ORDER BY incarnation DESC, generation DESC LIMIT 1""",
    )
    return last[0] if last else None


class _Cost(NamedTuple):
    """``planned`` is the same way to deploy; ``planned`` is None if no process was replaced."""

    observed: Figures
    planned: PlannedDeployment | None

    @classmethod
    def of(cls, options: WhatIfOptions, baseline: Baseline, observed: ObservedDeployment) -> _Cost:
        evidence, since = evidence_and_baseline(options, observed.since_ms)
        figures = evidence.observed(since)
        if observed.deployment is None:
            return cls(figures, None)
        seen = restarts(baseline)
        earlier = [each for each in seen if each.started_ms < observed.since_ms]
        group = DeployedGroup.of(baseline, len(observed.before), earlier or seen)
        seeds = seeds_for(len(observed.before))
        return cls(figures, group.plan(observed.deployment, UNCHANGED, seeds))

    def excess(self) -> Iterator[str]:
        """The figures above the plan's range."""
        for name, value, least, most in self._compared():
            if name in _LIMITED and value > most * (1 + _TOLERANCE):
                yield (
                    f"{SHOWN[name]} {value_text(name, value)}, more than the plan's"
                    f" {value_text(name, least)} to {value_text(name, most)}"
                )

    def sentence(self) -> str:
        if self.planned is None:
            return "; no process was replaced, so there is no plan for the cost"
        figures = ", ".join(
            f"{SHOWN[name]} {value_text(name, value)} ({value_text(name, least)} to"
            f" {value_text(name, most)})"
            for name, value, least, most in self._compared()
        )
        return f", {way_text(self.planned)}; observed (planned): {figures}"

    def _compared(self) -> Iterator[tuple[str, int, int, int]]:
        """Name, observed, least and most planned, of each known figure."""
        if self.planned is None:
            return
        minimum, maximum = self.planned.minimum, self.planned.maximum
        for name in SHOWN:
            value, least, most = (getattr(each, name) for each in (self.observed, minimum, maximum))
            if value is not None and most is not None:
                yield name, value, least, most
