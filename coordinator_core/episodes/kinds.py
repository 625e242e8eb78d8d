"""The rules that find episodes among the changes of processes."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter

from coordinator_core.episodes.drafts import EpisodeDraft, Rule, Scene, in_series
from coordinator_core.episodes.episode_kind import EpisodeKind
from coordinator_core.episodes.evidence import (
    ABSORBED,
    ASSIGNMENT_FAILED,
    CONFIG_CHANGE,
    CONVERT,
    DELETED,
    EMPTY,
    GROUP_CONFIG,
    STATIC_LEAVE,
    Activity,
    Cause,
    Rebalance,
)
from coordinator_core.episodes.failover import failed_over
from coordinator_core.episodes.group_protocol import converted
from coordinator_core.episodes.grouping import by, within
from coordinator_core.episodes.process_changes import (
    AT_ONCE_MS,
    GROUP_START_MS,
    RETURN_MS,
    ProcessChange,
    What,
    at,
)
from coordinator_core.lives.life_kinds import DEPLOY_GAP_MS, FLAPS
from coordinator_core.lives.processes import RESTART_MS

# Processes that leave with pauses of at most this length are shut down together.
SHUTDOWN_GAP_MS = 15_000
# A process is flapping if it departs FLAPS times, each time within RESTART_MS of its return, or if
# it departs more often, with pauses of at most this length.
FLAPPING_GAP_MS = 10 * 60_000
# Processes that start, or stop permanently, with pauses of at most this length are scaled together.
SCALING_GAP_MS = 60_000
# The confidence of a restart whose process is known to be the same.
SURE = 0.9


def drafts_of(
    activity: Activity,
    changes: Sequence[ProcessChange],
    history: Mapping[tuple[int, int], Rebalance],
) -> list[EpisodeDraft]:
    """Each change is in one draft: the draft of the first rule that takes the change."""
    drafts: list[EpisodeDraft] = []
    scene = Scene(changes, activity, history)
    present = {each.what for each in changes}
    for rule, looks_at in RULES:
        # Most activities have one change, which most rules do not look at.
        if looks_at and looks_at.isdisjoint(present):
            continue
        if new := list(rule(scene)):
            drafts += new
            taken = {each for draft in new for each in draft.changes}
            rest = [each for each in scene.changes if each not in taken]
            scene = Scene(rest, activity, history)
            present = {each.what for each in rest}
    return drafts


# -- rules, in the order in which they are tried -------------------------------------------------


def _emptied(scene: Scene) -> Iterator[EpisodeDraft]:
    """A group that became empty was restarted, shut down, or lost."""
    rest = list(scene.changes)
    unmade = by(_unmade_in, scene.changes)
    for rebalance in scene.rebalances:
        is_empty = rebalance.outcome == EMPTY
        own = unmade.get(rebalance.id, [])
        empty = rebalance if is_empty else _emptied_after(rebalance, own)
        if empty is not None:
            departed = _departed_together(rest, empty)
            back = _started_after(rest, empty) if departed else []
            kind, confidence = _kind_of_emptied(departed, back)
            if kind is not None:
                yield EpisodeDraft(kind, departed + back, confidence)
                taken = {*departed, *back}
                rest = [each for each in rest if each not in taken]


def _emptied_after(rebalance: Rebalance, own: Sequence[ProcessChange]) -> Rebalance | None:
    """The generation as an empty generation if all its members left and no later generation shows
    this: static members that closed, and before Kafka 4.4 the last members of a consumer group.

    ``own`` has changes whose departures formed no generation after the current generation.
    """
    last = {each.process: each for each in own}
    gone = [each for each in last.values() if not _is_back_in(each, rebalance)]
    if not rebalance.member_count or len(gone) < rebalance.member_count:
        return None
    last_ms = max(_departure_ms(each) for each in own)
    return rebalance._replace(outcome=EMPTY, to_ms=max(last_ms, rebalance.to_ms))


def _is_back_in(change: ProcessChange, rebalance: Rebalance) -> bool:
    arrival = change.arrival
    return arrival is not None and (arrival.incarnation, arrival.generation) == rebalance.id


def _unmade_in(change: ProcessChange) -> tuple[int, int] | None:
    """The generation that the process left without a next generation; otherwise None."""
    departure = change.departure
    if departure is None or departure.role != ABSORBED:
        return None
    return departure.incarnation, departure.generation


def _departed_together(changes: Iterable[ProcessChange], empty: Rebalance) -> list[ProcessChange]:
    """The changes of members that left in the generation that emptied the group, or shortly
    before.
    """
    leaving = [each for each in changes if _is_gone_after(each, empty)]
    together: list[ProcessChange] = []
    for each in sorted(leaving, key=_departure_ms, reverse=True):
        if together and _departure_ms(together[-1]) - _departure_ms(each) > SHUTDOWN_GAP_MS:
            break
        together.append(each)
    return together[::-1]


def _is_gone_after(change: ProcessChange, empty: Rebalance) -> bool:
    departure, arrival = change.departure, change.arrival
    if departure is None or change.what is What.TAKEOVER:
        return False
    if (departure.incarnation, departure.generation) > empty.id:
        return False
    if at(departure) > empty.to_ms + AT_ONCE_MS:
        return False
    return arrival is None or (arrival.incarnation, arrival.generation) > empty.id


def _departure_ms(change: ProcessChange) -> int:
    return 0 if change.departure is None else at(change.departure)


def _started_after(changes: Iterable[ProcessChange], empty: Rebalance) -> list[ProcessChange]:
    later = [
        each
        for each in changes
        if each.what is What.STARTED and 0 <= each.from_ms - empty.to_ms <= RETURN_MS
    ]
    first_ms = min((each.from_ms for each in later), default=0)
    return [each for each in later if each.from_ms - first_ms <= GROUP_START_MS]


def _kind_of_emptied(
    departed: list[ProcessChange], back: list[ProcessChange]
) -> tuple[EpisodeKind | None, float]:
    has_left = any(each.departure and not each.departure.is_expiry for each in departed)
    was_closed = any(each.departure and each.departure.was_closed for each in departed)
    is_static = all(each.departure and each.departure.instance_id for each in departed)
    was_fenced = any(each.was_fenced for each in departed)
    if not departed or was_fenced or not (has_left or is_static or was_closed):
        return None, 0.0
    if back or any(each.arrival is not None for each in departed):
        return (EpisodeKind.WHOLE_GROUP_RESTART if len(departed) > 1 else EpisodeKind.RESTART), 0.9
    # Static members do not leave when they are closed: a shutdown looks like the loss of all
    # members.
    return EpisodeKind.SHUTDOWN, 0.9 if has_left else 0.8 if was_closed else 0.6


def _group_start(scene: Scene) -> Iterator[EpisodeDraft]:
    rest = scene.of(What.STARTED)
    for rebalance in scene.rebalances:
        if rebalance.was_empty:
            started = [
                each
                for each in rest
                if -AT_ONCE_MS <= each.from_ms - rebalance.from_ms <= GROUP_START_MS
            ]
            if started:
                yield EpisodeDraft(EpisodeKind.GROUP_START, started, 0.9)
            taken = set(started)
            rest = [each for each in rest if each not in taken]


def _planned(scene: Scene) -> Iterator[EpisodeDraft]:
    """Members that only a leader's assignments show: nothing shows how they joined or departed."""
    own = [each for each in scene.changes if all(cause.is_of_plan for cause in each.causes)]
    for series in in_series(own, AT_ONCE_MS):
        yield EpisodeDraft(EpisodeKind.UNKNOWN, series, 0.3)


