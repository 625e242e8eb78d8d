"""What a deployment of a group costs, by the way in which its processes are replaced.

A deployment ends every process and starts a new one.  Ways to do this (`Deployment`):

    one_by_one  a process stops and starts again; ``pace_ms`` later the next one stops
    batches     the same for ``batch`` processes at a time
    surge       ``batch`` new processes start; ``pace_ms`` later as many old ones stop
    recreate    all processes stop, then all start again

From its stop to its next start a process is away for the restart time.  Restarted processes keep
their names, as those of a StatefulSet; a surge starts processes with new names, as a Deployment of
Kubernetes does.  So the members of a surge have new instance ids, and the old ids of closed static
members stay in the group until their sessions expire.

A prediction simulates these process lives as `predict` simulates the lives of the evidence.  A
classic group waits for the next heartbeats of its members: each seed begins the deployment at
another moment of the heartbeat interval, and draws restart times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from coordinator_core.lives import ConsumerProcess, ProcessLife, TimeEstimate
from coordinator_core.lives.life_kinds import DEPLOY_GAP_MS
from coordinator_core.lives.processes import RESTART_MS
from coordinator_core.protocol.messages import TopicPartition
from coordinator_core.simulation.random_draws import between, key_of
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.figures import Figures, maximum_of, median_of, minimum_of
from coordinator_core.whatif.predict import figures_of
from coordinator_core.whatif.settings import (
    UNCHANGED,
    SettingsChange,
)

# Time between the stops, and between the starts, of processes that one command stops and starts.
_STOPS_APART_MS, _STARTS_APART_MS = 50, 200
# The next process stops at least this long after the previous process is running again.
_READY_MS = 200
# The deployment begins this long after the last evidence: topics no longer grow by then.
_LATER_MS = 120_000
# Static members joined one after the other, within a heartbeat interval, this long before the first
# action.
_JOINED_MS, _SWITCH_MS = 20_000, 200
# The period begins this long before the first action, because a process starts before it joins.
_EARLY_MS = 1000
# The period ends this long after the last action and the expiry of sessions, because members rejoin
# within this time.
_SETTLE_MS = 20_000
# Processes whose restarts end within this time start together.
_TOGETHER_START_MS = 2000
_TOGETHER_MS = 60_000
# Default of group.consumer.session.timeout.ms.
_CONSUMER_SESSION_MS = 45_000


# Above this number of processes, simulating their deployment one process at a time takes too long.
MANY = 64


class Strategy(StrEnum):
    ONE_BY_ONE = "one_by_one"
    BATCHES = "batches"
    SURGE = "surge"
    RECREATE = "recreate"


class Deployment(NamedTuple):
    strategy: Strategy
    pace_ms: int
    batch: int


class RestartTime(NamedTuple):
    """From the stop of a process to its next join, in ms; ``restarts`` say how many were observed;
    ``is_assumed`` means that none was observed, and the user gave no time.
    """

    usual_ms: int
    least_ms: int
    most_ms: int
    restarts: int = 0
    is_assumed: bool = False

    def drawn_ms(self, seed: int, process: str) -> int:
        if seed == 1:
            return self.usual_ms
        return between(self.least_ms, self.most_ms, key_of(seed, process, "restart"))


# Assumed restart time if no restart was observed.
_ASSUMED_RESTART = RestartTime(10_000, 10_000, 10_000, is_assumed=True)


class PlannedDeployment(NamedTuple):
    """``outcomes`` has one per seed; ``lasts_ms`` is from the first action to the last one."""

    deployment: Deployment
    change: SettingsChange
    lasts_ms: int
    outcomes: Sequence[Figures]

    @property
    def median(self) -> Figures:
        return median_of(self.outcomes)

    @property
    def minimum(self) -> Figures:
        return minimum_of(self.outcomes)

    @property
    def maximum(self) -> Figures:
        return maximum_of(self.outcomes)


# -- what the evidence shows -----------------------------------------------------------------------


def running(baseline: Baseline) -> tuple[ConsumerProcess, ...]:
    """Processes at the end of the evidence; of a group that is shut down, its last processes."""
    last = {process: process.lives[-1].ended for process in baseline.processes}
    running = [process for process, ended in last.items() if ended is None]
    if running:
        return tuple(running)
    ends_ms = {process: ended.at_ms for process, ended in last.items() if ended is not None}
    limit_ms = max(ends_ms.values()) - _TOGETHER_MS
    return tuple(process for process, ended_ms in ends_ms.items() if ended_ms >= limit_ms)


def present_protocol(baseline: Baseline) -> str:
    """The group's protocol; of a converted group, the protocol of its last members."""
    last = running(baseline)[-1].lives[-1].member_ids[0]
    return baseline.protocols.get(last, baseline.group_protocol)


