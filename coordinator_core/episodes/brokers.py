"""Episodes of a cluster's brokers: upgrades, rolling restarts, crashes, and their cost to groups.

A broker that shuts down resigns as coordinator, and other brokers load its groups; after its start,
an election of preferred leaders moves the groups back.  Therefore a group's coordinator moves
several times while brokers are restarted one after another, although no process of the group takes
any action.  A stable group goes on without a rebalance; a rebalance in progress waits, and clients
whose heartbeats are not answered in time lose their session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from coordinator_core.episodes.grouping import by
from coordinator_core.figures import counted, seconds, whole_seconds
from coordinator_core.log_lines.version_ranges import (
    ALL_VERSIONS,
    Ranges,
    common,
    ranges_of,
    words_of,
)

# Brokers that restart with pauses of at most this length belong to one action.
ROLLING_GAP_MS = 30 * 60_000
# A broker resigns as coordinator up to this long before it logs that its coordinator shuts down.
RESIGN_MS = 60_000
# Longest time until an election of preferred leaders (auto.leader.rebalance.enable): 300 s plus the
# time of a check.
ELECTION_MS = 6 * 60_000


class BrokerEpisodeKind(StrEnum):
    UPGRADE = "broker_upgrade"
    DOWNGRADE = "broker_downgrade"
    ROLLING_RESTART = "rolling_broker_restart"
    RESTART = "broker_restart"
    CRASH = "broker_crash"
    STOP = "broker_stop"


class BrokerLife(NamedTuple):
    """A broker's log between two starts of its coordinator; times in ms since the epoch.

    ``started_ms`` is None if the log begins later.  ``stopped_ms`` is the time of the line about
    its shutdown, or None without this line.  ``last_ms`` is the time of its last line about groups
    or partitions.  ``wordings`` are the versions that the log's lines allow.  ``named`` has the
    versions that start-up lines of the log name; several if the log has several starts.
    """

    broker_id: int
    started_ms: int | None
    stopped_ms: int | None
    last_ms: int
    wordings: Ranges = ALL_VERSIONS
    named: Sequence[str] = ()


class BrokerRestart(NamedTuple):
    """A broker's stop and its next start.

    ``stopped_ms`` of a killed broker is the time of the last record before the outage.
    ``started_ms`` is None if the broker did not start again in the evidence.  ``killed`` is None if
    neither a line about its shutdown nor an outage shows how it stopped.  A version is None if it
    is unknown.
    """

    broker_id: int
    stopped_ms: int
    started_ms: int | None
    killed: bool | None
    from_version: str | None
    to_version: str | None
    is_changed: bool = False
    is_lower: bool = False

    @property
    def back_ms(self) -> int:
        """The time at which the broker started again, or at which it stopped if it did not
        start.
        """
        return self.stopped_ms if self.started_ms is None else self.started_ms

    @property
    def action(self) -> tuple[object, ...]:
        """A key that is equal for all restarts by one action."""
        versions = (
            (self.from_version, self.to_version) if self.is_changed else (self.killed is True,)
        )
        return self.is_changed, versions, self.started_ms is None


class GroupMove(NamedTuple):
    """A broker loaded a group.  ``from_ms`` is when the previous broker unloaded it; None:
    not logged.
    """

    group_id: str
    from_ms: int | None
    loaded_ms: int
    previous_broker_id: int | None = None

    @property
    def begins_ms(self) -> int:
        return self.loaded_ms if self.from_ms is None else self.from_ms


class Disruption(NamedTuple):
    """Partitions of a group without an owner, or a rebalance (no ``partitions``).

    ``not_stable_ms`` is the duration of a rebalance.  ``is_failover`` says whether it belongs to an
    episode coordinator_failover.
    """

    group_id: str
    from_ms: int
    to_ms: int
    partitions: int = 0
    not_stable_ms: int = 0
    is_failover: bool = False


class GroupCost(NamedTuple):
    """Cost of a coordinator's moves for a group: rebalances that were in progress or followed, and
    the time without an owner from the move on.
    """

    group_id: str
    moves: int
    rebalances: int
    not_stable_ms: int
    unowned_partition_ms: int


@dataclass(frozen=True)
class BrokerEpisode:
    kind: BrokerEpisodeKind
    restarts: Sequence[BrokerRestart]
    confidence: float

    @property
    def from_ms(self) -> int:
        return self.restarts[0].stopped_ms

    @property
    def to_ms(self) -> int:
        return max(each.back_ms for each in self.restarts)


# -- restarts ----------------------------------------------------------------------------------


def broker_episodes(
    lives: Iterable[BrokerLife],
    outages: Sequence[tuple[int, int]] = (),
    moves: Iterable[GroupMove] = (),
) -> list[BrokerEpisode]:
    """The episodes in order of time.  ``outages`` are times in ms without a coordinator, each from
    the last record before the outage to the first load after it.
    """
    left = by(lambda each: each.previous_broker_id, moves)
    restarts = [
        restart
        for broker_id, own in by(lambda each: each.broker_id, lives).items()
        for restart in _restarts(
            sorted(own, key=lambda each: each.last_ms), outages, left.get(broker_id, [])
        )
    ]
    restarts.sort(key=lambda each: (each.stopped_ms, each.broker_id))
    series: list[list[BrokerRestart]] = []
    for each in restarts:
        last = next((other for other in reversed(series) if _belongs(each, other)), None)
        if last is None:
            series.append([each])
        else:
            last.append(each)
    episodes = [BrokerEpisode(_kind(each), each, min(map(_confidence, each))) for each in series]
    return sorted(episodes, key=lambda each: (each.from_ms, each.restarts[0].broker_id))


def _restarts(
    lives: Sequence[BrokerLife], outages: Sequence[tuple[int, int]], left: Sequence[GroupMove]
) -> Iterator[BrokerRestart]:
    """``left`` has moves from this broker to another broker."""
    versions = _versions(lives)
    for life, after, was, is_ in zip(lives, lives[1:], versions, versions[1:], strict=False):
        before, since = _ranges(life, was), _ranges(after, is_)
        is_changed = not common(before, since)
        stopped_ms, killed = _stop(life, after.started_ms or after.last_ms, outages, left)
        yield BrokerRestart(
            broker_id=life.broker_id,
            stopped_ms=stopped_ms,
            started_ms=after.started_ms,
            killed=killed,
            from_version=was,
            to_version=is_,
            is_changed=is_changed,
            is_lower=is_changed and since < before,
        )
    last = lives[-1]
    if last.stopped_ms is not None:
        yield BrokerRestart(last.broker_id, last.stopped_ms, None, False, versions[-1], None)


def _stop(
    life: BrokerLife,
    until_ms: int,
    outages: Sequence[tuple[int, int]],
    left: Sequence[GroupMove],
) -> tuple[int, bool | None]:
    """The time at which the broker stopped, and whether it was killed; None means that no evidence
    shows how it stopped.
    """
    if life.stopped_ms is not None:
        return life.stopped_ms, False
    for since_ms, loaded_ms in outages:
        if life.last_ms < loaded_ms <= until_ms:
            return max(since_ms, life.last_ms), True
    moved = [each.loaded_ms for each in left if life.last_ms < each.loaded_ms <= until_ms]
    return min(moved, default=life.last_ms), None


def _versions(lives: Sequence[BrokerLife]) -> list[str | None]:
    """The logged version that the wordings of each life allow, else all versions of its
    wordings.
    """
    allowed = [_allowed(each) for each in lives]
    named = sorted({name for each in lives for name in each.named}, key=ranges_of)
    rising = _rising(named, allowed)
    versions: list[str | None] = []
    for life, names in zip(lives, rising if all(rising) else allowed, strict=True):
        if versions and versions[-1] in names:
            names = [name for name in names if name == versions[-1]]
        of_wordings = words_of(life.wordings) if life.wordings != ALL_VERSIONS else None
        versions.append(" or ".join(names) or of_wordings)
    return versions


def _rising(named: Sequence[str], allowed: Sequence[Sequence[str]]) -> list[list[str]]:
    """The possible logged versions of each life, if versions never fall and each version has a
    life.
    """
    up = _reached(named, allowed)
    down = _reached(named[::-1], allowed[::-1])[::-1]
    return [
        [name for name in named if name in one and name in other]
        for one, other in zip(up, down, strict=True)
    ]


def _reached(named: Sequence[str], allowed: Sequence[Sequence[str]]) -> list[set[str]]:
    """The possible versions of each life, if the first life has the first version, and each other
    life has the version of the previous life or the next version.
    """
    reached: list[set[str]] = []
    may_be = set(named[:1])
    for names in allowed:
        reached.append(may_be.intersection(names))
        may_be = reached[-1] | {after for last, after in pairwise(named) if last in reached[-1]}
    return reached


def _allowed(life: BrokerLife) -> list[str]:
    return [name for name in life.named if common(ranges_of(name), life.wordings)]


def _ranges(life: BrokerLife, version: str | None) -> Ranges:
    return ranges_of(version) if version and version in life.named else life.wordings


def _belongs(restart: BrokerRestart, series: Sequence[BrokerRestart]) -> bool:
    """Returns whether the same action restarted this broker and the brokers of the series."""
    last = series[-1]
    is_new = restart.broker_id not in {each.broker_id for each in series}
    pause_ms = restart.stopped_ms - last.back_ms
    return is_new and restart.action == last.action and pause_ms <= ROLLING_GAP_MS


def _kind(series: Sequence[BrokerRestart]) -> BrokerEpisodeKind:
    first = series[0]
    if first.is_changed:
        return BrokerEpisodeKind.DOWNGRADE if first.is_lower else BrokerEpisodeKind.UPGRADE
    if first.killed:
        return BrokerEpisodeKind.CRASH
    if first.started_ms is None:
        return BrokerEpisodeKind.STOP
    is_rolling = any(
        after.stopped_ms >= (before.started_ms or 0) for before, after in pairwise(series)
    )
    return BrokerEpisodeKind.ROLLING_RESTART if is_rolling else BrokerEpisodeKind.RESTART


def _confidence(restart: BrokerRestart) -> float:
    return {False: 0.95, True: 0.9, None: 0.7}[restart.killed]


# -- costs ---------------------------------------------------------------------------------------


def costs(
    episodes: Sequence[BrokerEpisode],
    moves: Iterable[GroupMove],
    disruptions: Iterable[Disruption],
) -> list[list[GroupCost]]:
    """The costs of groups whose coordinator moved or failed, per episode; the highest cost comes
    first.

    A disruption counts in the first episode that it belongs to.
    """
    of_groups = by(lambda each: each.group_id, moves)
    disrupted = by(lambda each: each.group_id, disruptions)
    windows = _windows(episodes)
    result: list[list[GroupCost]] = [[] for _ in episodes]
    for group_id in sorted({*of_groups, *disrupted}):
        moved = of_groups.get(group_id, [])
        rest = disrupted.get(group_id, [])
        for number, within in enumerate(windows):
            own = [each for each in moved if each.loaded_ms in within]
            begun = [(each, _begin_ms(each, own, within)) for each in rest]
            hit = [(each, from_ms) for each, from_ms in begun if from_ms is not None]
            rest = [each for each, from_ms in begun if from_ms is None]
            if own or hit:
                result[number].append(_cost(group_id, len(own), hit))
    for each in result:
        each.sort(key=lambda cost: (-cost.unowned_partition_ms, -cost.not_stable_ms, cost.group_id))
    return result


def _windows(episodes: Sequence[BrokerEpisode]) -> list[range]:
    """The times of the moves of each episode, until the moves of the next episode begin."""
    begins = [each.from_ms - RESIGN_MS for each in episodes]
    ends = [each.to_ms + ELECTION_MS for each in episodes]
    next_begins = [*begins[1:], *ends[-1:]]
    return [
        range(begin, min(end, next_begin))
        for begin, end, next_begin in zip(begins, ends, next_begins, strict=True)
    ]


def _begin_ms(each: Disruption, moves: Iterable[GroupMove], within: range) -> int | None:
    """The time in ms from which the episode's moves disrupt the group, or None if they do not."""
    if each.is_failover and each.to_ms in within:
        return each.from_ms
    begins = [
        move.begins_ms
        for move in moves
        if each.from_ms <= move.loaded_ms and move.begins_ms <= each.to_ms
    ]
    return max(each.from_ms, min(begins)) if begins else None


