"""How often predicted ranges hold the truth: by the stored predictions of all captures."""

import json

import pytest

import schemas.prediction_ranges as data
from tools.coverage.captures import twins
from tools.coverage.rows import ROWS, Row, read_rows, what_if_rows
from tools.coverage.widening import judged, nested, shares


def row(script, true, *, setting="eager", least=9, median=10, most=12):
    return Row(
        part="p",
        command="what-if",
        script=script,
        run="4.1.2",
        source="a",
        group="b",
        setting=setting,
        explained=1,
        figure="rebalances",
        least=least,
        median=median,
        most=most,
        true=true,
    )


def test_the_share_holds_nine_of_ten_truths():
    """Their errors are 0.2 above, 0.1 below, and none; the largest of few errors counts."""
    rows = [row("one", 14), row("two", 8), row("three", 10)]

    assert shares(rows)["what-if", "eager", "rebalances"] == 0.2
    assert shares([*rows, *(rows[1:] * 9)])["what-if", "eager", "rebalances"] == 0.1


def test_settings_of_few_scripts_take_the_share_of_all_settings():
    eager = [row("one", 14), row("two", 14), row("three", 14)]

    table = shares([*eager, row("one", 12, setting="static")])

    assert table == {
        ("what-if", "eager", "rebalances"): 0.2,
        ("what-if", "other", "rebalances"): 0.2,
    }


def test_a_script_is_judged_by_the_widening_of_the_others():
    results = list(judged([row("one", 14), row("two", 13), row("three", 13), row("four", 13)]))

    assert {(each.row.script, each.before, each.after) for each in results} == {
        ("one", False, False),
        ("two", False, True),
        ("three", False, True),
        ("four", False, True),
    }


@pytest.fixture(scope="module")
def stored():
    return read_rows(ROWS)


def test_the_shares_are_those_of_the_stored_predictions(stored):
    explained = [each for each in stored if each.explained]

    assert nested(shares(explained)) == json.loads(data.FILE.read_text())


@pytest.mark.parametrize("command", ["what-if", "plan"])
def test_ranges_hold_nine_of_ten_truths_of_scripts_that_they_were_not_made_from(stored, command):
    rows = [each for each in stored if each.explained and each.command == command]
    results = list(judged(rows))

    assert len(results) >= 600
    assert sum(each.after for each in results) / len(results) >= 0.9


@pytest.mark.slow
def test_the_stored_predictions_are_those_of_this_version(stored, tmp_path):
    """One script: three groups, each predicted from the evidence of an eager group."""
    part = "freezes-and-return"
    own = [each for each in stored if each.part == part]

    rows = list(what_if_rows(part, list(twins(part, tmp_path)), tmp_path))

    assert rows == own
    assert [
        (each.figure, each.true)
        for each in rows
        if (each.source, each.group) == ("g-base", "g-cooperative")
    ] == [
        ("rebalances", 9),
        ("not_stable_ms", 32_363),
        ("moved_partitions", 24),
        ("unavailable_partition_ms", 156_212),
    ]
