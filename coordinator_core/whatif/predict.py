"""Simulate a baseline's process lives under changed settings, and compute the figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from coordinator_core.client import LIBRARIES
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.lives import ConsumerProcess, ProcessLife, TimeEstimate
from coordinator_core.simulation import SimulatedCluster, TruthLine
from coordinator_core.simulation.plans import Action, ActionKind, ProcessSpec
from coordinator_core.simulation.random_draws import between, fraction, key_of
from coordinator_core.simulation.spec import ClusterSpec, Fleet, GroupSpec, Network, Script, Topic
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.figures import Figures, Prediction
from coordinator_core.whatif.ownership import owned_within
from coordinator_core.whatif.settings import ORDINAL, PROCESS, SettingsChange

SEEDS = 5
# From the start of a consumer to its first JoinGroup: it first requests metadata and coordinator.
_START_TO_JOIN_MS = 30
# From the end of a freeze to the JoinGroup with a new member id.
_THAW_TO_JOIN_MS = 6
# Processes that run at the start of the evaluated period are started this long before it.
_WARM_UP_MS = 60_000
# Heartbeats of real clients are later than their interval, because threads wake up late.  The first
# seed uses the usual delay, the others draw one, from an idle to a busy machine (measured): delays
# add up between rebalances.  librdkafka's main thread has six timers between two heartbeats.
_HEARTBEAT_DELAY_MS, _HEARTBEAT_DELAYS_MS = 4, (2, 10)
_TIMERS_PER_HEARTBEAT = 6
# Sessions that expire this close to each other expired together.
_TOGETHER_MS = 500
_COMMIT_INTERVAL_MS = 5000  # the default of auto.commit.interval.ms


def predict(baseline: Baseline, change: SettingsChange, *, seeds: int = SEEDS) -> Prediction:
    """Simulate once per seed.  The first uses the most likely time of each start and end; the
    others draw a time from its interval.
    """
    (prediction,) = predict_each(baseline, [change], seeds=seeds)
    return prediction


def predict_each(
    baseline: Baseline, changes: Iterable[SettingsChange], *, seeds: int = SEEDS
) -> list[Prediction]:
    """``predict`` each.  Changes with the same result are simulated once: those that result in the
    same settings, and longer sessions than those of which none expired.
    """
    tried = [(change, _settings(baseline, change)) for change in changes]
    simulated: dict[object, list[_Simulated]] = {}
    outcomes: dict[_Settings, list[Figures]] = {}
    for change, settings in sorted(tried, key=lambda each: each[1].sessions_ms):
        of_others = simulated.setdefault(settings.others, [])
        same = next((each for each in of_others if each.covers(settings.sessions_ms)), None)
        if same is None:
            same = _simulated(baseline, change, settings, seeds)
            of_others.append(same)
        outcomes[settings] = same.outcomes
    return [Prediction(change, outcomes[settings]) for change, settings in tried]


class _Settings(NamedTuple):
    """All that a simulation depends on.  ``sessions_ms``: session.timeout.ms by process."""

    sessions_ms: tuple[int, ...]
    others: tuple[object, ...]


class _Simulated(NamedTuple):
    """``outcomes``: one per seed; ``depends``: whether longer sessions may change them."""

    sessions_ms: tuple[int, ...]
    outcomes: list[Figures]
    depends: bool

    def covers(self, sessions_ms: tuple[int, ...]) -> bool:
        """Whether sessions of these lengths, with equal other settings, have the same outcomes."""
        if self.sessions_ms == sessions_ms:
            return True
        pairs = zip(self.sessions_ms, sessions_ms, strict=True)
        return not self.depends and all(own_ms <= other_ms for own_ms, other_ms in pairs)


def _settings(baseline: Baseline, change: SettingsChange) -> _Settings:
    era, config = _config(baseline, change)
    ids = tuple(_instance_id(process, name, change) for name, process in _named(baseline))
    groups = _groups(baseline, change).values()
    return _Settings(
        tuple([group.session_timeout_ms or 0 for group in groups]),
        (era, config, ids, *(_without_session(group, config) for group in groups)),
    )


def _without_session(group: GroupSpec, config: CoordinatorConfig) -> GroupSpec:
    """The settings other than the session's length; with it, where it has further effects: before
    KIP-62 it was the rebalance timeout, too, and brokers refuse sessions outside of their limits.
    """
    session_ms = group.session_timeout_ms or 0
    accepted = (
        config.group_min_session_timeout_ms <= session_ms <= config.group_max_session_timeout_ms
    )
    if not accepted or not LIBRARIES[group.client].has_heartbeat_thread:
        return group
    return replace(group, session_timeout_ms=None)


def _simulated(
    baseline: Baseline, change: SettingsChange, settings: _Settings, seeds: int
) -> _Simulated:
    outcomes, depends = [], False
    for seed in range(1, seeds + 1):
        start_ms = baseline.from_ms - _lead_ms(baseline)
        fleet = fleet_of(baseline, change, start_ms, seed)
        cluster = SimulatedCluster(
            fleet, start_ms, seed, traces=False, log_lines=False, commits=False
        )
        outcomes.append(_figures(baseline, cluster))
        depends = depends or _depends_on_sessions(cluster)
    return _Simulated(settings.sessions_ms, outcomes, depends)


def _figures(baseline: Baseline, cluster: SimulatedCluster) -> Figures:
    """Of the simulation, which this runs."""
    counter = _FigureCounter(baseline)
    for output in cluster.run():
        if type(output) is TruthLine:
            counter.take(output.truth)
    return counter.figures()


def _depends_on_sessions(cluster: SimulatedCluster) -> bool:
    """Whether a session expired, at the coordinator or at a client.  A client that was not frozen
    gets its responses in time, unless the coordinator's session of a member expires first.
    """
    return any(
        group.has_expired or any(action.kind is ActionKind.FREEZE for action in group.actions)
        for group in cluster.groups.values()
    )


def _lead_ms(baseline: Baseline) -> int:
    runs_before = any(
        life.predates_evidence or life.started.at_ms < baseline.from_ms
        for process in baseline.processes
        for life in process.lives
    )
    return _WARM_UP_MS if runs_before else 2 * _START_TO_JOIN_MS


# -- the simulated fleet ---------------------------------------------------------------------------


def fleet_of(baseline: Baseline, change: SettingsChange, start_ms: int, seed: int) -> Fleet:
    """The group alone on a broker of its era."""
    era, config = _config(baseline, change)
    return Fleet(
        "what-if",
        "",
        baseline.to_ms - start_ms + 1,
        seed,
        ClusterSpec(era, 1, config, (1, 3), 0, 500, 100 << 20),
        Network(1, 2),
        tuple([_relative_to(topic, start_ms) for topic in baseline.topics]),
        (_group(baseline, change, start_ms, seed),),
        (),
    )


def _relative_to(topic: Topic, start_ms: int) -> Topic:
    """The topic with its growth in ms since the start; earlier growth is applied."""
    steps = [(at_ms - start_ms, count) for at_ms, count in topic.grows]
    return replace(
        topic,
        partitions=max([topic.partitions, *(count for at_ms, count in steps if at_ms <= 0)]),
        grows=tuple([step for step in steps if step[0] > 0]),
    )


def _config(baseline: Baseline, change: SettingsChange) -> tuple[str, CoordinatorConfig]:
    """The broker's era and settings."""
    delay_ms = change.initial_rebalance_delay_ms
    if delay_ms is None:
        delay_ms = baseline.explained.delay.delay_ms
    config = CoordinatorConfig(
        offsets_topic_partitions=1, group_initial_rebalance_delay_ms=delay_ms
    )
    return change.era or baseline.explained.era.name, config


