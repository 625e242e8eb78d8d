"""Mutations from a folder of Python files, beside those of `mutations`.

Each file ``*.py`` has ``MUTATIONS``: kind of input -> functions of the input's bytes and a
random.Random, which return the changed bytes.  A function must take all its chance from this
generator, so that a seed gives the same inputs again.  The kinds are those of `corpus.KINDS`.
"""

from __future__ import annotations

import runpy
from collections import defaultdict
from pathlib import Path
from typing import Any

from tools.fuzz.corpus import KINDS
from tools.fuzz.log_mutations import Mutation


def mutations_in(folder: Path) -> dict[str, list[Mutation]]:
    """By kind, in the order of file names.  SystemExit for files without such mutations."""
    files = sorted(folder.glob("*.py"))
    if not files:
        raise SystemExit(f"{folder}: no Python file with MUTATIONS")
    all_mutations: dict[str, list[Mutation]] = defaultdict(list)
    for file in files:
        for kind, mutations in _mutations_of(file).items():
            all_mutations[kind] += mutations
    return dict(all_mutations)


def _mutations_of(file: Path) -> dict[str, list[Mutation]]:
    by_kind: Any = runpy.run_path(str(file)).get("MUTATIONS")
    if not isinstance(by_kind, dict):
        raise SystemExit(f"{file}: no MUTATIONS; give a dict of lists of functions, by kind")
    if unknown := set(by_kind) - set(KINDS):
        raise SystemExit(f"{file}: unknown kind {min(unknown)}; use {', '.join(KINDS)}")
    return {kind: list(mutations) for kind, mutations in by_kind.items()}