def _cost(group_id: str, moves: int, hit: Sequence[tuple[Disruption, int]]) -> GroupCost:
    """``hit`` has disruptions, and the times in ms from which the moves disrupt the group."""
    return GroupCost(
        group_id=group_id,
        moves=moves,
        rebalances=sum(not each.partitions for each, _ in hit),
        not_stable_ms=sum(each.not_stable_ms for each, _ in hit),
        unowned_partition_ms=sum(each.partitions * (each.to_ms - from_ms) for each, from_ms in hit),
    )


# -- sentences -----------------------------------------------------------------------------------

_WORDS = {
    BrokerEpisodeKind.UPGRADE: "upgraded",
    BrokerEpisodeKind.DOWNGRADE: "downgraded",
    BrokerEpisodeKind.ROLLING_RESTART: "restarted one after another",
    BrokerEpisodeKind.RESTART: "restarted",
    BrokerEpisodeKind.CRASH: "killed or crashed",
    BrokerEpisodeKind.STOP: "stopped, not back",
}


def summary(episode: BrokerEpisode, of_groups: Sequence[GroupCost]) -> str:
    """What happened to the brokers, and its cost for the groups."""
    return f"{_happened(episode)}: {_costs_of(of_groups)}"


def _happened(episode: BrokerEpisode) -> str:
    ids = [str(each.broker_id) for each in episode.restarts]
    names = f"broker {ids[0]}" if len(ids) == 1 else f"brokers {', '.join(ids[:-1])} and {ids[-1]}"
    first = episode.restarts[0]
    text = f"{names} {_WORDS[episode.kind]}"
    if first.is_changed:
        text += f" from {first.from_version} to {first.to_version}"
    if len(ids) == 1 and first.started_ms is not None and not first.killed:
        text += f", stopped for {seconds(first.started_ms - first.stopped_ms)}"
    return text


def _costs_of(of_groups: Sequence[GroupCost]) -> str:
    moved = [each for each in of_groups if each.moves]
    parts = []
    if moved:
        times = sum(each.moves for each in moved)
        parts.append(
            f"coordinators of {counted(len(moved), 'group')} moved {counted(times, 'time')}"
        )
    if rebalances := sum(each.rebalances for each in of_groups):
        parts.append(f"{counted(rebalances, 'rebalance')} disrupted")
    if unowned_ms := sum(each.unowned_partition_ms for each in of_groups):
        parts.append(f"{whole_seconds(unowned_ms)} partition-seconds")
    return ", ".join(parts) or "no group disrupted"
