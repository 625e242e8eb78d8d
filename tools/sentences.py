"""Draw random sentences of the project for a reader who did not write them.

python -m tools.sentences --seed 7 --count 200

Of 200 sentences, 40 are messages, 50 from docs, 50 from docstrings, 40 comments and 20 from SQL.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Annotated

import typer

from tools.language.prose import (
    COMMENT,
    DOCSTRING,
    DOCUMENTATION,
    MESSAGE,
    SQL,
    Text,
    project_texts,
    sentences,
)

# Shares of the kinds, in percent.
SHARES = {MESSAGE: 20, DOCUMENTATION: 25, DOCSTRING: 25, COMMENT: 20, SQL: 10}
# Strings with these words are queries.  Strings of tests and tools are not messages of the product.
_OF_QUERIES = ("SELECT ", "FROM ", " AND ", "CASE ")
_PRODUCT = ("jobs/", "coordinator_core/", "schemas/", "regroup.py")


def drawn(texts: Iterable[Text], seed: int, count: int) -> list[Text]:
    """``count`` sentences in these `SHARES`, sorted by file; all sentences of a kind with fewer."""
    by_kind: dict[str, list[Text]] = {kind: [] for kind in SHARES}
    for text in texts:
        if text.kind != MESSAGE or _is_message(text):
            by_kind[text.kind] += sentences(text)
    draw = random.Random(seed)
    rows: list[Text] = []
    for kind, share in SHARES.items():
        of_kind = by_kind[kind]
        rows += sorted(draw.sample(of_kind, min(count * share // 100, len(of_kind))))
    return rows


def _is_message(text: Text) -> bool:
    return text.path.startswith(_PRODUCT) and not any(word in text.words for word in _OF_QUERIES)


def main(
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 1,
    count: Annotated[int, typer.Option(help="Number of sentences.")] = 200,
) -> None:
    for text in drawn(project_texts(), seed, count):
        print(f"{text.kind:9} {text.path}:{text.line}: {text.words}")


if __name__ == "__main__":
    typer.run(main)
