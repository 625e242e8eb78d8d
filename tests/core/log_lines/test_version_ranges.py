"""Versions as ranges, and the versions whose software logs a line."""

import pytest

from coordinator_core.log_lines.line_versions import (
    SeenClient,
    broker_versions,
    client_of_id,
    client_of_line,
)
from coordinator_core.log_lines.version_ranges import (
    ALL_VERSIONS,
    are_within,
    common,
    common_to_all,
    consistent,
    ranges_of,
    text_of,
    united,
    words_of,
)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("2.1-2.5", "2.4-2.7", "2.4-2.5"),
        ("-2.6.0", "2.6", "2.6-2.6.0"),
        ("2.6.1", "2.6", "2.6.1"),
        ("3.0-4.0", "4.0.2", "4.0.2"),
        ("3.6-", "4.4.0", "4.4.0"),
        ("2.6.1-2.6, 2.7, 2.8.0", "2.6-2.8", "2.6.1-2.6, 2.7, 2.8.0"),
        ("-2.6.0", "2.6.1-", ""),
        ("2.10", "2.9", ""),
    ],
)
def test_common_versions(one, other, both):
    assert text_of(common(ranges_of(one), ranges_of(other))) == both


@pytest.mark.parametrize(
    ("inner", "outer", "expected"),
    [
        ("2.6.0", "-2.6.0", True),
        ("2.6", "-2.6.0", False),
        ("2.5", "-2.6.0", True),
        ("2.4-2.5", "2.4, 2.5", False),
        ("4.0.1", "4.0-4.1", True),
    ],
)
def test_versions_within_others(inner, outer, expected):
    assert are_within(ranges_of(inner), ranges_of(outer)) is expected


def test_overlapping_ranges_are_one():
    assert text_of(ranges_of("3.6-4.0, 3.0-3.9")) == "3.0-4.0"
    assert (
        text_of(united([ranges_of("2.1"), ranges_of("2.1-2.3"), ranges_of("4.0")]))
        == "2.1-2.3, 4.0"
    )
    assert common_to_all([]) == ALL_VERSIONS


@pytest.mark.parametrize(
    ("limits", "versions"),
    [
        (["2.1-4.0", "2.3-2.4"], "2.3-2.4"),
        # An upgrade leaves lines of both versions in the log, and lines of one of them.
        (["2.1-4.0", "2.3-2.4", "3.6-"], "2.3-2.4, 3.6-4.0"),
        (["2.5-2.6.0", "2.3-2.4", "2.1-4.0", "-2.7", "2.0-"], "2.3-2.4, 2.5-2.6.0"),
        ([], ""),
    ],
)
def test_versions_that_contradict_each_other_are_several(limits, versions):
    assert text_of(consistent(map(ranges_of, limits))) == versions


@pytest.mark.parametrize("text", ["", "-", "before 2.0", "2.x"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match=r"expected|invalid"):
        ranges_of(text)


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ("-2.6.0", "up to 2.6.0"),
        ("3.6-", "3.6 and later"),
        ("2.1-2.5, 2.8.0", "2.1 to 2.5 or 2.8.0"),
        ("2.6.1-2.6", "2.6 from 2.6.1 on"),
    ],
)
def test_ranges_in_a_sentence(ranges, words):
    assert words_of(ranges_of(ranges)) == words


@pytest.mark.parametrize(
    ("line", "reason", "versions"),
    [
        (
            "[2020-05-01 10:00:00,000] INFO [GroupCoordinator 1]: Stabilized group g generation 4"
            " (__consumer_offsets-7) (kafka.coordinator.group.GroupCoordinator)",
            None,
            "0.11-2.7",
        ),
        (
            "[2020-05-01 10:00:00,000] INFO [GroupCoordinator 1]: Preparing to rebalance group g in"
            " state PreparingRebalance with old generation 4 (__consumer_offsets-7) (reason: Adding"
            " new member m with group instanceid None) (kafka.coordinator.group.GroupCoordinator)",
            "Adding new member m with group instanceid None",
            "2.3-2.4",
        ),
        ("[2020-05-01 10:00:00,000] INFO Kafka Server started (kafka.Kafka)", None, ""),
    ],
)
def test_versions_of_a_coordinators_line(line, reason, versions):
    assert text_of(common_to_all(broker_versions(line, reason))) == versions


def test_the_client_that_logged_a_line():
    line = (
        "[2020-05-01 10:00:00,000] INFO [Consumer clientId=c, groupId=g] Successfully joined group"
        " with generation 4 (org.apache.kafka.clients.consumer.internals.AbstractCoordinator)"
    )

    assert client_of_line(line) == SeenClient("java", ranges_of("1.0-2.5"))
    assert client_of_line("[2020-05-01 10:00:00,000] INFO Hello (com.example.App)") is None


@pytest.mark.parametrize(
    ("client_id", "client"),
    [
        ("kafka-python-2.0.2", SeenClient("kafka-python", ranges_of("2.0.2"))),
        ("aiokafka-0.7.1", SeenClient("aiokafka", ranges_of("0.7.1"))),
        ("rdkafka", SeenClient("librdkafka", None)),
        ("consumer-orders-1", SeenClient("java", None)),
        ("consumer-1", SeenClient("java", None)),
        ("billing@pod-1 (github.com/segmentio/kafka-go)", SeenClient("kafka-go", None)),
        ("billing-7", None),
    ],
)
def test_the_library_of_a_default_client_id(client_id, client):
    assert client_of_id(client_id) == client
