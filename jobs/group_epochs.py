"""Each group epoch of consumer, share and streams groups, with the time and the cause of its
increase.

reads   timeline, group_records, committed_offsets, topic_ids
writes  group_epochs   one row per group epoch, and per conversion to or from a classic group
"""

from __future__ import annotations

from jobs.lake.scope import RunScope
from jobs.modern_history.played import READS as PLAYED
from jobs.modern_history.played import replace_by_played

READS = PLAYED

TABLE = "group_epochs"


def run(scope: RunScope) -> None:
    replace_by_played(scope, TABLE)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("group_epochs")
