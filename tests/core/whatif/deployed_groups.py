"""Baselines of simulated groups that were deployed."""

from coordinator_core.incident import incarnations
from coordinator_core.whatif import baseline_of
from tests.core.incident.incident_rows import of_fleet

DEPLOYED = {"kind": "deploy", "times": 1, "gap": "20s", "down": "4s"}


def baseline_of_group(plan, length="6m", **settings):
    """Of six Java processes with the assignor range and twelve partitions, unless ``settings`` of
    the group say otherwise."""
    group = {"name": "billing", "topics": ["orders"], "processes": 6, "client": "java-4.1"}
    group |= {"assignors": ["range"], "plans": [plan]} | settings
    topics = [{"name": "orders", "partitions": 12}]
    rows = of_fleet({"name": "deployed", "length": length, "topics": topics, "groups": [group]})
    return baseline_of(incarnations("billing", rows.events["billing"], rows.records["billing"]))
