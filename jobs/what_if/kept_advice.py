"""The rows of advice_outcomes of one group, from its evidence and the rows of earlier runs.

The times of these rows are in ms since the epoch: see TIMES.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from coordinator_core.whatif import SettingsChange
from coordinator_core.whatif.advice_outcomes import (
    KINDS,
    AdviceOutcome,
    ComparedFigure,
    DeploymentEpisode,
    PredictedFigure,
    Spread,
    outcome_of,
    typical,
)
from coordinator_core.whatif.carried_out import (
    CarriedOut,
    CarriedOutStatus,
    ConfiguredSetting,
    GenerationSettings,
    MemberSettings,
    carried_out,
)
from jobs.lake.evidence import Row
from jobs.what_if.periods import simulation_s
from jobs.what_if.result_rows import no_advice, time_of

KINDS_OF_EVIDENCE = GENERATIONS, EPISODES, HANDOVERS = (
    *("generation_settings", "episode_figures", "handover_times"),
)
# Number of simulated deployments, and number of variants: unchanged and advised settings.
SIMULATED, _CHANGES = 3, 2
# A simulation begins this long before its period.
_WARM_UP_MS = 60_000
# The period begins this long before the deployment, and ends this long after it.
_MARGIN_MS = 5000
# Margins of a restart: a static member's restart is first visible when it has returned, and records
# are processed later.
_EARLY_MS, _LATE_MS = 1000, 5000
_FIGURES = ("rebalances", "not_stable_ms", "moved_partitions", "unavailable_partition_ms")
TIMES = (
    "first_advised_time",
    "advised_time",
    "simulated_time",
    "carried_out_from_time",
    "carried_out_time",
)
OPEN = (CarriedOutStatus.NO, CarriedOutStatus.UNKNOWN)


class DeployedHistory(NamedTuple):
    """Deployments are in order of time; ``last_ms`` is the time of the group's last evidence."""

    deployments: Sequence[DeploymentEpisode]
    generations: Sequence[GenerationSettings]
    last_ms: int


class AskedPrediction(NamedTuple):
    """The request to simulate a change, with the periods of deployments in ms since the epoch.
    ``cost_s``: estimated; ``is_renewed`` means that the row has an older prediction.
    """

    setting: str
    periods: Sequence[tuple[int, int]]
    cost_s: float
    is_renewed: bool


def history_of(
    generations: Iterable[Any], episodes: Iterable[Any], handovers: Iterable[Any]
) -> DeployedHistory:
    """The history from rows of one group, of KINDS_OF_EVIDENCE."""
    in_order = sorted(generations, key=_id)
    of_generations = sorted(
        (each for _, rows in groupby(in_order, key=_id) for each in _of_generation(list(rows))),
        key=attrgetter("at_ms"),
    )
    all_episodes = sorted(episodes, key=itemgetter("from_ms", "to_ms", "kind"))
    ends_ms = [*(each["to_ms"] for each in all_episodes), *(g.at_ms for g in of_generations)]
    deployed = [each for each in all_episodes if each["kind"] in KINDS]
    return DeployedHistory(
        _deployments(deployed, handovers), of_generations, max(ends_ms, default=0)
    )


_id = itemgetter("incarnation", "generation")


def _of_generation(rows: Sequence[Any]) -> Iterator[GenerationSettings]:
    """The settings when all members had joined, and after each replacement of a static member."""
    first = rows[0]
    begin_ms = first["at_ms"]
    since_ms = {max(begin_ms, row["since_ms"] or 0) for row in rows}
    for at_ms in sorted({begin_ms, *since_ms}):
        members = [
            MemberSettings(
                row["is_static"],
                row["session_timeout_ms"],
                row["rebalance_timeout_ms"],
                row["members"],
            )
            for row in rows
            if (row["since_ms"] or 0) <= at_ms and at_ms < (row["until_ms"] or at_ms + 1)
        ]
        yield GenerationSettings(
            at_ms, first["group_type"], first["protocol"], first["partitions"], members
        )


