"""Every generation of every group played again through the engine: reproduced, or diverged.

reads   timeline, group_events, group_metadata, committed_offsets
writes  incident_replay   one row per generation

All of a cluster's history, whatever the dates: a verdict hangs on all that was before.  One group
is also read and played without Spark, for ``regroup replay``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from coordinator_core.eras import ERAS
from coordinator_core.incident import Generation, Replay, lives, replay
from coordinator_core.incident.reasons import likely_reason
from coordinator_core.incident.stimuli import Basis
from coordinator_core.incident.story import story
from jobs.arguments import main
from jobs.errors import UsageError
from jobs.printing import Format, jsonable, print_rows
from jobs.sql import query
from jobs.tables import Lake, schema_of
from schemas import table_columns

READS = ("timeline", "group_events", "group_metadata", "committed_offsets")

Row = dict[str, Any]
_FOREVER_MS = 1 << 62

_EVENT = (
    "event_seq", "event", "generation", "member_id", "instance_id", "old_member_id", "step",
    "reason", "client_reason", "cause", "member_count", "members", "broker_id", "file_id",
    "position",
)  # fmt: skip
_RECORD = (
    "topic_partition", "log_offset", "tombstone", "value_version", "generation", "protocol_type",
    "protocol", "leader", "state_timestamp_ms", "members",
)  # fmt: skip


# -- one group, without Spark --------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """``first``, ``last``: moments or dates in UTC, as they were written; none for all."""

    lake: str
    cluster_id: str
    group_id: str
    first: str | None = None
    last: str | None = None
    era: str | None = None


def run_one(request: Request, format: Format) -> int:
    """Print the story and the verdicts; 0 if all were reproduced, 1 if not."""
    found = replayed(request)
    if format is Format.JSON:
        text = json.dumps(jsonable(as_json(request.cluster_id, found)), indent=1)
        sys.stdout.write(text + "\n")
    elif format is Format.CSV:
        rows = rows_of(request.cluster_id, found)
        columns = table_columns("incident_replay")
        print_rows(columns, [[row[name] for name in columns] for row in rows], format)
    else:
        _print(found)
    return 0 if all(each.is_reproduced for each in found.generations) else 1


def replayed(request: Request) -> Replay:
    """UsageError for an era or a group that nobody knows, or a moment that cannot be read."""
    if request.era is not None and request.era not in ERAS:
        raise UsageError(f"--era {request.era}: not one of {', '.join(sorted(ERAS))}")
    begin_ms = _moment("--from", request.first, is_end=False)
    end_ms = _moment("--to", request.last, is_end=True)
    events, records, committed = _read(request, begin_ms, end_ms)
    if not events and not records:
        raise UsageError(f"--group {request.group_id}: nothing of it in {request.lake}")
    return replay(
        lives(request.group_id, events, records),
        era=request.era,
        from_ms=begin_ms,
        to_ms=end_ms,
        offset_versions={row["value_version"] for row in committed},
        committed=committed,
    )


def _read(request: Request, begin_ms: int, end_ms: int) -> tuple[list[Row], list[Row], list[Row]]:
    """Rows of group_events and group_metadata, and the window's commits."""
    mine = f"cluster_id = {_text(request.cluster_id)} AND group_id = {_text(request.group_id)}"
    lives_of = f"(SELECT seq, log_offset, topic_partition, incarnation FROM timeline WHERE {mine})"
    events = _rows(
        request.lake,
        f"""SELECT {", ".join(f"e.{name}" for name in _EVENT)}, t.incarnation,
                epoch_ms(e.event_time) AS at_ms
            FROM (SELECT * FROM group_events WHERE {mine}) e
            JOIN {lives_of} t ON t.seq = e.event_seq AND t.log_offset IS NULL""",
    )
    records = _rows(
        request.lake,
        f"""SELECT {", ".join(f"r.{name}" for name in _RECORD)}, t.incarnation,
                epoch_ms(r.append_time) AS at_ms
            FROM (SELECT * FROM group_metadata WHERE {mine}) r
            JOIN {lives_of} t ON t.topic_partition = r.topic_partition
                AND t.log_offset = r.log_offset""",
    )
    committed = _rows(
        request.lake,
        f"""SELECT topic_partition, log_offset, topic, partition, tombstone, outcome, value_version,
                committed_offset, epoch_ms(commit_time) AS at_ms
            FROM committed_offsets
            WHERE {mine} AND NOT tombstone AND outcome = 'plain'
                AND epoch_ms(commit_time) BETWEEN {begin_ms} AND {end_ms}""",
    )
    return events, records, committed


def _rows(lake: str, sql: str) -> list[Row]:
    columns, rows = query(lake, sql)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _moment(option: str, text: str | None, *, is_end: bool) -> int:
    """In ms since the epoch; a date alone is its first moment, or its last; without text, all."""
    if text is None:
        return _FOREVER_MS if is_end else 0
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        example = "2026-11-21T00:46:00 or 2026-11-21"
        raise UsageError(f"{option} {text}: not a time; write it in UTC, as {example}") from None
    moment = found.replace(tzinfo=found.tzinfo or UTC)
    if is_end and len(text) == len("2026-11-21"):
        moment += timedelta(days=1, milliseconds=-1)
    return int(moment.timestamp() * 1000)


# -- what is shown -------------------------------------------------------------------------------


def as_json(cluster_id: str, found: Replay) -> Row:
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
            for incarnation, generation in found.taken_up
        ],
        "divergences": [_divergence(each) for each in diverged],
        "verdicts": rows_of(cluster_id, found),
        "stimuli": [_stimulus(each, s) for each in found.generations for s in each.inferred],
        "story": [
            {"time": _time(line.at_ms), "generation": line.generation, "text": line.text}
            for line in story(found)
        ],
    }


