"""Each step of the members of consumer, share and streams groups towards a target assignment.

reads   timeline, group_records, topic_ids
writes  member_epochs   one row per current assignment record
"""

from __future__ import annotations

from jobs.epochs.played import replace_by_played
from jobs.lake.scope import RunScope

READS = ("timeline", "group_records", "topic_ids")

TABLE = "member_epochs"


def run(scope: RunScope) -> None:
    replace_by_played(scope, TABLE, has_topics=True)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("member_epochs")