def _group(baseline: Baseline, change: SettingsChange, start_ms: int, seed: int) -> GroupSpec:
    delay_ms = _HEARTBEAT_DELAY_MS
    if seed > 1:
        delay_ms = between(*_HEARTBEAT_DELAYS_MS, key_of(seed, baseline.group_id))
    by_process = _groups(baseline, change, delay_ms)
    script = _script(baseline, change, start_ms, seed)
    own = {name: by_process[process.name] for name, process in _named(baseline)}
    return replace(next(iter(own.values())), script=replace(script, own=own))


def _named(baseline: Baseline) -> Iterable[tuple[str, ConsumerProcess]]:
    """The names of each process; a process that was replaced under a new name has several."""
    names = baseline.clients()
    for process in baseline.processes:
        for name in dict.fromkeys(names[life.member_ids[0]] for life in process.lives):
            yield name, process


def _instance_id(process: ConsumerProcess, name: str, change: SettingsChange) -> str:
    """The group.instance.id of the process under this name, if it is a static member."""
    if process.instance_id is not None:
        return process.instance_id
    return process.name if change.instance_ids == ORDINAL else name


def instance_ids_of(baseline: Baseline, change: SettingsChange) -> str | None:
    """Where the prediction takes instance ids from, ``process`` or ``ordinal``; None if it assumes
    none: the change does not set static membership, or all members are static already.
    """
    if change.membership != "static" or all(p.instance_id for p in baseline.processes):
        return None
    return change.instance_ids or PROCESS


