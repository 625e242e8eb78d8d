"""Constructor calls with many positional arguments, and types that invite them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.structure.sources import PACKAGES, sources


class LongCall(NamedTuple):
    path: Path
    line: int
    name: str
    arguments: int


def long_calls(root: Path, least: int) -> list[LongCall]:
    """Calls of the packages' classes with at least this many positional arguments, longest first.

    An argument ``*values`` counts once.
    """
    files = sources(root, *PACKAGES)
    classes = {
        node.name
        for source in files
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef)
    }
    calls = (
        LongCall(source.path, node.lineno, _name(node.func), len(node.args))
        for source in files
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and len(node.args) >= least and _name(node.func) in classes
    )
    return sorted(calls, key=lambda call: (-call.arguments, call.path, call.line))


def positional_types(root: Path, most: int) -> dict[str, int]:
    """Dataclasses with more positional fields than ``most``: their numbers.

    A NamedTuple cannot be keyword-only; `long_calls` counts its calls.
    """
    fields = {
        f"{source.module}.{node.name}": sum(1 for _ in _positional_fields(node))
        for source in sources(root, *PACKAGES)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef)
    }
    return {name: count for name, count in sorted(fields.items()) if count > most}


def _positional_fields(node: ast.ClassDef) -> Iterator[str]:
    """Returns None for other classes, and for keyword-only dataclasses."""
    decorators = [each for each in node.decorator_list if _name(each) == "dataclass"]
    if not decorators:
        return
    if any(map(_is_keyword_only, decorators)):
        return
    for field in node.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            kind = ast.unparse(field.annotation)
            if kind.endswith("KW_ONLY"):
                return
            if not kind.startswith("ClassVar") and not _is_no_argument(field.value):
                yield field.target.id


def _is_no_argument(value: ast.expr | None) -> bool:
    """Returns whether a field is keyword-only, or no argument of the constructor."""
    return isinstance(value, ast.Call) and (_is_keyword_only(value) or _sets(value, "init", False))


def _is_keyword_only(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _sets(node, "kw_only", True)


def _sets(call: ast.Call, name: str, value: bool) -> bool:
    return any(
        each.arg == name and isinstance(each.value, ast.Constant) and each.value.value is value
        for each in call.keywords
    )


def _name(node: ast.expr) -> str:
    """The last part of a name; of a call, of what is called."""
    called = node.func if isinstance(node, ast.Call) else node
    return str(getattr(called, "attr", None) or getattr(called, "id", None))
