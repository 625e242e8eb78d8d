"""The overview's charts in Vega-Lite; Vega's JavaScript draws them in the page.

The charts' data (data sets `trend` and `groups`), colors and fonts come from the page.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

# Families of causes, in the order of their colors; family.js has the causes of each.
FAMILIES = {
    "joining": "member joins",
    "leaving": "member leaves",
    "failing": "member fails",
    "changing": "changes",
    "other": "other",
}
_STATIC = files(__package__) / "static"


def specs() -> dict[str, Any]:
    """Vega-Lite by the name of the chart.

    trend: rebalances by start time and family of causes; groups: time not Stable by group and
    family of causes.  The page has one legend for both charts.
    """
    charts: dict[str, Any] = json.loads((_STATIC / "charts.json").read_text(encoding="utf-8"))
    return charts


@cache
def library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script: `make setup` makes the file, and setup.py puts
    it into the wheel."""
    packaged = _STATIC / "vega.js"
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    import vl_convert  # The file is missing in a checkout that `make setup` did not set up.

    return str(vl_convert.javascript_bundle())  # type: ignore[call-arg]  # the stub has no default