def other_instance_ids(baseline: Baseline, change: SettingsChange) -> SettingsChange | None:
    """The same change with the other source of instance ids, if the prediction depends on it: a
    process was replaced under a new name.
    """
    source = instance_ids_of(baseline, change)
    named = list(_named(baseline))
    lasts = all(process.instance_id or name == process.name for name, process in named)
    if source is None or (lasts and len(named) == len(baseline.processes)):
        return None
    return replace(change, instance_ids=ORDINAL if source == PROCESS else PROCESS)


def with_both_instance_ids(
    baseline: Baseline, changes: Iterable[SettingsChange]
) -> Iterable[SettingsChange]:
    """The changes; where the source of instance ids matters, one with each source."""
    for change in changes:
        other = other_instance_ids(baseline, change)
        if other is None:
            yield change
        else:
            yield replace(change, instance_ids=instance_ids_of(baseline, change))
            yield other


def _groups(
    baseline: Baseline, change: SettingsChange, delay_ms: int = _HEARTBEAT_DELAY_MS
) -> dict[str, GroupSpec]:
    """By process: the group with the process' own settings."""
    return {p.name: _group_of(baseline, change, p, delay_ms) for p in baseline.processes}


def _group_of(
    baseline: Baseline, change: SettingsChange, process: ConsumerProcess, delay_ms: int
) -> GroupSpec:
    member = process.lives[-1].member
    static = process.instance_id is not None
    if change.membership is not None:
        static = change.membership == "static"
    poll_ms = member.rebalance_timeout_ms
    library = baseline.libraries[process.name]
    has_timers = LIBRARIES[library].is_librdkafka
    return GroupSpec(
        baseline.group_id,
        baseline.subscriptions[process.name],
        0,
        library,
        change.assignors or baseline.assignors or None,
        static,
        change.session_timeout_ms or member.session_timeout_ms,
        baseline.heartbeat_ms + (0 if has_timers else delay_ms),
        change.rebalance_timeout_ms or (poll_ms if poll_ms > 0 else member.session_timeout_ms),
        _COMMIT_INTERVAL_MS,
        baseline.metadata_max_age_ms,
        0,
        None,
        (),
        timer_delay_us=1000 * delay_ms // _TIMERS_PER_HEARTBEAT if has_timers else 0,
    )


def _script(baseline: Baseline, change: SettingsChange, start_ms: int, seed: int) -> Script:
    specs: dict[str, ProcessSpec] = {}
    hosts: dict[str, str] = {}
    actions: list[Action] = []
    names = baseline.clients()
    expiries = _expiries_together(baseline)
    for process in baseline.processes:
        for number, life in enumerate(process.lives):
            name = names[life.member_ids[0]]
            specs.setdefault(name, ProcessSpec(name, _instance_id(process, name, change)))
            hosts[name] = life.client_host
            times = _DrawnTimes(seed, process.name, number, expiries.get(life.member_ids[-1]))
            actions += _actions(life, name, start_ms, baseline.to_ms, times)
    in_time = sorted(actions, key=lambda action: action.at_ms)
    first = {action.process: action.at_ms for action in reversed(in_time)}
    in_order = sorted(specs.values(), key=lambda spec: first.get(spec.name, 0))
    return Script(tuple(in_order), tuple(in_time), {}, hosts)


def _expiries_together(baseline: Baseline) -> dict[str, int]:
    """By the last member id of a killed process life: the time, in ms, of the first of the sessions
    that expired together with its own.  One cause killed or froze these processes, at one time:
    times drawn one by one would lengthen the rebalances, which wait for the last expiry.
    """
    killed = sorted(
        (life.ended.latest_ms, life.member_ids[-1])
        for process in baseline.processes
        for life in process.lives
        if life.killed and life.ended is not None
    )
    together: list[list[tuple[int, str]]] = []
    for each in killed:
        if not together or each[0] - together[-1][-1][0] > _TOGETHER_MS:
            together.append([])
        together[-1].append(each)
    return {
        member_id: several[0][0]
        for several in together
        if len(several) > 1
        for _, member_id in several
    }


