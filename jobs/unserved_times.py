"""Times in which a partition had an owner and records, but nobody handled them.

reads   timeline, group_metadata, generations, generation_members, assignments, committed_offsets;
        group_records, topic_ids   of modern groups
        end_offsets                log end offsets, if there are any
        client_events              positions in failed commits
writes  unserved_times   one row per partition and time

`jobs.costs.unserved` has the definitions and rules.
"""

from __future__ import annotations

from jobs.costs.of_run import READS, UNSERVED, rows_of_run
from jobs.lake.scope import RunScope

__all__ = ["READS"]


def run(scope: RunScope) -> None:
    scope.replace(UNSERVED, rows_of_run(scope, UNSERVED))


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("unserved_times")
