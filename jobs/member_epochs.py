"""Each step of the members of consumer, share and streams groups towards a target assignment.

reads   timeline, group_records, topic_ids
writes  member_epochs   one row per current assignment record
"""

from __future__ import annotations

from jobs.epochs.played import played
from jobs.lake.scope import RunScope

READS = ("timeline", "group_records", "topic_ids")

TABLE = "member_epochs"


def run(scope: RunScope) -> None:
    events, records, topic_ids = map(scope.read, READS)
    names = {row.topic_id: row.topic for row in topic_ids.collect()}
    scope.replace(TABLE, played(TABLE, events, records, names))


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("member_epochs")
