"""Generates docs/known-problems.md from schemas/known_problems.

.venv/bin/python -m tools.known_problems_page docs/known-problems.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from coordinator_core.log_lines.version_ranges import ranges_of, words_of
from schemas.known_problems import KINDS, KnownProblem, not_searched, problems

INTRODUCTION = """\
# Known problems

Generated from `schemas/known_problems/` by `tools/known_problems_page.py`. Each problem that a run
finds is a row of table `findings` (view `q16_findings`). A defect of certain versions is
reported if the evidence shows an affected version. If the evidence shows no version, or affected
versions and others, a defect is reported only if nothing else has its symptom: with a lower
confidence, `version_seen` false, and the reason in the summary. A new problem is one file and one
test: [extending.md](extending.md#a-known-problem).
"""

NOT_SEARCHED = """\
## Not searched

Known defects whose symptom no evidence shows, or that need no action."""

HEADINGS = {
    "broker_bug": "Defects of brokers",
    "client_bug": "Defects of clients",
    "configuration": "Configuration",
    "operation": "Operation",
    "coordinator": "Coordinators",
    "data": "Data",
    "evidence": "Evidence",
}


def page() -> str:
    by_kind = {kind: [each for each in problems() if each.kind == kind] for kind in KINDS}
    parts = [INTRODUCTION]
    for kind, of_kind in by_kind.items():
        if of_kind:
            parts += [f"## {HEADINGS[kind]}", *map(_section, of_kind)]
    parts += [NOT_SEARCHED, "\n".join(f"| {row} |" for row in _not_searched())]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _section(problem: KnownProblem) -> str:
    facts = (
        [f"- Component: {problem.component}, {_versions(problem)}."] if problem.component else []
    )
    facts.append(f"- Searched if the evidence has {_needs(problem)}.")
    remedy = problem.remedy.replace("{{", "{").replace("}}", "}")
    facts.append(f"- Remedy: {_indented(remedy)}")
    facts.append(f"- See {', '.join(f'<{each}>' for each in problem.references)}.")
    return "\n\n".join((f"### {problem.id}", f"{problem.title}. {problem.about}", "\n".join(facts)))


def _versions(problem: KnownProblem) -> str:
    assert problem.affected is not None
    affected = f"affected: {words_of(ranges_of(problem.affected))}"
    return f"{affected}; fixed in {problem.fixed_in}" if problem.fixed_in else f"{affected}; no fix"


def _needs(problem: KnownProblem) -> str:
    return _listed(
        f"`{need.table}`"
        if need.column is None
        else f"`{need.table}.{need.column}` {' or '.join(sorted(need.values))}"
        for need in problem.needs
    )


def _not_searched() -> Iterable[str]:
    yield "defect | component | symptom | why it is not searched"
    yield "---|---|---|---"
    for id, defect in not_searched().items():
        yield f"[{id}]({defect.reference}) | {defect.component} | {defect.title} | {defect.why}"


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(texts)


def _indented(text: str) -> str:
    """Further lines as a block within the item of a list."""
    first, *more = text.splitlines()
    block = ["", *(f"{' ' * 8}{line}" for line in more), ""] if more else []
    return "\n".join([first, *block])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
