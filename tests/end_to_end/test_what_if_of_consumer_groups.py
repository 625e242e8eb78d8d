"""Predictions from the evidence of groups of the consumer protocol, beside real runs.

The truth was counted from real clients and brokers that ran the same script (see
tests/core/whatif/test_across_protocols.py, the other direction, whose bounds these are).
"""

import json
from datetime import UTC, datetime
from functools import cache

import pytest

from coordinator_core.whatif import Figures, SettingsChange, predict_each
from jobs.console.errors import UsageError
from jobs.what_if.command import WhatIfOptions, as_json, evaluate
from tests.core.incident.incident_rows import NEXT, ROOT, truth_of_twins
from tests.core.whatif import test_other_scripts as other_scripts
from tests.core.whatif.test_across_protocols import SHORT

pytestmark = pytest.mark.slow

CLASSIC = "group.protocol=classic session.timeout.ms=10000"
VARIANTS = {
    "consumer": "",
    "consumer-range": "group.remote.assignor=range",
    "consumer-static": "membership=static",
    "consumer-session": "consumer.session.timeout.ms=25000",
    "consumer-default": "consumer.session.timeout.ms=45000 consumer.heartbeat.interval.ms=5000",
    "base": f"{CLASSIC} assignor=range",
    "cooperative": f"{CLASSIC} protocol=cooperative",
    "static": f"{CLASSIC} assignor=range membership=static",
}
CASES = [(version, family) for version in ("4.1.2", "4.4.0") for family in ("orders", "invoices")]


@cache
def figures():
    file = ROOT / "tests" / "data" / "twins" / f"{NEXT}-figures.json"
    return json.loads(file.read_text())


def window_ends(version, group):
    """Before the processes of the script were stopped."""
    plays = json.loads((ROOT / "tests" / "data" / "twins" / "callbacks.json").read_text())
    (play,) = [p for p in plays[f"{NEXT}-{version}"] if group in p["unowned_partition_ms"]]
    end = datetime.fromtimestamp((play["t0_wall_ms"] + play["window_ms"]) / 1000, UTC)
    return end.strftime("%Y-%m-%dT%H:%M:%S.%f")


@pytest.fixture(scope="module")
def result_of(twins_by):
    """``result_of(version, group, *settings)``"""

    @cache
    def result(version, group, *settings, seeds=1):
        lake = twins_by("embedded", NEXT, version)
        last = window_ends(version, group)
        return evaluate(
            WhatIfOptions(
                lake=lake.root,
                cluster_id=version,
                group_id=group,
                settings=settings,
                seeds=seeds,
                last=last,
            )
        )

    return result


# The table of docs/what-if.md has all versions.
@pytest.mark.parametrize(
    ("version", "family"),
    [pytest.param("4.1.2", "invoices", marks=pytest.mark.campaign), ("4.4.0", "orders")],
)
def test_predictions_are_near_the_truth(version, family, result_of):
    """Of its own protocol under other settings, and of the classic protocol."""
    baseline = result_of(version, f"{family}-consumer", "membership=static").baseline
    (other_version,) = {"4.1.2", "4.4.0"} - {version}
    own = [each for each in VARIANTS if f"{family}-{each}" in figures()[version]]
    changes = [SettingsChange.of(VARIANTS[each].split()) for each in own]
    too_far = {}

    for variant, prediction in zip(own, predict_each(baseline, changes, seeds=5), strict=True):
        result = prediction.median._asdict()
        true, other = (
            Figures(*figures()[each][f"{family}-{variant}"])._asdict()
            for each in (version, other_version)
        )
        names = other_scripts.names_too_far(result, true, other)
        if names:
            too_far[variant] = names, result, true

    assert len(own) >= 6
    assert too_far == {}


