"""A scene's processes played under other settings, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from coordinator_core.coordinator.era import Config
from coordinator_core.lives import ConsumerProcess, ProcessLife, TimeEstimate
from coordinator_core.simulation import Told, simulate
from coordinator_core.simulation.plans import Act, Action, ProcessSpec
from coordinator_core.simulation.random_draws import between, key_of
from coordinator_core.simulation.spec import Cluster, Fleet, GroupSpec, Network, Script, Topic
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.figures import Figures, Prediction
from coordinator_core.whatif.ownership import owned_within
from coordinator_core.whatif.settings import SettingsChange

SEEDS = 5
# A consumer is up so long before the coordinator hears of it: it asks for metadata and for the
# coordinator first.
_UP_BEFORE_MS = 30
# Whoever was there before is started so long before the span that is judged begins.
_WARM_UP_MS = 60_000
# Heartbeats of real clients come so much later than their interval says: threads wake up late.
# The first seed has the usual; after a long calm nobody knows how far that has added up.
_WAKES_LATE_MS, _WAKES_LATER_MS = 14, (10, 18)
# How often commits are played: what is committed makes no difference, that there is a commit before
# partitions are given up does.
_COMMITS_EVERY_MS = 300_000


def predict(baseline: Baseline, change: SettingsChange, *, seeds: int = SEEDS) -> Prediction:
    """One play a seed.  The first takes each moment as it is most likely, the others draw it from
    the interval that it lay in.
    """
    return Prediction(change, [_play(baseline, change, seed) for seed in range(1, seeds + 1)])


def predict_each(
    baseline: Baseline, changes: Iterable[SettingsChange], *, seeds: int = SEEDS
) -> list[Prediction]:
    """``predict`` of each; those that change nothing for this group are played once."""
    played: dict[object, Prediction] = {}
    found = []
    for change in changes:
        what = _config(baseline, change), *_own(baseline, change, baseline.heartbeat_ms).values()
        if what not in played:
            played[what] = predict(baseline, change, seeds=seeds)
        found.append(played[what]._replace(change=change))
    return found


def _play(baseline: Baseline, change: SettingsChange, seed: int) -> Figures:
    start_ms = baseline.from_ms - _lead_ms(baseline)
    fleet = fleet_of(baseline, change, start_ms, seed)
    judge = _Judge(baseline)
    for output in simulate(fleet, start_ms, seed=seed, traces=False):
        if type(output) is Told:
            judge.take(output.truth)
    return judge.outcome()


def _lead_ms(baseline: Baseline) -> int:
    predates_evidence = any(
        life.predates_evidence or life.started.at_ms < baseline.from_ms
        for process in baseline.processes
        for life in process.lives
    )
    return _WARM_UP_MS if predates_evidence else 2 * _UP_BEFORE_MS


# -- what is played --------------------------------------------------------------------------------


def fleet_of(baseline: Baseline, change: SettingsChange, start_ms: int, seed: int) -> Fleet:
    """The group alone on a broker of its era."""
    era, config = _config(baseline, change)
    return Fleet(
        "what-if",
        "",
        baseline.to_ms - start_ms + 1,
        seed,
        Cluster(era, 1, config, (1, 3), 0, 500, 100 << 20),
        Network(1, 2),
        tuple([_since(topic, start_ms) for topic in baseline.topics]),
        (_group(baseline, change, start_ms, seed),),
        (),
    )


def _since(topic: Topic, start_ms: int) -> Topic:
    steps = [(at_ms - start_ms, count) for at_ms, count in topic.grows]
    return replace(
        topic,
        partitions=max([topic.partitions, *(count for at_ms, count in steps if at_ms <= 0)]),
        grows=tuple([step for step in steps if step[0] > 0]),
    )


def _config(baseline: Baseline, change: SettingsChange) -> tuple[str, Config]:
    """The broker's era and settings."""
    delay_ms = change.initial_rebalance_delay_ms
    if delay_ms is None:
        delay_ms = baseline.told.delay.delay_ms
    config = Config(offsets_topic_partitions=1, group_initial_rebalance_delay_ms=delay_ms)
    return change.era or baseline.told.era.name, config


def _group(baseline: Baseline, change: SettingsChange, start_ms: int, seed: int) -> GroupSpec:
    late_ms = _WAKES_LATE_MS
    if seed > 1:
        late_ms = between(*_WAKES_LATER_MS, key_of(seed, baseline.group_id))
    of_slot = _own(baseline, change, baseline.heartbeat_ms + late_ms)
    script = _script(baseline, change, start_ms, seed)
    own = {spec.name: of_slot[spec.instance_of] for spec in script.processes}
    return replace(next(iter(own.values())), script=replace(script, own=own))


