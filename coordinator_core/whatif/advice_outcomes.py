"""The outcome of advice: predicted beside observed figures per deployment, before and after.

Only deployments of the same kind and size are compared: the same number of processes, restarted in
the same way.  The deployment that brings the change itself counts on neither side.

The interval of a figure is its predicted range (coordinator_core.whatif.calibration), widened by
how much deployments that are repeated differ: half the range of the deployments before (in
proportion to the smaller predicted figure) or after, and never less than noise.  The median of the
deployments after the change is as predicted if it is within this interval.  The verdict on the
advice is the verdict on the figures that the advice was meant to improve.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from statistics import median
from typing import NamedTuple

from coordinator_core.episodes.episode_kind import EpisodeKind
from coordinator_core.figures import counted
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.calibration import range_of
from coordinator_core.whatif.carried_out import (
    CarriedOut,
    CarriedOutStatus,
    GenerationSettings,
    differences,
    settings_shown,
)
from coordinator_core.whatif.currencies import CURRENCIES, Currency, compared
from coordinator_core.whatif.figures import Prediction
from coordinator_core.whatif.settings import SettingsChange

# Deployments of whole groups. Without one, restarts of some processes are compared.
WHOLE = (EpisodeKind.ROLLING_DEPLOYMENT, EpisodeKind.WHOLE_GROUP_RESTART)
KINDS = tuple(kind.value for kind in (*WHOLE, EpisodeKind.RESTART))
# Noise level, as a share of the minimum saving of a change.
_OF_LEAST_SAVED = 0.5
# The group has fewer members while a process restarts, and perhaps fewer owned partitions.
_LAST = 10
# A change of any other setting prevents a comparison, because its effect cannot be separated from
# the advice's effect.
_REMARKED = ("rebalance_timeout_ms",)


class OutcomeVerdict(StrEnum):
    AS_PREDICTED = "as predicted"
    BETTER = "better"
    WORSE = "worse"
    NOT_COMPARABLE = "not comparable"


class DeploymentEpisode(NamedTuple):
    """An episode; ``figures``: by the figure of a currency, None: unknown."""

    kind: str
    processes: int
    from_ms: int
    to_ms: int
    figures: Mapping[str, int | None]

    @property
    def size(self) -> tuple[str, int]:
        return self.kind, self.processes

    def __str__(self) -> str:
        return f"{self.kind.replace('_', ' ')} of {counted(self.processes, 'process')}"


class Spread(NamedTuple):
    median: int
    low: int
    high: int

    @classmethod
    def of(cls, values: Sequence[int]) -> Spread:
        return cls(round(median(values)), min(values), max(values))

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2


class PredictedFigure(NamedTuple):
    """Per deployment; ``unchanged`` is simulated with the group's own settings, over all seeds;
    ``predicted`` has the predicted range.  ``is_promised`` means that the change makes the
    figure better in every simulation.
    """

    figure: str
    unchanged: Spread
    predicted: Spread
    is_promised: bool


class SimulatedDeployment(NamedTuple):
    """A deployment before the change, simulated with the group's settings and with the change."""

    baseline: Baseline
    unchanged: Prediction
    changed: Prediction


class ComparedFigure(NamedTuple):
    """``low`` and ``high`` bound the interval within which the figure is as predicted."""

    currency: Currency
    before: Spread
    predicted: Spread
    low: int
    high: int
    after: Spread
    verdict: OutcomeVerdict
    is_promised: bool

    def __str__(self) -> str:
        noun = self.currency.noun
        # "in rebalances" must stand behind a figure.
        noun = f"time {noun}" if noun.startswith("in ") else noun
        values = (self.after.median, self.predicted.median, self.low, self.high, self.before.median)
        after, predicted, low, high, before = map(self.currency.shown, values)
        return f"{noun} {after} (predicted {predicted}, interval {low} to {high}; before {before})"


class AdviceOutcome(NamedTuple):
    """``verdict`` None: the advice has not been carried out.  ``before`` and ``after`` are the
    compared deployments; ``basis`` says what the intervals rest on.  ``others`` says what else
    changed.
    """

    verdict: OutcomeVerdict | None
    reason: str
    before: Sequence[DeploymentEpisode] = ()
    after: Sequence[DeploymentEpisode] = ()
    figures: Sequence[ComparedFigure] = ()
    basis: str | None = None
    others: str | None = None


