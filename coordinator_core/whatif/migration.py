"""An online rolling migration: processes restart one after the other with the other protocol.

A process that runs when its turn comes stops, and starts again after ``restart_ms``; one that does
not run uses the other protocol from its next start on, and so does one that first starts after the
migration began.  Everything else follows from clients and coordinator: the first member of the
consumer protocol converts a classic group, and the last one that leaves converts it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from coordinator_core.lives import ConsumerProcess
from coordinator_core.simulation.plans import Action, ActionKind
from coordinator_core.simulation.played_lives import PlayedConversion, PlayedGroup
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.figures import Converted, PredictedMigration
from coordinator_core.whatif.settings import (
    CLASSIC_PROTOCOL,
    CONSUMER_PROTOCOL,
    RESTART_MS,
    SettingsChange,
)

INTERVAL_MS = 30_000
# A consumer that closes needs at most this time to commit and leave.
_CLOSING_MS = 100
_ENDS = (ActionKind.STOP, ActionKind.KILL)
_CONVERTED = {
    "to_consumer": CONSUMER_PROTOCOL,
    "to_classic": CLASSIC_PROTOCOL,
    "empty_to_consumer": CONSUMER_PROTOCOL,
    "empty_to_classic": CLASSIC_PROTOCOL,
}
_POLICY = "group.consumer.migration.policy"
_REASONS = {
    "upgrade_disabled": f"{_POLICY} does not allow upgrades: members of the consumer protocol are"
    " refused",
    "upgrade_too_large": "the group is larger than group.consumer.max.size: members of the consumer"
    " protocol are refused",
    "upgrade_other_protocol": "the members are not consumers: members of the consumer protocol are"
    " refused",
    "UPGRADE_FAILED": "assignments have user data (custom assignors, and sticky assignors of"
    " librdkafka): members of the consumer protocol are refused",
    "downgrade_disabled": f"{_POLICY} does not allow downgrades: the group stays a consumer group"
    " with classic members",
    "downgrade_too_large": "the group is larger than group.max.size: the group stays a consumer "
    "group with classic members",
    "migration_disabled": f"{_POLICY}=disabled: classic members cannot join a consumer group",
}


class Migration(NamedTuple):
    """``turns`` says by process name when it restarts, in ms since the epoch; ``to_ms`` is an
    interval after the last restart.
    """

    protocol: str
    from_ms: int
    to_ms: int
    turns: Mapping[str, int]


def migrations_of(baseline: Baseline, change: SettingsChange) -> tuple[Migration, ...]:
    """The migration of the change, and the one back, if it has them."""
    first_ms, back_ms = change.migration_start_ms, change.migration_back_ms
    if first_ms is None:
        return ()
    protocol = change.protocol_of(baseline.group_protocol)
    migrations = [_migration(baseline, change, protocol, first_ms)]
    if back_ms is not None:
        other = CLASSIC_PROTOCOL if protocol == CONSUMER_PROTOCOL else CONSUMER_PROTOCOL
        migrations.append(_migration(baseline, change, other, back_ms))
    return tuple(migrations)


def _migration(
    baseline: Baseline, change: SettingsChange, protocol: str, from_ms: int
) -> Migration:
    interval_ms = change.migration_interval_ms or INTERVAL_MS
    by_name = {process.name: process for process in baseline.processes}
    chosen = [by_name[name] for name in change.migrated_processes or by_name]
    present = [each for each in chosen if _first_start_ms(each) <= from_ms]
    turns = {each.name: from_ms for each in chosen if each not in present}
    turns |= {each.name: from_ms + n * interval_ms for n, each in enumerate(present)}
    return Migration(protocol, from_ms, from_ms + max(len(present), 1) * interval_ms, turns)


def _first_start_ms(process: ConsumerProcess) -> int:
    first = process.lives[0]
    return 0 if first.predates_evidence else first.started.at_ms


def with_restarts(
    actions: Iterable[Action], turns: Iterable[tuple[int, str]], change: SettingsChange
) -> list[Action]:
    """The actions of one process in order of time; ``turns`` are times, as of actions, and
    protocols.

    All starts from a turn on have its protocol.
    """
    restarted = sorted(actions, key=lambda action: action.at_ms)
    down_ms = max(change.restart_ms or RESTART_MS, _CLOSING_MS)
    for at_ms, protocol in turns:
        before = [each for each in restarted if each.at_ms < at_ms]
        after = [_under(each, protocol) for each in restarted if each.at_ms >= at_ms]
        restarted = [*before, *after, *_restart(before, after, at_ms, protocol, down_ms)]
        restarted.sort(key=lambda action: action.at_ms)
    return restarted


def _under(action: Action, protocol: str) -> Action:
    return action._replace(protocol=protocol) if action.kind is ActionKind.START else action


def _restart(
    before: Sequence[Action], after: Sequence[Action], at_ms: int, protocol: str, down_ms: int
) -> Iterator[Action]:
    """Nothing if the process does not run.  A frozen process stops when it runs again."""
    last = next(
        (each for each in reversed(before) if each.kind in (*_ENDS, ActionKind.START)), None
    )
    if last is None or last.kind in _ENDS:
        return
    thawed = (each.at_ms + each.length_ms for each in before if each.kind is ActionKind.FREEZE)
    stop_ms = max(at_ms, max(thawed, default=0) + 1)
    start_ms = stop_ms + down_ms
    ends_ms = next((each.at_ms for each in after if each.kind in _ENDS), None)
    yield Action(stop_ms, ActionKind.STOP, last.process)
    if ends_ms is None or ends_ms > start_ms:
        yield Action(start_ms, ActionKind.START, last.process, protocol=protocol)


def conversions_of(played: PlayedGroup) -> tuple[Converted, ...]:
    return tuple(
        Converted(each.at_ms, _CONVERTED[each.step])
        for each in played.conversions
        if each.step in _CONVERTED
    )


def refusals_of(played: PlayedGroup) -> dict[str, int]:
    """Why the group was not converted, and errors that ended processes, with their counts."""
    return _counted(each for each in played.conversions if each.step not in _CONVERTED) | dict(
        played.failures
    )


def _counted(conversions: Iterable[PlayedConversion]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in conversions:
        counts[each.step] = counts.get(each.step, 0) + 1
    return counts


def blockers_of(migration: PredictedMigration) -> list[str]:
    """What refused the group or its processes, each with the median of its counts."""
    names = sorted({name for refusals in migration.refusals for name in refusals})
    counts = {name: sorted(each.get(name, 0) for each in migration.refusals) for name in names}
    return [_blocker(name, of_seeds[len(of_seeds) // 2]) for name, of_seeds in counts.items()]


def _blocker(refusal: str, count: int) -> str:
    if refusal in _REASONS:
        return f"{_REASONS[refusal]} (times: {count})"
    return f"processes ended with {refusal} (times: {count})"