def _deployments(episodes: Sequence[Any], handovers: Iterable[Any]) -> list[DeploymentEpisode]:
    """The deployments with what their handovers cost: a handover belongs to the last deployment
    that had begun.
    """
    costs: dict[int, list[Any]] = {}
    for row in handovers:
        begun = [
            place
            for place, each in enumerate(episodes)
            if each["from_ms"] - _EARLY_MS <= row["at_ms"] <= each["to_ms"] + _LATE_MS
        ]
        if begun:
            costs.setdefault(begun[-1], []).append(row)
    return [
        DeploymentEpisode(
            each["kind"],
            each["processes"],
            each["from_ms"],
            each["to_ms"],
            {name: each[name] for name in _FIGURES} | _costs(costs.get(place, [])),
        )
        for place, each in enumerate(episodes)
    ]


def _costs(rows: Iterable[Any]) -> dict[str, int | None]:
    tenths = [row["tenths_reprocessed"] for row in rows]
    pauses_ms = [row["consumption_pause_ms"] for row in rows]
    reprocessed = [each for each in tenths if each is not None]
    paused = [each for each in pauses_ms if each is not None]
    return {
        "records_reprocessed": round(sum(reprocessed) / 10) if reprocessed else None,
        "consumption_pause_ms": sum(paused) if paused else None,
    }


# -- advice that is kept ---------------------------------------------------------------------------


def kept_rows(
    advice: Mapping[str, Any] | None,
    kept: Iterable[Mapping[str, Any]],
    history: DeployedHistory,
    configured: Mapping[str, ConfiguredSetting],
) -> list[Row]:
    """The rows of one group, without outcomes.  ``advice`` is the group's row of advice, None
    without a change; ``kept`` has rows of earlier runs.

    Advice that is given again before it is carried out keeps its row.
    """
    rows = [dict(row) | _status(row, history, configured) for row in kept]
    if advice is None:
        return rows
    same = [row for row in rows if row["setting"] == advice["setting"]]
    latest = {"advised_time": history.last_ms, "sentence": advice["sentence"]}
    last = max(same, key=itemgetter("first_advised_time"), default=None)
    if last is not None and last["carried_out"] in OPEN:
        last |= latest
    elif last is None or (last["status"].until_ms is not None):
        change = SettingsChange.of(advice["setting"].split())
        row = {
            "cluster_id": advice["cluster_id"],
            "group_id": advice["group_id"],
            "setting": advice["setting"],
            "settings": change.in_kafka_names(),
            "first_advised_time": latest["advised_time"],
            **latest,
        }
        rows.append(row | _status(row, history, configured))
    return rows


def _status(
    row: Mapping[str, Any], history: DeployedHistory, configured: Mapping[str, ConfiguredSetting]
) -> Row:
    change = SettingsChange.of(row["setting"].split())
    status = carried_out(change, row["first_advised_time"], history.generations, configured)
    earlier_ms = row.get("carried_out_time")
    if status.to_ms is not None and earlier_ms is not None:
        # A file that is read every night has a later time every night.
        status = status._replace(to_ms=min(status.to_ms, earlier_ms))
    return {
        "status": status,
        "carried_out": status.status.value,
        "evidence": status.text,
        "carried_out_from_time": status.from_ms,
        "carried_out_time": status.to_ms,
    }


