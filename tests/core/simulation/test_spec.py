"""Specs: valid values, error messages, and the actions that plans expand to."""

import copy
from pathlib import Path

import pytest

from coordinator_core.simulation import SpecError, duration_ms, fleet_of
from coordinator_core.simulation.plans import KINDS, Action, ActionKind, Plan, planned_actions
from coordinator_core.simulation.spec import FAULTS
from coordinator_core.simulation.spec_values import SpecTable

SPEC = {
    "name": "small",
    "length": "10m",
    "topics": [{"name": "orders", "partitions": 4, "grows": [{"at": "5m", "to": 6}]}],
    "groups": [{"name": "g", "topics": ["orders"], "processes": 2}],
}


def spec_with(path, value):
    """The small spec with one value replaced; ``path`` as in ``groups.0.client``."""
    changed = copy.deepcopy(SPEC)
    *parents, last = path.split(".")
    table = changed
    for name in parents:
        table = table[int(name)] if name.isdigit() else table.setdefault(name, {})
    table[last] = value
    return changed


@pytest.mark.parametrize(
    ("text", "ms"),
    [("90s", 90_000), ("1h30m", 5_400_000), ("250ms", 250), ("1.5s", 1_500), ("2d", 172_800_000)],
)
def test_durations(text, ms):
    assert duration_ms(text) == ms


@pytest.mark.parametrize("text", ["", "90", "5 m", "-1s", "1x", "s"])
def test_an_invalid_duration_is_refused(text):
    with pytest.raises(ValueError, match="is not a duration"):
        duration_ms(text)


def test_the_defaults_of_a_small_spec():
    fleet = fleet_of(SPEC)

    assert (fleet.length_ms, fleet.cluster.era, fleet.cluster.brokers) == (600_000, "4.1", 1)
    assert fleet.topics[0].partitions_at(299_999) == 4
    assert fleet.topics[0].partitions_at(300_000) == 6


def test_groups_by_count_have_numbered_names():
    fleet = fleet_of(spec_with("groups.0.count", 3))

    assert [group.name for group in fleet.groups] == ["g-1", "g-2", "g-3"]


def test_a_fault_repeats():
    fault = {"kind": "leadership_moves", "at": "1m", "every": "4m"}

    fleet = fleet_of(spec_with("faults", [fault]))

    assert [fault.at_ms for fault in fleet.faults] == [60_000, 300_000, 540_000]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("length", "ten", r"length: 'ten' is not a duration; write it as 90s"),
        ("length", 10, r"length: must be a duration"),
        ("colour", 1, r"the spec: unknown key colour; known keys: "),
        (
            "cluster.era",
            "1.2",
            r"cluster.era: must be one of 0.10, 0.11, 0.9, 1.0, 1.1, 2.0, 2.0.0, 2.1, 2.2, 2.3",
        ),
        ("cluster.config.max", 1, r"cluster.config.max: unknown setting; use one of .*group_"),
        (
            "cluster.append",
            ["3ms", "1ms"],
            r"cluster.append: must be two durations, the shorter first",
        ),
        ("network.loss", 2, r"network.loss: must be a probability between 0 and 1"),
        ("groups", [], r"groups: at least one group is required"),
        ("groups.0.topics", ["other"], r"groups\[1\].topics: topic other is not defined"),
        ("groups.0.client", "ruby", r"groups\[1\].client: must be one of "),
        ("groups.0.processes", 0, r"groups\[1\].processes: must be a whole number, at least 1"),
        (
            "groups.0.plans",
            [{"kind": "freeze", "at": "1m"}],
            r"plans\[1\].length: must be a duration",
        ),
        ("groups.0.plans", [{"kind": "kill"}], r"plans\[1\].at is missing"),
        (
            "faults",
            [{"kind": "broker_stops", "at": "1m"}],
            r"faults\[1\].broker: must be a broker other than the broker that",
        ),
        (
            "faults",
            [{"kind": "flood", "at": "1m"}],
            r"faults\[1\].kind: must be one of append_error, ",
        ),
    ],
)
def test_an_error_message_has_the_place_and_the_expected_value(path, value, message):
    with pytest.raises(SpecError, match=message):
        fleet_of(spec_with(path, value))


# -- plans ---------------------------------------------------------------------------------------

START, STOP, KILL = ActionKind.START, ActionKind.STOP, ActionKind.KILL


