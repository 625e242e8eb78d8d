"""Tables of predictions beside the truth, with the bounds that mark a figure as too far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coordinator_core.whatif import Figures

Truth = Mapping[str, Figures]
"""By variant."""


def heading(columns: Sequence[str]) -> str:
    names = ["group", "variant", "version", *columns]
    return f"| {' | '.join(names)} |\n|---|---|---|{'---:|' * len(columns)}"


def cells(outcome: Figures, true: Sequence[Figures], count: int) -> tuple[list[str], list[bool]]:
    """Of the first ``count`` figures: the cells, and whether each is within its bound.  ``true``:
    of this run, then of the other runs.
    """
    names = Figures._fields[:count]
    inside = [
        abs(figure - own) <= bound(name, own, (own, *others))
        for name, figure, own, *others in zip(names, outcome, *true, strict=False)
    ]
    texts = [
        f"{a} / {b}{_deviation(a, b)}{'' if is_inside else ' !'}"
        for (a, b), is_inside in zip(_shown(outcome, true[0]), inside, strict=False)
    ]
    return texts, inside


def bound(name: str, true: int, all_true: Sequence[int]) -> float:
    """A quarter, of rebalances a tenth or one, of refused members one; at least the difference
    between the runs.
    """
    share = {"rebalances": 0.1, "static_refused": 0}.get(name, 0.25)
    least = 1 if name in ("rebalances", "static_refused") else 0
    return max(share * true, least, max(all_true) - min(all_true))


def _shown(outcome: Figures, true: Figures) -> list[tuple[str, str]]:
    return [
        (f"{a / 1000:.1f}", f"{b / 1000:.1f}") if name.endswith("_ms") else (str(a), str(b))
        for name, a, b in zip(Figures._fields, outcome, true, strict=True)
        if a is not None and b is not None
    ]


def _deviation(predicted: str, true: str) -> str:
    share = (float(predicted) - float(true)) / float(true) if float(true) else 0.0
    return f" ({share:+.0%})" if abs(share) >= 0.005 else ""


def wrong_order(predicted: Truth, true: Truth, others: Sequence[Truth] = ()) -> list[str]:
    """Pairs of variants in the wrong order of partition downtime, unless they are nearer to each
    other than 5 %, or than the runs of one of them.
    """
    wrong = []
    for one in predicted:
        for other in predicted:
            own = true[one].unavailable_partition_ms
            apart = max(
                abs(runs[each].unavailable_partition_ms - true[each].unavailable_partition_ms)
                for runs in (true, *others)
                for each in (one, other)
            )
            is_less = own + max(apart, 0.05 * own) < true[other].unavailable_partition_ms
            ours = [predicted[each].unavailable_partition_ms for each in (one, other)]
            if is_less and ours[0] >= ours[1]:
                wrong.append(f"{one} before {other}")
    return wrong
