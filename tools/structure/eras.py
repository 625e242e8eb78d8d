"""Files that name an era: a version of Kafka whose coordinator answers differently.

A Python file names an era with a string that is one of its names ("4.1"), or with a name ERA_4_1.
A row of JSON names an era as the end of a range if a string in it ends in "-VERSION" or is one.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tools.structure.sources import sources

ERAS = {
    *("0.9", "0.10", "0.11", "1.0", "1.1", "2.0.0", "2.0", "2.1", "2.2", "2.3", "2.4"),
    *("2.5", "2.6", "2.8", "3.0", "3.9"),
    *("4.0", "4.1", "4.1.2", "4.2", "4.3", "4.4"),
}
_NAME = re.compile(r"ERA_\d")


def files_that_name_eras(root: Path) -> list[Path]:
    return [
        source.path
        for source in sources(root, "coordinator_core", "jobs", "schemas")
        if any(map(_names_era, ast.walk(source.tree)))
    ]


def rows_that_end_in(root: Path, version: str) -> int:
    """Lines of the JSON files of schemas with a range or version that ends in this one."""
    end = re.compile(rf'[-"]{re.escape(version)}"')
    files = (root / "schemas").rglob("*.json")
    return sum(bool(end.search(line)) for file in files for line in file.read_text().splitlines())


def _names_era(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value in ERAS
    name = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "name", None)
    return isinstance(name, str) and bool(_NAME.match(name))
