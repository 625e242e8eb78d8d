"""The scenarios of docs/found-in-kafka.md; Kafka 4.4.0 and 4.1.1 gave the same answers."""

import json
from pathlib import Path

import pytest

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.coordinator.streams.topology import Status
from coordinator_core.scenarios.group_types import AllTypesPlayer
from coordinator_core.scenarios.scenario import given_ids

EXAMPLES = Path(__file__).parents[3] / "examples" / "found-in-kafka"


def trace(scenario, era, made_ids=()):
    return AllTypesPlayer(scenario, ERAS[era], given_ids([*made_ids])).play("")


def answers(scenario, era, made_ids=()):
    return [event for event in trace(scenario, era, made_ids) if event["event"] == "response"]


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


FENCED = "FENCED_MEMBER_EPOCH"


@pytest.mark.parametrize(
    ("era", "joins"), [("4.1", [FENCED, FENCED, "NONE"]), ("4.4", ["NONE", "NONE", "NONE"])]
)
def test_a_fenced_member_joins_again(era, joins):
    """At 10 s and 31 s within the session that began at 7 s, at 52.5 s after it."""
    answered = {each["to"]: each for each in answers(example("fenced-member-cannot-rejoin"), era)}

    assert answered["a4"]["error"] == FENCED
    assert [answered[step]["error"] for step in ("a5", "a6", "a7")] == joins


@pytest.mark.parametrize(
    ("era", "errors"),
    [
        ("4.1", ["NONE", "UNKNOWN_SERVER_ERROR"]),
        # In this case the group does not exist.
        ("4.4", ["UNKNOWN_SERVER_ERROR", "INVALID_REQUEST"]),
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


@pytest.mark.parametrize(
    ("era", "state", "assigned", "targets"),
    [
        ("4.1", "Stable", [[0, 1], [2], []], [[0, 1], [2], []]),
        ("4.4", "Stable", [[0], [1], []], [[0], [1], [2]]),
    ],
)
def test_a_member_without_topics_is_assigned_a_partition(era, state, assigned, targets):
    description = answers(example("consumer-unowned-partition"), era)[-1]

    def partitions(field):
        return [[p for _, each in member[field] for p in each] for member in description["members"]]

    assert description["state"] == state
    assert partitions("assignment") == assigned
    assert partitions("target") == targets


@pytest.mark.parametrize(("era", "error"), [("4.1", "UNKNOWN_MEMBER_ID"), ("4.4", "NONE")])
def test_the_instance_id_of_a_member_that_left_stays_taken(era, error):
    assert answers(example("consumer-instance-id-taken"), era)[-1]["error"] == error


@pytest.mark.parametrize(("era", "epochs"), [("4.1", [1, 2, 1]), ("4.4", [2, 3, 2])])
def test_a_refused_join_drops_an_empty_group(era, epochs):
    events = trace(example("consumer-group-dropped"), era)

    states = [event for event in events if event["event"] == "state"]
    assert [event.get("epoch") for event in states] == [epochs[0], epochs[1], None, epochs[2]]
    assert [event["error"] for event in events if event.get("op") == "join"] == [
        "UNKNOWN_MEMBER_ID"
    ]


@pytest.mark.parametrize("era", ["4.1", "4.4"])
def test_a_consumer_cannot_join_in_the_initial_delay(era):
    answered = answers(example("consumer-in-the-initial-delay"), era, ["k-1"])

    assert [each["error"] for each in answered] == [
        "REBALANCE_IN_PROGRESS",
        "UNKNOWN_SERVER_ERROR",
        "NONE",
    ]


@pytest.mark.parametrize(
    ("era", "joins_answered", "state"), [("4.1", 0, "PreparingRebalance"), ("4.4", 2, "Empty")]
)
def test_no_join_is_answered_after_a_malformed_subscription(era, joins_answered, state):
    answered = answers(example("classic-malformed-subscription"), era, ["k-1", "l-2"])

    assert sum(each["op"] == "join" for each in answered) == joins_answered
    assert answered[-1]["state"] == state


@pytest.mark.parametrize("era", ["4.1", "4.4"])
def test_reads_show_what_a_failed_append_reverted(era):
    answered = answers(example("consumer-listed-twice"), era)

    described = next(each for each in answered if each["op"] == "consumer_describe")
    assert [member["member"] for member in described["members"]] == ["m1", "m1"]
    assert [group[0] for group in answered[-1]["groups"]] == ["g", "g"]


@pytest.mark.parametrize(("era", "current_records"), [("4.1", 1), ("4.4", 2)])
def test_a_member_without_topics_is_written_again(era, current_records):
    events = trace(example("consumer-rewritten-record"), era)

    type_8 = [event for event in events if event.get("key", "").startswith("AAgA")]
    assert len(type_8) == current_records
