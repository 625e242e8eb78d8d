"""Each step of the members of consumer, share and streams groups towards a target assignment.

reads   timeline, group_records, committed_offsets, topic_ids
writes  member_epochs   one row per current assignment record
"""

from __future__ import annotations

from jobs.lake.scope import RunScope
from jobs.modern_history.played import READS as PLAYED
from jobs.modern_history.played import replace_by_played

READS = PLAYED

TABLE = "member_epochs"


def run(scope: RunScope) -> None:
    replace_by_played(scope, TABLE)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("member_epochs")
