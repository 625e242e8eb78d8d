"""`regroup replay` of one group: story, verdicts and divergences; without a JVM."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.figures import counted
from coordinator_core.incident import GroupReplay, ReplayedGeneration, ReplayVerdict
from coordinator_core.incident.comparison import Divergence
from coordinator_core.incident.divergence_hints import likely_reason
from coordinator_core.incident.modern import (
    GroupEvidence,
    ModernGeneration,
    ModernReplay,
    WholeReplay,
)
from coordinator_core.incident.modern import replay_group as replay_evidence
from coordinator_core.incident.modern.hints import likely_reason as likely_reason_of_modern
from coordinator_core.incident.modern.stimuli import ModernStimulus
from coordinator_core.incident.modern.story import modern_story
from coordinator_core.incident.stimuli import Stimulus
from coordinator_core.incident.story import StoryLine, story
from jobs.console.errors import UsageError
from jobs.console.printing import Format, jsonable, print_rows, time_text
from jobs.console.spinner import spinner
from jobs.incident_replay import rows_of
from jobs.lake.dates import moment_ms
from jobs.lake.evidence import Row
from jobs.replay.episodes import group_episodes
from jobs.replay.findings import group_findings
from jobs.replay.group_rows import brokers_of, commits_within, replayed_rows, topic_names, with_date
from schemas import table_columns


@dataclass(frozen=True)
class ReplayOptions:
    """``first`` and ``last`` are times or dates in UTC, as given by the user; None: no limit."""

    lake: str
    cluster_id: str
    group_id: str
    first: str | None = None
    last: str | None = None
    era: str | None = None


class ReplayedGroup(NamedTuple):
    """``names`` are names of topics by id."""

    replay: WholeReplay
    names: Mapping[str, str]


def run_one(options: ReplayOptions, format: Format) -> int:
    """Print the story and the verdicts. Returns the exit code: 1 if a generation diverged."""
    with spinner("replay"):
        result = replay_whole_group(options)
    if format is Format.JSON:
        shown = as_json(options.cluster_id, result, _findings(options), _episodes(options))
        text = json.dumps(jsonable(shown), indent=1)
        sys.stdout.write(text + "\n")
    elif format is Format.CSV:
        rows = rows_of(options.cluster_id, result.replay)
        columns = table_columns("incident_replay")
        print_rows(columns, [[row[name] for name in columns] for row in rows], format)
    else:
        _print_summaries("finding", _findings(options))
        _print_summaries("episode", _episodes(options))
        _print(result)
    return 1 if _with(result.replay, ReplayVerdict.DIVERGED) else 0


def replay_group(options: ReplayOptions) -> GroupReplay:
    """Replay the times in which the group was classic; raises as `replay_whole_group`."""
    return replay_whole_group(options).replay.classic


def replay_whole_group(options: ReplayOptions) -> ReplayedGroup:
    """Replay one group. Raises UsageError for an unknown era or group, or an invalid time."""
    if options.era is not None and options.era not in ERAS:
        raise UsageError(f"--era {options.era}: not one of {', '.join(ERAS)}")
    begin_ms, end_ms = _period_ms(options)
    group = (options.lake, options.cluster_id, options.group_id)
    events, records, stored, versions = replayed_rows(*group)
    names = topic_names(options.lake, options.cluster_id) if stored else {}
    replayed = replay_evidence(
        GroupEvidence(options.group_id, events, records, stored, names),
        era=options.era,
        from_ms=begin_ms,
        to_ms=end_ms,
        offset_versions=versions,
        cluster=brokers_of(options.lake, options.cluster_id),
        committed=commits_within(*group, begin_ms, end_ms),
    )
    return ReplayedGroup(replayed, {**names, **replayed.modern.names})


def _period_ms(options: ReplayOptions) -> tuple[int, int]:
    first, last = (
        with_date(options.lake, options.cluster_id, each) for each in (options.first, options.last)
    )
    return moment_ms("--from", first, is_end=False), moment_ms("--to", last, is_end=True)


def _findings(options: ReplayOptions) -> list[Row]:
    period = _period_ms(options)
    return group_findings(options.lake, options.cluster_id, options.group_id, *period)


def _episodes(options: ReplayOptions) -> list[Row]:
    period = _period_ms(options)
    return group_episodes(options.lake, options.cluster_id, options.group_id, *period)


def as_json(
    cluster_id: str,
    group: ReplayedGroup,
    findings: Sequence[Row] = (),
    episodes: Sequence[Row] = (),
) -> Row:
    """Findings, episodes, counts, divergences, broker settings, verdicts, stimuli, story."""
    replay = group.replay
    classic, modern = replay
    diverged, reproduced = (
        _with(replay, ReplayVerdict.DIVERGED),
        _with(replay, ReplayVerdict.REPRODUCED),
    )
    era = classic.era if modern.era is None else modern.era
    return {
        "cluster_id": cluster_id,
        "group_id": classic.group_id or modern.group_id,
        "findings": [_with_texts_of_times(each) for each in findings],
        "episodes": [
            _with_texts_of_times(each)
            | {name: each[name] for name in ("not_stable_ms", "unowned_partition_ms")}
            for each in episodes
        ],
        "era": era.name,
        "era_by": era.why,
        "initial_rebalance_delay_ms": classic.delay.delay_ms,
        "initial_rebalance_delay_by": classic.delay.why,
        "generations": len(_generations(replay)),
        "by_type": _by_type(replay),
        "reproduced": len(reproduced),
        "diverged": len(diverged),
        "undecided": len(_with(replay, ReplayVerdict.UNDECIDED)),
        "exact": sum(_is_exact(each) for each in reproduced),
        "taken_up": [
            {"incarnation": incarnation, "generation": generation}
            for incarnation, generation in [*classic.resumed_from, *modern.resumed_from]
        ],
        "missing": _missing(modern),
        "divergences": [_divergence(each) for each in diverged],
        "verdicts": rows_of(cluster_id, replay),
        "stimuli": [_stimulus(each, s) for each in _generations(replay) for s in each.stimuli],
        "story": [
            {"time": time_text(line.at_ms), "generation": line.generation, "text": line.text}
            for line in whole_story(group)
        ],
    }


def _with_texts_of_times(row: Row) -> Row:
    """``from`` and ``to`` in place of columns in ms."""
    to_ms = row["to_ms"]
    times = {"from": time_text(row["from_ms"]), "to": None if to_ms is None else time_text(to_ms)}
    return times | {name: value for name, value in row.items() if not name.endswith("_ms")}


Generation = ReplayedGeneration | ModernGeneration


def whole_story(group: ReplayedGroup) -> list[StoryLine]:
    """The story of all types that the group had, in order of time."""
    classic, modern = group.replay
    lines = modern_story(modern, group.names)
    if not lines:
        return story(classic)
    return sorted([*story(classic), *lines], key=lambda line: (line.incarnation, line.at_ms))


def _generations(replay: WholeReplay) -> list[Generation]:
    together: list[Generation] = [*replay.classic.generations, *replay.modern.generations]
    return sorted(together, key=lambda each: (each.incarnation, each.number))


def _with(replay: WholeReplay, verdict: ReplayVerdict) -> list[Generation]:
    return [each for each in _generations(replay) if each.verdict is verdict]


def _by_type(replay: WholeReplay) -> dict[str, int]:
    types = Counter(each.group_type for each in replay.modern.generations)
    if replay.classic.generations:
        types[CLASSIC.name] = len(replay.classic.generations)
    return dict(sorted(types.items()))


def _is_exact(each: Generation) -> bool:
    return each.exact if isinstance(each, ModernGeneration) else each.comparison.exact


def _difference(each: Generation) -> Divergence | None:
    return each.divergence if isinstance(each, ModernGeneration) else each.comparison.divergence


def _likely(each: Generation) -> str | None:
    if isinstance(each, ModernGeneration):
        return likely_reason_of_modern(each)
    return likely_reason(each)


def _missing(modern: ModernReplay) -> list[str]:
    """Evidence that is missing, so that the replay cannot use or compare something."""
    return [f"name of topic {each}" for each in modern.unnamed_topics]


def _divergence(each: Generation) -> Row:
    divergence = _difference(each)
    assert divergence is not None
    return {
        "incarnation": each.incarnation,
        "generation": each.number,
        "what": divergence.what,
        "production": divergence.production,
        "replay": divergence.replay,
        "evidence": divergence.evidence,
        "likely": _likely(each),
    }


def _stimulus(each: Generation, stimulus: Stimulus | ModernStimulus) -> Row:
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


def _print_summaries(title: str, rows: Sequence[Row]) -> None:
    """Findings or episodes; a finding with its id."""
    if rows:
        timed = map(_with_texts_of_times, rows)
        texts = [
            [each["from"], each["to"], *([each["finding"]] if "finding" in each else []),
             each["summary"]]
            for each in timed
        ]  # fmt: skip
        columns = ["from", "to", title, *(["what"] if title == "finding" else [])]
        print_rows(columns, texts)


def _print(group: ReplayedGroup) -> None:
    lines = [[time_text(line.at_ms), line.generation, line.text] for line in whole_story(group)]
    print_rows(["time", "generation", "event"], lines)
    unequal = [
        (each, difference)
        for each in _generations(group.replay)
        if (difference := _difference(each)) is not None
    ]
    if unequal:
        columns = ["incarnation", "generation", "difference", "evidence", "likely"]
        rows = [
            [each.incarnation, each.number, str(difference), difference.evidence, _likely(each)]
            for each, difference in unequal
        ]
        print_rows(columns, rows)
    print(_summary(group.replay))


def _summary(replay: WholeReplay) -> str:
    total = len(_generations(replay))
    reproduced, diverged = (
        _with(replay, ReplayVerdict.REPRODUCED),
        _with(replay, ReplayVerdict.DIVERGED),
    )
    undecided = total - len(reproduced) - len(diverged)
    thin = f", {undecided} undecided (evidence too thin: no records)" if undecided else ""
    exact = sum(map(_is_exact, reproduced))
    starts = [*replay.classic.resumed_from, *replay.modern.resumed_from]
    resumed = "".join(f"; starts from the record of generation {g}" for _, g in starts)
    missing = "".join(f"; missing: {each}" for each in _missing(replay.modern))
    return (
        f"{len(reproduced)} of {counted(total, 'generation')} reproduced by the coordinator of era"
        f" {_eras(replay)}, {exact} of them byte for byte,"
        f" {len(diverged)} diverged{thin}{resumed}{missing}"
    )


def _eras(replay: WholeReplay) -> str:
    """The era of the coordinator, or each of its eras after an upgrade of the brokers."""
    of_types = [each.eras for each in (replay.modern, replay.classic) if each.eras is not None]
    stretches = max((each.stretches for each in of_types), key=len)
    if len(stretches) < 2:
        return f"{stretches[0].era.name} ({stretches[0].era.why})"
    texts = [f"{era.name} from {time_text(from_ms)} ({era.why})" for from_ms, era in stretches[1:]]
    first = stretches[0].era
    return f"{first.name} ({first.why}), then " + ", ".join(texts)
