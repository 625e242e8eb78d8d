"""Predictions of captures and of deployments beside the truth: one row per figure."""

from __future__ import annotations

import csv
import gzip
import io
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from coordinator_core.whatif import UNCHANGED, SettingsChange, predict_each
from coordinator_core.whatif.calibration import PLAN, WHAT_IF, setting_of
from coordinator_core.whatif.figures import Figures, maximum_of, median_of, minimum_of
from coordinator_core.whatif.fit import misses
from coordinator_core.whatif.judgement import ADVICE_SEEDS
from jobs.console.errors import UsageError
from jobs.what_if.command import WhatIfOptions, evidence_and_baseline
from tools.coverage.captures import DATA, VARIANTS, Capture, Truth
from tools.deployments.compare import ways

CLUSTER = "capture"
_NUMBERS = ("explained", "least", "median", "most", "true")
ROWS = DATA / "prediction_ranges" / "rows.csv.gz"


class Row(NamedTuple):
    """A figure of a prediction of ``group``, from the evidence of ``source``.  ``part``: of a run
    of the tool.  ``script``: rows of one script are judged together; of plans, the way to deploy.
    ``explained``: whether the model explains the source.  ``least``, ``most``: over the seeds.
    """

    part: str
    command: str
    script: str
    run: str
    source: str
    group: str
    setting: str
    explained: int
    figure: str
    least: int
    median: int
    most: int
    true: int


def what_if_rows(part: str, captures: Sequence[Capture], lakes: Path) -> Iterator[Row]:
    """Twins are captures of one script and run whose groups have a common first name."""
    truths: dict[tuple[str, str], dict[str, Truth]] = {}
    for each in captures:
        truths.setdefault((each.script, each.run), {}).update(each.truth)
    for capture in captures:
        lake = filled(capture, lakes)
        for group in capture.sources:
            twins = truths[capture.script, capture.run]
            for row in _rows_of(capture, group, twins, lake):
                yield row._replace(part=part)


def filled(capture: Capture, lakes: Path) -> Path:
    """The lake of the capture's evidence, in ``lakes``."""
    place = "-".join((capture.folder.name, *Path(capture.segments).parts))
    lake = lakes / place
    if not lake.exists():
        building = lakes / f"{place}.building"
        command = [str(Path(sys.executable).with_name("regroup")), "nightly"]
        command += ["--engine", "embedded", "--lake", str(building), "--cluster-id", CLUSTER]
        command += ["--no-advice", "--segments", str(capture.folder / capture.segments)]
        command += ["--broker-log", str(capture.folder / capture.log)]
        if (capture.folder / "end_offsets.jsonl").exists():
            command += ["--end-offsets", str(capture.folder / "end_offsets.jsonl")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        building.rename(lake)
    return lake


def _rows_of(
    capture: Capture, group: str, truths: Mapping[str, Truth], lake: Path
) -> Iterator[Row]:
    last, end = None, {}
    if capture.to_ms is not None:
        last = datetime.fromtimestamp(capture.to_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
        end = {"end_ms": capture.to_ms}
    options = WhatIfOptions(lake=str(lake), cluster_id=CLUSTER, group_id=group, last=last)
    try:
        evidence, baseline = evidence_and_baseline(options, **end)
    except UsageError as error:
        print(f"{capture.script} {capture.run}: {error}", file=sys.stderr)
        return
    targets = _targets(capture, group, truths)
    model, *predictions = predict_each(baseline, [UNCHANGED, *targets.values()], seeds=ADVICE_SEEDS)
    explained = not misses(evidence.observed(baseline), model)
    for (target, change), prediction in zip(targets.items(), predictions, strict=True):
        setting = setting_of(baseline, change)
        place = capture.script, capture.run, group, target, setting, int(explained)
        yield from _rows(WHAT_IF, place, prediction.outcomes, truths[target])


def _targets(
    capture: Capture, group: str, truths: Mapping[str, Truth]
) -> dict[str, SettingsChange]:
    """By group, what differs from the source."""
    family, _, variant = group.partition("-")
    if variant not in VARIANTS or f"{family}-base" not in truths:
        return {group: UNCHANGED}
    era = capture.run[:3]
    twins = [each for each in truths if each.startswith(f"{family}-")]
    return {twin: _change(variant, twin.partition("-")[2], era) for twin in twins}


def _change(source: str, target: str, era: str) -> SettingsChange:
    """The log of a broker does not tell 4.1 from 4.4 where all groups are classic, and a group in
    which no session expired does not show its session timeout.
    """
    own, other = VARIANTS[source], VARIANTS[target]
    texts = {name: value for name, value in other.items() if own.get(name) != value}
    if "group.protocol" in texts:
        if other["group.protocol"] == "consumer":
            texts["era"] = era
    elif other["group.protocol"] == "consumer":
        names = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
        texts |= {name: other[name] for name in names}
    return SettingsChange.of([f"{name}={value}" for name, value in texts.items()])


def plan_rows(part: str, lake: Path, truth: Mapping[str, object]) -> Iterator[Row]:
    for way in ways(str(lake), truth):
        strategy, pace_ms, batch = way.deployment
        script = f"{strategy} {batch} {pace_ms}"
        setting = setting_of(way.baseline, UNCHANGED)
        for number, captured in enumerate(way.captured):
            place = script, str(number), way.group, way.group, setting, 1
            for row in _rows(PLAN, place, way.planned.outcomes, captured):
                yield row._replace(part=part)


def _rows(
    command: str,
    place: tuple[str, str, str, str, str, int],
    outcomes: Sequence[Figures],
    truth: Truth,
) -> Iterator[Row]:
    limits = minimum_of(outcomes), median_of(outcomes), maximum_of(outcomes)
    for figure in Figures._fields:
        values = [getattr(each, figure) for each in limits]
        if figure in truth and None not in values:
            yield Row("", command, *place, figure, *values, truth[figure])


def read_rows(file: Path) -> list[Row]:
    with gzip.open(file, "rt", newline="") as text:
        return [_typed(values) for values in csv.DictReader(text)]


def _typed(values: Mapping[str, str]) -> Row:
    numbers = {name: int(values[name]) for name in _NUMBERS}
    return Row(**{**values, **numbers})


def write_rows(file: Path, rows: Iterable[Row]) -> None:
    """Equal rows give equal bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row._fields)
    writer.writerows(rows)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
