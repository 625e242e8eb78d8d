"""docs/known-problems.md is up to date with schemas/known_problems."""

from pathlib import Path

from schemas.known_problems import not_searched, problems
from tools.known_problems_page import page

PAGE = Path(__file__).parents[2] / "docs" / "known-problems.md"


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "regenerate it: .venv/bin/python -m tools.known_problems_page docs/known-problems.md"
    )


def test_every_problem_has_its_section():
    sections = [line[4:] for line in page().splitlines() if line.startswith("### ")]

    assert sorted(sections) == [problem.id for problem in problems()]


def test_a_defect_names_its_versions():
    assert "- Component: broker, affected: 2.3 to 2.6.0; fixed in 2.6.1, 2.7.0." in page()


def test_a_defect_that_is_not_searched_has_its_reason():
    entry = not_searched()["KAFKA-14009"]

    assert entry.component == "broker"
    assert not set(not_searched()) & {problem.id for problem in problems()}
    assert f"| broker | {entry.title} | Records and lines have the old values only;" in page()
