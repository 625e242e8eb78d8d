"""The files of schemas/known_problems: read with clear errors, and run by every engine."""

import pytest

from jobs.known_problems.search import EngineEvidence
from schemas import table_names
from schemas.known_problems import (
    BadProblem,
    Need,
    problem_sql,
    problems,
    read_problem,
    tables_of,
)
from tests.jobs.known_problems.conftest import DuckDB

FILE = """
kind = "broker_bug"
title = "A group stalls"
about = "Because."
component = "broker"
affected = "2.6.1-2.6, 2.7, -2.0, 3.6-"
confidence = 0.8
needs = ["client_events", "group_events.event=LOADED|LEFT"]
symptom = "SELECT group_id, MIN(event_time) AS from_time FROM group_events GROUP BY group_id"
summary = "{group_id} stalls, {{braces}}"
remedy = "Upgrade."
references = ["https://example.org"]
"""


def test_a_file_is_read():
    read = read_problem("KAFKA-1", FILE)

    assert (read.id, read.kind, read.confidence, read.specific) == (
        "KAFKA-1",
        "broker_bug",
        0.8,
        False,
    )
    assert read.needs == (
        Need("client_events", None, frozenset()),
        Need("group_events", "event", frozenset({"LOADED", "LEFT"})),
    )
    assert read.named_columns == {"group_id"}
    assert (read.fixed_in, read.contradicted_by) == (None, None)


@pytest.mark.parametrize(
    ("line", "instead", "message"),
    [
        ('title = "A group stalls"', "", "title must be a text"),
        ('title = "A group stalls"', "title = ", "Invalid value"),
        ('"broker_bug"', '"bug"', "kind must be one of broker_bug, client_bug, configuration"),
        ('component = "broker"', "", "component and affected need each other"),
        ("2.7, -2.0", "2.7, before 2.0", "affected: 'before 2.0' is not 2.5.1, 2.8.1-4.0, 4.2-"),
        ("0.8", "80", "confidence must be a number above 0, at most 1"),
        ('"client_events"', '"client_logs"', "needs: no table client_logs"),
        (".event=", ".name=", "needs: group_events has no name"),
        ("LOADED|LEFT", "", "needs: expected table or table.column=VALUE|VALUE"),
        ("{{braces}}", "{braces", "summary: expected '}' before end of string"),
        ('remedy = "Upgrade."', 'remedy = "{0}"', "remedy: {0} is not a column"),
        ("references", "links", "unknown key links"),
        ('["https://example.org"]', "[]", "references must be a list of texts"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_expected(line, instead, message):
    with pytest.raises(BadProblem) as error:
        read_problem("KAFKA-1", FILE.replace(line, instead))

    assert str(error.value).startswith("schemas/known_problems/KAFKA-1.toml: ")
    assert message in str(error.value)


def test_a_views_select_takes_the_place_of_its_name():
    select = "SELECT v.group_id FROM q16_findings v JOIN tops t ON true"

    assert tables_of(select) == {"findings"}
    assert problem_sql(select, lambda table: f"<{table}>").count("<findings>") == 1
    assert "FROM (SELECT" in problem_sql(select)


def test_a_shared_select_takes_the_place_of_its_name():
    assert tables_of("SELECT l.line FROM failed_loads l") == {"broker_log_events"}
    assert tables_of("SELECT group_id FROM connect_generations") == {"group_metadata"}


@pytest.fixture(scope="module")
def evidence(frame):
    return EngineEvidence(lambda table: frame(table, []), lambda table: True)


@pytest.mark.embedded_suffices
@pytest.mark.parametrize("problem", problems(), ids=lambda each: each.id)
def test_each_engine_understands_the_symptom(evidence, problem):
    """What the SQL is depends on the engine, what it finds does not."""
    selects = filter(None, [problem.symptom, problem.contradicted_by])

    assert all(evidence.result(select).columns for select in selects)


@pytest.mark.parametrize("problem", problems(), ids=lambda each: each.id)
def test_the_symptom_has_the_columns_that_are_read(problem):
    columns = DuckDB().columns
    names = columns(problem.symptom)

    assert "from_time" in names
    missing = problem.named_columns - set(names) - {"groups"}
    assert not missing, f"summary or remedy names {missing}"
    if problem.contradicted_by is not None:
        against = set(columns(problem.contradicted_by))
        assert against & set(names) - {"from_time", "to_time"}, "it would contradict every row"
    assert tables_of(problem.symptom) <= set(table_names())
