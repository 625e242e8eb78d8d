"""An autoscaler that follows the lag of a group, replayed over an observed load.

KEDA passes the lag of a group to a HorizontalPodAutoscaler (HPA) of Kubernetes.  Every 15 s the HPA
wants one process per ``lag_threshold`` records of lag.  It ignores a difference of up to 10 %,
starts processes at once (at most four, or as many as run), and stops them when no higher number was
wanted within the stabilization window.  KEDA itself starts the first process, when it polls and
finds lag, and stops the last one after the cooldown without lag.

The load is a number of records per second, and a process handles at most as many as it was observed
to handle.  While a rebalance moves partitions, nobody handles their records.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from math import ceil
from typing import NamedTuple

from coordinator_core.whatif.deployments import Scale

_SYNC_S = 15
_TOLERANCE = 0.1
_MOST_STARTED = 4
_STEP_S = 60


class Policy(NamedTuple):
    """``stabilization_s``: of the HPA, before it stops processes; ``step``: how many processes it
    stops per minute; None: no limit.
    """

    lag_threshold: int
    min_replicas: int
    max_replicas: int
    polling_s: int
    cooldown_s: int
    stabilization_s: int
    step: int | None = None


class Load(NamedTuple):
    """``records``: produced in each second; ``capacity``: records per second of a process;
    ``commit_s``: seconds between two commits; KEDA counts records since the last commit as lag.
    """

    records: Sequence[float]
    capacity: float
    partitions: int
    commit_s: float = 0.0


class Replayed(NamedTuple):
    """``scales``: each change of the number of processes, with its second; ``lags``: per second."""

    scales: Sequence[tuple[int, Scale]]
    lags: Sequence[float]
    replicas: Sequence[int]


def replay(
    policy: Policy, load: Load, replicas: int, pause_s: Callable[[Scale], float]
) -> Replayed:
    """``replicas``: at the start; ``pause_s``: for how long a change stops the consumption of all
    partitions.
    """
    autoscaler = _Autoscaler(policy, min(load.partitions, policy.max_replicas), replicas)
    lag = paused_s = 0.0
    scales, lags, counts = [], [], []
    for second, produced in enumerate(load.records):
        before = autoscaler.replicas
        autoscaler.sync(second, lag + produced * load.commit_s / 2)
        if autoscaler.replicas != before:
            scale = Scale(before, autoscaler.replicas)
            scales.append((second, scale))
            paused_s += pause_s(scale)
        running_s = max(1 - paused_s, 0.0)
        paused_s = max(paused_s - 1, 0.0)
        lag = max(lag + produced - running_s * before * load.capacity, 0.0)
        lags.append(lag)
        counts.append(autoscaler.replicas)
    return Replayed(scales, lags, counts)


class _Autoscaler:
    def __init__(self, policy: Policy, most: int, replicas: int) -> None:
        self._policy, self._most = policy, most
        self.replicas = max(min(replicas, most), policy.min_replicas)
        self._wanted = deque([(0, self.replicas)])
        self._active_s = self._stopped_s = 0

    def sync(self, second: int, lag: float) -> None:
        if lag > 0:
            self._active_s = second
        if self.replicas == 0:
            if lag > 0 and second % self._policy.polling_s == 0:
                self.replicas = 1
        elif self._policy.min_replicas == 0 and self._is_idle(second):
            self.replicas = 0
        elif second % _SYNC_S == 0:
            self._scale(second, lag)

    def _is_idle(self, second: int) -> bool:
        return second - self._active_s >= self._policy.cooldown_s

    def _scale(self, second: int, lag: float) -> None:
        wanted = self._clamped(ceil(lag / self._policy.lag_threshold))
        if abs(lag / self._policy.lag_threshold - self.replicas) <= _TOLERANCE * self.replicas:
            wanted = self.replicas
        self._wanted.append((second, wanted))
        while self._wanted[0][0] <= second - max(self._policy.stabilization_s, 1):
            self._wanted.popleft()
        if wanted > self.replicas:
            limit = self.replicas + max(_MOST_STARTED, self.replicas)
            self.replicas = min(wanted, limit)
            return
        lowest = max(each for _, each in self._wanted)
        if lowest < self.replicas:
            self._stop(second, lowest)

    def _stop(self, second: int, lowest: int) -> None:
        step = self._policy.step
        if step is None:
            self.replicas = lowest
        elif not self._stopped_s or second - self._stopped_s >= _STEP_S:
            self.replicas = max(lowest, self.replicas - step)
            self._stopped_s = second

    def _clamped(self, replicas: int) -> int:
        return min(max(replicas, self._policy.min_replicas, 1), self._most)