def _own(baseline: Baseline, change: SettingsChange, heartbeat_ms: int) -> dict[str, GroupSpec]:
    return {p.name: _settings(baseline, change, p, heartbeat_ms) for p in baseline.processes}


def _settings(
    baseline: Baseline, change: SettingsChange, process: ConsumerProcess, heartbeat_ms: int
) -> GroupSpec:
    member = process.lives[-1].member
    static = process.instance_id is not None
    if change.membership is not None:
        static = change.membership == "static"
    poll_ms = member.rebalance_timeout_ms
    return GroupSpec(
        baseline.group_id,
        baseline.subscriptions[process.name],
        0,
        baseline.libraries[process.name],
        change.assignors or baseline.assignors or None,
        static,
        change.session_timeout_ms or member.session_timeout_ms,
        heartbeat_ms,
        change.rebalance_timeout_ms or (poll_ms if poll_ms > 0 else member.session_timeout_ms),
        _COMMITS_EVERY_MS,
        baseline.looks_ms,
        0,
        None,
        (),
    )


def _script(baseline: Baseline, change: SettingsChange, start_ms: int, seed: int) -> Script:
    specs: dict[str, ProcessSpec] = {}
    hosts: dict[str, str] = {}
    actions: list[Action] = []
    names = baseline.clients()
    for process in baseline.processes:
        for number, life in enumerate(process.lives):
            name = names[life.member_ids[0]]
            specs.setdefault(name, ProcessSpec(name, process.name))
            hosts[name] = life.client_host
            drawn = _Drawn(seed, process.name, number)
            actions += _actions(life, name, start_ms, baseline.to_ms, drawn)
    first = {action.process: action.at_ms for action in sorted(actions, reverse=True)}
    in_order = sorted(specs.values(), key=lambda spec: first.get(spec.name, 0))
    return Script(tuple(in_order), tuple(sorted(actions, key=lambda a: a.at_ms)), {}, hosts)


class _Drawn:
    """Moments of one life, for one seed."""

    def __init__(self, seed: int, process: str, life: int) -> None:
        self._seed, self._key = seed, key_of(seed, process, life)

    def at_ms(self, when: TimeEstimate, place: int) -> int:
        if self._seed == 1:
            return when.at_ms
        return between(when.earliest_ms, max(when.latest_ms, when.earliest_ms), self._key, place)

    def within(self, length_ms: int, place: int) -> int:
        return between(0, length_ms, self._key, place)


def _actions(
    life: ProcessLife, name: str, start_ms: int, to_ms: int, drawn: _Drawn
) -> Iterable[Action]:
    """Of one life, in ms since the start."""
    began_ms = drawn.at_ms(life.started, 0) - _UP_BEFORE_MS - start_ms
    if life.predates_evidence or began_ms < 0:
        began_ms = drawn.within(_WARM_UP_MS // 20, 1)
    ended_ms = None if life.ended is None else drawn.at_ms(life.ended, 2) - start_ms
    if ended_ms is not None and ended_ms <= began_ms:
        if ended_ms < 0:
            return
        ended_ms = began_ms + 1
    yield Action(began_ms, Act.START, name)
    for place, slow in enumerate(life.slow):
        slow_ms = max(drawn.at_ms(slow.began, 3 + place) - start_ms, began_ms + 1)
        back_ms = (to_ms if slow.to is None else slow.to.at_ms - _UP_BEFORE_MS) - start_ms
        if back_ms > slow_ms:
            yield Action(slow_ms, Act.SLOW, name, back_ms - slow_ms)
    if ended_ms is not None:
        yield Action(ended_ms, Act.KILL if life.killed else Act.STOP, name)


# -- what comes of it ------------------------------------------------------------------------------


class _Judge:
    """Counts within the scene's span."""

    def __init__(self, baseline: Baseline) -> None:
        self._from_ms, self._to_ms = baseline.from_ms, baseline.to_ms
        self._owned = owned_within(baseline.from_ms, baseline.to_ms, baseline.idle)
        self._last: dict[tuple[str, int], str] = {}
        self._rebalances = self._not_stable_ms = self._moved = 0

    def take(self, truth: Mapping[str, Any]) -> None:
        kind = truth["truth"]
        if kind == "callback":
            change = self._owned.gained if truth["callback"] == "assigned" else self._owned.let_go
            for topic, number in truth["partitions"]:
                change(truth["process"], (topic, number), truth["at_ms"])
        elif kind == "end":
            self._owned.gone(truth["process"], truth["at_ms"])
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
                moved = self._last.get((topic, number), owner) != owner
                self._moved += counts and moved
                self._last[topic, number] = owner

    def outcome(self) -> Figures:
        self._owned.close(self._to_ms)
        return Figures(self._rebalances, self._not_stable_ms, self._moved, self._owned.unowned_ms)