def _all_at_once(scene: Scene) -> Iterator[EpisodeDraft]:
    """Static members do not leave: a restart of the whole group shows by their returns alone.

    A process that was removed earlier, and is back with the other processes, is restarted with
    them.
    """
    restarted = scene.of(What.RESTARTED)
    removed = sorted(
        (at(each.arrival), n, each)
        for n, each in enumerate(scene.of(What.EXPIRED, What.SLOW_POLL))
        if each.departure and each.arrival
    )
    returned_ms = [back_ms for back_ms, _, _ in removed]
    while restarted:
        first_ms = restarted[0].to_ms
        # Changes are in order of from_ms, which is at most to_ms.
        begun = bisect_right(restarted, first_ms + AT_ONCE_MS, key=lambda each: each.from_ms)
        series = [each for each in restarted[:begun] if each.to_ms - first_ms <= AT_ONCE_MS]
        restarted = restarted[len(series) :]
        at_once = within(returned_ms, first_ms - AT_ONCE_MS, first_ms + AT_ONCE_MS)
        near = [removed[number] for number in at_once]
        # A return that a series took is no longer part of its change.
        back = [each for _, _, each in sorted(near, key=itemgetter(1)) if each.arrival]
        names = {each.process for each in [*series, *back]}
        if len(names) > 1 and len(names) >= scene.size(series):
            returned = [each.split() for each in back]
            yield EpisodeDraft(EpisodeKind.WHOLE_GROUP_RESTART, series + returned, 0.8)


