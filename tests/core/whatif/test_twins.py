"""Predictions compared with real runs of the same script with one setting changed.

The truth was counted from real clients and brokers; a prediction uses the evidence of the unchanged
group alone.  Where the runs on the two broker versions differ by more than the bound, their
difference is the bound.
"""

from functools import cache

import pytest

from coordinator_core.incident import explain, incarnations
from coordinator_core.whatif import (
    UNCHANGED,
    Figures,
    SettingsChange,
    advise,
    baseline_of,
    observed,
    predict,
    predict_each,
)
from tests.core.incident.incident_rows import last_commits, of_twins, truth_of_twins

pytestmark = pytest.mark.slow

SEEDS = 3
VARIANTS = {
    "base": UNCHANGED,
    "static": SettingsChange(membership="static"),
    "cooperative": SettingsChange(protocol="cooperative"),
    "session": SettingsChange(session_timeout_ms=25_000),
    "static+session": SettingsChange(membership="static", session_timeout_ms=25_000),
    "delay": SettingsChange(initial_rebalance_delay_ms=6000),
}
VERSIONS = ("3.9.1", "4.1.2")
FAMILIES = ("orders", "clicks", "invoices")
# JVMs took up to five seconds longer to start in the group with this setting than in the other; and
# invoices-3 was killed, but may as well have been frozen by the evidence.
TOO_FAR = {("3.9.1", "invoices", "cooperative"): {"rebalances", "unavailable_partition_ms"}}


@cache
def baseline(version, family):
    group = f"{family}-base"
    (evidence,) = [each for each in of_twins(version) if group in each.groups()]
    evidence_of_group = incarnations(group, evidence.events[group], evidence.records[group])
    commits = last_commits(evidence, group, explain(evidence_of_group))
    return baseline_of(evidence_of_group, last_commit_ms=commits)


@cache
def predicted(version, family, variant):
    return predict(baseline(version, family), VARIANTS[variant], seeds=SEEDS)


def truth(version, family, variant):
    window = truth_of_twins(version)[f"{family}-{variant}"]["window"]
    return Figures(
        window["rebalances"],
        window["not_stable_ms"],
        window["partitions_moved"],
        window["unowned_partition_ms"],
    )


def variants(family):
    return [v for v in VARIANTS if f"{family}-{v}" in truth_of_twins("4.1.2")]


CASES = [(version, f, v) for version in VERSIONS for f in FAMILIES for v in variants(f)]


@pytest.mark.parametrize(("version", "family", "variant"), CASES)
def test_predictions_are_near_the_truth(version, family, variant):
    result = predicted(version, family, variant).median._asdict()
    true = truth(version, family, variant)._asdict()
    other = truth(*[v for v in VERSIONS if v != version], family, variant)._asdict()

    for name, value in true.items():
        if name in TOO_FAR.get((version, family, variant), ()):
            continue
        share = 0.1 if name == "rebalances" else 0.25
        minimum = 1 if name == "rebalances" else 0
        bound = max(share * value, minimum, abs(value - other[name]))
        assert abs(result[name] - value) <= bound, name


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("figure", ["rebalances", "unavailable_partition_ms"])
def test_predictions_rank_the_variants_as_the_real_runs_do(version, family, figure):
    """Pairs within 5% of each other, or ordered differently on the other version, do not count."""
    figures = {v: getattr(predicted(version, family, v).median, figure) for v in variants(family)}

    def is_less(one, other):
        true = [
            [getattr(truth(each, family, v), figure) for v in (one, other)] for each in VERSIONS
        ]
        return all(first * 1.05 < second for first, second in true)

    pairs = [(one, other) for one in figures for other in figures if is_less(one, other)]
    assert len(pairs) >= 2
    assert [(one, other) for one, other in pairs if figures[one] > figures[other]] == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_observed(version, family):
    result, true = observed(baseline(version, family)), truth(version, family, "base")

    assert result.rebalances == true.rebalances
    assert result.moved_partitions == true.moved_partitions
    assert result.not_stable_ms == pytest.approx(true.not_stable_ms, rel=0.01)
    # Revocations leave no evidence: their time is estimated from the members' heartbeats.
    assert result.unavailable_partition_ms == pytest.approx(true.unavailable_partition_ms, rel=0.15)


@pytest.mark.parametrize("version", VERSIONS)
def test_advice(version):
    changed = [predicted(version, "orders", v) for v in VARIANTS if v != "base"]

    result = advise(baseline(version, "orders"), predicted(version, "orders", "base"), changed)

    assert str(result.change) == "membership=static"  # a longer session saves little more
    assert result.saved.rebalances == 17
    assert result.share > 0.5
    assert "4 rebalances instead of 21" in result.sentence
    assert "10 of 12 restarts took less than the session timeout of 10 s" in result.sentence


def test_nothing_to_gain():
    base = predicted("4.1.2", "orders", "base")

    result = advise(
        baseline("4.1.2", "orders"), base, [base._replace(change=SettingsChange(era="4.1"))]
    )

    assert result.change is None
    assert result.sentence.startswith("nothing to gain")


def test_the_same_seeds_give_the_same_prediction():
    again = predict(baseline("4.1.2", "invoices"), UNCHANGED, seeds=SEEDS)

    assert again == predicted("4.1.2", "invoices", "base")


def test_a_change_without_effect_predicts_the_unchanged_figures():
    changes = [
        UNCHANGED,
        SettingsChange(membership="dynamic"),
        SettingsChange(session_timeout_ms=25_000),
    ]

    base, dynamic, session = predict_each(baseline("4.1.2", "invoices"), changes, seeds=1)

    assert dynamic == base._replace(change=changes[1])
    assert session.outcomes != base.outcomes
    assert session == predict(baseline("4.1.2", "invoices"), changes[2], seeds=1)
