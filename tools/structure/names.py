"""Names: classes with several meanings, and words for groups that are not classic."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tools.structure.sources import PACKAGES, Source, sources

# Words of a name may be joined directly, by an underscore, or by a capital letter.
WORDS = {
    "modern": r"modern",
    "new types": r"new_?types?(?![a-z])",
    "other types": r"other_?types?(?![a-z])",
    "all types": r"all_?types?(?![a-z])",
    "new protocols": r"new_?protocols?(?![a-z])",
    "new groups": r"new_?groups?(?![a-z])",
}
_FOLDERS = ("schemas", "coordinator_core", "jobs", "tests", "tools", "bench", "docs", "examples")


def class_names(root: Path) -> dict[str, list[str]]:
    """Public class names that several modules define at top level, each with its modules."""
    modules = defaultdict(list)
    for source in sources(root, *PACKAGES):
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(source.module)
    return {name: where for name, where in sorted(modules.items()) if len(where) > 1}


def word_counts(root: Path) -> dict[str, tuple[int, int]]:
    """Per word: the number of files with it in their path, and of distinct identifiers with it."""
    paths = [
        str(file.relative_to(root)).replace("-", "_")
        for folder in _FOLDERS
        for file in (root / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    ]
    names = {name for source in sources(root, *_FOLDERS) for name in _identifiers(source)}
    return {
        word: (_count(pattern, paths), _count(pattern, names)) for word, pattern in WORDS.items()
    }


def _count(pattern: str, names: list[str] | set[str]) -> int:
    return sum(bool(re.search(pattern, name, re.IGNORECASE)) for name in names)


def _identifiers(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        for attribute in ("id", "attr", "arg", "name", "asname"):
            name = getattr(node, attribute, None)
            if isinstance(name, str):
                yield from name.split(".")
