"""Two real incidents played again from a lake: all groups by Spark, as each by itself."""

import pytest

from jobs import incident_replay
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
