"""The scenarios of docs/found-in-kafka.md; Kafka 4.4.0 and 4.1.1 gave the same answers."""

import json
from pathlib import Path

import pytest

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.coordinator.streams.topology import Status
from coordinator_core.scenarios.all_types import AllTypesPlayer
from coordinator_core.scenarios.scenario import given_ids

EXAMPLES = Path(__file__).parents[3] / "examples" / "found-in-kafka"


def answers(scenario, era):
    events = AllTypesPlayer(scenario, ERAS[era], given_ids([])).play("")
    return [event for event in events if event["event"] == "response"]


def example(name):
    return json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("era", "epochs"), [("4.1", [1, 2, 3, 4, 5, 6, 7, 8]), ("4.4", [2, 3, 4, 4, 4, 4, 4, 4])]
)
def test_the_epoch_climbs_once_a_topic_has_no_reader(era, epochs):
    answered = answers(example("share-epoch-climbs"), era)

    assert [each["member_epoch"] for each in answered] == epochs


@pytest.mark.parametrize(
    ("era", "epochs"), [("4.1", [2, 2, 2, 2, 2, 2, 2, 2]), ("4.4", [4, 5, 5, 6, 6, 7, 7, 8])]
)
def test_the_epoch_climbs_while_two_assignors_have_one_vote_each(era, epochs):
    answered = answers(example("tied-assignor-vote"), era)

    assert [each["member_epoch"] for each in answered][-8:] == epochs


@pytest.mark.parametrize(
    ("era", "errors"),
    [
        ("4.1", ["NONE", "UNKNOWN_SERVER_ERROR"]),
        ("4.4", ["UNKNOWN_SERVER_ERROR", "INVALID_REQUEST"]),  # then there is no such group
    ],
)
def test_an_endpoint_fails_while_a_topic_is_missing(era, errors):
    answered = answers(example("streams-endpoint-missing-topic"), era)

    assert [each["error"] for each in answered] == errors


@pytest.mark.parametrize("era", ["4.1", "4.4"])
@pytest.mark.parametrize(
    ("size", "status"),
    [(2, Status.INCORRECTLY_PARTITIONED_TOPICS), (0, Status.MISSING_INTERNAL_TOPICS)],
)
def test_fixed_sizes_are_compared_across_copartition_groups(era, size, status):
    scenario = example("streams-copartition-fixed")
    scenario["steps"][1]["topology"]["subtopologies"][2]["repartition_source_topics"] = [
        ["s", size]
    ]

    assert status in answers(scenario, era)[0]["status"]
