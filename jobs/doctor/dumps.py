"""Check dumps: is the file a dump, and can its records be read?"""

from __future__ import annotations

from collections.abc import Iterator

from jobs.console.errors import UsageError
from jobs.doctor.results import CheckResult, failure, ok, warning
from jobs.sources.dumps.dump import Dump

CHECK = "dump"
MOST_ROWS = 100_000


def check_dump(pattern: str) -> Iterator[CheckResult]:
    """The first MOST_ROWS records are read."""
    records, unreadable = 0, []
    try:
        for batch in Dump(pattern).batches():
            records += batch.num_rows
            unreadable += [reason for reason in batch.column("reason").to_pylist() if reason]
            if records >= MOST_ROWS:
                break
    except UsageError as error:
        yield failure(CHECK, str(error), "give an export of __consumer_offsets: --dump PATH")
        return
    except OSError as error:
        yield failure(CHECK, f"{pattern} cannot be read: {error}", "let this user read the file")
        return
    text = f"{pattern}: {records - len(unreadable):,} of {records:,} records are readable"
    if not unreadable:
        yield ok(CHECK, text)
        return
    remedy = "a run quarantines unreadable records and uses the other records"
    yield warning(CHECK, f"{text}; first unreadable record: {unreadable[0]}", remedy)
