"""How far the truth lies outside of simulated ranges, by the captures that `tools.coverage` judges.

``prediction_ranges.json`` has, by command, kind of settings (or ``other``) and figure, a share: the
range over the seeds is widened by this share of the predicted median, below and above.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

FILE = files(__package__) / "prediction_ranges.json"
Widening = Mapping[str, Mapping[str, dict[str, float]]]


@cache
def widening() -> Widening:
    table: Widening = json.loads(FILE.read_text(encoding="utf-8"))
    return table