@pytest.mark.parametrize(
    ("plan", "actions"),
    [
        pytest.param(
            Plan(kind="kill", at_ms=60_000, processes=(2,), down_ms=5_000),
            [(60_000, KILL, "g-2"), (65_000, START, "g-2")],
            id="killed and restarted",
        ),
        pytest.param(
            Plan(kind="deploy", at_ms=60_000, gap_ms=10_000, down_ms=4_000),
            [
                (60_000, STOP, "g-1"), (64_000, START, "g-1"),
                (70_000, STOP, "g-2"), (74_000, START, "g-2"),
            ],
            id="deployed one after the other",
        ),
        pytest.param(
            Plan(kind="deploy", at_ms=60_000, gap_ms=10_000, overlap_ms=3_000),
            [
                (60_000, START, "g-1-v2"), (63_000, STOP, "g-1"),
                (70_000, START, "g-2-v2"), (73_000, STOP, "g-2"),
            ],
            id="deployed with surge: processes with new names start first",
        ),
        pytest.param(
            Plan(kind="scale", at_ms=60_000, to=4),
            [(60_000, START, "g-3"), (60_000, START, "g-4")],
            id="scaled out",
        ),
        pytest.param(
            Plan(kind="autoscale", at_ms=60_000, every_ms=10_000, times=4, low=2, high=3),
            [
                (60_000, START, "g-3"), (70_000, STOP, "g-3"),
                (80_000, START, "g-3"), (90_000, STOP, "g-3"),
            ],
            id="up and down",
        ),
        pytest.param(
            Plan(
                kind="crash_loop", at_ms=60_000, processes=(1,), loops=3, life_ms=2_000,
                down_ms=1_000,
            ),
            [
                (60_000, KILL, "g-1"), (61_000, START, "g-1"),
                (63_000, KILL, "g-1"), (65_000, START, "g-1"),
                (67_000, KILL, "g-1"), (71_000, START, "g-1"),
            ],
            id="the wait doubles each time",
        ),
        pytest.param(
            Plan(kind="twin", at_ms=60_000, processes=(1,), length_ms=9_000),
            [(60_000, START, "g-1-twin"), (69_000, STOP, "g-1-twin")],
            id="a second process under one instance id",
        ),
        pytest.param(
            Plan(
                kind="freeze", at_ms=60_000, every_ms=100_000, processes=(1,), length_ms=7_000,
                times=2,
            ),
            [(60_000, ActionKind.FREEZE, "g-1"), (160_000, ActionKind.FREEZE, "g-1")],
            id="repeated",
        ),
    ],
)  # fmt: skip
def test_a_plan_expands_to_these_actions(plan, actions):
    _, actual = planned_actions("g", 2, (plan,), 1, 600_000)

    assert [action[:3] for action in actual] == [(0, START, "g-1"), (0, START, "g-2"), *actions]


def test_a_second_surge_replaces_the_processes_of_the_first():
    plan = Plan(kind="deploy", at_ms=60_000, every_ms=60_000, times=2, overlap_ms=3_000)

    processes, actual = planned_actions("g", 1, (plan,), 1, 600_000)

    assert [(action.kind, action.process) for action in actual[1:]] == [
        (START, "g-1-v2"), (STOP, "g-1"), (START, "g-1-v3"), (STOP, "g-1-v2"),
    ]  # fmt: skip
    assert {process.instance_of for process in processes} == {"g-1"}


def test_random_choices_depend_on_the_seed_only():
    plan = Plan(
        kind="kill", at_ms=60_000, every_ms=60_000, pick=2, spread_ms=20_000, probability=0.7
    )
    runs = [planned_actions("g", 9, (plan,), seed, 3_600_000)[1] for seed in (1, 1, 2)]

    assert runs[0] == runs[1] != runs[2]
    kills = [action for action in runs[0] if action.kind is KILL]
    assert 30 < len(kills) / 2 < 59 * 0.9
    assert all(0 <= action.at_ms % 60_000 <= 20_000 for action in kills)


def test_actions_after_the_end_are_dropped():
    _, actual = planned_actions(
        "g", 1, (Plan(kind="kill", at_ms=50_000, down_ms=20_000),), 1, 60_000
    )

    assert actual == [Action(0, START, "g-1"), Action(50_000, KILL, "g-1")]


def test_every_key_and_kind_of_a_spec_is_in_the_docs(monkeypatch):
    keys = set(KINDS) | set(FAULTS)
    close = SpecTable.close

    def recording(table):
        keys.update(table._read)
        close(table)

    monkeypatch.setattr(SpecTable, "close", recording)
    fleet_of(
        spec_with("faults", [{"kind": "append_error", "at": "1m"}])
        | {"groups": [SPEC["groups"][0] | {"plans": [{"kind": "kill", "at": "1m"}]}]}
    )
    docs = (Path(__file__).parents[3] / "docs" / "simulation.md").read_text(encoding="utf-8")

    tables = {"cluster", "network", "topics", "groups", "faults"}
    assert {name for name in keys - tables if f"`{name}`" not in docs} == set()
    assert {name for name in tables if f"[{name}]" not in docs} == set()
    assert len(keys) > 60
