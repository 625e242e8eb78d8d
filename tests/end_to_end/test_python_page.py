"""docs/python.md: every statement of the page prints the output below it."""

import doctest
import re
from pathlib import Path

import pandas as pd
import pytest

import regroup

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
BLOCKS = "\n".join(re.findall(r"^```pycon\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S))


def test_the_page_prints_what_is_below_its_statements(demo, tmp_path, monkeypatch):
    demo.copy(tmp_path / ".demo")
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_doctest(BLOCKS, {}, PAGE.name, str(PAGE), 0)
    failures = []

    with pd.option_context("display.width", 80, "display.max_columns", 20):
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        result = runner.run(examples, out=failures.append)

    assert result.attempted >= 15
    assert result.failed == 0, "".join(failures)


def test_a_sum_of_integers_is_an_integer(demo):
    statement = "SELECT SUM(generation) AS total, NULL::BIGINT AS none FROM generations"

    row = regroup.sql(demo.root, statement)

    assert [str(each) for each in row.dtypes] == ["Int64", "Int64"]


def test_tables_are_those_that_the_lake_has(demo):
    assert {"generations", "timeline"} <= {*regroup.tables(demo.root)["table"]}
    assert "what_if" not in {*regroup.tables(demo.root)["table"]}


def test_views_have_a_question_each():
    views = regroup.views().set_index("view")

    assert "cluster_id" in views.loc["q03_causes", "columns"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: regroup.sql("/no/lake", "SELECT 1"), "no such folder"),
        (lambda: regroup.tables("/no/lake"), "no such folder"),
        (lambda: regroup.report("/no/lake", "c", "page.html"), "no such folder"),
    ],
)
def test_a_wrong_argument_is_one_line(call, message):
    with pytest.raises(regroup.UsageError, match=message) as raised:
        call()

    assert "\n" not in str(raised.value)