def asked(
    rows: Iterable[Mapping[str, Any]], advice: Mapping[str, Any] | None, history: DeployedHistory
) -> AskedPrediction | None:
    """The request to simulate for the row of the present advice; None: nothing new."""
    open_rows = [
        row
        for row in rows
        if advice is not None
        and row["setting"] == advice["setting"]
        and row["status"].status in OPEN
    ]
    if not open_rows:
        return None
    (row,) = open_rows
    deployments = typical(history.deployments, SIMULATED)
    if not deployments or row.get("simulated_time") == deployments[-1].to_ms:
        return None
    periods = [(each.from_ms - _MARGIN_MS, each.to_ms + _MARGIN_MS) for each in deployments]
    members = max((each.size for each in history.generations), default=0)
    spans_ms = sum(to_ms - from_ms + _WARM_UP_MS for from_ms, to_ms in periods)
    return AskedPrediction(
        row["setting"],
        periods,
        simulation_s(spans_ms, members, _CHANGES),
        row.get("simulated_time") is not None,
    )


def with_prediction(row: Row, history: DeployedHistory, predicted: Sequence[Row] | None) -> Row:
    """``predicted`` has rows of `prediction_row` of the periods of `asked`; ``predicted`` is None
    if no model can simulate it.
    """
    deployments = typical(history.deployments, SIMULATED)
    return row | {
        "kind": deployments[-1].kind,
        "processes": deployments[-1].processes,
        "simulated_deployments": len(deployments),
        "simulated_time": deployments[-1].to_ms,
        "predictions": predicted,
    }


def with_outcome(row: Mapping[str, Any], history: DeployedHistory) -> Row:
    predicted = [_predicted(each) for each in row.get("predictions") or ()]
    kind = row.get("kind")
    outcome = outcome_of(
        SettingsChange.of(row["setting"].split()),
        row["status"],
        predicted,
        None if kind is None else (kind, row["processes"]),
        history.deployments,
        history.generations,
    )
    return dict(row) | _outcome(outcome)


def is_given_no_more(row: Mapping[str, Any], advised: Mapping[str, Mapping[str, Any]]) -> bool:
    """Returns whether the row is the group's present advice, and the group has carried it out.
    ``advised`` has rows of advice by group.
    """
    status: CarriedOut = row["status"]
    is_in_force = status.status is CarriedOutStatus.YES and status.until_ms is None
    present = advised.get(row["group_id"])
    return is_in_force and present is not None and present["setting"] == row["setting"]


def withdrawn(row: Mapping[str, Any]) -> Row:
    """The row of advice of a group that has carried its advice out."""
    keys = {name: row[name] for name in ("cluster_id", "group_id")}
    since = f"{time_of(row['carried_out_time']):%Y-%m-%d %H:%M} UTC"
    return keys | no_advice(
        f"{row['settings']} was advised and is in force since {since} ({row['verdict']},"
        " see advice_outcomes); not simulated since"
    )


def _outcome(outcome: AdviceOutcome) -> Row:
    return {
        "deployments_before": len(outcome.before),
        "deployments_after": len(outcome.after),
        "figures": [_compared(each) for each in outcome.figures] or None,
        "interval_basis": outcome.basis,
        "other_changes": outcome.others,
        "verdict": outcome.verdict and outcome.verdict.value,
        "reason": outcome.reason,
    }


def _compared(each: ComparedFigure) -> Row:
    return {
        "figure": each.currency.figure,
        **_spread("before", each.before),
        "predicted": each.predicted.median,
        "low": each.low,
        "high": each.high,
        **_spread("after", each.after),
        "promised": each.is_promised,
        "verdict": each.verdict.value,
    }


def prediction_row(each: PredictedFigure) -> Row:
    return {
        "figure": each.figure,
        **_spread("unchanged", each.unchanged),
        **_spread("predicted", each.predicted),
        "promised": each.is_promised,
    }


def _spread(name: str, values: Spread) -> Row:
    return {name: values.median, f"{name}_min": values.low, f"{name}_max": values.high}


def _predicted(row: Mapping[str, Any]) -> PredictedFigure:
    unchanged, predicted = (
        Spread(*(row[f"{name}{end}"] for end in ("", "_min", "_max")))
        for name in ("unchanged", "predicted")
    )
    return PredictedFigure(row["figure"], unchanged, predicted, row["promised"])
