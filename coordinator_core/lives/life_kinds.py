"""How each process life started and ended: deployment, crash, scaling, shutdown, ..."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from coordinator_core.lives.processes import RESTART_MS, ConsumerProcess, ProcessLife

# A restart belongs to the same deployment as the previous restart if it begins within this time
# after the previous restart completed.  A deployment restarts at least this many processes, or both
# processes of a group of two.
DEPLOY_GAP_MS = 120_000
_MIN_DEPLOYED = 3
# A process is flapping if it is killed or exceeds max.poll.interval.ms this often within an hour.
FLAPS = 3
FLAPPING_MS = 3_600_000
# A start within this time of a group's first start is part of the group's start. An end within this
# time of the group's last end is part of its shutdown.
_TOGETHER_MS = 60_000


class StartKind(StrEnum):
    START = "start"
    RESTART = "restart"
    ROLLING_DEPLOY = "rolling_deploy"
    CRASH_RESTART = "crash_restart"
    SCALE_OUT = "scale_out"
    RETURN = "return"  # The process started more than a minute after it stopped.
    UNKNOWN = "unknown"  # The process started before the evidence begins.


class EndKind(StrEnum):
    STOPPED = "stopped"
    SESSION_EXPIRED = "session_expired"
    SCALE_IN = "scale_in"
    SHUT_DOWN = "shut_down"
    RUNNING = "running"


class LifeKind(NamedTuple):
    """``deploy`` is the number of the rolling deployment that started the life, from 1."""

    started_how: StartKind
    ended_how: EndKind
    deploy: int | None = None


class _Restart(NamedTuple):
    ended_ms: int
    started_ms: int
    process: str
    life: int


def classify_lives(processes: Sequence[ConsumerProcess]) -> dict[tuple[str, int], LifeKind]:
    """Kinds by name of the process and number of its life, from 0."""
    deploys = _deploys(processes)
    first_ms = min((each.lives[0].started.at_ms for each in processes), default=0)
    shut_down_ms = _shut_down_ms(processes)
    kinds = {}
    for process in processes:
        for number, life in enumerate(process.lives):
            previous = process.lives[number - 1] if number else None
            deploy = deploys.get((process.name, number))
            started = _started_how(life, previous, first_ms)
            ended = _ended_how(life, number + 1 == len(process.lives), shut_down_ms)
            kinds[process.name, number] = LifeKind(
                StartKind.ROLLING_DEPLOY if deploy else started, ended, deploy
            )
    return kinds


def is_flapping(process: ConsumerProcess) -> bool:
    """Returns whether it was killed or exceeded max.poll.interval.ms three times within an hour."""
    times = sorted(
        [slow_poll.began.at_ms for life in process.lives for slow_poll in life.slow_polls]
        + [life.ended.at_ms for life in process.lives if life.killed and life.ended is not None]
    )
    return any(
        later - first <= FLAPPING_MS
        for first, later in zip(times, times[FLAPS - 1 :], strict=False)
    )


def _started_how(life: ProcessLife, previous: ProcessLife | None, first_ms: int) -> StartKind:
    if previous is None:
        if life.predates_evidence:
            return StartKind.UNKNOWN
        is_early = life.started.at_ms - first_ms <= _TOGETHER_MS
        return StartKind.START if is_early else StartKind.SCALE_OUT
    if previous.killed:
        return StartKind.CRASH_RESTART
    ended_ms = life.started.at_ms if previous.ended is None else previous.ended.at_ms
    is_restart = life.started.at_ms - ended_ms <= RESTART_MS
    return StartKind.RESTART if is_restart else StartKind.RETURN


def _ended_how(life: ProcessLife, is_last: bool, shut_down_ms: int | None) -> EndKind:
    if life.ended is None:
        return EndKind.RUNNING
    if life.killed:
        return EndKind.SESSION_EXPIRED
    if not is_last:
        return EndKind.STOPPED
    if shut_down_ms is not None and shut_down_ms - life.ended.at_ms <= _TOGETHER_MS:
        return EndKind.SHUT_DOWN
    return EndKind.SCALE_IN


def _shut_down_ms(processes: Iterable[ConsumerProcess]) -> int | None:
    """The time at which the last process ended, or None if one still runs."""
    ends = [process.lives[-1].ended for process in processes]
    times = [each.at_ms for each in ends if each is not None]
    return max(times) if times and len(times) == len(ends) else None


def _deploys(processes: Sequence[ConsumerProcess]) -> dict[tuple[str, int], int]:
    """The number of the rolling deployment that started each life, by process and life."""
    restarts = sorted(
        _Restart(previous.ended.at_ms, life.started.at_ms, process.name, number + 1)
        for process in processes
        for number, (previous, life) in enumerate(
            zip(process.lives, process.lives[1:], strict=False)
        )
        if previous.ended is not None
        and not previous.killed
        and life.started.at_ms - previous.ended.at_ms <= RESTART_MS
    )
    series: list[list[_Restart]] = []
    for each in restarts:
        last = series[-1] if series else []
        continues = last and each.ended_ms - last[-1].started_ms <= DEPLOY_GAP_MS
        if continues and each.process not in {other.process for other in last}:
            last.append(each)
        else:
            series.append([each])
    minimum = max(2, min(_MIN_DEPLOYED, len(processes)))
    deploys = [each for each in series if len(each) >= minimum]
    return {
        (restart.process, restart.life): number
        for number, deploy in enumerate(deploys, 1)
        for restart in deploy
    }
