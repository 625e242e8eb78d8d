"""The Python files of a checkout."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGES = ("schemas", "coordinator_core", "jobs")


@dataclass(frozen=True)
class Source:
    """``path``: relative to the checkout."""

    root: Path
    path: Path

    @property
    def module(self) -> str:
        parts = self.path.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def tree(self) -> ast.Module:
        return parsed(self.root / self.path)


@cache
def parsed(file: Path) -> ast.Module:
    """Its syntax tree; it is read once in a process."""
    return ast.parse(file.read_text("utf-8"))


def sources(root: Path, *packages: str) -> list[Source]:
    """The files below these folders, in order of their paths."""
    files = (file for package in packages for file in (root / package).rglob("*.py"))
    return [Source(root, file.relative_to(root)) for file in sorted(files)]


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those of ``if __name__ == "__main__"``, which only a script runs."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if not _is_footer(node):
            yield node
            waiting += ast.iter_child_nodes(node)


def _is_footer(node: ast.AST) -> bool:
    match node:
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True
    return False
