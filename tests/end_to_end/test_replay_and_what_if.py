"""Two real incidents played again from a lake, as they were and under other settings: all groups
by Spark, as each by itself.
"""

import pytest

from coordinator_core.whatif import Change
from jobs import incident_replay, what_if, what_if_sweep
from jobs.config import load_config
from jobs.replay import Request, replayed
from jobs.session import build_session
from jobs.tables import Lake

COUNTS = """
    SELECT group_id, COUNT(*), COUNT(*) FILTER (WHERE verdict = 'reproduced'),
        MIN(evidence), MIN(era)
    FROM incident_replay WHERE cluster_id = '{cluster}' GROUP BY group_id ORDER BY group_id"""

# incident, era, generations of each group
INCIDENTS = [
    ("mixed-clients-3.9.1", "3.9", {"analytics-cooperative": 8, "audit-python": 6,
                                    "billing-eager": 16, "inventory-static": 5, "reports-java": 7}),
    ("mixed-clients-4.1.2", "4.1", {"analytics-cooperative": 9, "audit-python": 6,
                                    "billing-eager": 18, "inventory-static": 5, "reports-java": 6}),
]  # fmt: skip


@pytest.mark.parametrize(("incident", "era", "groups"), INCIDENTS)
def test_every_generation_comes_again(lakes, incident, era, groups):
    lakes.run(incident, lakes.examples / incident)

    incident_replay.run(Lake(build_session(load_config(None)), lakes.root, incident))

    expected = [(group, count, count, "both", era) for group, count in groups.items()]
    assert lakes.rows(COUNTS.format(cluster=incident)) == expected
    for group, count in groups.items():
        found = replayed(Request(lakes.root, incident, group))
        assert sum(each.is_reproduced for each in found.generations) == count


FIGURES = "rebalances, not_stable_ms, moved_partitions, unavailable_partition_ms"
LIVES = """
    SELECT process, life, started_how, ended_how, deploy, len(member_ids), len(slow_polls)
    FROM process_lives WHERE cluster_id = '{cluster}' AND group_id = '{group}'
    ORDER BY process, life"""


def test_a_sweep_says_what_the_command_says_and_who_lived(lakes):
    cluster = "mixed-clients-3.9.1"
    lakes.run(cluster, lakes.examples / cluster)
    lake = Lake(build_session(load_config(None)), lakes.root, cluster)

    what_if_sweep.run(lake, (Change(membership="static"),), seeds=1)

    for group in ("billing-eager", "reports-java"):
        request = what_if.Request(lakes.root, cluster, group, ("membership=static",), seeds=1)
        answer = what_if.answered(request)
        where = f"cluster_id = '{cluster}' AND group_id = '{group}'"
        assert lakes.rows(f"SELECT basis, {FIGURES} FROM what_if WHERE {where} ORDER BY basis") == [
            ("model", *answer.model.middle),
            ("observed", *answer.observed),
            ("predicted", *answer.predicted[0].middle),
        ]
    advised = lakes.rows(f"SELECT COUNT(*) FROM advice WHERE cluster_id = '{cluster}'")
    assert advised == [(5,)]

    assert lakes.rows(LIVES.format(cluster=cluster, group="reports-java")) == [
        ("reports-1", 1, "start", "killed", None, 1, 0),
        ("reports-1", 2, "crash_restart", "shut_down", None, 1, 0),
        ("reports-2", 1, "start", "shut_down", None, 1, 0),
        ("reports-3", 1, "scale_out", "shut_down", None, 1, 0),
    ]
    slow = lakes.rows(LIVES.format(cluster=cluster, group="audit-python"))
    assert [(row[0], row[5], row[6]) for row in slow] == [("audit-1", 2, 1), ("audit-2", 1, 0)]
