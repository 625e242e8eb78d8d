"""Whose rebalances they are: the processes that cause them, and who bears them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from coordinator_core.figures import counted
from coordinator_core.lives import (
    ConsumerProcess,
    EndKind,
    LifeKind,
    ProcessLife,
    StartKind,
    TimeEstimate,
    classify_lives,
)
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.kafka_names import listed, seconds
from coordinator_core.whatif.settings import CONSUMER_PROTOCOL, COOPERATIVE

# Number of processes whose starts, stops and expired sessions are named.
_NAMED = 4


def concerned(baseline: Baseline) -> str:
    """Such as ``caused by a-1 (2 slow polls); borne by all 6 members, which revoke ...``."""
    return "; ".join([*_causes(baseline), _bearers(baseline)])


def _causes(baseline: Baseline) -> Iterator[str]:
    """Without the start and the shutdown of the group.  Static members restart without a rebalance,
    unless their sessions expire.
    """
    kinds = classify_lives(baseline.processes)
    own = {
        process.name: Counter(
            what
            for number, life in enumerate(process.lives)
            for what, at in _events(process, life, kinds[process.name, number])
            if baseline.from_ms <= at.at_ms <= baseline.to_ms
        )
        for process in baseline.processes
    }
    dynamic = {process.name for process in baseline.processes if process.instance_id is None}
    deployments = len(
        {kind.deploy for (name, _), kind in kinds.items() if name in dynamic} - {None}
    )
    texts = [counted(deployments, "rolling deployment")] if deployments else []
    for name in sorted(own, key=lambda each: (-own[each].total(), each)):
        if own[name]:
            counts = [counted(number, what) for what, number in sorted(own[name].items())]
            texts.append(f"{name} ({', '.join(counts)})")
    if texts:
        yield f"caused by {listed(texts, at_most=_NAMED)}"


def _events(
    process: ConsumerProcess, life: ProcessLife, kind: LifeKind
) -> Iterator[tuple[str, TimeEstimate]]:
    """A restart after an expired session is part of it, and a restart in a deployment, too."""
    if kind.started_how is StartKind.RESTART and process.instance_id is None:
        yield "restart", life.started
    elif kind.started_how in (StartKind.SCALE_OUT, StartKind.RETURN):
        yield "start", life.started
    for slow_poll in life.slow_polls:
        yield "slow poll", slow_poll.began
    for freeze in life.freezes:
        yield "freeze", freeze.began
    if life.ended is not None and kind.ended_how is EndKind.SESSION_EXPIRED:
        yield "expired session", life.ended
    elif life.ended is not None and kind.ended_how is EndKind.SCALE_IN:
        yield "stop", life.ended


def _bearers(baseline: Baseline) -> str:
    """The members that stop consuming in a rebalance, and the topics that wait the longest."""
    is_gradual = COOPERATIVE in baseline.assignors or baseline.group_protocol == CONSUMER_PROTOCOL
    who = "members whose partitions move"
    if not is_gradual:
        who = "all members, which revoke all partitions in each rebalance"
    pauses_ms = {} if baseline.consumption is None else baseline.consumption.pauses_ms
    longest = sorted(pauses_ms, key=lambda topic: (-pauses_ms[topic], topic))
    topics = [f"{topic} ({seconds(pauses_ms[topic])})" for topic in longest if pauses_ms[topic]]
    pauses = f"; pauses of topics (partition-seconds): {listed(topics)}" if topics else ""
    return f"borne by {who}{pauses}"
