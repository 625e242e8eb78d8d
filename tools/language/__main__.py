"""Look for ruled-out words and names.

python -m tools.language
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import typer

from tools.language.prose import bound_names, project_texts, python_files

WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


class Rule(NamedTuple):
    pattern: re.Pattern[str]
    instead: str


RULES = [Rule(re.compile(word["pattern"], re.I), word["instead"]) for word in WORDS["words"]]


def ruled_out(words: str) -> Iterator[tuple[str, str]]:
    """Each ruled-out expression of the text, and what to write instead."""
    flat = " ".join(words.split())
    for rule in RULES:
        for match in rule.pattern.finditer(flat):
            yield match[0], rule.instead


def violations() -> Iterator[str]:
    for text in project_texts():
        for expression, instead in ruled_out(text.words):
            yield f"{text.path}:{text.line}: {expression!r}: write {instead}"
    for path in python_files():
        for line, name in bound_names(path):
            if name in WORDS["names"]["forbidden"]:
                yield f"{path}:{line}: name {name!r}: name the value for what it holds"


def main() -> None:
    lines = list(violations())
    print(*lines, sep="\n", file=sys.stderr)
    raise typer.Exit(1 if lines else 0)


if __name__ == "__main__":
    typer.run(main)
