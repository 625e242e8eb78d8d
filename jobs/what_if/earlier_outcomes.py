"""Outcomes of earlier simulations, from rows of what_if: equal simulations are not repeated."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any

from coordinator_core.whatif import Figures, Outcomes

OUTCOME_COLUMNS = (
    "simulation",
    "sessions_matter",
    "outcomes",
    "outcome_costs",
    "outcome_catch_ups_ms",
)


def outcomes_of(rows: Iterable[Any]) -> dict[str, Outcomes]:
    """Outcomes by simulation; ``rows`` are rows of one group in which simulation is not null."""
    return {
        row["simulation"]: Outcomes(
            # Rows of earlier versions have neither costs nor catch-up times.
            [
                Figures(*_values(outcome), *_values(cost))._replace(catch_up_ms=catch_up_ms)
                for outcome, cost, catch_up_ms in zip(
                    row["outcomes"],
                    row["outcome_costs"] or repeat(()),
                    row["outcome_catch_ups_ms"] or repeat(None),
                    strict=False,
                )
            ],
            row["sessions_matter"],
        )
        for row in rows
    }


def _values(struct: Any) -> Iterable[Any]:
    """The values of an engine's row, or of a dict from DuckDB."""
    return struct.values() if isinstance(struct, dict) else struct
