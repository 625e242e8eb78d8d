"""The engines of a tool's runs."""

from __future__ import annotations

from enum import StrEnum


class Engines(StrEnum):
    EMBEDDED = "embedded"
    SPARK = "spark"
    BOTH = "both"

    def names(self) -> list[str]:
        return ["embedded", "spark"] if self is Engines.BOTH else [self.value]