def last_owned(
    baseline: Baseline, processes: Sequence[ConsumerProcess]
) -> dict[str, tuple[TopicPartition, ...]]:
    """By process: its partitions in the last record that has all these processes; else empty."""
    names = {each.lives[-1].member_ids[-1]: each.name for each in processes}
    for explained in reversed(baseline.explained.incarnations):
        for record in reversed(explained.incarnation.records):
            if names.keys() <= {member.member_id for member in record.members}:
                owned: dict[str, list[TopicPartition]] = {name: [] for name in names.values()}
                for member_id, partition in record.assigned:
                    if member_id in names:
                        owned[names[member_id]].append(partition)
                return {name: tuple(partitions) for name, partitions in owned.items()}
    return {}


class Restart(NamedTuple):
    ended_ms: int
    started_ms: int
    process: str

    @property
    def away_ms(self) -> int:
        return self.started_ms - self.ended_ms


def restarts(baseline: Baseline) -> list[Restart]:
    """Processes that stopped and were back within a minute, in order of time.  A static member that
    is closed does not leave, so its restart looks like a kill with a quick return.
    """
    return sorted(
        Restart(life.ended.at_ms, following.started.at_ms, process.name)
        for process in baseline.processes
        for life, following in pairwise(process.lives)
        if life.ended is not None
        and (process.instance_id is not None or not life.killed)
        and 0 < following.started.at_ms - life.ended.at_ms <= RESTART_MS
    )