class _DrawnTimes:
    """Times of one process life, for one seed.  ``together_ms``: equal for processes that ended at
    one unknown time; None: the process ended alone.
    """

    def __init__(self, seed: int, process: str, life: int, together_ms: int | None) -> None:
        self._seed, self._key = seed, key_of(seed, process, life)
        self._together_ms = together_ms

    def at_ms(self, time: TimeEstimate, place: int) -> int:
        if self._seed == 1:
            return time.at_ms
        return between(time.earliest_ms, max(time.latest_ms, time.earliest_ms), self._key, place)

    def end_ms(self, time: TimeEstimate) -> int:
        if self._seed == 1 or self._together_ms is None:
            return self.at_ms(time, 2)
        part = fraction(key_of(self._seed, "end", self._together_ms))
        return time.earliest_ms + int(part * max(time.latest_ms - time.earliest_ms, 0))

    def within(self, length_ms: int, place: int) -> int:
        return between(0, length_ms, self._key, place)

    @property
    def is_frozen(self) -> bool:
        """Whether a process that may have been frozen was; in every third seed it was killed."""
        return self._seed % 3 != 0


def _actions(
    life: ProcessLife, name: str, start_ms: int, to_ms: int, times: _DrawnTimes
) -> Iterable[Action]:
    """Actions of one process life, in ms since the start."""
    began_ms = times.at_ms(life.started, 0) - _START_TO_JOIN_MS - start_ms
    if life.predates_evidence or began_ms < 0:
        began_ms = times.within(_WARM_UP_MS // 20, 1)
    ended_ms = None if life.ended is None else times.end_ms(life.ended) - start_ms
    if ended_ms is not None and ended_ms <= began_ms:
        if ended_ms < 0:
            return
        ended_ms = began_ms + 1
    yield Action(began_ms, ActionKind.START, name)
    for place, slow_poll in enumerate(life.slow_polls):
        slow_ms = max(times.at_ms(slow_poll.began, 3 + place) - start_ms, began_ms + 1)
        back_ms = (
            to_ms if slow_poll.to is None else slow_poll.to.at_ms - _START_TO_JOIN_MS
        ) - start_ms
        if back_ms > slow_ms:
            yield Action(slow_ms, ActionKind.SLOW, name, back_ms - slow_ms)
    if ended_ms is None:
        return
    if life.frozen_until is not None and times.is_frozen:
        # The start of the next life is then ignored.
        thawed_ms = life.frozen_until.at_ms - _THAW_TO_JOIN_MS - start_ms
        yield Action(ended_ms, ActionKind.FREEZE, name, max(thawed_ms - ended_ms, 0))
    else:
        yield Action(ended_ms, ActionKind.KILL if life.killed else ActionKind.STOP, name)


# -- figures of the simulation ---------------------------------------------------------------------


class _FigureCounter:
    """Computes the figures within the evaluated period from the simulation's ground truth."""

    def __init__(self, baseline: Baseline) -> None:
        self._from_ms, self._to_ms = baseline.from_ms, baseline.to_ms
        self._owned = owned_within(baseline.from_ms, baseline.to_ms, baseline.idle)
        self._owners: dict[tuple[str, int], str] = {}
        self._rebalances = self._not_stable_ms = self._moved = 0

    def take(self, truth: Mapping[str, Any]) -> None:
        kind = truth["truth"]
        if kind == "callback":
            change = (
                self._owned.assigned if truth["callback"] == "assigned" else self._owned.revoked
            )
            for topic, number in truth["partitions"]:
                change(truth["process"], (topic, number), truth["at_ms"])
        elif kind == "end":
            self._owned.process_ended(truth["process"], truth["at_ms"])
        elif kind == "generation":
            self._generation(truth)

    def _generation(self, truth: Mapping[str, Any]) -> None:
        is_stable = truth["outcome"] == "stable"
        ended_ms = truth["assigned_ms"] if is_stable else truth["ended_ms"]
        if truth["outcome"] == "empty":
            ended_ms = truth["joined_ms"]
        if truth["preparing_ms"] is not None:
            until_ms = self._to_ms if ended_ms is None else ended_ms
            self._not_stable_ms += max(
                min(until_ms, self._to_ms) - max(truth["preparing_ms"], self._from_ms), 0
            )
        if not is_stable:
            return
        counts = self._from_ms <= truth["assigned_ms"] <= self._to_ms
        self._rebalances += counts
        clients = {member["member_id"]: member["client_id"] for member in truth["members"]}
        for member_id, partitions in truth["assignment"].items():
            for topic, number in partitions:
                owner = clients[member_id]
                moved = self._owners.get((topic, number), owner) != owner
                self._moved += counts and moved
                self._owners[topic, number] = owner

    def figures(self) -> Figures:
        self._owned.close(self._to_ms)
        return Figures(self._rebalances, self._not_stable_ms, self._moved, self._owned.unowned_ms)
