"""The order of Java strings: ``String.compareTo``."""

from __future__ import annotations

from collections.abc import Iterable


def java_sorted(names: Iterable[str]) -> list[str]:
    """Sort like ``String.compareTo``, by UTF-16 code unit, while Python sorts by code point."""
    ordered = list(names)
    if "".join(ordered).isascii():
        ordered.sort()
    else:
        ordered.sort(key=utf16)
    return ordered


def utf16(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")