def predicted_figures(simulated: Sequence[SimulatedDeployment]) -> list[PredictedFigure]:
    """The figures per deployment that the prediction has."""
    if not simulated:
        return []
    baseline, change = simulated[0].baseline, simulated[0].changed.change
    ranges = [range_of(each.baseline, change, each.changed.outcomes) for each in simulated]
    predicted = []
    for currency in compared(change, baseline.group_protocol):
        unchanged, changed = (
            [currency.of(figures) for outcomes in side for figures in outcomes]
            for side in (
                [each.unchanged.outcomes for each in simulated],
                [each.changed.outcomes for each in simulated],
            )
        )
        ends = [currency.of(end) for each in ranges for end in each]
        if None in (*unchanged, *changed, *ends):
            continue
        now, then, limits = (
            Spread.of([value for value in values if value is not None])
            for values in (unchanged, changed, ends)
        )
        range_ = Spread(then.median, limits.low, limits.high)
        predicted.append(PredictedFigure(currency.figure, now, range_, then.high < now.low))
    return predicted


def typical(deployments: Sequence[DeploymentEpisode], at_most: int) -> Sequence[DeploymentEpisode]:
    """The last deployments of the kind and size of the last one of the whole group."""
    whole = [each for each in deployments if each.kind in WHOLE]
    last = max(whole or deployments, key=lambda each: each.from_ms, default=None)
    same = [each for each in deployments if last is not None and each.size == last.size]
    return sorted(same, key=lambda each: each.from_ms)[-at_most:]


def outcome_of(
    change: SettingsChange,
    status: CarriedOut,
    predicted: Sequence[PredictedFigure],
    size: tuple[str, int] | None,
    deployments: Sequence[DeploymentEpisode],
    generations: Sequence[GenerationSettings],
) -> AdviceOutcome:
    """``size`` is the kind and the processes of the predicted deployments. It is None if the group
    had none. ``deployments`` and ``generations`` are in order of time.
    """
    if status.status in (CarriedOutStatus.NO, CarriedOutStatus.UNKNOWN):
        return AdviceOutcome(None, f"not carried out so far: {status.text}")
    if status.from_ms is None or status.to_ms is None:
        prefix = (
            "carried out in part"
            if status.status is CarriedOutStatus.PARTLY
            else "carried out otherwise"
        )
        return AdviceOutcome(OutcomeVerdict.NOT_COMPARABLE, f"{prefix}: {status.text}")
    before = [each for each in deployments if each.to_ms < status.from_ms]
    after = [
        each
        for each in deployments
        if each.from_ms > status.to_ms and (not status.until_ms or each.to_ms < status.until_ms)
    ]
    others, prevented = _others(change, status, generations)
    if prevented:
        return AdviceOutcome(
            OutcomeVerdict.NOT_COMPARABLE,
            f"other changes at the same time: {prevented}",
            others=others,
        )
    equal_before, equal_after = ([e for e in side if e.size == size] for side in (before, after))
    if size is None or not predicted or not equal_before or not equal_after:
        reason = _without_equals(size, before, after)
        return AdviceOutcome(OutcomeVerdict.NOT_COMPARABLE, reason, others=others)
    figures = _compared(predicted, equal_before, equal_after)
    return AdviceOutcome(
        _verdict(figures),
        f"per {equal_before[0]}: {'; '.join(map(str, _told(figures)))}",
        before=equal_before,
        after=equal_after,
        figures=figures,
        basis=_basis(equal_before, equal_after),
        others=others,
    )


def _without_equals(
    size: tuple[str, int] | None,
    before: Sequence[DeploymentEpisode],
    after: Sequence[DeploymentEpisode],
) -> str:
    if size is None:
        return "the group had no deployment before the advice"
    if not after:
        return "no deployment since the change"
    if not any(each.size == size for each in before):
        return "the deployments that the prediction refers to are no longer in the lake"
    equal = next(each for each in before if each.size == size)
    if not any(each.size == size for each in after):
        return f"no deployment of equal size: {equal} before, {after[-1]} after"
    return f"no predicted value for a {equal}"