# The phases of heartbeats decide which sessions of a failed host's processes expire together.
PHASES = {"consumer": {"rebalances"}, "consumer-default": {"rebalances"}}


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("script", "run", "expected"),
    [(other_scripts.SURGE, "4.4.0", {}), (other_scripts.HOST_LOSS, "4.1.2", PHASES)],
)
def test_predictions_of_other_scripts_are_near_the_truth(script, run, expected, twins_by):
    """Surge deployments, autoscaling, a lost host, freezes; another play bounds what is chance."""
    variants = {
        "base": f"{CLASSIC} assignor=range",
        "cooperative": f"{CLASSIC} protocol=cooperative",
        "consumer": "",
        "consumer-static": f"membership=static {SHORT}",
        "consumer-default": VARIANTS["consumer-default"],
    }
    counted = truth_of_twins(run, script)["orders-consumer"]
    end_s = (counted["t0_wall_ms"] + counted["window_ms"]) / 1000
    last = datetime.fromtimestamp(end_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    lake = twins_by("embedded", script, run).root
    options = WhatIfOptions(
        lake=lake,
        cluster_id=run,
        group_id="orders-consumer",
        settings=("restart_ms=3000",),
        seeds=1,
        last=last,
    )
    changes = [SettingsChange.of(text.split()) for text in variants.values()]
    (other_run,) = {*other_scripts.RUNS[script]} - {run}
    too_far = {}

    predictions = predict_each(evaluate(options).baseline, changes, seeds=3)

    for variant, prediction in zip(variants, predictions, strict=True):
        result = prediction.median._asdict()
        true, other = (other_scripts.truth(script, each, variant) for each in (run, other_run))
        names = other_scripts.names_too_far(result, true, other)
        if names - expected.get(variant, set()):
            too_far[variant] = names, result, true
    assert too_far == {}


@pytest.mark.parametrize(("version", "family"), CASES)
def test_observed_figures_and_settings_are_those_of_the_group(version, family, result_of):
    group = f"{family}-consumer"
    result = result_of(version, group, "membership=static")
    true = Figures(*figures()[version][group])
    java = f"java-{version[:3]}"

    assert result.observed[:3] == true[:3]
    assert result.observed.unavailable_partition_ms == pytest.approx(true[3], rel=0.05)
    assert result.observed.static_refused == 0
    assert result.baseline.consumer[:3] == (10_000, 3000, "uniform")
    assert set(result.baseline.libraries.values()) == {
        "librdkafka-2" if family == "orders" else java
    }
    assert result.baseline.explained.era.name == version[:3]


def test_refused_static_members_are_observed(result_of):
    result = result_of("4.4.0", "orders-consumer-static", "membership=dynamic")

    assert result.observed.static_refused == 8
    assert result.predicted[0].median.static_refused == 0


def test_the_lines_to_paste_are_those_of_the_protocol(result_of):
    group = "orders-consumer"
    longer = as_json(
        WhatIfOptions(lake="", cluster_id="4.4.0", group_id=group, settings=("",)),
        result_of("4.4.0", group, "consumer.session.timeout.ms=45000"),
    )
    classic = as_json(
        WhatIfOptions(lake="", cluster_id="4.4.0", group_id=group, settings=("",)),
        result_of("4.4.0", group, *CLASSIC.split(), "assignor=range"),
    )

    command = "--entity-name orders-consumer --add-config consumer.session.timeout.ms=45000"
    assert longer["client_properties"] is None
    assert command in longer["broker_properties"]
    assert json.loads(classic["client_properties"].split("\n\n")[1]) == {
        "session.timeout.ms": "10000",
        "partition.assignment.strategy": "range",
        "group.protocol": "classic",
    }
    assert classic["broker_properties"] is None


@pytest.mark.parametrize("setting", ["session.timeout.ms=9000", "protocol=cooperative"])
def test_settings_of_classic_groups_need_the_classic_protocol(setting, result_of):
    with pytest.raises(UsageError, match=r"group\.protocol=consumer does not use it; use"):
        result_of("4.4.0", "orders-consumer", setting)
