"""A sweep simulates what does not change between settings once, with the same predictions."""

import sys
from dataclasses import replace

import pytest

from coordinator_core.incident import incarnations
from coordinator_core.whatif import (
    Outcomes,
    SettingsChange,
    baseline_of,
    predict,
    predict_each,
)
from coordinator_core.whatif.handovers import Consumption
from tests.core.incident.incident_rows import of_fleet

KILL = {"kind": "kill", "at": "1m", "pick": 1, "down": "25s"}
FREEZE = {"kind": "freeze", "at": "1m", "pick": 1, "length": "25s"}
DEPLOY = {"kind": "deploy", "at": "1m", "gap": "10s", "down": "4s"}
LONGER = ["session_timeout_ms=20000", "session_timeout_ms=40000"]
STATIC = [f"membership=static {change}" for change in ("", *LONGER)]


def baseline(plan, era, client, session):
    rows = of_fleet(
        {
            "name": "reused",
            "length": "4m",
            "cluster": {"era": era},
            "topics": [{"name": "orders", "partitions": 6}],
            "groups": [
                {
                    "name": "billing",
                    "topics": ["orders"],
                    "processes": 3,
                    "client": client,
                    "assignors": ["range"],
                    "session_timeout": session,
                    "plans": [plan],
                }
            ],
        }
    )
    return baseline_of(
        incarnations("billing", rows.events["billing"], rows.records["billing"]), era=era
    )


@pytest.mark.parametrize(
    ("plan", "era", "client", "texts", "simulations"),
    [
        (DEPLOY, "4.1", "java-4.1", ["", *LONGER, *STATIC], 2),
        (DEPLOY, "2.5", "librdkafka-2", ["", *LONGER, *STATIC], 2),
        (DEPLOY, "0.9", "java-0.9", ["", *LONGER], 3),
        (KILL, "4.1", "java-4.1", ["", *LONGER], 3),
        (KILL, "4.1", "java-4.1", [*STATIC, "membership=static session_timeout_ms=60000"], 3),
        (FREEZE, "4.1", "java-4.1", ["", *LONGER], 3),
    ],
    ids=[
        "no session expires: its length does not matter",
        "librdkafka likewise",
        "before KIP-62 the session is the rebalance timeout, too",
        "the session of a killed member expires",
        "a static member is back before the longer sessions expire",
        "the session of a frozen member expires at the coordinator or at its client",
    ],
)
def test_longer_sessions_than_those_of_which_none_expired(plan, era, client, texts, simulations):
    of_group = baseline(plan, era, client, "10s")
    changes = [SettingsChange.of(text.split()) for text in texts]

    together = predict_each(of_group, changes, seeds=2)

    alone = [predict(of_group, change, seeds=2) for change in changes]
    assert [each.outcomes for each in together] == [each.outcomes for each in alone]
    assert len({id(each.outcomes) for each in together}) == simulations


def test_the_shortest_sessions_are_simulated_whatever_the_order():
    of_group = baseline(DEPLOY, "4.1", "java-4.1", "30s")
    changes = [SettingsChange(), SettingsChange(session_timeout_ms=6000)]

    unchanged, shorter = predict_each(of_group, changes, seeds=1)

    assert unchanged.outcomes is shorter.outcomes
    assert shorter == predict(of_group, changes[1], seeds=1)


def test_known_outcomes_are_not_simulated_again(monkeypatch):
    of_group = baseline(KILL, "4.1", "java-4.1", "10s")
    changes = [SettingsChange.of(text.split()) for text in ("", *LONGER, *STATIC)]
    first = predict_each(of_group, changes, seeds=2)
    earlier = {each.simulation: Outcomes(each.outcomes, each.depends) for each in first}
    monkeypatch.setattr(sys.modules[predict.__module__], "SimulatedCluster", None)

    assert predict_each(of_group, changes, seeds=2, earlier=earlier) == first


def consuming(of_group, interval_ms=5000):
    """Six partitions with 10 records per second each."""
    rates = {("orders", n): 10.0 for n in range(6)}
    return replace(of_group, consumption=Consumption(rates, interval_ms))


def test_another_commit_interval_is_not_another_simulation(monkeypatch):
    of_group = consuming(baseline(KILL, "4.1", "java-4.1", "10s"))
    intervals_ms = (1000, 20_000, 5000)
    changes = [SettingsChange(), *(SettingsChange(commit_interval_ms=n) for n in intervals_ms)]
    module = sys.modules[predict.__module__]
    simulations = []

    class Counted(module.SimulatedCluster):
        def __init__(self, *arguments, **more):
            simulations.append(arguments)
            super().__init__(*arguments, **more)

    monkeypatch.setattr(module, "SimulatedCluster", Counted)
    predictions = predict_each(of_group, changes, seeds=1)

    assert len(simulations) == 1
    figures = [each.median for each in predictions]
    # For two of six partitions, half an interval each is handled again.
    assert [each.records_reprocessed for each in figures] == [50, 10, 200, 50]
    assert len({each._replace(records_reprocessed=0) for each in figures}) == 1
    assert len({each.simulation for each in predictions}) == 3


def test_known_outcomes_hold_for_their_commit_interval_and_rates():
    of_group = baseline(KILL, "4.1", "java-4.1", "10s")
    without = predict(of_group, SettingsChange(), seeds=1)
    outcomes = {without.simulation: Outcomes(without.outcomes, without.depends)}

    again, with_costs = (
        predict_each(each, [SettingsChange()], seeds=1, earlier=outcomes)[0]
        for each in (of_group, consuming(of_group))
    )

    assert (again.outcomes, again.median.records_reprocessed) == (without.outcomes, None)
    assert with_costs.median.records_reprocessed == 50
    outcomes = {with_costs.simulation: Outcomes(with_costs.outcomes, with_costs.depends)}
    changes = [SettingsChange(), SettingsChange(commit_interval_ms=1000)]
    same, shorter = predict_each(consuming(of_group), changes, seeds=1, earlier=outcomes)
    assert (same, shorter.median.records_reprocessed) == (with_costs, 10)


def test_another_history_or_number_of_seeds_is_another_simulation():
    killed, frozen = (baseline(plan, "4.1", "java-4.1", "10s") for plan in (KILL, FREEZE))
    predictions = [
        predict(killed, SettingsChange(), seeds=1),
        predict(killed, SettingsChange(), seeds=2),
        predict(killed, SettingsChange(session_timeout_ms=9000), seeds=1),
        predict(frozen, SettingsChange(), seeds=1),
    ]

    assert len({each.simulation for each in predictions}) == 4
    again = predict(baseline(KILL, "4.1", "java-4.1", "10s"), SettingsChange(), seeds=1)
    assert again == predictions[0]