def _others(
    change: SettingsChange, status: CarriedOut, generations: Sequence[GenerationSettings]
) -> tuple[str | None, str]:
    """Other changes, and among them the changes that prevent a comparison."""
    assert status.from_ms is not None
    assert status.to_ms is not None
    before = [each for each in generations if each.at_ms < status.from_ms and each.size]
    after = [
        each
        for each in generations
        if each.at_ms >= status.to_ms and each.size and each.at_ms < (status.until_ms or 1 << 62)
    ]
    if not before or not after:
        return None, ""
    was, is_ = before[-1], after[-1]
    owned = [_most(each.partitions for each in side[-_LAST:]) for side in (before, after)]
    sizes = [_most(each.size for each in side[-_LAST:]) for side in (before, after)]
    shown = settings_shown(change)
    if "group_protocol" in shown:
        # The other protocol has its own assignor and session timeout.
        shown |= {"assignor", "remote_assignor", "session_timeout_ms"}
    texts, prevented = list[str](), list[str]()
    for name, text in differences(was, is_, shown | {"remote_assignor"}):
        texts.append(text)
        prevented += [] if name in _REMARKED else [text]
    if None not in owned and owned[0] != owned[1]:
        prevented.append(f"partitions {owned[0]} -> {owned[1]}")
        texts.append(prevented[-1])
    if sizes[0] != sizes[1]:
        texts.append(f"members {sizes[0]} -> {sizes[1]}")
    return "; ".join(texts) or None, "; ".join(prevented)


def _most(counts: Iterable[int | None]) -> int | None:
    return max((each for each in counts if each is not None), default=None)


def _compared(
    predicted: Sequence[PredictedFigure],
    before: Sequence[DeploymentEpisode],
    after: Sequence[DeploymentEpisode],
) -> list[ComparedFigure]:
    by_figure = {each.figure: each for each in predicted}
    figures = []
    for currency in CURRENCIES:
        expected = by_figure.get(currency.figure)
        values = [[e.figures.get(currency.figure) for e in side] for side in (before, after)]
        shown = [[each for each in side if each is not None] for side in values]
        if expected is not None and all(shown):
            figures.append(_figure(currency, expected, *map(Spread.of, shown)))
    return figures


def _figure(
    currency: Currency, expected: PredictedFigure, before: Spread, after: Spread
) -> ComparedFigure:
    of = expected.predicted
    varied = before.half * of.median / before.median if before.median else before.half
    noise = max(1, _OF_LEAST_SAVED * currency.least_saved)
    wider = max(varied, after.half, noise)
    low, high = max(0, round(of.low - wider)), round(of.high + wider)
    verdict = OutcomeVerdict.AS_PREDICTED
    if not low <= after.median <= high:
        verdict = OutcomeVerdict.BETTER if after.median < low else OutcomeVerdict.WORSE
    return ComparedFigure(
        currency=currency,
        before=before,
        predicted=of,
        low=low,
        high=high,
        after=after,
        verdict=verdict,
        is_promised=expected.is_promised,
    )


def _told(figures: Sequence[ComparedFigure]) -> list[ComparedFigure]:
    """The figures that the advice was about, and the figures that are not as predicted."""
    promised = any(each.is_promised for each in figures)
    return [
        each
        for each in figures
        if each.is_promised or not promised or each.verdict is not OutcomeVerdict.AS_PREDICTED
    ]


def _verdict(figures: Sequence[ComparedFigure]) -> OutcomeVerdict:
    promised = [each for each in figures if each.is_promised] or figures
    verdicts = {each.verdict for each in promised}
    return next(
        (each for each in (OutcomeVerdict.WORSE, OutcomeVerdict.BETTER) if each in verdicts),
        OutcomeVerdict.AS_PREDICTED,
    )


def _basis(before: Sequence[DeploymentEpisode], after: Sequence[DeploymentEpisode]) -> str:
    text = "the predicted range"
    if len(before) == len(after) == 1:
        return f"{text} alone: one deployment on each side shows no spread"
    sides = f"{counted(len(before), 'deployment')} before and {len(after)} after"
    return f"{text} and the spread of {sides}"
