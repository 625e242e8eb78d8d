"""The pages in docs/tables are up to date with schemas/."""

from schemas import table_names, view_names
from tools.manual.folder import read_folder
from tools.tables_page import FOLDER, pages


def test_the_pages_are_up_to_date():
    assert read_folder(FOLDER) == pages(), "regenerate them: .venv/bin/python -m tools.tables_page"


def test_every_table_and_view_has_its_page_and_is_in_the_index():
    names = [*table_names(), *view_names()]
    index = pages()["README.md"]

    assert list(pages()) == ["README.md", *(f"{name}.md" for name in names)]
    assert [name for name in names if f"| [{name}]({name}.md) | " not in index] == []


def test_a_column_with_its_type_and_meaning():
    of = {name: text.splitlines() for name, text in pages().items()}

    assert "| members.session_timeout_ms | `INT` | session.timeout.ms |" in of["group_metadata.md"]
    assert (
        "| members.instance_id | `STRING` | group.instance.id of a static member |"
        in (of["group_metadata.md"])
    )
    assert "| pause_below_ms | pauses within the storm are shorter than this |" in of["storms.md"]
