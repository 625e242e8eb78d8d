"""Simulate a baseline's process lives under changed settings, and compute the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from types import MappingProxyType
from typing import NamedTuple

from coordinator_core.client import LIBRARIES, ClientLibrary
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.modern.settings import ModernSettings, modern_settings
from coordinator_core.lives import ConsumerProcess, ProcessLife, TimeEstimate
from coordinator_core.protocol.client_times import COMMIT_INTERVAL_MS
from coordinator_core.simulation import SimulatedCluster, TruthLine
from coordinator_core.simulation.plans import Action, ActionKind, ProcessSpec
from coordinator_core.simulation.played_lives import MeasureCounter, PlayedGroup
from coordinator_core.simulation.random_draws import between, fraction, key_of
from coordinator_core.simulation.spec import (
    ClusterSpec,
    Fleet,
    GroupSpec,
    Network,
    Script,
    Topic,
)
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.client_libraries import library_under
from coordinator_core.whatif.figures import (
    Figures,
    Outcomes,
    PredictedMigration,
    Prediction,
)
from coordinator_core.whatif.handovers import Consumption, HandoverCounter, PlayedHandovers
from coordinator_core.whatif.limits import becomes_classic
from coordinator_core.whatif.migration import (
    Migration,
    conversions_of,
    migrations_of,
    refusals_of,
    with_restarts,
)
from coordinator_core.whatif.ownership import owned_within
from coordinator_core.whatif.settings import (
    CLASSIC_SESSION_MS,
    CONSUMER_PROTOCOL,
    ORDINAL,
    PROCESS,
    RESTART_MS,
    SettingsChange,
)

SEEDS = 5
# Time from the start of a consumer to its first JoinGroup: the consumer first requests metadata and
# its coordinator.
_START_TO_JOIN_MS = 30
# Time from the end of a freeze to the JoinGroup with a new member id.
_THAW_TO_JOIN_MS = 6
# Processes that run at the start of the evaluated period start this long before it.
_WARM_UP_MS = 60_000
# Real heartbeats come later than their interval, because threads wake up late.  The first seed uses
# the usual delay; the other seeds draw a delay between those measured on an idle and on a busy
# machine. Delays add up between rebalances. librdkafka's main thread has six timers between two
# heartbeats.
_HEARTBEAT_DELAY_MS, _HEARTBEAT_DELAYS_MS = 4, (2, 10)
_TIMERS_PER_HEARTBEAT = 6
# Increase this number if the same simulation returns other figures (records reprocessed, pauses),
# because tables keep the outcomes of earlier versions.
_COSTS_VERSION = 4
_NO_OUTCOMES: Mapping[str, Outcomes] = MappingProxyType({})


def predict(baseline: Baseline, change: SettingsChange, *, seeds: int = SEEDS) -> Prediction:
    """Simulate once per seed.  The first uses the most likely time of each start and end; the
    others draw a time from its interval.
    """
    (prediction,) = predict_each(baseline, [change], seeds=seeds)
    return prediction


def predict_each(
    baseline: Baseline,
    changes: Iterable[SettingsChange],
    *,
    seeds: int = SEEDS,
    earlier: Mapping[str, Outcomes] = _NO_OUTCOMES,
) -> list[Prediction]:
    """``predict`` each.  Changes with the same result are simulated once: those that result in the
    same settings, and longer sessions than those of which none expired.  The commit interval
    changes the figures of a simulation, but not the simulation.

    ``earlier`` has outcomes of earlier simulations, by ``Prediction.simulation``: not simulated
    again.
    """
    tried = [(change, _settings(baseline, change)) for change in changes]
    simulated: dict[object, list[_Simulated]] = {}
    outcomes: dict[_Settings, _Simulated] = {}
    for change, settings in sorted(tried, key=lambda each: each[1].sessions_ms):
        of_others = simulated.setdefault(settings.others, [])
        alike = [each for each in of_others if each.covers(settings.sessions_ms)]
        same = next((each for each in alike if each.commit_ms == settings.commit_ms), None)
        if same is None:
            played = next((each for each in alike if each.spans), None)
            if played is not None:
                same = played.at(baseline, settings.commit_ms)
            else:
                same = _simulated(baseline, change, settings, seeds, earlier)
            of_others.append(same)
        outcomes[settings] = same
    return [outcomes[settings].prediction(baseline, change) for change, settings in tried]


def figures_of(baseline: Baseline, change: SettingsChange, seed: int) -> Figures:
    """The figures of one simulation."""
    start_ms = baseline.from_ms - _lead_ms(baseline)
    fleet = fleet_of(baseline, change, start_ms, seed)
    cluster = SimulatedCluster(fleet, start_ms, seed, traces=False, log_lines=False, commits=False)
    (played,) = _played(baseline, cluster, [(baseline.from_ms, baseline.to_ms)], seed)
    return played.figures(baseline.consumption, _commit_ms(baseline, change))


class _Settings(NamedTuple):
    """All that a prediction depends on.  ``sessions_ms`` has the session.timeout.ms by process;
    ``commit_ms`` is the commit interval; None: unknown.
    """

    sessions_ms: tuple[int, ...]
    commit_ms: int | None
    others: tuple[object, ...]


class _Played(NamedTuple):
    """One simulation within a period; ``handovers`` None: without `Consumption`."""

    group: PlayedGroup
    handovers: PlayedHandovers | None

    def figures(self, consumption: Consumption | None, commit_ms: int | None) -> Figures:
        figures = Figures(*self.group.measures)
        if self.handovers is None or consumption is None or commit_ms is None:
            return figures
        records = self.handovers.records_reprocessed(consumption.rates, commit_ms)
        share = consumption.catch_up_share
        return figures._replace(
            records_reprocessed=round(records),
            consumption_pause_ms=self.handovers.pause_ms,
            catch_up_ms=None if share is None else round(share * self.handovers.longest_pause_ms),
        )


class _Simulated(NamedTuple):
    """``outcomes`` has one per seed; ``depends`` says whether longer sessions may change
    them. ``spans`` has one simulation per span and seed; empty if the outcomes were known before.
    """

    sessions_ms: tuple[int, ...]
    commit_ms: int | None
    outcomes: list[Figures]
    depends: bool
    hashed: str
    migrations: Sequence[Migration] = ()
    spans: Sequence[Sequence[_Played]] = ()

    def prediction(self, baseline: Baseline, change: SettingsChange) -> Prediction:
        whole = self.spans[0] if self.spans else ()
        conversions = [conversions_of(each.group) for each in whole] or [()] * len(self.outcomes)
        has_more = bool(self.migrations) or any(conversions)
        return Prediction(
            change,
            self.outcomes,
            [
                _predicted_migration(migration, played, baseline.consumption, self.commit_ms)
                for migration, played in zip(self.migrations, self.spans[1:], strict=True)
            ],
            conversions,
            None if has_more else _key(self.hashed, baseline.consumption, self.commit_ms),
            self.depends,
        )

    def at(self, baseline: Baseline, commit_ms: int | None) -> _Simulated:
        """The same simulations with another commit interval."""
        outcomes = [each.figures(baseline.consumption, commit_ms) for each in self.spans[0]]
        return self._replace(commit_ms=commit_ms, outcomes=outcomes)

    def covers(self, sessions_ms: tuple[int, ...]) -> bool:
        """Returns whether sessions of these lengths, with equal other settings, have the same
        outcomes.
        """
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
        _commit_ms(baseline, change),
        (
            era,
            config,
            ids,
            *(_without_session(group, config) for group in groups),
            change.group_protocol if baseline.protocols else None,
            *((each.protocol, *each.turns.items()) for each in migrations_of(baseline, change)),
        ),
    )


def _commit_ms(baseline: Baseline, change: SettingsChange) -> int | None:
    own = baseline.consumption
    return None if own is None else change.commit_interval_ms or own.commit_interval_ms


def _without_session(group: GroupSpec, config: CoordinatorConfig) -> GroupSpec:
    """The settings other than the session's length; with it, where it has further effects: before
    KIP-62 it was the rebalance timeout, too, and brokers refuse sessions outside of their limits.
    """
    session_ms = group.session_timeout_ms or 0
    accepted = (
        config.group_min_session_timeout_ms <= session_ms <= config.group_max_session_timeout_ms
    )
    if not accepted or not LIBRARIES[group.client].has_rebalance_timeout:
        return group
    return replace(group, session_timeout_ms=None)


def _simulated(
    baseline: Baseline,
    change: SettingsChange,
    settings: _Settings,
    seeds: int,
    earlier: Mapping[str, Outcomes],
) -> _Simulated:
    migrations = migrations_of(baseline, change)
    # The first members may join somewhat earlier than the evidence shows.
    from_ms = baseline.from_ms - _START_TO_JOIN_MS
    spans = [(from_ms, baseline.to_ms), *((m.from_ms, m.to_ms) for m in migrations)]
    start_ms = baseline.from_ms - _lead_ms(baseline)
    fleets = [fleet_of(baseline, change, start_ms, seed) for seed in range(1, seeds + 1)]
    hashed = _hash_of(start_ms, fleets, spans, baseline.idle)
    key = _key(hashed, baseline.consumption, settings.commit_ms)
    if key in earlier:
        before = earlier[key]
        return _Simulated(
            sessions_ms=settings.sessions_ms,
            commit_ms=settings.commit_ms,
            outcomes=[*before.figures],
            depends=before.depends,
            hashed=hashed,
        )
    results, depends = [], False
    for seed, fleet in enumerate(fleets, start=1):
        cluster = SimulatedCluster(
            fleet, start_ms, seed, traces=False, log_lines=False, commits=False
        )
        results.append(_played(baseline, cluster, spans, seed))
        depends = depends or _depends_on_sessions(cluster)
    of_spans = list(zip(*results, strict=True))
    outcomes = [each.figures(baseline.consumption, settings.commit_ms) for each in of_spans[0]]
    return _Simulated(
        sessions_ms=settings.sessions_ms,
        commit_ms=settings.commit_ms,
        outcomes=outcomes,
        depends=depends,
        hashed=hashed,
        migrations=migrations,
        spans=of_spans,
    )


def _key(hashed: str, consumption: Consumption | None, commit_ms: int | None) -> str:
    """``hashed`` is that of a simulation; equal keys have equal figures."""
    if consumption is None:
        return hashed
    rates = sorted(consumption.rates.items())
    return _hash_of(_COSTS_VERSION, hashed, rates, commit_ms, consumption.commits_while_slow)


def _hash_of(*parts: object) -> str:
    """Equal for equal values only, in every process: these are tuples, texts and numbers."""
    return sha256(repr(parts).encode()).hexdigest()


def _played(
    baseline: Baseline, cluster: SimulatedCluster, spans: Sequence[tuple[int, int]], seed: int
) -> list[_Played]:
    """Run the simulation; its measures within each span, in ms since the epoch."""
    counters = [
        MeasureCounter(from_ms, to_ms, owned_within(from_ms, to_ms, baseline.idle))
        for from_ms, to_ms in spans
    ]
    own, handovers = baseline.consumption, list[HandoverCounter]()
    if own is not None:
        libraries = _libraries(cluster.fleet)
        librdkafka = frozenset(name for name, of in libraries.items() if of.is_librdkafka)
        commits = {name for name, of in libraries.items() if of.commits_while_slow}
        background = frozenset(commits) if own.commits_while_slow else frozenset()
        handovers = [
            HandoverCounter(
                *span,
                seed=seed,
                idle=baseline.idle,
                partitions=own.rates,
                in_background=background,
                librdkafka=librdkafka,
            )
            for span in spans
        ]
    for output in cluster.run():
        if type(output) is TruthLine:
            for counter in counters:
                counter.take(output.truth)
            for handover_counter in handovers:
                handover_counter.take(output.truth)
    results: list[PlayedHandovers | None] = [each.result() for each in handovers]
    results = results or [None] * len(counters)
    return [
        _Played(counter.result(), result) for counter, result in zip(counters, results, strict=True)
    ]


def _libraries(fleet: Fleet) -> dict[str, ClientLibrary]:
    """By process."""
    (group,) = fleet.groups
    own = {} if group.script is None else group.script.own
    return {name: LIBRARIES[spec.client] for name, spec in own.items()}


def _predicted_migration(
    migration: Migration,
    played: Sequence[_Played],
    consumption: Consumption | None,
    commit_ms: int | None,
) -> PredictedMigration:
    return PredictedMigration(
        migration.protocol,
        migration.from_ms,
        migration.to_ms,
        [each.figures(consumption, commit_ms) for each in played],
        [conversions_of(each.group) for each in played],
        [refusals_of(each.group) for each in played],
    )


def _depends_on_sessions(cluster: SimulatedCluster) -> bool:
    """Returns whether a session expired, at the coordinator or at a client.  A client that was not
    frozen gets its responses in time, unless the coordinator's session of a member expires first.
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
        name="what-if",
        about="",
        length_ms=baseline.to_ms - start_ms + 1,
        seed=seed,
        cluster=ClusterSpec(
            era=era,
            brokers=1,
            config=config,
            append_ms=(1, 3),
            load_ms=0,
            failover_ms=500,
            segment_bytes=100 << 20,
        ),
        network=Network(1, 2),
        topics=tuple([_relative_to(topic, start_ms) for topic in baseline.topics]),
        groups=(_group(baseline, change, start_ms, seed),),
        faults=(),
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
        offsets_topic_partitions=1,
        group_initial_rebalance_delay_ms=delay_ms,
        modern=_consumer_settings(baseline, change),
    )
    return change.era or baseline.explained.era.name, config


