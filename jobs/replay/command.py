"""`regroup replay` of one group: story, verdicts and divergences; without a JVM."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.incident import GroupReplay, ReplayedGeneration, Verdict, incarnations, replay
from coordinator_core.incident.divergence_hints import likely_reason
from coordinator_core.incident.stimuli import Stimulus
from coordinator_core.incident.story import story
from jobs.console.errors import UsageError
from jobs.console.printing import Format, jsonable, print_rows, time_text
from jobs.console.spinner import spinner
from jobs.incident_replay import rows_of
from jobs.replay.episodes import group_episodes
from jobs.replay.group_rows import Row, group_rows, moment_ms, with_date
from jobs.replay.other_types import generations_by_type, sentence
from schemas import table_columns


@dataclass(frozen=True)
class ReplayOptions:
    """``first``, ``last``: time or date in UTC, as given by the user; None: no limit."""

    lake: str
    cluster_id: str
    group_id: str
    first: str | None = None
    last: str | None = None
    era: str | None = None


def run_one(options: ReplayOptions, format: Format) -> int:
    """Print the story, the verdicts, and what is not replayed.  Returns the exit code: 1 if a
    generation diverged."""
    with spinner("replay"):
        result = replay_group(options)
    if format is Format.JSON:
        shown = as_json(options.cluster_id, result, _episodes(options))
        shown["not_replayed"] = not_replayed(options)
        text = json.dumps(jsonable(shown), indent=1)
        sys.stdout.write(text + "\n")
    elif format is Format.CSV:
        rows = rows_of(options.cluster_id, result)
        columns = table_columns("incident_replay")
        print_rows(columns, [[row[name] for name in columns] for row in rows], format)
    else:
        _print_episodes(_episodes(options))
        _print(result)
        if by_type := not_replayed(options):
            print(sentence(by_type))
    return 1 if _with(result, Verdict.DIVERGED) else 0


def replay_group(options: ReplayOptions) -> GroupReplay:
    """Replay one group.  Raises UsageError for an unknown era or group, or an invalid time."""
    if options.era is not None and options.era not in ERAS:
        raise UsageError(f"--era {options.era}: not one of {', '.join(sorted(ERAS))}")
    begin_ms, end_ms = _period_ms(options)
    events, records, committed = group_rows(
        options.lake, options.cluster_id, options.group_id, begin_ms, end_ms
    )
    return replay(
        incarnations(options.group_id, events, records),
        era=options.era,
        from_ms=begin_ms,
        to_ms=end_ms,
        offset_versions={row["value_version"] for row in committed},
        committed=committed,
    )


def _period_ms(options: ReplayOptions) -> tuple[int, int]:
    first, last = (
        with_date(options.lake, options.cluster_id, each) for each in (options.first, options.last)
    )
    return moment_ms("--from", first, is_end=False), moment_ms("--to", last, is_end=True)


def _episodes(options: ReplayOptions) -> list[Row]:
    period = _period_ms(options)
    return group_episodes(options.lake, options.cluster_id, options.group_id, *period)


def not_replayed(options: ReplayOptions) -> dict[str, int]:
    """How many generations of other types than classic began in the period, by type."""
    period = _period_ms(options)
    return generations_by_type(options.lake, options.cluster_id, options.group_id, *period)


def as_json(cluster_id: str, result: GroupReplay, episodes: Sequence[Row] = ()) -> Row:
    """Episodes, counts, divergences, inferred broker settings, verdicts, stimuli, story."""
    diverged, reproduced = _with(result, Verdict.DIVERGED), _with(result, Verdict.REPRODUCED)
    return {
        "cluster_id": cluster_id,
        "group_id": result.group_id,
        "episodes": [
            {"from": time_text(each["from_ms"]), "to": time_text(each["to_ms"])}
            | {name: value for name, value in each.items() if not name.endswith("_ms")}
            | {name: each[name] for name in ("not_stable_ms", "unowned_partition_ms")}
            for each in episodes
        ],
        "era": result.era.name,
        "era_by": result.era.why,
        "initial_rebalance_delay_ms": result.delay.delay_ms,
        "initial_rebalance_delay_by": result.delay.why,
        "generations": len(result.generations),
        "reproduced": len(reproduced),
        "diverged": len(diverged),
        "undecided": len(_with(result, Verdict.UNDECIDED)),
        "exact": sum(each.comparison.exact for each in reproduced),
        "taken_up": [
            {"incarnation": incarnation, "generation": generation}
            for incarnation, generation in result.resumed_from
        ],
        "divergences": [_divergence(each) for each in diverged],
        "verdicts": rows_of(cluster_id, result),
        "stimuli": [_stimulus(each, s) for each in result.generations for s in each.stimuli],
        "story": [
            {"time": time_text(line.at_ms), "generation": line.generation, "text": line.text}
            for line in story(result)
        ],
    }


def _with(result: GroupReplay, verdict: Verdict) -> list[ReplayedGeneration]:
    return [each for each in result.generations if each.verdict is verdict]


def _divergence(each: ReplayedGeneration) -> Row:
    divergence = each.comparison.divergence
    assert divergence is not None
    return {
        "incarnation": each.incarnation,
        "generation": each.number,
        "what": divergence.what,
        "production": divergence.production,
        "replay": divergence.replay,
        "evidence": divergence.evidence,
        "likely": likely_reason(each),
    }


def _stimulus(each: ReplayedGeneration, stimulus: Stimulus) -> Row:
    return {
        "incarnation": each.incarnation,
        "generation": each.number,
        "time": time_text(stimulus.at_ms),
        "what": stimulus.kind.name.lower(),
        "member_id": stimulus.member_id or None,
        "uncertainty_ms": stimulus.uncertainty_ms,
        "by": stimulus.basis.name.lower(),
        "evidence": stimulus.evidence,
    }


def _print_episodes(episodes: Sequence[Row]) -> None:
    if episodes:
        columns = ["from", "to", "episode"]
        spans = [(time_text(each["from_ms"]), time_text(each["to_ms"])) for each in episodes]
        rows = [[*span, each["summary"]] for span, each in zip(spans, episodes, strict=True)]
        print_rows(columns, rows)


def _print(result: GroupReplay) -> None:
    lines = [[time_text(line.at_ms), line.generation, line.text] for line in story(result)]
    print_rows(["time", "generation", "event"], lines)
    unequal = [each for each in result.generations if not each.is_reproduced]
    if unequal:
        columns = ["incarnation", "generation", "difference", "evidence", "likely"]
        rows = [
            [each.incarnation, each.number, str(d), d.evidence, likely_reason(each)]
            for each in unequal
            if (d := each.comparison.divergence) is not None
        ]
        print_rows(columns, rows)
    print(_summary(result))


def _summary(result: GroupReplay) -> str:
    total = len(result.generations)
    reproduced, diverged = _with(result, Verdict.REPRODUCED), _with(result, Verdict.DIVERGED)
    undecided = total - len(reproduced) - len(diverged)
    thin = f", {undecided} undecided (evidence too thin: no records)" if undecided else ""
    exact = sum(each.comparison.exact for each in reproduced)
    resumed = "".join(f"; starts from the record of generation {g}" for _, g in result.resumed_from)
    return (
        f"{len(reproduced)} of {total} generations reproduced by the coordinator of era"
        f" {result.era.name} ({result.era.why}), {exact} of them byte for byte,"
        f" {len(diverged)} diverged{thin}{resumed}"
    )
