"""The cost of the end of each tenure for the data: records handled again, pauses, lag.

reads   timeline, group_metadata, generations, generation_members, assignments, committed_offsets;
        group_records, topic_ids   of modern groups
        end_offsets                log end offsets, if there are any
        client_events              positions in failed commits
writes  handover_costs   one row per tenure that ended

`jobs.costs` has the definitions and rules.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.costs.of_run import COSTS, READS, rows_of_run
from jobs.lake.keys import GROUP_KEY
from jobs.lake.scope import RunScope
from jobs.ownership.of_run import last_events

__all__ = ["READS"]


def dated(costs: DataFrame, last_events: DataFrame) -> DataFrame:
    """Rows of the table.  While the partition has no next owner, a row has the date of the group's
    last event.  ``costs``: see `jobs.costs.of_run`."""
    date = F.coalesce("ended_date", "last_date")
    return costs.join(F.broadcast(last_events), on=GROUP_KEY, how="left").withColumn(
        "event_date", date
    )


def run(scope: RunScope) -> None:
    scope.replace(COSTS, dated(rows_of_run(scope, COSTS), last_events(scope)))


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("handover_costs")
