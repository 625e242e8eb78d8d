"""`regroup what-if` of one group: observed figures and predictions; without a JVM."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.incident import incarnations
from coordinator_core.whatif import (
    GRID,
    UNCHANGED,
    Advice,
    Baseline,
    Figures,
    InvalidSetting,
    NotAConsumerGroup,
    Prediction,
    SettingsChange,
    advise,
    baseline_of,
    observed,
    predict_each,
)
from jobs.console.errors import UsageError
from jobs.console.printing import Format, jsonable, print_rows, time_text
from jobs.console.spinner import spinner
from jobs.replay.group_rows import FOREVER_MS, Row, group_rows, moment_ms, quoted, rows
from jobs.what_if.last_commits import last_commits_sql


@dataclass(frozen=True)
class WhatIfOptions:
    """``settings``: KEY=VALUE; without any, all changes of GRID are tried, and advice is given.

    ``first``, ``last``: time or date in UTC, as given by the user; None: no limit.
    """

    lake: str
    cluster_id: str
    group_id: str
    settings: tuple[str, ...] = ()
    seeds: int = 5
    first: str | None = None
    last: str | None = None
    era: str | None = None


@dataclass(frozen=True)
class WhatIfResult:
    baseline: Baseline
    observed: Figures
    model: Prediction
    predicted: Sequence[Prediction]
    advice: Advice | None


def run(options: WhatIfOptions, format: Format) -> None:
    with spinner("what-if"):
        result = evaluate(options)
    if format is Format.JSON:
        sys.stdout.write(json.dumps(jsonable(as_json(options, result)), indent=1) + "\n")
        return
    columns = ["basis", "setting", *Figures._fields, "range over seeds"]
    print_rows(columns, list(_rows(result)), format)
    if format is Format.TABLE:
        _print_summary(result)


def evaluate(options: WhatIfOptions) -> WhatIfResult:
    """Predict the changes.  Raises UsageError for an invalid setting, era or time, and for a group
    that cannot be simulated.
    """
    try:
        changes = GRID if not options.settings else (SettingsChange.of(options.settings),)
    except InvalidSetting as error:
        raise UsageError(f"--set {error}") from None
    if options.era is not None and options.era not in ERAS:
        raise UsageError(f"--era {options.era}: not one of {', '.join(sorted(ERAS))}")
    if options.seeds < 1:
        raise UsageError(f"--seeds {options.seeds}: must be at least 1")
    baseline = _baseline(options)
    model, *predicted = predict_each(baseline, (UNCHANGED, *changes), seeds=options.seeds)
    advice = None if options.settings else advise(baseline, model, predicted)
    return WhatIfResult(baseline, observed(baseline), model, predicted, advice)


def _baseline(options: WhatIfOptions) -> Baseline:
    begin_ms = moment_ms("--from", options.first, is_end=False)
    end_ms = moment_ms("--to", options.last, is_end=True)
    evidence = group_rows(options.lake, options.cluster_id, options.group_id, begin_ms, end_ms)
    cluster = f"cluster_id = {quoted(options.cluster_id)}"
    of_group = f"{cluster} AND group_id = {quoted(options.group_id)}"
    committed = rows(
        options.lake,
        f"SELECT member_id, epoch_ms(committed) AS at_ms FROM ({last_commits_sql(of_group)})",
    )
    until = rows(
        options.lake,
        f"""SELECT epoch_ms(MAX(last)) AS at_ms FROM (
            SELECT MAX(append_time) AS last FROM group_metadata WHERE {cluster}
            UNION ALL SELECT MAX(append_time) FROM committed_offsets WHERE {cluster}
            UNION ALL SELECT MAX(event_time) FROM group_events WHERE {cluster})""",
    )
    try:
        baseline = baseline_of(
            incarnations(options.group_id, evidence.events, evidence.records),
            era=options.era,
            offset_versions={row["value_version"] for row in evidence.committed},
            last_commit_ms={row["member_id"]: row["at_ms"] for row in committed},
            from_ms=begin_ms or None,
            to_ms=None if end_ms == FOREVER_MS else end_ms,
            until_ms=until[0]["at_ms"],
        )
    except NotAConsumerGroup as error:
        raise UsageError(f"--group {error}") from None
    if baseline.from_ms >= baseline.to_ms:
        ends_ms = max(
            generation.ends_ms
            for explained in baseline.explained.incarnations
            for generation in explained.generations
        )
        raise UsageError(
            f"--group {options.group_id}: no events or records from --from to --to; the last one"
            f" is at {time_text(ends_ms)} UTC"
        )
    return baseline


# -- output ----------------------------------------------------------------------------------------


def as_json(options: WhatIfOptions, result: WhatIfResult) -> Row:
    """``predicted``: one object if settings were given, else a list, one per change of GRID."""
    baseline = result.baseline
    predicted = [_prediction(each) for each in result.predicted]
    row: Row = {
        "cluster_id": options.cluster_id,
        "group_id": options.group_id,
        "from": time_text(baseline.from_ms),
        "to": time_text(baseline.to_ms),
        "era": baseline.explained.era.name,
        "processes": len(baseline.processes),
        "observed": result.observed._asdict(),
        "model": _prediction(result.model),
        "predicted": predicted[0] if options.settings else predicted,
    }
    if result.advice is not None:
        row["advice"] = {
            "setting": None if result.advice.change is None else str(result.advice.change),
            "saved": result.advice.saved._asdict(),
            "share_saved": round(result.advice.share, 3),
            "sentence": result.advice.sentence,
        }
    return row


def _prediction(each: Prediction) -> Row:
    return {
        "setting": str(each.change),
        **each.median._asdict(),
        "least": each.minimum._asdict(),
        "most": each.maximum._asdict(),
        "seeds": len(each.outcomes),
    }


def _rows(result: WhatIfResult) -> list[list[Any]]:
    rows = [["observed", str(UNCHANGED), *result.observed, None]]
    for basis, each in [("model", result.model), *(("predicted", p) for p in result.predicted)]:
        low, high = each.minimum.unavailable_partition_ms, each.maximum.unavailable_partition_ms
        rows.append([basis, str(each.change), *each.median, f"{low} to {high}"])
    return rows


def _print_summary(result: WhatIfResult) -> None:
    baseline, era = result.baseline, result.baseline.explained.era
    libraries = ", ".join(sorted(set(baseline.libraries.values())))
    print(
        f"{len(baseline.processes)} processes ({libraries}), {time_text(baseline.from_ms)} to"
        f" {time_text(baseline.to_ms)} UTC, era {era.name} ({era.why})"
    )
    if result.advice is not None:
        print(f"advice: {result.advice.sentence}")