def _consumer_settings(baseline: Baseline, change: SettingsChange) -> ModernSettings:
    """The group's present settings, else the brokers', else Kafka's defaults; and the change."""
    own = baseline.consumer
    session_ms = None if own is None else own.session_timeout_ms
    heartbeat_ms = None if own is None else own.heartbeat_interval_ms
    values = {
        "session.timeout.ms": change.consumer_session_timeout_ms or session_ms,
        "heartbeat.interval.ms": change.consumer_heartbeat_interval_ms or heartbeat_ms,
        "assignment.interval.ms": change.consumer_assignment_interval_ms,
        "migration.policy": change.migration_policy,
    }
    configured = (baseline.configured.of_consumer_group(f"consumer.{name}") for name in values)
    present = {name: each.value for name, each in zip(values, configured, strict=True) if each}
    present |= {name: str(value) for name, value in values.items() if value is not None}
    return modern_settings({f"group.consumer.{name}": value for name, value in present.items()})


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
    """Where the prediction takes instance ids from, ``process`` or ``ordinal``, or None if it
    assumes none: the change does not set static membership, or all members are static already.
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
    library = library_under(baseline, process.name, change)
    has_timers = LIBRARIES[library].is_librdkafka
    protocol = change.protocol_of(baseline.group_protocol)
    migrates = change.migration_start is not None or bool(baseline.protocols)
    restarts = migrates or protocol == CONSUMER_PROTOCOL
    session_ms = CLASSIC_SESSION_MS if becomes_classic(baseline, change) else None
    own_assignor = None if baseline.consumer is None else baseline.consumer.remote_assignor
    return GroupSpec(
        name=baseline.group_id,
        topics=baseline.subscriptions[process.name],
        processes=0,
        client=library,
        assignors=change.assignors or baseline.assignors or None,
        static=static,
        session_timeout_ms=change.session_timeout_ms or session_ms or member.session_timeout_ms,
        heartbeat_interval_ms=baseline.heartbeat_ms + (0 if has_timers else delay_ms),
        max_poll_interval_ms=change.rebalance_timeout_ms
        or (poll_ms if poll_ms > 0 else member.session_timeout_ms),
        commit_interval_ms=COMMIT_INTERVAL_MS,
        metadata_max_age_ms=baseline.metadata_max_age_ms,
        listener_ms=0,
        restart_ms=(change.restart_ms or RESTART_MS) if restarts else None,
        plans=(),
        timer_delay_us=1000 * delay_ms // _TIMERS_PER_HEARTBEAT if has_timers else 0,
        protocol=protocol,
        remote_assignor=change.remote_assignor or own_assignor,
    )


def _script(baseline: Baseline, change: SettingsChange, start_ms: int, seed: int) -> Script:
    specs: dict[str, ProcessSpec] = {}
    hosts: dict[str, str] = {}
    actions: list[Action] = []
    names = baseline.clients()
    expiries = _expiries_together(baseline)
    migrations = migrations_of(baseline, change)
    for process in baseline.processes:
        own: list[Action] = []
        for number, life in enumerate(process.lives):
            name = names[life.member_ids[0]]
            instance_id = _instance_id(process, name, change)
            specs.setdefault(name, ProcessSpec(name, instance_id, baseline.owned.get(name, ())))
            hosts[name] = life.client_host
            times = _DrawnTimes(seed, process.name, number, expiries.get(life.member_ids[-1]))
            protocol = _protocol(baseline, life, change)
            own += _actions(life, name, start_ms, baseline.to_ms, times, protocol)
        turns = [
            (each.turns[process.name] - start_ms, each.protocol)
            for each in migrations
            if process.name in each.turns
        ]
        actions += with_restarts(own, turns, change)
    in_time = sorted(actions, key=lambda action: action.at_ms)
    first = {action.process: action.at_ms for action in reversed(in_time)}
    in_order = sorted(specs.values(), key=lambda spec: first.get(spec.name, 0))
    return Script(tuple(in_order), tuple(in_time), {}, hosts)


def _protocol(baseline: Baseline, life: ProcessLife, change: SettingsChange) -> str:
    """What the process life begins with, but for a migration."""
    own = baseline.protocols.get(life.member_ids[0], baseline.group_protocol)
    return own if change.migration_start is not None else change.protocol_of(own)


def _expiries_together(baseline: Baseline) -> dict[str, int]:
    """By the last member id of a killed process life: the begin, in ms, of the interval in which
    several ended (`with_common_ends`).  One cause killed or froze these processes, at one time:
    times drawn one by one would lengthen the rebalances, which wait for the last expiry.
    """
    killed = [
        (life.ended, life.member_ids[-1])
        for process in baseline.processes
        for life in process.lives
        if life.killed and life.ended is not None
    ]
    together = Counter(ended for ended, _ in killed)
    return {id: ended.earliest_ms for ended, id in killed if together[ended] > 1}


class _DrawnTimes:
    """Times of one process life, for one seed.  ``together_ms`` is equal for processes that ended
    at one unknown time, or None if the process ended alone.
    """

    def __init__(self, seed: int, process: str, life: int, together_ms: int | None) -> None:
        self._seed, self._key = seed, key_of(seed, process, life)
        self._together_ms = together_ms

    def at_ms(self, time: TimeEstimate, place: int) -> int:
        if self._seed == 1:
            return time.at_ms
        return between(time.earliest_ms, max(time.latest_ms, time.earliest_ms), self._key, place)

    def end_ms(self, time: TimeEstimate) -> int:
        return self.at_ms(time, 2) if self._together_ms is None else self.common_ms(time)

    def common_ms(self, time: TimeEstimate) -> int:
        """Equal for equal intervals."""
        if self._seed == 1:
            return time.at_ms
        part = fraction(key_of(self._seed, "end", time.earliest_ms))
        return time.earliest_ms + int(part * max(time.latest_ms - time.earliest_ms, 0))

    def within(self, length_ms: int, place: int) -> int:
        return between(0, length_ms, self._key, place)

    @property
    def is_frozen(self) -> bool:
        """Returns whether a process that may have been frozen was; in every third seed it was
        killed.
        """
        return self._seed % 3 != 0


def _actions(
    life: ProcessLife, name: str, start_ms: int, to_ms: int, times: _DrawnTimes, protocol: str
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
    yield Action(began_ms, ActionKind.START, name, protocol=protocol)
    for place, slow_poll in enumerate(life.slow_polls):
        slow_ms = max(times.at_ms(slow_poll.began, 3 + place) - start_ms, began_ms + 1)
        back_ms = (
            to_ms if slow_poll.to is None else slow_poll.to.at_ms - _START_TO_JOIN_MS
        ) - start_ms
        if back_ms > slow_ms:
            yield Action(slow_ms, ActionKind.SLOW, name, back_ms - slow_ms)
    for freeze in life.freezes:
        frozen_ms = times.common_ms(freeze.began) - start_ms
        length_ms = freeze.to.at_ms - _THAW_TO_JOIN_MS - start_ms - frozen_ms
        yield Action(frozen_ms, ActionKind.FREEZE, name, max(length_ms, 0))
    if ended_ms is None:
        return
    if life.frozen_until is not None and times.is_frozen:
        # The simulation then ignores the start of the next life.
        thawed_ms = life.frozen_until.at_ms - _THAW_TO_JOIN_MS - start_ms
        yield Action(ended_ms, ActionKind.FREEZE, name, max(thawed_ms - ended_ms, 0))
    else:
        yield Action(ended_ms, ActionKind.KILL if life.killed else ActionKind.STOP, name)
