"""regroup plan: its output as JSON, CSV and table, and one-line errors."""

import csv
import io
import json
import sys
from functools import partial

import pytest

from jobs.command_line.cli import main
from tests.jobs import test_what_if

pytestmark = pytest.mark.slow

FIGURES = [
    "rebalances",
    "not_stable_ms",
    "unavailable_partition_ms",
    "moved_partitions",
    "records_reprocessed",
]


lake, on_group = test_what_if.lake, test_what_if.on_group


@pytest.fixture
def plan(on_group):
    """``plan(*arguments)``: exit code, stdout, stderr."""
    return partial(on_group, "plan")


def test_json_has_observed_plans_and_the_recommended_one(plan):
    code, out, _ = plan("--seeds", "2", "--restart-time", "4s", "--format", "json")

    output = json.loads(out)
    assert code == 0
    assert set(FIGURES) <= output["observed"].keys()
    assert {each["strategy"] for each in output["plans"]} == {
        "one_by_one",
        "batches",
        "surge",
        "recreate",
    }
    assert output["plans"][0]["settings"] == {}
    assert {"membership": "static"}.items() <= {
        name: value for each in output["plans"] for name, value in each["settings"].items()
    }.items()
    for each in output["plans"]:
        assert {"pace_ms", "batch", *FIGURES} <= each.keys()
        for name in FIGURES:
            least, most = each["range"][name]
            assert least <= each[name] <= most
    # The partitions of the lake have caught up after twice the time of their pauses.
    assert output["observed"]["catch_up_ms"] == 60_000
    one_by_one = output["plans"][0]
    recreate = next(each for each in output["plans"] if each["strategy"] == "recreate")
    assert one_by_one["catch_up_ms"] < recreate["catch_up_ms"]
    assert 2 * 4000 < recreate["range"]["catch_up_ms"][0] <= recreate["catch_up_ms"]
    assert output["restart_ms"] == 4000
    least = min(each["unavailable_partition_ms"] for each in output["plans"])
    assert output["plans"][output["recommended"]]["unavailable_partition_ms"] == least


def test_csv_has_a_row_per_plan(plan):
    _, out, _ = plan("--seeds", "1", "--processes", "2", "--format", "csv")

    rows = list(csv.DictReader(io.StringIO(out)))
    assert rows[0]["strategy"] == "one_by_one"
    assert rows[0]["settings"] == "unchanged"
    assert rows[0]["rebalances_least"] == rows[0]["rebalances"] == "3"
    assert rows[0]["catch_up_ms_most"] == rows[0]["catch_up_ms"] != ""


def test_the_text_begins_with_the_observed_figures_and_ends_with_the_manifest(plan):
    _, out, _ = plan("--seeds", "1", "--processes", "2", "--restart-time", "4s")

    lines = out.splitlines()
    assert lines[0].startswith("observed: ")
    assert lines[0].endswith(", catch-up 60.0 s")
    assert lines[1] == "deployed: 2 processes; a process is back after 4 s, as given"
    assert "recommended: " in out
    assert "      terminationGracePeriodSeconds: 60" in lines


def test_a_plan_has_no_recommendation_where_the_model_does_not_explain_the_group(plan):
    """The lake has no partition downtime of this group, whose sessions expired."""
    arguments = ["--seeds", "1", "--processes", "2"]
    code, text, _ = plan(*arguments, group="inventory-static")
    _, out, _ = plan(*arguments, "--format", "json", group="inventory-static")

    assert code == 0
    assert text.splitlines()[-2].startswith(
        "no recommendation: the model does not explain this group: partition downtime "
    )
    output = json.loads(out)
    assert output["recommended"] is None
    [missed] = output["misses"]
    assert missed.endswith(" predicted, 0 s observed (partition-seconds)")
    assert output["plans"]


def test_lines_to_paste_have_the_chosen_form(plan):
    arguments = ["--seeds", "1", "--prefer", "rebalances"]
    _, out, _ = plan(*arguments, "--deploy-as", "kubernetes")

    assert "kind: StatefulSet" in out.splitlines()


