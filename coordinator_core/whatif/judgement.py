"""The judgement of one group: figures observed and predicted, and the advice that follows.

`regroup what-if`, the sweep and the advice of nightly all judge by this function, so the same
evidence gives the same advice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from coordinator_core.whatif.advice import Advice, advise
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.candidates import candidates
from coordinator_core.whatif.currencies import DOWNTIME, Currency
from coordinator_core.whatif.figures import Figures, Outcomes, Prediction
from coordinator_core.whatif.predict import predict_each, with_both_instance_ids
from coordinator_core.whatif.settings import UNCHANGED, SettingsChange

# Number of seeds: with three, a process that was frozen or killed is simulated both ways.
ADVICE_SEEDS = 3


class GroupJudgement(NamedTuple):
    """``model`` has the unchanged settings; ``predicted`` has all changes, advised or not."""

    observed: Figures
    model: Prediction
    predicted: Sequence[Prediction]
    advice: Advice


def judge(
    baseline: Baseline,
    observed: Figures,
    *,
    changes: Iterable[SettingsChange] | None = None,
    others: Iterable[SettingsChange] = (),
    seeds: int = ADVICE_SEEDS,
    prefer: Currency = DOWNTIME,
    earlier: Mapping[str, Outcomes] | None = None,
) -> GroupJudgement:
    """``changes`` are those to choose from; None: the group's candidates.  ``others`` are changes
    that are predicted, but not advised.  ``prefer`` is the currency to save.  ``earlier``: see
    `predict_each`.
    """
    possible = list(
        with_both_instance_ids(baseline, candidates(baseline) if changes is None else changes)
    )
    further = [each for each in others if each not in possible]
    model, *predicted = predict_each(
        baseline, (UNCHANGED, *possible, *further), seeds=seeds, earlier=earlier or {}
    )
    advice = advise(baseline, observed, model, predicted[: len(possible)], prefer)
    return GroupJudgement(observed, model, predicted, advice)
