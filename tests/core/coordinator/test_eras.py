"""The table of eras: versions, order, and the era that evidence shows."""

import pytest

from coordinator_core.client import LIBRARIES
from coordinator_core.coordinator.era_evidence import EraEvidence
from coordinator_core.coordinator.eras import ERAS, era_of_evidence, era_of_version
from coordinator_core.log_lines import holds_in
from coordinator_core.log_lines.version_ranges import ranges_of

VERSIONS = {
    "0.9.0.1": "0.9",
    "0.10.0.1": "0.9",
    "0.10.1.1": "0.10",
    "0.10.2.2": "0.10",
    "0.11.0.3": "0.11",
    "1.0.2": "1.0",
    "1.1.1": "1.1",
    "2.0.0": "2.0.0",
    "2.0.1": "2.0",
    "2.1.1": "2.1",
    "2.2.2": "2.2",
    "2.3.1": "2.3",
    "2.4.1": "2.4",
    "2.5.0": "2.5",
    "2.5.1": "2.5",
    "2.6.3": "2.6",
    "2.7.2": "2.6",
    "2.8.0": "2.6",
    "2.8.1": "2.8",
    "2.8.2": "2.8",
    "3.0.2": "3.0",
    "3.1.2": "3.0",
    "3.2.3": "3.0",
    "3.3.2": "3.0",
    "3.4.1": "3.0",
    "3.5.2": "3.9",
    "3.6.2": "3.9",
    "3.7.2": "3.9",
    "3.8.1": "3.9",
    "3.9.2": "3.9",
    "4.0.0": "4.0",
    "4.0.2": "4.0",
    "4.1.0": "4.1",
    "4.1.1": "4.1",
    "4.1.2": "4.1.2",
    "4.2.2": "4.2",
    "4.3.1": "4.3",
    "4.4.0": "4.4",
    "4.5.0": "4.4",
    "5.0.0": "4.4",
}


@pytest.mark.parametrize(("version", "era"), VERSIONS.items())
def test_every_version_is_of_one_era(version, era):
    assert era_of_version(version).name == era
    assert [each for each, row in ERAS.items() if holds_in(row.versions, version)] == [era]


def test_a_version_without_a_coordinator_has_no_era():
    with pytest.raises(ValueError, match=r"no era for Kafka 0\.8\.2"):
        era_of_version("0.8.2")


def test_eras_are_in_the_order_of_their_versions_and_print_one_of_them():
    firsts = [[int(n) for n in era.versions.split("-")[0].split(".")] for era in ERAS.values()]
    assert firsts == sorted(firsts)
    assert [name for name, era in ERAS.items() if not holds_in(era.versions, era.kafka)] == []


def test_the_client_libraries_of_eras_are_modelled():
    named = {name for era in ERAS.values() for name in era.client_libraries}
    assert named - {*LIBRARIES} == set()
    assert ERAS["4.4"].client_library == "java-4.4"


JAVA_REASON = "explicit `LeaveGroup` request for (a) members."
EVIDENCE = [
    ({}, "3.9", "group records have version 3, no log"),
    ({"group_versions": {0}}, "0.9", "group records have version 0"),
    ({"group_versions": {0, 1}}, "2.0", "group records have version 1"),
    ({"group_versions": {1, 2}}, "2.2", "group records have version 2"),
    (
        {"group_versions": {2}, "versions": ranges_of("2.1.1")},
        "2.1",
        "the brokers run Kafka 2.1.1",
    ),
    ({"offset_versions": {1, 4}}, "4.1", "offset commits have version 4"),
    ({"has_modern_records": True}, "4.1", "target assignments have no times"),
    (
        {"has_modern_records": True, "has_target_times": True},
        "4.4",
        "target assignments have times",
    ),
    (
        {"has_target_times": True, "has_emptied_without_target": True},
        "4.3",
        "target assignments have times, and a group that becomes empty gets no new target",
    ),
    ({"reasons": [JAVA_REASON]}, "4.1", "log wording of the Java coordinator"),
    (
        {"reasons": [JAVA_REASON], "offset_versions": {3}},
        "4.0",
        "log wording of the Java coordinator, offset commits have version 3",
    ),
    (
        {"has_modern_records": True, "has_topic_records": True, "has_kept_pending_partition": True},
        "4.0",
        "group records have the group's topics",
    ),
    (
        {"has_modern_records": True, "has_kept_pending_partition": True},
        "4.1.2",
        "a member kept a partition that it was to revoke",
    ),
    (
        {"has_modern_records": True, "has_revoked_twice_in_an_epoch": True},
        "4.2",
        "a member revoked partitions twice in an epoch",
    ),
    (
        {"has_modern_records": True, "has_validated_topology": True},
        "4.2",
        "the group's record has the epoch of the validated topology",
    ),
    (
        {"has_modern_records": True, "versions": ranges_of("4.2.1")},
        "4.2",
        "the brokers run Kafka 4.2.1",
    ),
    ({"versions": ranges_of("3.0-3.9")}, "3.9", "group records have version 3, no log"),
    (
        {"reasons": [JAVA_REASON], "versions": ranges_of("3.9.2, 4.4.0")},
        "4.4",
        "the brokers run Kafka 3.9.2 or 4.4.0",
    ),
    (
        {"reasons": [JAVA_REASON], "versions": ranges_of("3.9.1")},
        "4.1",
        "log wording of the Java coordinator",
    ),
    ({"versions": ranges_of("2.8.1")}, "2.8", "the brokers run Kafka 2.8.1"),
    (
        {"offset_versions": {4}, "has_assignment_epochs": True},
        "4.4",
        "member assignments have epochs",
    ),
]


@pytest.mark.parametrize(("evidence", "era", "why"), EVIDENCE)
def test_evidence_shows_the_newest_era_that_explains_it(evidence, era, why):
    assert era_of_evidence(EraEvidence(**evidence)) == (era, why)
