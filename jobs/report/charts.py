"""The overview's charts in Vega-Lite, built with Altair; Vega's JavaScript draws them in the page.

The charts' data (data sets `trend` and `groups`), colors and fonts come from the page.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import altair as alt
import vl_convert

# Families of causes, in the order of their colors; family.js has the causes of each.
FAMILIES = {
    "joining": "member joins",
    "leaving": "member leaves",
    "failing": "member fails",
    "changing": "changes",
    "other": "other",
}
_FAMILY = alt.Color(
    "family:N",
    title=None,
    scale=alt.Scale(domain=list(FAMILIES.values())),
    legend=None,  # the page has one legend for both charts
)
_AXIS = alt.Axis(grid=False, labelOverlap="greedy", labelSeparation=10)
_FIT = alt.AutoSizeParams(type="fit-x", contains="padding")


def specs() -> dict[str, Any]:
    """Vega-Lite by the name of the chart."""
    return {"trend": _trend().to_dict(), "groups": _groups().to_dict()}


def _trend() -> alt.Chart:
    """Generations by start time and family of causes."""
    chart: alt.Chart = (
        alt.Chart(alt.NamedData("trend"), width="container", height=170, autosize=_FIT)
        .mark_bar(cursor="pointer")
        .encode(
            x=alt.X("from:T", title=None, scale=alt.Scale(type="utc"), axis=_AXIS),
            x2="to:T",
            y=alt.Y("sum(generations):Q", title="generations", axis=alt.Axis(tickMinStep=1)),
            color=_FAMILY,
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("time:N", title="from"),
                alt.Tooltip("family:N", title="cause"),
                alt.Tooltip("sum(generations):Q", title="generations"),
                alt.Tooltip("sum(seconds):Q", title="s not Stable", format=",.1f"),
            ],
        )
    )
    return chart


def _groups() -> alt.Chart:
    """Time not Stable by group and family of causes."""
    chart: alt.Chart = (
        alt.Chart(alt.NamedData("groups"), width="container", autosize=_FIT)
        .mark_bar(cursor="pointer")
        .encode(
            x=alt.X("sum(seconds):Q", title="s not Stable"),
            y=alt.Y("group:N", title=None, sort=None, axis=alt.Axis(labelLimit=170)),
            detail="id:N",
            color=_FAMILY,
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("group:N"),
                alt.Tooltip("family:N", title="cause"),
                alt.Tooltip("sum(generations):Q", title="generations"),
                alt.Tooltip("sum(seconds):Q", title="s not Stable", format=",.1f"),
            ],
        )
    )
    return chart


@cache
def library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, from the wheel."""
    return str(vl_convert.javascript_bundle())  # type: ignore[call-arg]  # the stub has no default
