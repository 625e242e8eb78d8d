"""Frames that several jobs of one run use, made by the first job that asks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from pyspark.sql import DataFrame

from jobs.engine.keeping import computed


@dataclass(frozen=True)
class SharedFrames:
    """Frames by name.  Jobs that ask while a frame is computed wait for it."""

    _frames: dict[str, DataFrame] = field(default_factory=dict)
    _locks: dict[str, Lock] = field(default_factory=lambda: defaultdict(Lock))

    def get(self, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        with self._locks[name]:
            if name not in self._frames:
                self._frames[name] = make()
            return self._frames[name]

    def computed(self, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        """`get`, of rows that are computed when the frame is made."""
        return self.get(name, lambda: computed(make()))
