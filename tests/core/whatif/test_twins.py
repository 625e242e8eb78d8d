"""Predictions compared with real runs of the same script with one setting changed.

The truth was counted from real clients and brokers; a prediction uses the evidence of the unchanged
group alone.  Where the runs on the two broker versions differ by more than the bound, their
difference is the bound.
"""

from dataclasses import replace
from functools import cache

import pytest

from coordinator_core.incident import explain, incarnations
from coordinator_core.lives import Freeze, TimeEstimate
from coordinator_core.whatif import (
    UNCHANGED,
    Figures,
    SettingsChange,
    advise,
    baseline_of,
    instance_ids_of,
    observed,
    other_instance_ids,
    predict,
    predict_each,
    with_both_instance_ids,
)
from coordinator_core.whatif.reasons import assumption_of
from tests.core.incident.incident_rows import (
    FLAPPING,
    ROLLING,
    SURGE,
    last_commits,
    of_twins,
    truth_of_twins,
)

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
# JVMs took up to five seconds longer to start in the group with this setting than in the other
# group.  In addition, invoices-3 was killed, but by the evidence it may have been frozen.  In the
# flapping groups, a freeze of 6 s left no evidence, but changed the phase of heartbeats (see
# below), so 18 rebalances are predicted instead of 16.  By milliseconds, two rebalances became one,
# so 17 of 19 are predicted (docs/what-if.md).
TOO_FAR = {
    (ROLLING, "3.9.1", "invoices", "cooperative"): {"rebalances", "unavailable_partition_ms"},
    (FLAPPING, "4.1.2", "clicks", "cooperative"): {"rebalances"},
    (FLAPPING, "4.1.2", "orders", "cooperative"): {"rebalances"},
}


@cache
def baseline(version, family, script=ROLLING):
    group = f"{family}-base"
    (evidence,) = [each for each in of_twins(version, script) if group in each.groups()]
    evidence_of_group = incarnations(group, evidence.events[group], evidence.records[group])
    commits = last_commits(evidence, group, explain(evidence_of_group))
    return baseline_of(evidence_of_group, last_commit_ms=commits)


@cache
def predicted(version, family, variant, script=ROLLING):
    seeds = SEEDS if script == ROLLING else 5
    return predict(baseline(version, family, script), VARIANTS[variant], seeds=seeds)


def truth(version, family, variant, script=ROLLING):
    window = truth_of_twins(version, script)[f"{family}-{variant}"]["window"]
    return Figures(
        window["rebalances"],
        window["not_stable_ms"],
        window["partitions_moved"],
        window["unowned_partition_ms"],
    )


def variants(family, script=ROLLING):
    return [v for v in VARIANTS if f"{family}-{v}" in truth_of_twins("4.1.2", script)]


CASES = [
    (script, version, f, v)
    for script in (ROLLING, FLAPPING)
    for version in VERSIONS
    for f in FAMILIES
    for v in variants(f, script)
]


@pytest.mark.parametrize(("script", "version", "family", "variant"), CASES)
def test_predictions_are_near_the_truth(script, version, family, variant):
    result = predicted(version, family, variant, script).median._asdict()
    true = truth(version, family, variant, script)._asdict()
    other = truth(*[v for v in VERSIONS if v != version], family, variant, script)._asdict()

    for name, value in true.items():
        if value is None or name in TOO_FAR.get((script, version, family, variant), ()):
            continue
        share = 0.1 if name == "rebalances" else 0.25
        minimum = 1 if name == "rebalances" else 0
        bound = max(share * value, minimum, abs(value - other[name]))
        assert abs(result[name] - value) <= bound, name


def test_a_short_freeze_without_evidence_explains_the_rebalances_of_clicks():
    """clicks-6 was frozen for 6 s, less than its session, and then sent its heartbeats later.  So
    clicks-2 was stopped in the middle of a rebalance, while it owned nothing: librdkafka closes
    such a member without LeaveGroup.  The rebalance lasted until its session expired, and had both
    the stop and the next start.
    """
    group = baseline("4.1.2", "clicks", FLAPPING)
    t0_ms = truth_of_twins("4.1.2", FLAPPING)["clicks-base"]["t0_wall_ms"]
    freeze = Freeze(*(TimeEstimate.exactly(t0_ms + ms) for ms in (120_700, 126_700)))

    processes = tuple(
        replace(each, lives=(replace(each.lives[0], freezes=(freeze,)), *each.lives[1:]))
        if each.name == "clicks-6"
        else each
        for each in group.processes
    )
    prediction = predict(replace(group, processes=processes), VARIANTS["cooperative"], seeds=5)

    assert predicted("4.1.2", "clicks", "cooperative", FLAPPING).median.rebalances == 18
    assert prediction.median.rebalances == 16
    assert truth("4.1.2", "clicks", "cooperative", FLAPPING).rebalances == 16


