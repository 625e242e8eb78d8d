"""What a release of Kafka has beside the coordinator's behavior: the jars of a broker 4.1.2."""

import pytest

from tools.differential.class_files import LogCall, classes_of
from tools.differential.jar_wordings import JARS, wording_differences
from tools.differential.release import default_differences, row_of
from tools.fetch_jars import BROKER_JARS

COORDINATOR, COMMON = [BROKER_JARS / f"org.apache.kafka_{jar}-4.1.2.jar" for jar in JARS]


@pytest.mark.broker
def test_every_line_of_the_coordinator_has_a_wording_of_its_version():
    assert wording_differences("4.1.2", [COORDINATOR, COMMON]) == []


@pytest.mark.broker
def test_wordings_of_another_version_differ():
    differences = wording_differences("4.0.2", [COORDINATOR, COMMON])

    assert (
        "not read: INFO GroupMetadataManager:"
        " [GroupId {}] Bumped group epoch to {} with metadata hash {}."
    ) in differences
    assert (
        "not logged: INFO GroupMetadataManager: [GroupId {}] Bumped group epoch to {}."
    ) in differences
    assert wording_differences("4.1.0", [COORDINATOR, COMMON])[-1:] == [
        "not read: DEBUG StreamsGroup: [GroupId {}] Setting the process ID of {}-{} to {} even"
        " though the partition is still owned by process ID {}",
    ]


@pytest.mark.broker
def test_a_call_of_a_logger_has_its_message_and_the_class_of_its_logger():
    calls = {call for each in classes_of(COORDINATOR) for call in each.log_calls()}

    # Texts that are concatenated, belong to a class with a logger parameter, or have texts as
    # arguments.
    assert (
        LogCall(
            "GroupMetadataManager",
            "INFO",
            "Preparing to rebalance group {} in state {} with old generation {} (reason: {}).",
        )
        in calls
    )
    assert LogCall("InternalTopicManager", "INFO", "Internal topics are missing: {}") not in calls


def test_defaults_that_differ_are_named():
    of_kafka = {"group.max.size": "5", "group.share.max.size": "200", "group.new": "1"}

    assert default_differences("4.4.0", of_kafka) == ["group.max.size: Kafka 5, Regroup 2147483647"]


def test_the_row_of_a_release_has_what_the_previous_one_does_not_offer():
    offered = {"0": 13, "1": 18, "95": 0, "metadata.version": 31, "group.version": 1}
    row = row_of("4.5", offered)

    assert {name: each for name, each in row.items() if each >= 0} == {
        "95": 0,
        "metadata.version": 31,
    }
    assert row["93"] == -1
    assert [*row][-1] == "metadata.version"
