"""Decides which groups are simulated, by a bound of what each group could gain, and by budget time.

Every group gets a verdict.  A group is not simulated if its partition downtime and time in
rebalances are below the least saving of advice.  Other groups are simulated in the order of their
downtime, within the budget.  Among similar groups, a typical group comes first.  The group with the
most downtime comes right after the typical group that it is alike.  A group beyond the budget gets
the advice of a simulated group that is alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from coordinator_core.assignors import SIMULATED_ASSIGNORS
from coordinator_core.figures import counted
from coordinator_core.whatif import Figures
from coordinator_core.whatif.advice import has_little
from coordinator_core.whatif.kafka_names import seconds
from coordinator_core.whatif.settings import CLASSIC_PROTOCOL, CONSUMER_PROTOCOL
from jobs.what_if.periods import EvaluatedPeriod

KINDS = ("gain_bounds", "episode_kinds")  # Kinds of evidence.


class GainBound(NamedTuple):
    """``members`` is the number of members of the largest generation; 0 means that members and
    downtime are unknown.  ``alike`` is equal for groups of one protocol, assignor and size with
    about as many episodes of each kind.
    """

    group_id: str
    downtime_ms: int
    not_stable_ms: int
    group_type: str | None
    protocol: str | None
    members: int
    alike: tuple[object, ...]

    @property
    def has_model(self) -> bool:
        if self.group_type not in (None, CLASSIC_PROTOCOL, CONSUMER_PROTOCOL) or not self.members:
            return False
        is_classic = self.group_type != CONSUMER_PROTOCOL
        return not is_classic or self.protocol is None or self.protocol in SIMULATED_ASSIGNORS

    @property
    def has_little(self) -> bool:
        figures = Figures(0, self.not_stable_ms, 0, self.downtime_ms)
        return self.has_model and has_little(figures)


class AdvicePlan(NamedTuple):
    """``like``: a group without a simulation of its own -> the simulated group that is alike."""

    little: Sequence[GainBound]
    simulated: Sequence[GainBound]
    like: Mapping[str, str]
    left_out: Sequence[GainBound]
    budget_s: float

    def __str__(self) -> str:
        total = len(self.little) + len(self.simulated) + len(self.like) + len(self.left_out)
        most_ms = max((each.downtime_ms for each in self.little), default=0)
        without = sum(not each.has_model for each in self.simulated)
        parts = [f"{len(self.simulated) - without:,} simulated"]
        if without:
            parts.append(f"{without:,} cannot be predicted")
        if self.little:
            most = seconds(most_ms)
            has = "has" if len(self.little) == 1 else "have"
            parts.append(f"{len(self.little):,} {has} at most {most} of partition downtime to gain")
        if self.like:
            share = "shares" if len(self.like) == 1 else "share"
            parts.append(f"{len(self.like):,} {share} the advice of a similar group")
        if self.left_out:
            parts.append(f"{len(self.left_out):,} left out")
        budget = f"budget {self.budget_s:.0f} s of simulation"
        return f"advice: {counted(total, 'group')}: {', '.join(parts)} ({budget})"


def gain_bounds(bounds: Iterable[Any], episodes: Iterable[Any]) -> list[GainBound]:
    """The groups with the most downtime first, from rows of KINDS."""
    kinds: dict[str, list[tuple[str, int]]] = {}
    for row in episodes:
        # The bit length groups numbers as 1, 2 to 3, 4 to 7 and so on.
        about = int(row["episodes"]).bit_length()
        kinds.setdefault(row["group_id"], []).append((row["kind"], about))
    names = ("group_type", "protocol", "members", "partitions")
    of_groups = [
        GainBound(
            group_id=row["group_id"],
            downtime_ms=int(row["downtime_ms"]),
            not_stable_ms=int(row["not_stable_ms"]),
            group_type=row["group_type"],
            protocol=row["protocol"],
            members=row["members"],
            alike=(*(row[name] for name in names), *sorted(kinds.get(row["group_id"], []))),
        )
        for row in bounds
    ]
    return sorted(
        of_groups, key=lambda each: (-each.downtime_ms, -each.not_stable_ms, each.group_id)
    )


def plan_of(
    bounds: Sequence[GainBound], periods: Mapping[str, EvaluatedPeriod], budget_s: float
) -> AdvicePlan:
    """``bounds`` are sorted by downtime, most first.  Among similar groups, the middle group is
    simulated first, because the other groups differ from it by chance.  The group with the most
    downtime comes next.
    """
    worth = [each for each in bounds if not each.has_little]
    of_kinds: dict[tuple[object, ...], list[GainBound]] = {}
    for each in worth:
        of_kinds.setdefault(each.alike, []).append(each)
    typical = [groups[(len(groups) - 1) // 2] for groups in of_kinds.values()]
    left_s, simulated = budget_s, dict[str, GainBound]()
    first_alike: dict[tuple[object, ...], str] = {}
    for each in (*typical[:1], *worth[:1], *typical, *worth):
        cost_s = periods[each.group_id].cost_s if each.has_model else 0.0
        if each.group_id not in simulated and cost_s <= left_s:
            left_s -= cost_s
            simulated[each.group_id] = each
            first_alike.setdefault(each.alike, each.group_id)
    others = [each for each in worth if each.group_id not in simulated]
    return AdvicePlan(
        little=[each for each in bounds if each.has_little],
        simulated=list(simulated.values()),
        like={
            each.group_id: first_alike[each.alike] for each in others if each.alike in first_alike
        },
        left_out=[each for each in others if each.alike not in first_alike],
        budget_s=budget_s,
    )
