"""`regroup replay` of one group: the story, the verdicts, and what diverged; without a JVM."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.incident import GroupReplay, ReplayedGeneration, incarnations, replay
from coordinator_core.incident.divergence_hints import likely_reason
from coordinator_core.incident.story import story
from jobs.console.errors import UsageError
from jobs.console.printing import Format, jsonable, print_rows, time_text
from jobs.console.working import working
from jobs.incident_replay import rows_of
from jobs.replay.group_rows import Row, group_rows, moment_ms
from schemas import table_columns


@dataclass(frozen=True)
class ReplayOptions:
    """``first``, ``last``: moments or dates in UTC, as they were written; none for all."""

    lake: str
    cluster_id: str
    group_id: str
    first: str | None = None
    last: str | None = None
    era: str | None = None


def run_one(options: ReplayOptions, format: Format) -> int:
    """Print the story and the verdicts; 0 if all were reproduced, 1 if not."""
    with working("replay"):
        found = replay_group(options)
    if format is Format.JSON:
        text = json.dumps(jsonable(as_json(options.cluster_id, found)), indent=1)
        sys.stdout.write(text + "\n")
    elif format is Format.CSV:
        rows = rows_of(options.cluster_id, found)
        columns = table_columns("incident_replay")
        print_rows(columns, [[row[name] for name in columns] for row in rows], format)
    else:
        _print(found)
    return 0 if all(each.is_reproduced for each in found.generations) else 1


def replay_group(options: ReplayOptions) -> GroupReplay:
    """UsageError for an era or a group that nobody knows, or a moment that cannot be read."""
    if options.era is not None and options.era not in ERAS:
        raise UsageError(f"--era {options.era}: not one of {', '.join(sorted(ERAS))}")
    begin_ms = moment_ms("--from", options.first, is_end=False)
    end_ms = moment_ms("--to", options.last, is_end=True)
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


def as_json(cluster_id: str, found: GroupReplay) -> Row:
    """Counts, each divergence, what was assumed of the broker, the story."""
    diverged = [each for each in found.generations if not each.is_reproduced]
    return {
        "cluster_id": cluster_id,
        "group_id": found.group_id,
        "era": found.era.name,
        "era_by": found.era.why,
        "initial_rebalance_delay_ms": found.delay.delay_ms,
        "initial_rebalance_delay_by": found.delay.why,
        "generations": len(found.generations),
        "reproduced": len(found.generations) - len(diverged),
        "diverged": len(diverged),
        "exact": sum(each.is_reproduced and each.outcome.exact for each in found.generations),
        "taken_up": [
            {"incarnation": incarnation, "generation": generation}
            for incarnation, generation in found.resumed_from
        ],
        "divergences": [_divergence(each) for each in diverged],
        "verdicts": rows_of(cluster_id, found),
        "stimuli": [_stimulus(each, s) for each in found.generations for s in each.inferred],
        "story": [
            {"time": time_text(line.at_ms), "generation": line.generation, "text": line.text}
            for line in story(found)
        ],
    }


def _divergence(each: ReplayedGeneration) -> Row:
    difference = each.outcome.difference
    assert difference is not None
    return {
        "incarnation": each.incarnation,
        "generation": each.number,
        "what": difference.what,
        "production": difference.production,
        "replay": difference.replay,
        "evidence": difference.evidence,
        "likely": likely_reason(each),
    }


def _stimulus(each: ReplayedGeneration, stimulus: Any) -> Row:
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


def _print(found: GroupReplay) -> None:
    lines = [[time_text(line.at_ms), line.generation, line.text] for line in story(found)]
    print_rows(["time", "generation", "what happened"], lines)
    diverged = [each for each in found.generations if not each.is_reproduced]
    if diverged:
        columns = ["incarnation", "generation", "difference", "evidence", "likely"]
        rows = [
            [each.incarnation, each.number, str(d), d.evidence, likely_reason(each)]
            for each in diverged
            if (d := each.outcome.difference) is not None
        ]
        print_rows(columns, rows)
    print(_summary(found))


def _summary(found: GroupReplay) -> str:
    total = len(found.generations)
    good = [each for each in found.generations if each.is_reproduced]
    exact = sum(each.outcome.exact for each in good)
    begun = "".join(f"; taken up from generation {g} as recorded" for _, g in found.resumed_from)
    return (
        f"{len(good)} of {total} generations reproduced by the coordinator of era"
        f" {found.era.name} ({found.era.why}), {exact} of them to the last bit,"
        f" {total - len(good)} diverged{begun}"
    )