def _divergence(each: Generation) -> Row:
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


def _stimulus(each: Generation, stimulus: Any) -> Row:
    return {
        "incarnation": each.incarnation,
        "generation": each.number,
        "time": _time(stimulus.at_ms),
        "what": stimulus.act.name.lower(),
        "member_id": stimulus.member_id or None,
        "uncertainty_ms": stimulus.uncertainty_ms,
        "by": stimulus.basis.name.lower(),
        "evidence": stimulus.evidence,
    }


def _print(found: Replay) -> None:
    lines = [[_time(line.at_ms), line.generation, line.text] for line in story(found)]
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


def _summary(found: Replay) -> str:
    total = len(found.generations)
    good = [each for each in found.generations if each.is_reproduced]
    exact = sum(each.outcome.exact for each in good)
    begun = "".join(f"; taken up from generation {g} as recorded" for _, g in found.taken_up)
    return (
        f"{len(good)} of {total} generations reproduced by the coordinator of era"
        f" {found.era.name} ({found.era.why}), {exact} of them to the last bit,"
        f" {total - len(good)} diverged{begun}"
    )


def rows_of(cluster_id: str, found: Replay) -> list[Row]:
    """Rows of incident_replay."""
    return [
        {
            "cluster_id": cluster_id,
            "group_id": found.group_id,
            "incarnation": each.incarnation,
            "generation": each.number,
            "event_date": _date(each.explained.chapter.begins_ms),
            "verdict": "reproduced" if each.is_reproduced else "diverged",
            "difference": None if each.is_reproduced else str(each.outcome.difference),
            "differs_at": each.outcome.difference.evidence if each.outcome.difference else None,
            "likely": likely_reason(each),
            "evidence": each.evidence,
            "exact": each.is_reproduced and each.outcome.exact,
            "late_ms": each.outcome.late_ms if each.explained.is_logged else None,
            "stimuli": len(each.inferred),
            "assumed": sum(s.basis is Basis.ASSUMED for s in each.inferred),
            "era": found.era.name,
        }
        for each in found.generations
    ]


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(" ", "milliseconds")[:-6]


def _date(at_ms: int) -> date:
    return datetime.fromtimestamp(at_ms / 1000, UTC).date()


# -- all groups, with Spark ----------------------------------------------------------------------


def incident_replay(
    timeline: DataFrame,
    group_events: DataFrame,
    group_metadata: DataFrame,
    committed_offsets: DataFrame,
) -> DataFrame:
    """A task plays whole groups: what a generation is hangs on all before it.

    Without commits: they are many, and make no generation.
    """
    place = ["cluster_id", "group_id", "topic_partition", "log_offset"]
    # An alias each: both sides of a cogroup may not have a column of the same origin.
    life = F.col("incarnation").alias("incarnation")
    of_events = timeline.where("log_offset IS NULL").select(
        "cluster_id", "group_id", F.col("seq").alias("event_seq"), life
    )
    of_records = timeline.where("log_offset IS NOT NULL").select(*place, life)
    events = group_events.join(of_events, on=["cluster_id", "group_id", "event_seq"], how="inner")
    records = group_metadata.join(of_records, on=place, how="inner")
    versions = committed_offsets.groupBy("cluster_id", "group_id").agg(
        F.max("value_version").alias("offset_version")
    )
    told = records.join(versions, on=["cluster_id", "group_id"], how="left")
    own = ("cluster_id", "group_id", "incarnation")
    left = events.select(*own, *_EVENT, _ms("event_time"))
    right = told.select(*own, *_RECORD, "offset_version", _ms("append_time"))
    both = left.groupBy("cluster_id", "group_id").cogroup(right.groupBy("cluster_id", "group_id"))
    schema = schema_of("incident_replay")
    return both.applyInArrow(_player(to_arrow_schema(schema)), schema)


def _ms(time: str) -> Column:
    return F.unix_millis(time).alias("at_ms")


def _player(schema: pa.Schema) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """Plays one group; the schema is the driver's, no worker can make it."""

    def played(events: pa.Table, records: pa.Table) -> pa.Table:
        lines, written = events.to_pylist(), records.to_pylist()
        first = next(iter(lines or written))
        versions = {row["offset_version"] for row in written} - {None}
        found = replay(lives(first["group_id"], lines, written), offset_versions=versions)
        return pa.Table.from_pylist(rows_of(first["cluster_id"], found), schema)

    return played


def run(lake: Lake) -> None:
    whole = Lake(lake.spark, lake.root, lake.cluster_id)
    whole.replace("incident_replay", incident_replay(*map(whole.read, READS)))


def run_all(lake: str, cluster_id: str, conf: str | None, format: Format) -> int:
    """All groups of a cluster into the table; prints each group's counts, exit code as run_one."""
    from jobs.config import load_config
    from jobs.session import build_session

    if "://" not in lake and not Path(lake).is_dir():
        raise UsageError(f"--lake {lake}: no such folder; `regroup nightly` makes one")
    run(Lake(build_session(load_config(conf)), lake, cluster_id))
    columns, rows = query(lake, _COUNTS.format(cluster=_text(cluster_id)))
    print_rows(columns, rows, format)
    return 1 if any(row[-1] for row in rows) else 0


_COUNTS = """
    SELECT group_id, COUNT(*) AS generations,
        COUNT(*) FILTER (WHERE verdict = 'reproduced') AS reproduced,
        COUNT(*) FILTER (WHERE verdict = 'diverged') AS diverged
    FROM incident_replay WHERE cluster_id = {cluster} GROUP BY group_id ORDER BY group_id"""


if __name__ == "__main__":
    main(__doc__, run)