def _crash_loop(scene: Scene) -> Iterator[EpisodeDraft]:
    """At least FLAPS sessions expired one after another, each the session of a process that had
    just replaced the previous process: a supervisor starts each process under a new name.
    """
    loops: dict[str | None, list[ProcessChange]] = {}
    for each in scene.of(What.REPLACED):
        departure, arrival = each.departure, each.arrival
        if departure is not None and arrival is not None and departure.is_expiry:
            loop = loops.pop(departure.member_id, [])
            started = loop[-1].arrival if loop else None
            if started is not None and each.departed_ms - at(started) > RESTART_MS:
                loop = []
            loops[arrival.member_id] = [*loop, each]
    for loop in loops.values():
        if len(loop) >= FLAPS:
            yield EpisodeDraft(
                EpisodeKind.FLAPPING_MEMBER, loop, min(each.confidence for each in loop)
            )


def _rolling_deployment(scene: Scene) -> Iterator[EpisodeDraft]:
    """Processes restarted one after another, or in batches: more than half of the group's; of
    static members all, because a killed one that is back in time looks like a restarted one.

    A process that may have been killed is part of the deployment only between other restarts.
    """
    series: list[list[ProcessChange]] = []
    names, until_ms = set[str](), 0
    for each in scene.changes:
        if each.what not in (What.RESTARTED, What.REPLACED) and not each.may_be_restart:
            continue
        is_new = each.process not in names
        if series and is_new and each.from_ms - until_ms <= DEPLOY_GAP_MS:
            series[-1].append(each)
            until_ms = max(until_ms, each.to_ms)
        else:
            series.append([each])
            names, until_ms = set(), each.to_ms
        names.add(each.process)
    for deployed in map(_between_restarts, series):
        if len(deployed) > 1 and len(deployed) >= _deployed_at_least(deployed, scene):
            yield EpisodeDraft(
                EpisodeKind.ROLLING_DEPLOYMENT, deployed, min(c.confidence for c in deployed)
            )


def _between_restarts(series: Sequence[ProcessChange]) -> list[ProcessChange]:
    sure = [n for n, each in enumerate(series) if not each.may_be_restart]
    return list(series[sure[0] : sure[-1] + 1]) if sure else []


def _deployed_at_least(deployed: Sequence[ProcessChange], scene: Scene) -> int:
    size = scene.size(deployed)
    departures = [each.departure for each in deployed if each.departure is not None]
    has_left = any(each.cause != STATIC_LEAVE for each in departures)
    return size // 2 + 1 if has_left else size


def _flapping(times: int, gap_ms: int) -> Rule:
    """Processes that depart ``times`` times or more, each time this soon after they were back."""

    def rule(scene: Scene) -> Iterator[EpisodeDraft]:
        together: list[list[ProcessChange]] = []
        for whats in ({What.RESTARTED, What.KILLED, What.EXPIRED}, {What.SLOW_POLL}):
            flaps = _flaps(scene.of(*whats), times, gap_ms)
            for series in sorted(flaps, key=lambda each: each[0].from_ms):
                last = together[-1] if together else []
                if last and series[0].from_ms <= max(each.to_ms for each in last):
                    last += series
                else:
                    together.append(series)
        for series in together:
            yield EpisodeDraft(EpisodeKind.FLAPPING_MEMBER, series, 0.9)

    return rule


def _flaps(
    changes: Iterable[ProcessChange], times: int, gap_ms: int
) -> Iterator[list[ProcessChange]]:
    departed = (
        each
        for each in changes
        # The restart of a static member causes no rebalance.
        if each.departure is not None and any(c.role != ABSORBED for c in each.causes)
    )
    for same in by(lambda each: each.process, departed).values():
        for series in in_series(
            same, gap_ms, when=lambda each: each.since_ms, until=lambda each: each.to_ms
        ):
            if len(series) >= times:
                yield series


def _frozen(scene: Scene) -> Iterator[EpisodeDraft]:
    for series in in_series(scene.of(What.FROZEN), AT_ONCE_MS):
        yield EpisodeDraft(
            EpisodeKind.PROCESS_FROZEN, series, min(each.confidence for each in series)
        )


