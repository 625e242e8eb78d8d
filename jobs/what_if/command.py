"""`regroup what-if` of one group: what was, beside what would have been; without a JVM."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.incident import lives
from coordinator_core.whatif import (
    GRID,
    UNCHANGED,
    Advice,
    Change,
    NotAConsumerGroup,
    Outcome,
    Prediction,
    Scene,
    WrongSetting,
    advise,
    observed,
    predict_each,
    scene_of,
)
from jobs.console.errors import UsageError
from jobs.console.printing import Format, jsonable, print_rows, time_text
from jobs.console.working import working
from jobs.replay.evidence import FOREVER_MS, Row, moment_ms, of_group, quoted, rows
from jobs.what_if.last_commits import last_commits_sql


@dataclass(frozen=True)
class Request:
    """``settings``: KEY=VALUE; none: the whole grid is tried, and advice is given.

    ``first``, ``last``: moments or dates in UTC, as they were written; none for all.
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
class Answer:
    scene: Scene
    observed: Outcome
    model: Prediction
    predicted: Sequence[Prediction]
    advice: Advice | None


def run(request: Request, format: Format) -> None:
    with working("what-if"):
        answer = answered(request)
    if format is Format.JSON:
        sys.stdout.write(json.dumps(jsonable(as_json(request, answer)), indent=1) + "\n")
        return
    columns = ["basis", "setting", *Outcome._fields, "seeds: least to most"]
    print_rows(columns, list(_rows(answer)), format)
    if format is Format.TABLE:
        _print_story(answer)


def answered(request: Request) -> Answer:
    """UsageError for a wrong setting, era or moment, and for a group that cannot be played."""
    try:
        changes = GRID if not request.settings else (Change.of(request.settings),)
    except WrongSetting as error:
        raise UsageError(f"--set {error}") from None
    if request.era is not None and request.era not in ERAS:
        raise UsageError(f"--era {request.era}: not one of {', '.join(sorted(ERAS))}")
    if request.seeds < 1:
        raise UsageError(f"--seeds {request.seeds}: at least 1")
    scene = _scene(request)
    model, *predicted = predict_each(scene, (UNCHANGED, *changes), seeds=request.seeds)
    advice = None if request.settings else advise(scene, model, predicted)
    return Answer(scene, observed(scene), model, predicted, advice)


def _scene(request: Request) -> Scene:
    begin_ms = moment_ms("--from", request.first, is_end=False)
    end_ms = moment_ms("--to", request.last, is_end=True)
    evidence = of_group(request.lake, request.cluster_id, request.group_id, begin_ms, end_ms)
    cluster = f"cluster_id = {quoted(request.cluster_id)}"
    mine = f"{cluster} AND group_id = {quoted(request.group_id)}"
    committed = rows(
        request.lake,
        f"SELECT member_id, epoch_ms(committed) AS at_ms FROM ({last_commits_sql(mine)})",
    )
    until = rows(
        request.lake,
        f"""SELECT epoch_ms(MAX(last)) AS at_ms FROM (
            SELECT MAX(append_time) AS last FROM group_metadata WHERE {cluster}
            UNION ALL SELECT MAX(append_time) FROM committed_offsets WHERE {cluster}
            UNION ALL SELECT MAX(event_time) FROM group_events WHERE {cluster})""",
    )
    try:
        scene = scene_of(
            lives(request.group_id, evidence.events, evidence.records),
            era=request.era,
            offset_versions={row["value_version"] for row in evidence.committed},
            last_commit_ms={row["member_id"]: row["at_ms"] for row in committed},
            from_ms=begin_ms or None,
            to_ms=None if end_ms == FOREVER_MS else end_ms,
            until_ms=until[0]["at_ms"],
        )
    except NotAConsumerGroup as error:
        raise UsageError(f"--group {error}") from None
    if scene.from_ms >= scene.to_ms:
        ends = max(each.ends_ms for life in scene.told.lives for each in life.chapters)
        raise UsageError(
            f"--group {request.group_id}: nothing of it in that span; its last sign is of"
            f" {time_text(ends)} UTC"
        )
    return scene


# -- what is shown ---------------------------------------------------------------------------------


def as_json(request: Request, answer: Answer) -> Row:
    """``predicted``: one object where settings were given, else a list of the grid's."""
    scene = answer.scene
    told = [_prediction(each) for each in answer.predicted]
    found: Row = {
        "cluster_id": request.cluster_id,
        "group_id": request.group_id,
        "from": time_text(scene.from_ms),
        "to": time_text(scene.to_ms),
        "era": scene.told.era.name,
        "processes": len(scene.processes),
        "observed": answer.observed._asdict(),
        "model": _prediction(answer.model),
        "predicted": told[0] if request.settings else told,
    }
    if answer.advice is not None:
        found["advice"] = {
            "setting": None if answer.advice.change is None else str(answer.advice.change),
            "saved": answer.advice.saved._asdict(),
            "share_saved": round(answer.advice.share, 3),
            "sentence": answer.advice.sentence,
        }
    return found


def _prediction(each: Prediction) -> Row:
    return {
        "setting": str(each.change),
        **each.middle._asdict(),
        "least": each.least._asdict(),
        "most": each.most._asdict(),
        "seeds": len(each.outcomes),
    }


def _rows(answer: Answer) -> list[list[Any]]:
    told = [["observed", str(UNCHANGED), *answer.observed, None]]
    for basis, each in [("model", answer.model), *(("predicted", p) for p in answer.predicted)]:
        least, most = each.least.unavailable_partition_ms, each.most.unavailable_partition_ms
        told.append([basis, str(each.change), *each.middle, f"{least} to {most}"])
    return told


def _print_story(answer: Answer) -> None:
    scene = answer.scene
    libraries = ", ".join(sorted(set(scene.libraries.values())))
    print(
        f"{len(scene.processes)} processes ({libraries}), {time_text(scene.from_ms)} to"
        f" {time_text(scene.to_ms)} UTC, era {scene.told.era.name} ({scene.told.era.why})"
    )
    if answer.advice is not None:
        print(f"advice: {answer.advice.sentence}")
