"""What a baseline takes from a group's evidence, on simulated groups."""

import pytest

from coordinator_core.incident import incarnations
from coordinator_core.whatif import baseline_of
from tests.core.incident.incident_rows import of_fleet


def baseline(assignor, grows, plans):
    rows = of_fleet(
        {
            "name": "grown",
            "length": "10m",
            "topics": [{"name": "orders", "partitions": 12, "grows": grows}],
            "groups": [
                {
                    "name": "billing",
                    "topics": ["orders"],
                    "processes": 2,
                    "client": "java-4.1",
                    "assignors": [assignor],
                    "metadata_max_age": "30s",
                    "plans": plans,
                }
            ],
        }
    )
    return baseline_of(incarnations("billing", rows.events["billing"], rows.records["billing"]))


SCALE = [{"kind": "scale", "at": "4m", "to": 4}]
GROWTH = [{"at": "4m", "to": 15}]


@pytest.mark.parametrize(
    ("assignor", "grows", "plans", "counts", "metadata_max_age_ms"),
    [
        ("range", [], SCALE, [12], 300_000),
        ("cooperative-sticky", [], SCALE, [12], 300_000),
        ("range", GROWTH, [], [12, 15], 10_000),
        ("cooperative-sticky", GROWTH, [], [12, 15], 10_000),
    ],
    ids=[
        "a scaled group",
        "a scaled cooperative group, which lacks revoked partitions for one generation",
        "a topic that grows",
        "a topic that grows in a cooperative group",
    ],
)
def test_clients_look_for_new_partitions_often_only_where_those_started_a_rebalance(
    assignor, grows, plans, counts, metadata_max_age_ms
):
    result = baseline(assignor, grows, plans)

    (topic,) = result.topics
    assert [topic.partitions, *(count for _, count in topic.grows)] == counts
    assert result.metadata_max_age_ms == metadata_max_age_ms
