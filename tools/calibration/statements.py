"""Which actions make a statement of each kind true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from coordinator_core.episodes.episode_kind import EpisodeKind
from tools.calibration.script import Action, Done

# An episode begins with its first evidence, from which the time of its action may differ by this
# much.  Lines have no session timeout: a process ended up to 20 s before its session, and 3 s more
# if it was killed right before a heartbeat.
_BEFORE_MS, _AFTER_MS = 23_000, 5_000
# A process that starts within this time after its stop was restarted.
_RESTART_MS = 60_000
_FLAPS = 3


class Statement(NamedTuple):
    """An episode.  Times in ms since the epoch."""

    group: str
    kind: str
    from_ms: int
    to_ms: int
    processes: Sequence[str]
    confidence: float
    summary: str


def can_be_judged(statement: Statement, script: Sequence[Action]) -> bool:
    """Returns whether the script knows each process by the name that the evidence has for it: logs
    alone have only a random member id for members of the consumer protocol.
    """
    return all(any(each.is_of(process) for each in script) for process in statement.processes)


def is_true(statement: Statement, script: Sequence[Action]) -> bool:
    """Returns whether the script did what the statement says to each process that it names."""
    own = [each for each in script if each.group in (statement.group, None)]
    return _RULES[EpisodeKind(statement.kind)](statement, own)


_Rule = Callable[[Statement, list[Action]], bool]


def _within(statement: Statement, actions: list[Action], *done: Done) -> list[Action]:
    first, last = statement.from_ms - _BEFORE_MS, statement.to_ms + _AFTER_MS
    return [
        each
        for each in actions
        if each.done in done and first <= each.at_ms + each.lasts_ms and each.at_ms <= last
    ]


def _each_had(*done: Done, times: int = 1) -> _Rule:
    """Each process had one of these actions done to it."""

    def rule(statement: Statement, actions: list[Action]) -> bool:
        within = _within(statement, actions, *done)
        return all(
            sum(each.is_of(process) for each in within) >= times for process in statement.processes
        )

    return rule


def _any_of(*done: Done) -> _Rule:
    return lambda statement, actions: bool(_within(statement, actions, *done))


def _lost(statement: Statement, actions: list[Action]) -> bool:
    """Killed; or its session expired, which a stopped static member's does, too."""
    ends = [Done.KILL, Done.FREEZE]
    if "killed" not in statement.summary:
        ends.append(Done.STOP)
    return _each_had(*ends)(statement, actions)


def _lost_or_frozen(statement: Statement, actions: list[Action]) -> bool:
    ends = [Done.KILL, Done.FREEZE]
    if "closed" in statement.summary:
        ends.append(Done.STOP)
    return _each_had(*ends)(statement, actions)


def _restarted(statement: Statement, actions: list[Action]) -> bool:
    """Each process stopped and started again, or others started in its place."""
    ended = _within(statement, actions, Done.STOP, Done.KILL)
    until = statement.to_ms + _RESTART_MS
    starts = [
        each
        for each in actions
        if each.done is Done.START and statement.from_ms - _BEFORE_MS <= each.at_ms <= until
    ]
    stopped, started = (
        {process for process in statement.processes if any(e.is_of(process) for e in actions)}
        for actions in (ended, starts)
    )
    return stopped | started == set(statement.processes) and bool(stopped) and bool(started)


def _scaled_out(statement: Statement, actions: list[Action]) -> bool:
    """Processes started that had not just been stopped."""
    return _each_had(Done.START)(statement, actions) and not any(
        _was_just_ended(process, statement, actions) for process in statement.processes
    )


def _was_just_ended(process: str, statement: Statement, actions: list[Action]) -> bool:
    before = [
        each
        for each in actions
        if each.is_of(process)
        and each.done in (Done.STOP, Done.KILL)
        and statement.from_ms - _RESTART_MS <= each.at_ms < statement.from_ms
    ]
    return bool(before)


def _scaled_in(statement: Statement, actions: list[Action]) -> bool:
    """Processes stopped, and did not start again within a minute."""
    last = statement.to_ms + _RESTART_MS
    starts = [e for e in actions if e.done is Done.START and statement.from_ms <= e.at_ms <= last]
    return _each_had(Done.STOP)(statement, actions) and not any(
        each.is_of(process) for process in statement.processes for each in starts
    )


def _conflict(statement: Statement, actions: list[Action]) -> bool:
    """A process started with a name of another that ran."""
    running: list[Action] = []
    for each in actions:
        if each.done is Done.START:
            is_second = any(each.names & other.names for other in running)
            in_time = statement.from_ms - _BEFORE_MS <= each.at_ms <= statement.to_ms + _AFTER_MS
            if is_second and in_time:
                return True
            running.append(each)
        elif each.done in (Done.STOP, Done.KILL):
            ended = next((other for other in running if other.names == each.names), None)
            if ended is not None:
                running.remove(ended)
    return False


_RULES: dict[EpisodeKind, _Rule] = {
    EpisodeKind.GROUP_START: _each_had(Done.START),
    EpisodeKind.ROLLING_DEPLOYMENT: _restarted,
    EpisodeKind.RESTART: _restarted,
    EpisodeKind.WHOLE_GROUP_RESTART: _restarted,
    EpisodeKind.SHUTDOWN: _each_had(Done.STOP, Done.KILL),
    EpisodeKind.SCALE_OUT: _scaled_out,
    EpisodeKind.SCALE_IN: _scaled_in,
    EpisodeKind.PROCESS_LOST: _lost,
    EpisodeKind.HOST_LOST: _lost,
    EpisodeKind.PROCESS_FROZEN: _each_had(Done.FREEZE),
    EpisodeKind.PROCESS_LOST_OR_FROZEN: _lost_or_frozen,
    EpisodeKind.SLOW_POLL: _each_had(Done.SLOW),
    EpisodeKind.FLAPPING_MEMBER: _each_had(Done.STOP, Done.KILL, times=_FLAPS),
    EpisodeKind.INSTANCE_ID_CONFLICT: _conflict,
    EpisodeKind.TOPIC_CHANGE: _any_of(Done.TOPICS),
    EpisodeKind.CONFIGURATION_CHANGE: _any_of(Done.SETTINGS),
    EpisodeKind.COORDINATOR_FAILOVER: _any_of(Done.BROKER),
    EpisodeKind.GROUP_DELETED: _any_of(Done.DELETED),
}
# Kind that makes no statement, because the cause is unknown.
NO_STATEMENT = EpisodeKind.UNKNOWN.value