def _lost(scene: Scene) -> Iterator[EpisodeDraft]:
    """Processes that were killed or did not come back in time; all of one host: the host."""
    ended = sorted(scene.of(What.KILLED, What.EXPIRED), key=lambda each: each.departed_ms)
    for series in in_series(ended, AT_ONCE_MS, when=lambda each: each.departed_ms):
        hosts = _lost_hosts(series, scene)
        of_host = [each for each in series if each.host in hosts]
        if of_host:
            yield EpisodeDraft(EpisodeKind.HOST_LOST, of_host, 0.7)
        if rest := [each for each in series if each.host not in hosts]:
            may_be_frozen = all(each.may_be_frozen for each in rest)
            kind = EpisodeKind.PROCESS_LOST_OR_FROZEN if may_be_frozen else EpisodeKind.PROCESS_LOST
            yield EpisodeDraft(kind, rest, min(each.confidence for each in rest))


def _lost_hosts(series: Sequence[ProcessChange], scene: Scene) -> set[str]:
    """Hosts of several processes, all of which were lost while processes of other hosts were
    not.
    """
    lost: dict[str, set[str]] = {}
    for each in series:
        lost.setdefault(each.host, set()).add(each.process)
    before = _hosts_before(series[0].from_ms, scene)
    return {
        host
        for host, names in lost.items()
        if len(names) > 1 and len(before) > 1 and before.get(host, 0) == len(names)
    }


def _hosts_before(at_ms: int, scene: Scene) -> dict[str, int]:
    """Members by host of the last recorded generation that was complete by this time."""
    earlier = [each for each in scene.history.values() if each.hosts and each.to_ms < at_ms]
    last = max(earlier, key=lambda each: each.id, default=None)
    return {} if last is None else dict(last.hosts)


def _each(what: What, kind: EpisodeKind, gap_ms: int = AT_ONCE_MS) -> tuple[Rule, frozenset[What]]:
    def rule(scene: Scene) -> Iterator[EpisodeDraft]:
        for series in in_series(scene.of(what), gap_ms):
            yield EpisodeDraft(kind, series, min(each.confidence for each in series))

    return rule, frozenset({what})


def _restarts(scene: Scene) -> Iterator[EpisodeDraft]:
    """Several processes count only if they were restarted at once."""
    rest = deque(scene.of(What.RESTARTED, What.REPLACED))
    while rest:
        series, others = list[ProcessChange](), list[ProcessChange]()
        last_ms = dict[str, int]()
        until_ms = rest[0].to_ms
        # Changes are in order of from_ms: after a longer pause, none belongs to the series.
        while rest and rest[0].from_ms - until_ms <= RESTART_MS:
            each = rest.popleft()
            since_ms = last_ms.get(each.process, until_ms)
            gap_ms = RESTART_MS if each.process in last_ms else AT_ONCE_MS
            if series and each.from_ms - since_ms > gap_ms:
                others.append(each)
                continue
            series.append(each)
            last_ms[each.process] = max(each.to_ms, last_ms.get(each.process, each.to_ms))
            until_ms = max(until_ms, each.to_ms)
        rest.extendleft(reversed(others))
        yield EpisodeDraft(EpisodeKind.RESTART, series, _restart_confidence(series))


def _restart_confidence(changes: Sequence[ProcessChange]) -> float:
    """A process that polls too slowly leaves and joins again, too.  Commits, records or the client
    show the difference; a line of the broker's log alone does not.
    """
    confidence = min(each.confidence for each in changes)
    if confidence < SURE and not all(map(_is_shown, changes)):
        return min(confidence, 0.5)
    return confidence


def _is_shown(change: ProcessChange) -> bool:
    left = change.departure
    return (left is not None and left.client_reason is not None) or any(
        each.process is not None or each.is_logged_by_client for each in change.causes
    )


def _without_rebalance(scene: Scene) -> Iterator[EpisodeDraft]:
    """Episodes without a rebalance: actions of administrators on a group, and leaders that could
    not assign.
    """
    for cause in scene.activity.causes:
        if cause.story == DELETED:
            yield EpisodeDraft(EpisodeKind.GROUP_DELETED, [], 1.0, [cause])
        elif cause.story == GROUP_CONFIG:
            yield EpisodeDraft(EpisodeKind.CONFIGURATION_CHANGE, [], 1.0, [cause])
        elif cause.needs_no_rebalance:
            yield EpisodeDraft(EpisodeKind.ASSIGNMENT_FAILED, [], 0.95, [cause])


_ANY = frozenset(What)
_DEPARTED = _ANY - {What.STARTED}
_RESTARTED = frozenset({What.RESTARTED, What.REPLACED})
_FLAPPED = frozenset({What.RESTARTED, What.KILLED, What.EXPIRED, What.SLOW_POLL})

