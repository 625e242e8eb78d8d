"""What each start and end of a process was part of: a deployment, a crash, scaling, a shutdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from coordinator_core.lives.processes import RESTART_MS, ConsumerProcess, ProcessLife

# One restart belongs to the deployment of the one before if it begins so soon after that one was
# done; and a deployment is of three processes or of all there are, two at least.
DEPLOY_GAP_MS = 120_000
_DEPLOYED = 3
# So many times within an hour put out or away from poll: a flapping process.
FLAPS = 3
FLAPPING_MS = 3_600_000
# Who comes in the first minute of a group is part of its start, who goes in the last of its end.
_TOGETHER_MS = 60_000


class StartKind(StrEnum):
    START = "start"
    RESTART = "restart"
    ROLLING_DEPLOY = "rolling_deploy"
    CRASH_RESTART = "crash_restart"
    SCALE_OUT = "scale_out"
    RETURN = "return"  # later than a minute after it was closed
    UNKNOWN = "unknown"  # before the evidence begins


class EndKind(StrEnum):
    STOPPED = "stopped"
    KILLED = "killed"
    SCALE_IN = "scale_in"
    SHUT_DOWN = "shut_down"
    RUNNING = "running"


class LifeKind(NamedTuple):
    """``deploy``: number of the rolling deployment that the life began with, from 1."""

    came: StartKind
    went: EndKind
    deploy: int | None = None


class _Restart(NamedTuple):
    ended_ms: int
    started_ms: int
    process: str
    life: int


def classify_lives(processes: Sequence[ConsumerProcess]) -> dict[tuple[str, int], LifeKind]:
    """By process and number of its life, from 0."""
    deploys = _deploys(processes)
    starts = [p.lives[0].started.at_ms for p in processes]
    first_ms = min(starts, default=0)
    down_ms = _shut_down_ms(processes)
    found = {}
    for process in processes:
        for number, life in enumerate(process.lives):
            before = process.lives[number - 1] if number else None
            deploy = deploys.get((process.name, number))
            came = StartKind.ROLLING_DEPLOY if deploy else _came(life, before, first_ms)
            is_last = number + 1 == len(process.lives)
            found[process.name, number] = LifeKind(came, _went(life, is_last, down_ms), deploy)
    return found


def is_flapping(process: ConsumerProcess) -> bool:
    """Whether it was put out, or away from poll, again and again within an hour."""
    times = sorted(
        [slow.began.at_ms for life in process.lives for slow in life.slow]
        + [life.ended.at_ms for life in process.lives if life.killed and life.ended is not None]
    )
    return any(
        later - first <= FLAPPING_MS
        for first, later in zip(times, times[FLAPS - 1 :], strict=False)
    )


def _came(life: ProcessLife, before: ProcessLife | None, first_ms: int) -> StartKind:
    if before is None:
        if life.predates_evidence:
            return StartKind.UNKNOWN
        is_early = life.started.at_ms - first_ms <= _TOGETHER_MS
        return StartKind.START if is_early else StartKind.SCALE_OUT
    if before.killed:
        return StartKind.CRASH_RESTART
    ended_ms = life.started.at_ms if before.ended is None else before.ended.at_ms
    return StartKind.RESTART if life.started.at_ms - ended_ms <= RESTART_MS else StartKind.RETURN


def _went(life: ProcessLife, is_last: bool, down_ms: int | None) -> EndKind:
    if life.ended is None:
        return EndKind.RUNNING
    if life.killed:
        return EndKind.KILLED
    if not is_last:
        return EndKind.STOPPED
    if down_ms is not None and down_ms - life.ended.at_ms <= _TOGETHER_MS:
        return EndKind.SHUT_DOWN
    return EndKind.SCALE_IN


def _shut_down_ms(processes: Iterable[ConsumerProcess]) -> int | None:
    """When the last process went; None while one runs."""
    ended = [process.lives[-1].ended for process in processes]
    known = [when.at_ms for when in ended if when is not None]
    return max(known) if known and len(known) == len(ended) else None


def _deploys(processes: Sequence[ConsumerProcess]) -> dict[tuple[str, int], int]:
    """The lives that rolling deployments began."""
    restarts = sorted(
        _Restart(before.ended.at_ms, after.started.at_ms, process.name, number + 1)
        for process in processes
        for number, (before, after) in enumerate(
            zip(process.lives, process.lives[1:], strict=False)
        )
        if before.ended is not None
        and not before.killed
        and after.started.at_ms - before.ended.at_ms <= RESTART_MS
    )
    runs: list[list[_Restart]] = []
    for each in restarts:
        run = runs[-1] if runs else []
        follows = run and each.ended_ms - run[-1].started_ms <= DEPLOY_GAP_MS
        if follows and each.process not in {other.process for other in run}:
            run.append(each)
        else:
            runs.append([each])
    wanted = max(2, min(_DEPLOYED, len(processes)))
    whole = [run for run in runs if len(run) >= wanted]
    return {(each.process, each.life): n for n, run in enumerate(whole, 1) for each in run}