@pytest.mark.parametrize(
    ("group", "arguments", "message"),
    [
        ("billing-eager", ["--processes", "0"], "--processes 0: must be 1 to 500"),
        ("billing-eager", ["--seeds", "0"], "--seeds 0: must be 1 to 500"),
        ("billing-eager", ["--restart-time", "4"], "--restart-time 4: not a duration; give"),
        ("billing-eager", ["--prefer", "x"], "--prefer x: not one of downtime, rebalances"),
        ("billing-eager", ["--deploy-as", "x"], "--deploy-as x: not one of properties, env"),
        ("billing-eager", ["--deploy-as", "spring"], "--deploy-as spring: the clients of group"),
        ("billing-eager", ["--era", "7"], "--era 7: not one of 0.9"),
        ("billing-eager", ["--scale", "6"], "--scale 6: give two different numbers of processes"),
        ("billing-eager", ["--scale", "6..6"], "--scale 6..6: give two different numbers"),
        (
            "billing-eager",
            ["--scale", "2..4", "--processes", "3"],
            "give --scale without --processes",
        ),
        ("nobody", [], "--group nobody: no events or records of this group in"),
        (
            "inventory-static",
            ["--prefer", "reprocessed"],
            "--prefer reprocessed: the lake has no commits of",
        ),
        ("connect", [], "--group connect: not a consumer group (connect)"),
        ("streams", [], "--group streams: not a consumer group (Kafka Streams"),
    ],
)
def test_what_cannot_be_planned_ends_with_one_line(plan, group, arguments, message):
    code, out, err = plan(*arguments, group=group)

    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


KEDA = "kind: ScaledObject\nspec:\n  minReplicaCount: 1\n  triggers:\n  - type: kafka\n"


def test_the_load_of_a_group_without_commits_is_unknown(plan, tmp_path):
    file = tmp_path / "keda.yaml"
    file.write_text(KEDA)

    code, out, err = plan("--autoscaler", str(file))

    assert (code, out) == (2, "")
    assert "--autoscaler: the lake has no commits of group billing-eager, so" in err
    assert err.count("\n") == 1


def test_ways_to_scale(plan):
    _, out, _ = plan("--scale", "2..4", "--seeds", "1", "--format", "json")

    output = json.loads(out)
    assert output["scale"] == [2, 4]
    assert [each["strategy"] for each in output["plans"]] == ["one_by_one", "one_by_one", "batches"]
    assert [each["rebalances"] for each in output["plans"]][:2] == [2, 2]


@pytest.mark.parametrize(
    ("arguments", "group", "code", "message"),
    [
        (
            ["--since", "2026-11-21T00:46"],
            "billing-eager",
            1,
            "group billing-eager: no process runs; the",
        ),
        (["--since", "noon"], "billing-eager", 2, "--since noon: expected a UTC time"),
        (
            ["--since", "2026-11-21T00:46", "--processes", "0"],
            "billing-eager",
            2,
            "--processes 0: must be",
        ),
        (
            ["--since", "2026-11-21T00:46", "--timeout", "5"],
            "billing-eager",
            2,
            "--timeout 5: not a duration",
        ),
        (["--since", "2026-11-21T00:46"], "nobody", 2, "--group nobody: no events or records"),
        (
            ["--since", "2026-11-21T00:46"],
            "connect",
            2,
            "--group connect: not a consumer group",
        ),
    ],
)
def test_the_gate_says_in_one_line_what_is_missing(
    monkeypatch, capsys, lake, arguments, group, code, message
):
    command = ["regroup", "gate", "--lake", lake, "--cluster-id", "prod", "--group", group]
    monkeypatch.setattr(sys, "argv", [*command, *arguments])

    with pytest.raises(SystemExit) as left:
        main()

    output = capsys.readouterr()
    assert left.value.code == code
    assert message in output.out + output.err
    assert (output.out + output.err).count("\n") == 1
