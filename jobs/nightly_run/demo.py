"""`regroup demo`: the nightly run on two packaged incidents, then each rebalance and its causes.

reads   examples/mixed-clients-3.9.1 and -4.1.2: segments and server.log of real brokers
writes  every table of a lake of its own
"""

from __future__ import annotations

from jobs.command_line.config import load_config
from jobs.command_line.packaged_files import EXAMPLES
from jobs.console.printing import print_rows
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions, nightly
from jobs.nightly_run.pipeline import Progress

INCIDENTS = {
    "kafka-3.9": EXAMPLES / "mixed-clients-3.9.1",
    "kafka-4.1": EXAMPLES / "mixed-clients-4.1.2",
}

GROUPS = """
    SELECT group_id AS "group", generations, rebalances, aborted_rebalances AS aborted,
        not_stable_ms, longest_ms
    FROM q01_most_rebalanced_groups WHERE cluster_id = '{cluster}'
    ORDER BY rebalances DESC, group_id"""

STORY = """
    SELECT STRFTIME(event_time, '%H:%M:%S.%g') AS "at",
        CASE WHEN role = 'absorbed' THEN '(' || generation || ')' ELSE generation || '' END AS gen,
        CASE WHEN role = 'trigger' THEN cause WHEN role = 'absorbed' THEN '= ' || cause
            ELSE '+ ' || cause END AS cause,
        story, member,
        CASE WHEN lead THEN outcome END AS outcome,
        CASE WHEN lead THEN member_count END AS members,
        CASE WHEN lead THEN join_ms END AS join_ms, CASE WHEN lead THEN sync_ms END AS sync_ms,
        CASE WHEN lead THEN members_joined END AS joined,
        CASE WHEN lead THEN members_left END AS "left",
        CASE WHEN lead THEN members_expired END AS expired,
        CASE WHEN lead THEN members_replaced END AS replaced,
        CASE WHEN lead THEN partitions_moved END AS moved,
        CASE WHEN lead THEN moves_forced END AS forced
    FROM (SELECT *, cause_seq = 1 AND role = 'trigger' AS lead FROM incident_story)
    WHERE cluster_id = '{cluster}' AND group_id = '{group}'
    ORDER BY incarnation, generation, cause_seq"""

LEGEND = """\
One row per cause. The first row of a rebalance names its trigger and has its figures; + marks
other causes before its join completed; (generation) and = mark causes that led to no rebalance."""


def demo(lake: str) -> None:
    progress = Progress()
    for cluster, incident in INCIDENTS.items():
        options = NightlyOptions(
            lake,
            cluster,
            segments=str(incident / "segments"),
            broker_log=str(incident / "server.log"),
        )
        nightly(options, load_config(None), progress)
    print(LEGEND)
    for cluster, incident in INCIDENTS.items():
        _print_incident(lake, cluster, incident.name)
    print(f'Next: regroup sql --lake {lake} "SELECT * FROM q03_causes"')


def _print_incident(lake: str, cluster: str, name: str) -> None:
    columns, rows = query(lake, GROUPS.format(cluster=cluster))
    print_rows(columns, rows, title=f"{cluster}: {name}")
    for group in sorted(row[0] for row in rows):
        print_rows(*query(lake, STORY.format(cluster=cluster, group=group)), title=group)
