"""Print how many statements of each confidence are true.

--by-kind: of each kind, too.  --false: print the false ones.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from jobs.console.printing import print_rows
from jobs.lake.sql import query
from tools.calibration.script import actions_of
from tools.calibration.statements import NO_STATEMENT, Statement, can_be_judged, is_true

STATEMENTS = """
    SELECT cluster_id, group_id, kind, EPOCH_MS(from_time), EPOCH_MS(to_time),
        [SPLIT_PART(each, '@', 1) FOR each IN processes], confidence, summary
    FROM episodes ORDER BY cluster_id, group_id, from_time, episode"""


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python -m tools.calibration", description=__doc__)
    arguments.add_argument("--lake", required=True)
    arguments.add_argument("--by-kind", action="store_true")
    arguments.add_argument("--false", action="store_true")
    arguments.add_argument("timelines", nargs="+", metavar="CLUSTER=timeline.jsonl")
    options = arguments.parse_args()
    scripts = {}
    for each in options.timelines:
        cluster, path = each.split("=", 1)
        scripts[cluster] = list(actions_of(Path(path).read_text().splitlines()))
    judged = [
        (statement, is_true(statement, scripts[cluster]))
        for cluster, *values in query(options.lake, STATEMENTS)[1]
        if cluster in scripts
        and (statement := Statement(*values)).kind != NO_STATEMENT
        and can_be_judged(statement, scripts[cluster])
    ]
    _print_shares(judged, by_kind=options.by_kind)
    if options.false:
        columns = ["group", "kind", "confidence", "summary"]
        print_rows(
            columns, [(s.group, s.kind, s.confidence, s.summary) for s, ok in judged if not ok]
        )


def _print_shares(judged: list[tuple[Statement, bool]], *, by_kind: bool) -> None:
    def key(statement: Statement) -> tuple[str, float]:
        return (statement.kind if by_kind else "", statement.confidence)

    counts = Counter(key(statement) for statement, _ in judged)
    true = Counter(key(statement) for statement, ok in judged if ok)
    rows = [
        (kind, confidence, count, true[kind, confidence], round(true[kind, confidence] / count, 2))
        for (kind, confidence), count in sorted(counts.items())
    ]
    columns = ["kind", "confidence", "statements", "true", "share"]
    first = 0 if by_kind else 1
    print_rows(columns[first:], [row[first:] for row in rows])


if __name__ == "__main__":
    main()
