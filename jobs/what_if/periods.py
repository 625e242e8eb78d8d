"""The period of a group's evidence that its advice is about: one rule for all commands.

The whole evidence of the last KEPT_DAYS days with rebalances, if it can be simulated in MOST_S
seconds; else the date with the longest time in rebalances; else this date's longest series of
rebalances.  Costs are estimates, so the same lake has the same periods on each machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from operator import attrgetter
from typing import Any, NamedTuple

from coordinator_core.protocol.client_times import HEARTBEAT_MS
from coordinator_core.whatif.judgement import ADVICE_SEEDS

TIMED_REBALANCES = "timed_rebalances"  # name of the kind of evidence
KEPT_DAYS = 30
MOST_S = 10.0
# Seconds on an idle machine per heartbeat of a simulated member, including rebalances, and per
# generation of a group that the model explains.
_HEARTBEAT_S, _GENERATION_S = 0.0001, 0.005
# Approximate number of simulations per seed: the standard changes and the unchanged settings.
# Simulations of the consumer protocol take longer.
_SIMULATIONS = 16
# Rebalances with longer pauses between them are separate series.
_PAUSE_MS = 300_000
_MARGIN_MS = 60_000


class TimedRebalance(NamedTuple):
    """A rebalance in ms since the epoch; ``members`` of the generation that it made."""

    day: date
    begin_ms: int
    end_ms: int
    spent_ms: int
    members: int


class EvaluatedPeriod(NamedTuple):
    """A period to evaluate, in ms since the epoch, and the number of seeds.  ``from_ms`` None: from
    the group's first event.  ``cost_s`` is the estimated duration of its simulations.
    """

    from_ms: int | None
    to_ms: int
    seeds: int = ADVICE_SEEDS
    cost_s: float = 0.0

    @property
    def dates(self) -> tuple[date, date]:
        """The first and the last date of the evidence: with the dates before and after."""
        first = date.min if self.from_ms is None else _day(self.from_ms) - timedelta(days=1)
        return first, _day(self.to_ms) + timedelta(days=1)


def timed_rebalances(rows: Iterable[Mapping[str, Any]]) -> list[TimedRebalance]:
    """The rebalances of one group in order; ``rows`` are the kind TIMED_REBALANCES."""
    names = TimedRebalance._fields[1:]
    timed = [
        TimedRebalance(date.fromisoformat(row["day"]), *(row[name] for name in names))
        for row in rows
    ]
    return sorted(timed, key=attrgetter("begin_ms", "end_ms"))


def period_of(rebalances: Sequence[TimedRebalance]) -> EvaluatedPeriod | None:
    """The days that a prediction is evaluated on, or None if there was no rebalance."""
    if not rebalances:
        return None
    first_day = max(each.day for each in rebalances) - timedelta(days=KEPT_DAYS)
    recent = [each for each in rebalances if each.day > first_day]
    spent_ms: dict[date, int] = {}
    for each in recent:
        spent_ms[each.day] = spent_ms.get(each.day, 0) + each.spent_ms
    worst = max(spent_ms, key=lambda day: (spent_ms[day], day))
    of_worst = [each for each in recent if each.day == worst]
    longest = max(_series(of_worst), key=lambda each: sum(r.end_ms - r.begin_ms for r in each))
    chosen = next((each for each in (recent, of_worst) if _cost_s(each) <= MOST_S), longest)
    to_ms = max(each.end_ms for each in chosen)
    return EvaluatedPeriod(
        chosen[0].begin_ms - _MARGIN_MS, to_ms + _MARGIN_MS, cost_s=_cost_s(chosen)
    )


def _cost_s(rebalances: Sequence[TimedRebalance]) -> float:
    """The seconds that simulations of the rebalances' span take."""
    span_ms = max(each.end_ms for each in rebalances) - rebalances[0].begin_ms + _MARGIN_MS
    members = max(each.members for each in rebalances)
    return len(rebalances) * _GENERATION_S + simulation_s(span_ms, members, _SIMULATIONS)


def simulation_s(span_ms: int, members: int, changes: int) -> float:
    """The seconds that it takes to simulate this span with this number of changes, once per
    seed.
    """
    return span_ms / HEARTBEAT_MS * members * _HEARTBEAT_S * changes * ADVICE_SEEDS


def _series(rebalances: Iterable[TimedRebalance]) -> list[list[TimedRebalance]]:
    """The rebalances, divided where the group was stable for a long time."""
    series: list[list[TimedRebalance]] = []
    for each in rebalances:
        if not series or each.begin_ms - series[-1][-1].end_ms > _PAUSE_MS:
            series.append([])
        series[-1].append(each)
    return series


def _day(at_ms: int) -> date:
    return datetime.fromtimestamp(at_ms / 1000, UTC).date()
