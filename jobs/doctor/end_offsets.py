"""Check files of log end offsets: can they be read, which partitions and times do they cover?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from coordinator_core.figures import counted
from jobs.configuration.config import valid_timezone
from jobs.console.errors import UsageError
from jobs.doctor.results import CheckResult, failure, ok, warning
from jobs.lake.files import list_files, open_file
from jobs.sources.end_offsets.reader import units
from jobs.sources.end_offsets.sightings import Sighting
from jobs.sources.end_offsets.source import FILES_LIKE, GIVE, problem_of

CHECK = "end offsets"
MOST_BYTES = 64 << 20  # per file, uncompressed


def check_end_offsets(pattern: str, timezone: str) -> Iterator[CheckResult]:
    """``timezone`` is the zone for dates that name none.  The first MOST_BYTES of a
    file are read.
    """
    try:
        zone = valid_timezone(timezone)
        files = list_files(pattern, "--end-offsets", name_like=FILES_LIKE)
    except UsageError as error:
        yield failure(CHECK, str(error), "correct --end-offsets and --log-timezone")
        return
    for file in files:
        try:
            yield _check(file, zone)
        except OSError as error:
            text = f"{file} cannot be read: {error.strerror or error}"
            yield failure(CHECK, text, "let this user read the file")


def _check(file: str, timezone: str) -> CheckResult:
    sightings: list[Sighting] = []
    reasons: list[str] = []
    with open_file(file) as stream:
        if (problem := problem_of(stream, timezone)) is not None:
            return failure(CHECK, f"{file}: {problem}", "a run rejects this file")
        stream.seek(0)
        for unit in units(stream, timezone):
            sightings += [sighting for _, sighting in unit.sightings]
            reasons += unit.reasons
            if unit.position > MOST_BYTES:
                break
    if not sightings and not reasons:
        return warning(CHECK, f"{file}: it is empty", GIVE)
    partitions = len({(each.topic, each.partition) for each in sightings})
    ends = counted(len(sightings), "log end offset")
    text = f"{file}: {ends} of {counted(partitions, 'partition')}"
    if sightings:
        first, last = (_text(end(each.time_ms for each in sightings)) for end in (min, max))
        text += f", {first} to {last} UTC"
    if not reasons:
        return ok(CHECK, text)
    remedy = "a run quarantines unreadable values and uses the other values"
    return warning(CHECK, f"{text}; {len(reasons):,} unreadable, first: {reasons[0]}", remedy)


def _text(time_ms: int) -> str:
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"
