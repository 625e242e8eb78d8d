"""Predictions of the consumer protocol from the evidence of a classic group, beside real runs.

The truth was counted from real clients and brokers that ran the same script.  Bounds: rebalances
10 % or 1, refused static members 1, the others 25 %; where the runs on the two broker versions
differ by more, their difference.
"""

import json
from functools import cache

import pytest

from coordinator_core.incident import explain, incarnations
from coordinator_core.whatif import Figures, InvalidSetting, SettingsChange, baseline_of, predict
from coordinator_core.whatif.limits import refusals
from tests.core.incident.incident_rows import NEXT, ROOT, last_commits, of_twins

VERSIONS = ("4.1.2", "4.4.0")
# The broker's settings were 10 s and 3 s, except in the last two variants.
SHORT = "consumer.session.timeout.ms=10000 consumer.heartbeat.interval.ms=3000"
VARIANTS = {
    "consumer": SHORT,
    "consumer-range": f"group.remote.assignor=range {SHORT}",
    "consumer-static": f"membership=static {SHORT}",
    "consumer-session": "consumer.session.timeout.ms=25000 consumer.heartbeat.interval.ms=3000",
    "consumer-default": "",
}
# invoices-3 was killed and came back 16 s later, but by the evidence it may have been frozen: with
# a longer session, a frozen process causes no rebalance.  The JVMs of invoices on 4.1.2 took some
# seconds longer to start with the consumer protocol than in the base group.  The server's range
# assignor orders members by their random ids, so moves vary by a third.
TOO_FAR = {
    ("4.4.0", "orders", "consumer-range"): {"moved_partitions"},
    ("4.4.0", "invoices", "consumer-session"): {"rebalances", "unavailable_partition_ms"},
    ("4.1.2", "invoices", "consumer-session"): {"rebalances", "unavailable_partition_ms"},
    ("4.1.2", "invoices", "consumer-range"): {"unavailable_partition_ms"},
    ("4.1.2", "invoices", "consumer"): {"unavailable_partition_ms"},
}


@cache
def figures():
    file = ROOT / "tests" / "data" / "twins" / f"{NEXT}-figures.json"
    return json.loads(file.read_text())


@cache
def baseline(version, family):
    group = f"{family}-base"
    (evidence,) = [each for each in of_twins(version, NEXT) if group in each.groups()]
    evidence_of_group = incarnations(group, evidence.events[group], evidence.records[group])
    commits = last_commits(evidence, group, explain(evidence_of_group))
    return baseline_of(evidence_of_group, last_commit_ms=commits)


def change(variant, version):
    era = version.rpartition(".")[0]
    return SettingsChange.of(f"group.protocol=consumer {VARIANTS[variant]} era={era}".split())


@cache
def predicted(version, family, variant):
    return predict(baseline(version, family), change(variant, version), seeds=3).median


def truth(version, family, variant):
    return Figures(*figures()[version][f"{family}-{variant}"])


CASES = [
    (version, family, variant)
    for version in VERSIONS
    for family in ("orders", "invoices")
    for variant in VARIANTS
    if f"{family}-{variant}" in figures()[version]
]


def bound(name, value, other):
    share = {"rebalances": 0.1, "static_refused": 0}.get(name, 0.25)
    minimum = 1 if name in ("rebalances", "static_refused") else 0
    return max(share * value, minimum, abs(value - other))


@pytest.mark.slow
@pytest.mark.parametrize(("version", "family", "variant"), CASES)
def test_predictions_are_near_the_truth(version, family, variant):
    result = predicted(version, family, variant)._asdict()
    true = truth(version, family, variant)._asdict()
    (other_version,) = {*VERSIONS} - {version}
    other = truth(other_version, family, variant)._asdict()

    too_far = {
        name
        for name, value in true.items()
        if value is not None and abs(result[name] - value) > bound(name, value, other[name])
    }
    assert too_far <= TOO_FAR.get((version, family, variant), set()), (result, true)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("family", ["orders", "invoices"])
def test_predictions_rank_the_variants_as_the_real_runs_do(family, version):
    """By partition downtime, but for pairs that are closer than the runs on the two versions."""
    own = [variant for v, f, variant in CASES if (v, f) == (version, family)]
    wrong = []
    for one in own:
        for another in own:
            true, others = (truth(version, family, v)[3] for v in (one, another))
            apart = max(
                abs(truth(v, family, one)[3] - truth(version, family, one)[3]) for v in VERSIONS
            )
            ours = [predicted(version, family, v)[3] for v in (one, another)]
            if true + max(apart, 0.05 * true) < others and ours[0] >= ours[1]:
                wrong.append((one, another))

    assert wrong == []


def test_the_brokers_defaults_cost_more_than_the_classic_group_and_its_timeouts_less():
    """With sessions of 45 s, killed processes keep their partitions longer."""
    classic = truth("4.4.0", "orders", "base").unavailable_partition_ms

    assert truth("4.4.0", "orders", "consumer").unavailable_partition_ms < classic
    assert truth("4.4.0", "orders", "consumer-default").unavailable_partition_ms > classic


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("group.protocol=streams", "group_protocol must be one of classic, consumer"),
        ("group.protocol=classic group.remote.assignor=range", "needs group.protocol=consumer"),
        ("group_protocol=classic remote_assignor=range", "needs group.protocol=consumer"),
        ("group.protocol=consumer session.timeout.ms=9000", "does not use it; use"),
        ("group.protocol=consumer protocol=cooperative", "does not use it; use"),
        ("group.protocol=consumer group.remote.assignor=sticky", "must be one of uniform, range"),
    ],
)
def test_settings_of_the_other_protocol_are_refused(text, message):
    with pytest.raises(InvalidSetting, match=message):
        SettingsChange.of(text.split())


def test_short_names_are_the_same_change():
    kafka = SettingsChange.of(["group.protocol=consumer", "consumer.session.timeout.ms=9000"])
    short = SettingsChange.of(["group_protocol=consumer", "consumer_session_timeout_ms=9000"])

    assert kafka == short
    assert kafka.in_kafka_names() == "group.protocol=consumer, consumer.session.timeout.ms=9000"


@pytest.mark.slow
def test_settings_of_the_consumer_protocol_need_it_in_a_classic_group():
    refused = SettingsChange.of(["consumer.session.timeout.ms=9000"])

    assert list(refusals(baseline("4.1.2", "orders"), refused)) == [
        "consumer.session.timeout.ms: needs group.protocol=consumer"
    ]


@pytest.mark.slow
def test_brokers_before_4_0_do_not_have_it():
    refused = SettingsChange.of(["group.protocol=consumer", "era=3.9"])

    assert list(refusals(baseline("4.1.2", "orders"), refused)) == [
        "group.protocol=consumer: brokers before Kafka 4.0 do not support it; add era=4.4"
    ]
