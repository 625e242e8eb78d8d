"""The name that a user meant, for messages about an unknown name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def meant(name: str, names: Iterable[str]) -> str:
    """``did you mean X?`` for the most similar name, else ``use X, Y, Z``."""
    choices = list(names)
    similar = get_close_matches(name, choices, n=1)
    return f"did you mean {similar[0]}?" if similar else f"use {', '.join(choices)}"
