"""The currencies of advice: what rebalances cost, and which of the costs a user prefers to save."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from coordinator_core.whatif.figures import Figures, Prediction
from coordinator_core.whatif.kafka_names import listed, seconds
from coordinator_core.whatif.settings import SettingsChange

# A change must save at least this many ms, rebalances or records.
MIN_SAVED_MS, MIN_SAVED_REBALANCES, MIN_SAVED_RECORDS = 5000, 2, 5


class Currency(NamedTuple):
    """``figure`` is a field of Figures; ``least_saved``: a smaller saving is noise.  ``more`` has
    words for a worse figure, such as ``more rebalances``; ``shown`` prints a figure with its unit.
    """

    figure: str
    least_saved: int
    noun: str
    more: str
    shown: Callable[[int], str]

    def of(self, figures: Figures) -> int | None:
        """None: unknown."""
        value: int | None = getattr(figures, self.figure)
        return value

    def beside(self, now: Figures, then: Figures) -> str:
        """Such as ``partition downtime 4 s instead of 9 s (partition-seconds)``."""
        before, after = (self.of(each) or 0 for each in (now, then))
        if self is DOWNTIME or self is PAUSES:
            return f"{self.noun} {seconds(after)} instead of {seconds(before)} (partition-seconds)"
        return f"{self.amount(after)} instead of {self.shown(before)}"

    def amount(self, value: int) -> str:
        """Such as ``1 record reprocessed``, ``4 s of partition downtime (partition-seconds)``."""
        if self is DOWNTIME or self is PAUSES:
            return f"{seconds(value)} of {self.noun} (partition-seconds)"
        noun = re.sub(r"^(\w+)s\b", r"\1", self.noun) if value == 1 else self.noun
        return f"{self.shown(value)} {noun}"


DOWNTIME = Currency(
    "unavailable_partition_ms",
    MIN_SAVED_MS,
    "partition downtime",
    "longer partition downtime",
    seconds,
)
REBALANCES = Currency("rebalances", MIN_SAVED_REBALANCES, "rebalances", "more rebalances", str)
NOT_STABLE = Currency(
    "not_stable_ms", MIN_SAVED_MS, "in rebalances", "longer time in rebalances", seconds
)
MOVES = Currency("moved_partitions", 1, "partitions moved", "more partitions moved", str)
REPROCESSED = Currency(
    "records_reprocessed",
    MIN_SAVED_RECORDS,
    "records reprocessed",
    "more records reprocessed",
    str,
)
PAUSES = Currency(
    "consumption_pause_ms", MIN_SAVED_MS, "consumption pauses", "longer consumption pauses", seconds
)
CATCH_UP = Currency("catch_up_ms", MIN_SAVED_MS, "of catch-up", "longer catch-up", seconds)
CURRENCIES = (DOWNTIME, REBALANCES, NOT_STABLE, MOVES, REPROCESSED, PAUSES, CATCH_UP)
# Currencies by the value of --prefer.  Lag grows while nobody consumes.
PREFERENCES = {
    "downtime": DOWNTIME,
    "rebalances": REBALANCES,
    "reprocessed": REPROCESSED,
    "lag": PAUSES,
}


def saves_surely(currency: Currency, unchanged: Prediction, changed: Prediction) -> bool:
    """Returns whether the worst seed of ``changed`` is better than the best seed of ``unchanged``,
    and by more than noise.
    """
    now, then = currency.of(unchanged.median), currency.of(changed.median)
    return _is_surely_less(currency, changed, unchanged) and (
        (now or 0) - (then or 0) >= currency.least_saved
    )


def _is_surely_less(currency: Currency, one: Prediction, other: Prediction) -> bool:
    most, least = currency.of(one.maximum), currency.of(other.minimum)
    return most is not None and least is not None and most < least


def compared(change: SettingsChange, protocol: str) -> list[Currency]:
    """The currencies in which a change can be compared with a group of this protocol.  Times in
    rebalances of two protocols cannot be compared: members of a consumer group that keep their
    partitions consume while other members are Assigning or Reconciling.
    """
    is_comparable = change.protocol_of(protocol) == protocol
    return [each for each in CURRENCIES if each is not NOT_STABLE or is_comparable]


def better_and_worse(
    unchanged: Prediction, changed: Prediction, protocol: str
) -> tuple[list[str], list[str]]:
    """The figures that a change makes better in all seeds, and the figures that it makes worse."""
    now, then = unchanged.median, changed.median
    currencies = compared(changed.change, protocol)
    return (
        [c.beside(now, then) for c in currencies if _is_surely_less(c, changed, unchanged)],
        [c.beside(now, then) for c in currencies if _is_surely_less(c, unchanged, changed)],
    )


def worse_changes(
    unchanged: Prediction, changed: Sequence[Prediction], protocol: str
) -> str | None:
    """Per currency, the changes whose best seed is worse than the worst unchanged seed."""
    texts = []
    for currency in CURRENCIES:
        worse = [
            each
            for each in changed
            if currency in compared(each.change, protocol)
            and _is_surely_less(currency, unchanged, each)
        ]
        if worse:
            named = [
                f"{each.change.in_kafka_names()} ({currency.shown(currency.of(each.median) or 0)})"
                for each in sorted(worse, key=lambda each: each.change.cost)
            ]
            now = currency.shown(currency.of(unchanged.median) or 0)
            texts.append(f"{currency.more} than {now}: {listed(named, '; ')}")
    return ". ".join([*texts[:1], *(text[0].upper() + text[1:] for text in texts[1:])]) or None


def pareto(unchanged: Prediction, changed: Sequence[Prediction], protocol: str) -> list[Prediction]:
    """The changes that neither another change nor the unchanged settings beat.  A change that beats
    another change is as good in all currencies, and better in a currency or else cheaper.
    """
    tried = sorted([unchanged, *changed], key=lambda each: each.change.cost)
    best = [
        each
        for place, each in enumerate(tried)
        if not any(
            _beats(other, each, protocol, is_cheaper=at < place)
            for at, other in enumerate(tried)
            if at != place
        )
    ]
    return [each for each in changed if each in best]


def _beats(one: Prediction, other: Prediction, protocol: str, *, is_cheaper: bool) -> bool:
    in_both = set(compared(one.change, protocol)) & set(compared(other.change, protocol))
    pairs = [(each.of(one.median), each.of(other.median)) for each in in_both]
    saved = [after - before for before, after in pairs if before is not None and after is not None]
    return min(saved) >= 0 if any(saved) else is_cheaper
