"""What every engine is asked: each table, each view and each question of the tests."""

from __future__ import annotations

from pathlib import Path

from schemas import table_names, view_names
from schemas.columns import columns

QUESTIONS = Path(__file__).parents[2] / "tests" / "end_to_end" / "questions.txt"


def statements() -> dict[str, str]:
    """SQL by name; the name begins with table, view or question."""
    tables = {f"table {name}": _table(name) for name in table_names()}
    views = {f"view {name}": f"SELECT * FROM {name}" for name in view_names()}
    return tables | views | questions(QUESTIONS.read_text(encoding="utf-8"))


def _table(name: str) -> str:
    """All columns but maps, which only the lists of runs and files have: each engine has another
    form for them.
    """
    selected = [column.name for column in columns(name) if column.type.name != "MAP"]
    return f"SELECT {', '.join(selected)} FROM {name}"


def questions(text: str) -> dict[str, str]:
    """Blocks of questions.txt: a heading, SQL, dashes and the expected rows."""
    asked = {}
    for block in text.split("\n\n"):
        head, rest = block.strip("\n").split("\n", 1)
        name = head.removeprefix("# ").split(":")[0]
        asked[f"question {name}"] = rest.split("\n----\n")[0].replace("\n", " ")
    return asked