# The rules in the order in which they are tried, each with the changes that it looks at: without
# any of these changes the rule makes no episode.  A rule without changes looks at the whole
# activity.
RULES: Sequence[tuple[Rule, frozenset[What]]] = (
    (_emptied, _DEPARTED),
    (failed_over, _ANY),
    (_group_start, frozenset({What.STARTED})),
    (_planned, _ANY),
    (converted, frozenset()),
    (_all_at_once, frozenset({What.RESTARTED})),
    (_frozen, frozenset({What.FROZEN})),
    (_crash_loop, frozenset({What.REPLACED})),
    (_rolling_deployment, _RESTARTED),
    (_flapping(FLAPS, RESTART_MS), _FLAPPED),
    (_flapping(FLAPS + 1, FLAPPING_GAP_MS), _FLAPPED),
    (_lost, frozenset({What.KILLED, What.EXPIRED})),
    _each(What.SLOW_POLL, EpisodeKind.SLOW_POLL),
    (_restarts, _RESTARTED),
    _each(What.TAKEOVER, EpisodeKind.INSTANCE_ID_CONFLICT),
    _each(What.REFUSED, EpisodeKind.GROUP_FULL, SCALING_GAP_MS),
    _each(What.STARTED, EpisodeKind.SCALE_OUT, SCALING_GAP_MS),
    _each(What.STOPPED, EpisodeKind.SCALE_IN, SCALING_GAP_MS),
    (_without_rebalance, frozenset()),
)


# -- rebalances that no process's departure or arrival started -----------------------------------

_CLIENT_REASONS = (
    ("cached metadata has changed", EpisodeKind.TOPIC_CHANGE),
    ("subscription has changed", EpisodeKind.CONFIGURATION_CHANGE),
)
# Causes that are neither a departure nor an arrival of a process.
BROKER_CAUSES = {
    CONVERT: EpisodeKind.CONFIGURATION_CHANGE,
    "CONVERSION": EpisodeKind.CONFIGURATION_CHANGE,
    "SUBSCRIPTION_CHANGE": EpisodeKind.CONFIGURATION_CHANGE,
    "ASSIGNOR_CHANGE": EpisodeKind.CONFIGURATION_CHANGE,
    CONFIG_CHANGE: EpisodeKind.CONFIGURATION_CHANGE,
    "REGEX": EpisodeKind.TOPIC_CHANGE,
    "TOPIC_CHANGE": EpisodeKind.TOPIC_CHANGE,
    ASSIGNMENT_FAILED: EpisodeKind.ASSIGNMENT_FAILED,
    "COORDINATOR_MOVED": EpisodeKind.COORDINATOR_FAILOVER,
    "OVER_CAPACITY": EpisodeKind.COORDINATOR_FAILOVER,
}


def kind_of_rejoin(trigger: Cause, rebalance: Rebalance) -> tuple[EpisodeKind, float]:
    """The kind by the reasons of the client and the broker, the changed settings, and new
    partitions.
    """
    for text, kind in _CLIENT_REASONS:
        if trigger.client_reason and trigger.client_reason.startswith(text):
            return kind, 0.95
    if trigger.cause in BROKER_CAUSES:
        return BROKER_CAUSES[trigger.cause], 0.95
    if rebalance.settings:
        return EpisodeKind.CONFIGURATION_CHANGE, 0.8
    if trigger.story == "topic_change":
        return EpisodeKind.TOPIC_CHANGE, 0.8
    return EpisodeKind.UNKNOWN, 0.3


# -- settings that changes of processes show -----------------------------------------------------


def membership_settings(changes: Iterable[ProcessChange]) -> Iterator[str]:
    """Returns whether processes came back as static or as dynamic members."""
    changes = list(changes)
    pairs = [(c.departure, c.arrival) for c in changes if c.departure and c.arrival]
    for before, after in pairs:
        yield from _membership_setting(before, after)
    if not pairs:
        yield from _of_all([c.departure for c in changes], [c.arrival for c in changes])


def _membership_setting(before: Cause, after: Cause) -> Iterator[str]:
    if before.instance_id is None and after.instance_id is not None:
        yield "group.instance.id set"
    elif before.instance_id is not None and after.instance_id is None:
        yield "group.instance.id removed"


def _of_all(before: Iterable[Cause | None], after: Iterable[Cause | None]) -> Iterator[str]:
    """A group that was stopped and started: all members before, and all members after."""
    was = {each.instance_id is not None for each in before if each is not None}
    is_ = {each.instance_id is not None for each in after if each is not None}
    if (was, is_) == ({False}, {True}):
        yield "group.instance.id set"
    if (was, is_) == ({True}, {False}):
        yield "group.instance.id removed"