@pytest.mark.parametrize(
    ("change", "variant"),
    [
        ("", "base"),
        ("membership=static", "static"),
        ("protocol=cooperative", "cooperative"),
    ],
)
def test_a_surge_deployment_a_freeze_and_autoscaling(change, variant):
    """Replacements have new names; group.instance.id of the static group is the process name."""
    prediction = predict(baseline("4.1.2", "g", SURGE), SettingsChange.of(change.split()))
    result, true = prediction.median, truth("4.1.2", "g", variant, SURGE)

    assert abs(result.rebalances - true.rebalances) <= (2 if variant == "cooperative" else 1)
    assert list(result[1:5]) == pytest.approx(list(true[1:5]), rel=0.25)


def test_instance_ids_that_last_save_the_expiries_of_a_surge_deployment():
    change = SettingsChange.of(["membership=static"])
    group = baseline("4.1.2", "g", SURGE)

    other = other_instance_ids(group, change)

    assert (instance_ids_of(group, change), str(other)) == (
        "process",
        "membership=static instance_ids=ordinal",
    )
    process, ordinal = predict_each(group, [change, other], seeds=1)
    assert (process.median.rebalances, ordinal.median.rebalances) == (9, 6)


def test_the_source_of_instance_ids_makes_no_difference_where_names_last():
    change = SettingsChange.of(["membership=static"])

    assert instance_ids_of(baseline("4.1.2", "orders"), change) == "process"
    assert other_instance_ids(baseline("4.1.2", "orders"), change) is None
    assert instance_ids_of(baseline("4.1.2", "orders"), UNCHANGED) is None


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
    result, true = observed(baseline(version, family), 1000), truth(version, family, "base")

    assert result.rebalances == true.rebalances
    assert result.moved_partitions == true.moved_partitions
    assert result.not_stable_ms == pytest.approx(true.not_stable_ms, rel=0.01)
    assert result.unavailable_partition_ms == 1000


@pytest.mark.parametrize("version", VERSIONS)
def test_advice(version):
    changed = [predicted(version, "orders", v) for v in VARIANTS if v != "base"]

    group, base = baseline(version, "orders"), predicted(version, "orders", "base")
    result = advise(group, observed(group, 745_000), base, changed)

    assert str(result.change) == "membership=static"  # A longer session would save little more.
    assert result.saved.rebalances == 17
    assert result.share > 0.5
    assert result.sentence.startswith("group.instance.id (process name): 4 rebalances instead of")
    assert "10 of 12 restarts took less than the session timeout of 10 s" in result.sentence
    assert result.client_properties == (
        "# every consumer of group orders-base\n"
        "# each process has its own group.instance.id, which it keeps after a restart\n\n"
        '{"group.instance.id": "orders-1"}\n{"group.instance.id": "orders-2"}\n'
        '{"group.instance.id": "orders-3"}\n{"group.instance.id": "orders-4"}\n'
        '{"group.instance.id": "orders-5"}\n{"group.instance.id": "orders-6"}'
    )
    assert result.broker_properties is None
    assert "wait until it returns or its session of 10 s expires" in result.risk
    assert result.rejected.startswith(
        "group.instance.id (process name), session.timeout.ms=25000: 1 rebalance instead of 21"
    )
    assert result.rejected.endswith("saves little more, but is harder to introduce")
    assert result.worse.startswith("longer partition downtime than")
    assert "session.timeout.ms=25000 (" in result.worse
    assert result.instance_ids == "process"
    assert "every process kept its name" in result.assumption
    assert result.confidence > 0.85
    assert result.confidence_reason.startswith("the model has 21 rebalances (observed: 21)")


def test_nothing_to_gain():
    base = predicted("4.1.2", "orders", "base")

    result = advise(
        baseline("4.1.2", "orders"),
        observed(baseline("4.1.2", "orders"), 745_000),
        base,
        [base._replace(change=SettingsChange(era="4.1"))],
    )

    assert (result.change, result.saved) == (None, Figures(0, 0, 0, 0))
    assert result.sentence.startswith("nothing to gain")
    assert (result.client_properties, result.risk, result.rejected) == (None, None, None)


def test_the_advice_states_which_instance_ids_were_assumed_and_what_the_others_would_change():
    group = baseline("4.1.2", "g", SURGE)
    changes = with_both_instance_ids(group, [SettingsChange.of(["group.instance.id=process"])])

    base, *changed = predict_each(group, [UNCHANGED, *changes], seeds=1)
    process, ordinal = changed

    assert [each.change.instance_ids for each in changed] == ["process", "ordinal"]
    assert assumption_of(group, process, changed) == (
        "assumes group.instance.id = the process's own name; with a name that a process "
        "keeps (a StatefulSet's pod): 6 rebalances, partition downtime "
        f"{ordinal.median.unavailable_partition_ms / 1000:.0f} s"
    )
    assert assumption_of(group, base, changed) is None


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
