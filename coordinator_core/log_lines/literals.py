"""Find any of many texts in one pass, in time that grows linearly with the text searched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import re2  # type: ignore[import-untyped]


def any_of(texts: Iterable[str] | Iterable[bytes]) -> Any:
    """A compiled pattern of these texts, with `search` and `finditer`; the longest at a place."""
    options = re2.Options()
    options.never_capture = True
    longest_first = sorted(texts, key=lambda text: (-len(text), text))
    escaped = [re2.escape(text) for text in longest_first]
    return re2.compile(
        (b"|" if escaped and isinstance(escaped[0], bytes) else "|").join(escaped), options
    )


def spans_in(pattern: Any, text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of each match of a pattern of `any_of`."""
    # In ASCII text, positions of bytes and characters are equal, and searching bytes is faster.
    for match in pattern.finditer(text.encode() if text.isascii() else text):
        yield match.span()
