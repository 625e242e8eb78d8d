"""An autoscaler that follows the lag of a group, replayed over an observed load.

KEDA passes the lag of a group to a HorizontalPodAutoscaler (HPA) of Kubernetes, as the rules of
both say (KEDA's kafka scaler, Kubernetes' controller and defaults of autoscaling/v2):

- KEDA sums the lag of all partitions.  If the lag is a multiple of ``lag_threshold`` that is larger
  than the number of partitions, KEDA lowers the lag to the lag of one process per partition.
  Therefore it starts at most one process more than there are partitions.
- Every 15 s the HPA wants one process per ``lag_threshold`` records of lag, rounded up.  The HPA
  ignores a difference of up to 10 % of the running processes.
- The HPA stabilizes: it stops no process while a higher number was wanted within the window of
  ``down``, and starts none while a lower number was wanted within the window of ``up``.
- Scaling policies limit the processes that start, or stop, within a period.  Without ``behavior``
  in the file, the number of processes at most doubles in 15 s, or becomes four.
- KEDA itself starts the first processes when it polls and finds lag, and stops the last processes
  after the cooldown without lag.

The load is a number of records per second, and a process handles at most as many as it was observed
to handle.  While a rebalance moves partitions, nobody handles their records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from math import ceil
from typing import NamedTuple

from coordinator_core.whatif.deployments import Scale

_SYNC_S = 15
_TOLERANCE = 0.1
# Without `behavior`, the number of processes at most doubles, or becomes this number if that is
# larger.
_LEAST_LIMIT = 4


class Select(StrEnum):
    """Which of several policies counts: the policy with the largest change, with the smallest
    change, or none.
    """

    MAX = "Max"
    MIN = "Min"
    DISABLED = "Disabled"


class ScalingPolicy(NamedTuple):
    """``value`` processes, or percent of them, within ``period_s``."""

    is_percent: bool
    value: int
    period_s: int


class ScalingRules(NamedTuple):
    """Of one direction.  ``window_s``: stabilizationWindowSeconds."""

    window_s: int
    policies: tuple[ScalingPolicy, ...]
    select: Select = Select.MAX


SCALE_UP = ScalingRules(0, (ScalingPolicy(False, 4, 15), ScalingPolicy(True, 100, 15)))
SCALE_DOWN = ScalingRules(300, (ScalingPolicy(True, 100, 15),))


class Policy(NamedTuple):
    """The defaults are the defaults of KEDA and Kubernetes.

    ``activation_lag``: KEDA starts the first processes above this lag; ``idles`` means that it
    stops the last processes; ``allows_idle`` permits more processes than partitions.  ``up`` None:
    no `behavior`.
    """

    lag_threshold: int = 10
    min_replicas: int = 0
    max_replicas: int = 100
    polling_s: int = 30
    cooldown_s: int = 300
    activation_lag: int = 0
    idles: bool = True
    allows_idle: bool = False
    up: ScalingRules | None = None
    down: ScalingRules = SCALE_DOWN


class Load(NamedTuple):
    """``records`` are the records produced in each second; ``capacity`` is in records per second of
    a process; ``commit_s`` is in seconds between two commits; KEDA counts records since the last
    commit as lag.
    """

    records: Sequence[float]
    capacity: float
    partitions: int
    commit_s: float = 0.0


class Replayed(NamedTuple):
    """``scales`` has each change of the number of processes, with its second; ``lags``:
    per second.
    """

    scales: Sequence[tuple[int, Scale]]
    lags: Sequence[float]
    replicas: Sequence[int]


def replay(
    policy: Policy, load: Load, replicas: int, pause_s: Callable[[Scale], float]
) -> Replayed:
    """``replicas`` are at the start; ``pause_s`` says for how long a change stops the consumption
    of all partitions.
    """
    autoscaler = _Autoscaler(policy, load.partitions, replicas)
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
        handled = running_s * min(before, load.partitions) * load.capacity
        lag = max(lag + produced - handled, 0.0)
        lags.append(lag)
        counts.append(autoscaler.replicas)
    return Replayed(scales, lags, counts)


class _Autoscaler:
    def __init__(self, policy: Policy, partitions: int, replicas: int) -> None:
        self._policy, self._partitions = policy, partitions
        least = 0 if policy.idles and replicas == 0 else policy.min_replicas
        self.replicas = max(min(replicas, policy.max_replicas), least)
        self._wanted = [(0, self.replicas)]
        self._changes: list[tuple[int, int]] = []
        self._active_s = 0

    def sync(self, second: int, lag: float) -> None:
        is_active = lag > self._policy.activation_lag
        if is_active:
            self._active_s = second
        if self.replicas == 0:
            if is_active and second % self._policy.polling_s == 0:
                self.replicas = max(self._policy.min_replicas, 1)
        elif self._policy.idles and second - self._active_s >= self._policy.cooldown_s:
            self.replicas = 0
        elif second % _SYNC_S == 0:
            self._scale(second, self._limited_lag(lag))

    def _limited_lag(self, lag: float) -> float:
        """KEDA divides whole numbers."""
        most = self._partitions * self._policy.lag_threshold
        is_beyond = lag // self._policy.lag_threshold > self._partitions
        return most if is_beyond and not self._policy.allows_idle else lag

    def _scale(self, second: int, lag: float) -> None:
        wanted = lag / self._policy.lag_threshold
        is_near = 1 - _TOLERANCE <= wanted / self.replicas <= 1 + _TOLERANCE
        self._wanted.append((second, self.replicas if is_near else ceil(wanted)))
        limited = self._limited(second, self._stabilized(second))
        replicas = max(min(limited, self._policy.max_replicas), self._policy.min_replicas, 1)
        if replicas != self.replicas:
            self._changes.append((second, replicas - self.replicas))
            self.replicas = replicas

    def _stabilized(self, second: int) -> int:
        """Without `behavior`, the highest number within the window counts, in both directions."""
        highest = max(self._wanted_within(second, self._policy.down.window_s))
        if self._policy.up is None:
            return highest
        lowest = min(self._wanted_within(second, self._policy.up.window_s))
        return min(max(self.replicas, lowest), highest)

    def _wanted_within(self, second: int, window_s: int) -> Iterator[int]:
        """The last number, and the numbers of the window."""
        yield self._wanted[-1][1]
        yield from (wanted for at, wanted in self._wanted if at > second - window_s)

    def _limited(self, second: int, wanted: int) -> int:
        up, now = self._policy.up, self.replicas
        if wanted > now and up is None:
            return min(wanted, max(2 * now, _LEAST_LIMIT))
        if wanted > now and up is not None:
            return min(wanted, max(self._limit(second, up, 1), now))
        if wanted < now:
            return max(wanted, min(self._limit(second, self._policy.down, -1), now))
        return now

    def _limit(self, second: int, rules: ScalingRules, sign: int) -> int:
        """The number of processes that the policies allow; ``sign`` is 1 to start, -1 to stop."""
        if rules.select is Select.DISABLED:
            return self.replicas
        limits = [self._limit_of(second, each, sign) for each in rules.policies]
        is_farthest = (rules.select is Select.MAX) == (sign > 0)
        return max(limits) if is_farthest else min(limits)

    def _limit_of(self, second: int, policy: ScalingPolicy, sign: int) -> int:
        changed = sum(change for at, change in self._changes if at > second - policy.period_s)
        before = self.replicas - changed
        if not policy.is_percent:
            return before + sign * policy.value
        percent = before * (100 + sign * policy.value)
        return -(-percent // 100) if sign > 0 else percent // 100
