"""docs/tables.md is up to date with schemas/."""

from pathlib import Path

from schemas import table_names, view_names
from tools.tables_page import page

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "regenerate it: .venv/bin/python -m tools.tables_page docs/tables.md"
    )


def test_every_table_and_view_has_its_section():
    sections = [line[4:] for line in page().splitlines() if line.startswith("### ")]

    assert sections == [*table_names(), *view_names()]


def test_a_column_with_its_type_and_meaning():
    lines = page().splitlines()

    assert "| session_timeout_ms | `INT` | session.timeout.ms |" in lines
    assert "| members.instance_id | `STRING` | group.instance.id of a static member |" in lines
    assert "| pause_below_ms | pauses within the storm are shorter than this |" in lines