def restart_time(observed: Sequence[Restart], given_ms: int | None) -> RestartTime:
    """The given time; else the observed times without the fastest and slowest tenth; else the
    assumed time.
    """
    if given_ms is not None:
        return RestartTime(given_ms, given_ms, given_ms)
    times_ms = sorted(each.away_ms for each in observed)
    if not times_ms:
        return _ASSUMED_RESTART
    tenth = len(times_ms) // 10
    return RestartTime(
        times_ms[len(times_ms) // 2], times_ms[tenth], times_ms[-1 - tenth], len(times_ms)
    )


def _together(restart: Restart, observed: Sequence[Restart]) -> int:
    """How many processes started together, the restarted process included."""
    offs_ms = [abs(each.started_ms - restart.started_ms) for each in observed]
    return sum(off_ms <= _TOGETHER_START_MS for off_ms in offs_ms)


def _like(observed: Sequence[Restart], batch: int) -> Sequence[Restart]:
    """The restarts with about as many processes that started together as a batch has: processes
    that start at the same time on the same machines delay each other.
    """
    apart = {each: abs(batch - _together(each, observed)) for each in observed}
    return [each for each in observed if apart[each] == min(apart.values())]


def last_deployment(observed: Sequence[Restart], processes: int) -> tuple[Restart, ...]:
    """The last series of restarts in which all ``processes`` restarted once; else empty."""
    series: list[Restart] = []
    deployment: tuple[Restart, ...] = ()
    for each in observed:
        is_later = series and each.ended_ms - series[-1].started_ms > DEPLOY_GAP_MS
        if is_later or each.process in {other.process for other in series}:
            series = []
        series.append(each)
        if len(series) == processes:
            deployment = tuple(series)
    return deployment


# -- kinds of deployments --------------------------------------------------------------------------


def deployments(count: int, restart_ms: int, heartbeat_ms: int) -> Iterator[Deployment]:
    """Ways to deploy ``count`` processes.

    Paces: the next process stops when the previous process is back, after the rebalance of its
    return, or half a minute after it is back.  Of many processes a tenth is the smallest batch.
    """
    paces_ms = [
        _seconds(restart_ms),
        _seconds(restart_ms + 2 * heartbeat_ms),
        _seconds(restart_ms + 30_000),
    ]
    least = 1 if count <= MANY else count // 10
    if least == 1:
        for pace_ms in paces_ms if count > 1 else paces_ms[:1]:
            yield Deployment(Strategy.ONE_BY_ONE, pace_ms, 1)
    for batch in sorted({max(least, 2), (count + 1) // 2}):
        if 1 < batch < count:
            yield Deployment(Strategy.BATCHES, paces_ms[1], batch)
    for batch in sorted({least, count}):
        yield Deployment(Strategy.SURGE, paces_ms[1], batch)
    if count > 1:
        yield Deployment(Strategy.RECREATE, 0, count)


def _seconds(ms: int) -> int:
    return -(-ms // 1000) * 1000


class Scale(NamedTuple):
    """Numbers of processes."""

    before: int
    after: int


def ways_to_scale(scale: Scale, heartbeat_ms: int) -> Iterator[Deployment]:
    """All processes at once, half of them at a time, or one by one: each after the rebalance of the
    previous process, or after half a minute.  Of many processes a tenth is the smallest batch.
    """
    count = abs(scale.after - scale.before)
    paces_ms = [_seconds(3 * heartbeat_ms), 30_000]
    least = 1 if count <= MANY else count // 10
    strategy = Strategy.ONE_BY_ONE if least == 1 else Strategy.BATCHES
    for pace_ms in paces_ms if count > 1 else paces_ms[:1]:
        yield Deployment(strategy, pace_ms, least)
    if count > 2:
        yield Deployment(Strategy.BATCHES, paces_ms[1], (count + 1) // 2)
    if count > 1:
        yield Deployment(Strategy.BATCHES, 0, count)


def _batches(slots: Sequence[_Slot], size: int) -> Iterator[Sequence[_Slot]]:
    for first in range(0, len(slots), size):
        yield slots[first : first + size]


# -- predictions -----------------------------------------------------------------------------------


class _Slot(NamedTuple):
    """A process of the deployed group, with the settings of ``like``."""

    name: str
    like: ConsumerProcess


class DeployedGroup(NamedTuple):
    """The processes of a group, as they are deployed."""

    baseline: Baseline
    slots: tuple[_Slot, ...]
    restarts: Sequence[Restart]
    given_ms: int | None

    @classmethod
    def of(
        cls,
        baseline: Baseline,
        count: int | None,
        restarts: Sequence[Restart],
        given_ms: int | None = None,
    ) -> DeployedGroup:
        """``count``: of processes; None: as many as run at the end of the evidence.  ``restarts``:
        observed; ``given_ms`` is the restart time that the user gave.
        """
        own = sorted(running(baseline), key=lambda process: process.name)
        slots = []
        for number in range(len(own) if count is None else count):
            like = own[number % len(own)]
            name = like.name if number < len(own) else f"{like.name}-{number + 1}"
            slots.append(_Slot(name, like))
        return cls(baseline, tuple(slots), restarts, given_ms)

    @property
    def restart(self) -> RestartTime:
        return restart_time(self.restarts, self.given_ms)

    def plan(self, deployment: Deployment, change: SettingsChange, seeds: int) -> PlannedDeployment:
        """Every process is replaced."""
        return self._played(deployment, change, seeds, lambda deployed: deployed.deploy(deployment))

    def scale(self, scale: Scale, deployment: Deployment, seeds: int) -> PlannedDeployment:
        """Processes start or stop. The group has slots for the larger number of processes."""
        return self._played(
            deployment, UNCHANGED, seeds, lambda deployed: deployed.scale(scale, deployment)
        )

    def _played(
        self,
        deployment: Deployment,
        change: SettingsChange,
        seeds: int,
        act: Callable[[_Deployed], None],
    ) -> PlannedDeployment:
        outcomes, lasts_ms = list[Figures](), 0
        restart = restart_time(_like(self.restarts, deployment.batch), self.given_ms)
        for seed in range(1, seeds + 1):
            phase_ms = self.baseline.heartbeat_ms * (seed - 1) // seeds
            deployed = _Deployed(self, restart, phase_ms, seed, _is_static(self.baseline, change))
            act(deployed)
            lasts_ms = max(lasts_ms, deployed.lasts_ms)
            outcomes.append(figures_of(deployed.baseline(change), change, seed))
        return PlannedDeployment(deployment, change, lasts_ms, outcomes)


def _is_static(baseline: Baseline, change: SettingsChange) -> bool:
    if change.membership is not None:
        return change.membership == "static"
    return all(process.instance_id is not None for process in baseline.processes)


class _Deployed:
    """Collects the process lives of a deployment, which begins ``phase_ms`` after the time 0.

    Members of a group that rebalances send their heartbeats together.  A restarted static member
    joins without a rebalance, so its heartbeats have a phase of their own.
    """

    def __init__(
        self,
        group: DeployedGroup,
        restart: RestartTime,
        phase_ms: int,
        seed: int,
        is_static: bool,
    ) -> None:
        self._group, self._restart_time, self._seed = group, restart, seed
        self._is_static = is_static
        self._from_ms = group.baseline.to_ms + _LATER_MS
        self._phase_ms = phase_ms
        self._processes: list[ConsumerProcess] = []
        self._likes: dict[str, str] = {}
        self._protocols: dict[str, str] = {}
        self._until_ms = phase_ms

    @property
    def lasts_ms(self) -> int:
        return self._until_ms - self._phase_ms

    def deploy(self, deployment: Deployment) -> None:
        begin_ms = self._phase_ms
        for batch in _batches(self._group.slots, deployment.batch):
            pace_ms = self._pace_ms(deployment.pace_ms, batch[0].name)
            if deployment.strategy is Strategy.SURGE:
                begin_ms = self._surge(batch, begin_ms, pace_ms)
            else:
                begin_ms = max(begin_ms + pace_ms, self._restart(batch, begin_ms) + _READY_MS)

    def scale(self, scale: Scale, deployment: Deployment) -> None:
        """The last processes start, or stop, in batches."""
        slots, begin_ms = self._group.slots, self._phase_ms
        lasting, changed = slots[: min(scale)], slots[min(scale) : max(scale)]
        for slot in lasting:
            self._add(slot, slot.name, [(None, None)])
        is_out = scale.after > scale.before
        apart_ms = _STARTS_APART_MS if is_out else _STOPS_APART_MS
        for batch in _batches(changed if is_out else changed[::-1], deployment.batch):
            for number, slot in enumerate(batch):
                at_ms = begin_ms + apart_ms * number
                self._add(slot, slot.name, [(at_ms, None) if is_out else (None, at_ms)])
            begin_ms += self._pace_ms(deployment.pace_ms, batch[0].name)

    def _pace_ms(self, pace_ms: int, process: str) -> int:
        """The pace varies by up to half a heartbeat interval."""
        if pace_ms <= self._restart_time.usual_ms:
            return pace_ms  # The next process does not wait for this process.
        half_ms = self._group.baseline.heartbeat_ms // 2
        return pace_ms + between(-half_ms, half_ms, key_of(self._seed, process, "pace"))

    def _surge(self, batch: Sequence[_Slot], begin_ms: int, pace_ms: int) -> int:
        """The time at which the old processes stop."""
        stop_ms = begin_ms + pace_ms
        for number, slot in enumerate(batch):
            self._add(slot, f"{slot.name}-new", [(begin_ms + _STARTS_APART_MS * number, None)])
            self._add(slot, slot.name, [(None, stop_ms + _STARTS_APART_MS * number)])
        return stop_ms

    def _restart(self, batch: Sequence[_Slot], begin_ms: int) -> int:
        """The time at which the last process is back."""
        backs_ms = []
        for number, slot in enumerate(batch):
            stop_ms = begin_ms + _STOPS_APART_MS * number
            back_ms = stop_ms + self._restart_time.drawn_ms(self._seed, slot.name)
            self._add(slot, slot.name, [(None, stop_ms), (back_ms, None)])
            backs_ms.append(back_ms)
        return max(backs_ms)

    def _add(self, slot: _Slot, name: str, lives: Sequence[tuple[int | None, int | None]]) -> None:
        """A process that starts and ends at these times; None: before and after the deployment."""
        like = slot.like
        (first_ms, first_end_ms), *others = lives
        if self._is_static and first_ms is None:
            within_ms = self._group.baseline.heartbeat_ms
            joined_ms = between(0, within_ms, key_of(self._seed, name, "joined")) - _JOINED_MS
            lives = [(None, joined_ms - _SWITCH_MS), (joined_ms, first_end_ms), *others]
        is_same = name == like.name
        instance_id = like.instance_id if is_same or like.instance_id is None else name
        self._likes[name] = like.name
        self._processes.append(
            ConsumerProcess(
                name,
                instance_id,
                tuple(
                    self._life(like.lives[-1], name, number, *life)
                    for number, life in enumerate(lives)
                ),
            )
        )
        actions_ms = [at_ms for life in lives for at_ms in life if at_ms is not None]
        self._until_ms = max([self._until_ms, *actions_ms])

    def _life(
        self, like: ProcessLife, name: str, number: int, start_ms: int | None, end_ms: int | None
    ) -> ProcessLife:
        started_ms = self._from_ms + (start_ms or 0)
        member_id, protocols = f"{name}/{number}", self._group.baseline.protocols
        if protocols:
            self._protocols[member_id] = protocols[like.member_ids[0]]
        return replace(
            like,
            client_id=name,
            member_ids=(member_id,),
            started=TimeEstimate.exactly(started_ms),
            predates_evidence=start_ms is None,
            ended=None if end_ms is None else TimeEstimate.exactly(self._from_ms + end_ms),
            killed=False,
            slow_polls=(),
            freezes=(),
            frozen_until=None,
        )

    def baseline(self, change: SettingsChange) -> Baseline:
        own, likes = self._group.baseline, self._likes
        sessions_ms = [each.lives[-1].member.session_timeout_ms for each in self._processes]
        settle_ms = max(*sessions_ms, change.session_timeout_ms or 0, _CONSUMER_SESSION_MS)
        return replace(
            own,
            processes=tuple(self._processes),
            owned=last_owned(own, [slot.like for slot in self._group.slots]),
            libraries={name: own.libraries[like] for name, like in likes.items()},
            subscriptions={name: own.subscriptions[like] for name, like in likes.items()},
            protocols=self._protocols,
            from_ms=self._from_ms - _EARLY_MS,
            to_ms=self._from_ms + self._until_ms + settle_ms + _SETTLE_MS,
            idle=(),
        )
