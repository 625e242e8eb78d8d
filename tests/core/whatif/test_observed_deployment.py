"""How a group was deployed since a time, on simulated groups."""

import pytest

from coordinator_core.whatif.observed_deployment import deployment_since
from tests.core.whatif.deployed_groups import baseline_of_group

BEGAN_MS = 1795161600000  # of the fleet
FIRST_MS = BEGAN_MS + 180_000


def baseline(plan, static=False):
    plan = {"at": "3m", "times": 1, **plan}
    return baseline_of_group(plan, processes=4, static=static, session_timeout="10s")


@pytest.mark.parametrize(
    ("plan", "way"),
    [
        ({"kind": "deploy", "gap": "20s", "down": "4s"}, ("one_by_one", 20, 1)),
        ({"kind": "deploy", "gap": "5s", "down": "8s"}, ("batches", 10, 2)),
        ({"kind": "deploy", "down": "4s"}, ("recreate", 0, 4)),
        ({"kind": "deploy", "overlap": "8s"}, ("surge", 8, 4)),
    ],
)
def test_the_way_of_a_deployment(plan, way):
    observed = deployment_since(baseline(plan), FIRST_MS - 1000)

    assert len(observed.before) == len(observed.new) == 4
    assert observed.old == []
    strategy, pace_ms, batch = observed.deployment
    assert (strategy, round(pace_ms / 1000), batch) == way


def test_static_members_are_replaced_under_their_ids():
    deployed = baseline({"kind": "deploy", "gap": "20s", "down": "4s"}, static=True)

    observed = deployment_since(deployed, FIRST_MS - 1000)

    assert (observed.old, len(observed.new)) == ([], 4)
    assert observed.deployment.strategy == "one_by_one"


def test_processes_of_before_are_old():
    deployed = baseline({"kind": "deploy", "gap": "20s", "down": "4s"})

    observed = deployment_since(deployed, FIRST_MS + 30_000)

    assert (len(observed.before), len(observed.old), len(observed.new)) == (4, 2, 2)


def test_a_group_that_scales_out_was_not_deployed():
    observed = deployment_since(baseline({"kind": "scale", "to": 6}), FIRST_MS - 1000)

    assert (len(observed.before), len(observed.old), len(observed.new)) == (4, 4, 2)
    assert observed.deployment is None
