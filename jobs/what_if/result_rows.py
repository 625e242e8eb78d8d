"""Rows of process_lives, what_if and advice, of one group.

Cluster, group and period are added by the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from coordinator_core.lives import ConsumerProcess, classify_lives, is_flapping
from coordinator_core.whatif import UNCHANGED, Advice, Baseline, Figures, Prediction
from coordinator_core.whatif.calibration import PredictedRange, range_of
from coordinator_core.whatif.currencies import pareto
from coordinator_core.whatif.judgement import GroupJudgement
from jobs.lake.evidence import Row
from jobs.what_if.advice_columns import ADVICE_TEXTS
from jobs.what_if.earlier_outcomes import OUTCOME_COLUMNS


def lives_rows(baseline: Baseline) -> Iterator[Row]:
    """Rows of process_lives, without cluster and group."""
    group = [each.incarnation for each in baseline.explained.incarnations]
    incarnation_of = {
        member.member_id: incarnation.number
        for incarnation in group
        for record in incarnation.records
        for member in record.members
    }
    first = min(incarnation.number for incarnation in group)
    yield from rows_of_lives(baseline.processes, incarnation_of, first)


def rows_of_lives(
    processes: Sequence[ConsumerProcess], incarnation_of: Mapping[str, int], first: int = 1
) -> Iterator[Row]:
    """``incarnation_of`` has the incarnation by member id; ``first`` is for members that are not in
    it.
    """
    kinds = classify_lives(processes)
    for process in processes:
        for number, life in enumerate(process.lives):
            kind = kinds[process.name, number]
            ended = life.ended
            yield {
                "process": process.name,
                "name": process.name,
                "life": number + 1,
                "incarnation": incarnation_of.get(next(iter(life.member_ids), ""), first),
                "client_id": life.client_id,
                "client_host": life.client_host,
                "instance_id": life.member.instance_id,
                "member_ids": list(life.member_ids),
                "from_time": time_of(life.started.at_ms),
                "to_time": ended and time_of(ended.at_ms),
                "ended_earliest_time": ended and time_of(ended.earliest_ms),
                "ended_latest_time": ended and time_of(ended.latest_ms),
                "started_how": kind.started_how.value,
                "ended_how": kind.ended_how.value,
                "deploy": kind.deploy,
                "slow_polls": [
                    {
                        "from_time": time_of(slow_poll.began.at_ms),
                        "to_time": None if slow_poll.to is None else time_of(slow_poll.to.at_ms),
                    }
                    for slow_poll in life.slow_polls
                ],
                "flapping": is_flapping(process),
                "first_generation": life.first_generation,
                "last_generation": life.last_generation,
                "confidence": life.confidence,
                "evidence": life.evidence,
            }


def figure_rows(baseline: Baseline, judged: GroupJudgement) -> Iterator[Row]:
    """Rows of what_if, without cluster, group and period."""
    era = baseline.explained.era.name
    as_observed = Prediction(UNCHANGED, [judged.observed])
    exact = judged.observed, judged.observed
    yield {"era": era} | _figures("observed", as_observed, exact) | {"seeds": 0}
    yield {"era": era} | _figures("model", judged.model, _range(baseline, judged.model))
    best = pareto(judged.model, judged.predicted, baseline.group_protocol)
    for each in judged.predicted:
        row = _figures("predicted", each, _range(baseline, each)) | {"pareto": each in best}
        yield {"era": each.change.era or era} | row


def _range(baseline: Baseline, each: Prediction) -> PredictedRange:
    return range_of(baseline, each.change, each.outcomes)


def _figures(basis: str, each: Prediction, limits: tuple[Figures, Figures]) -> Row:
    row: dict[str, Any] = {"setting": str(each.change), "basis": basis, "pareto": None}
    row["settings"] = each.change.in_kafka_names()
    row |= _columns(each.median) | {"seeds": len(each.outcomes)}
    for end, figures in zip(("min", "max"), limits, strict=True):
        row |= {f"{name}_{end}": value for name, value in _columns(figures).items()}
    if each.simulation is None:
        return row | dict.fromkeys(OUTCOME_COLUMNS)
    outcomes = [outcome._asdict() for outcome in each.outcomes]
    return row | {
        "simulation": each.simulation,
        "sessions_matter": each.depends,
        "outcomes": outcomes,
        "outcome_costs": outcomes,
        "outcome_catch_ups_ms": [outcome.catch_up_ms for outcome in each.outcomes],
    }


def advice_row(advice: Advice) -> Row:
    return _saved(advice.saved) | {
        "setting": None if advice.change is None else str(advice.change),
        "share_saved": advice.share,
        "sentence": advice.sentence,
        **{name: getattr(advice, name) for name in ADVICE_TEXTS},
    }


def no_prediction(error: Exception) -> Row:
    return no_advice(f"no prediction: {error}")


def no_advice(sentence: str) -> Row:
    """A row without a change and without figures."""
    columns: Row = dict.fromkeys(("setting", *ADVICE_TEXTS, "from_time", "to_time"))
    nothing = _saved(Figures(0, 0, 0, 0))
    return columns | nothing | {"share_saved": 0.0, "sentence": sentence}


def saved_column(figure: str) -> str:
    """The column of table advice for a figure, which is named as in the JSON of what-if."""
    return f"saved_{_column(figure)}"


def _column(figure: str) -> str:
    return figure.replace("unavailable", "unowned")


def _columns(figures: Figures) -> Row:
    return {_column(name): value for name, value in figures._asdict().items()}


def _saved(saved: Figures) -> Row:
    return {f"saved_{name}": value for name, value in _columns(saved).items()}


def time_of(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)
