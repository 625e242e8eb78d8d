"""Versions of software, and clusters, that lines of a log name."""

import pytest

from jobs.sources.rows import software_in

START = "INFO Kafka version: {} (org.apache.kafka.common.utils.AppInfoParser)"


@pytest.mark.parametrize(
    ("text", "software"),
    [
        (START.format("3.9.1"), {"java 3.9.1"}),
        (
            "INFO Kafka version : 0.11.0.1 (AppInfoParser)",
            {"java 0.11.0.1"},
        ),
        (START.format("7.3.3-ccs"), {"java 7.3.3"}),
        (
            "%7|1700000000.000|INIT|rdkafka#consumer-1| [thrd:app]: librdkafka v2.3.0 (0x20300ff)"
            " rdkafka#consumer-1 initialized",
            {"librdkafka 2.3.0"},
        ),
        ("Kafka commitId: 60e845626d8a465a", set()),
        (
            "INFO Cluster ID = IokU57w1SASdVzFU_jpHMg (kafka.server.KafkaServer)",
            {"cluster IokU57w1SASdVzFU_jpHMg"},
        ),
        (
            "INFO [BrokerLifecycleManager id=1] Incarnation ehAw_egITGK_QYY33DyKRQ of broker 1 in"
            " cluster Rmw2g4EjSpazmynMHoWsnQ is now STARTING.",
            {"cluster Rmw2g4EjSpazmynMHoWsnQ"},
        ),
        ("INFO [Consumer clientId=c] Cluster ID: RODgh8ISTtOURRHblkkuGw (Metadata)", set()),
        (
            "INFO [QuorumController id=1] Replayed a FeatureLevelRecord setting metadata.version to"
            " 4.2-IV1 (org.apache.kafka.controller.FeatureControlManager)\n"
            + START.format("4.2.2"),
            {"broker 4.2-", "java 4.2.2"},
        ),
    ],
)
def test_lines_that_name_a_version_or_a_cluster(text, software):
    assert software_in(text.encode()) == software
