"""The table of eras: versions, order, and the era that evidence shows."""

import pytest

from coordinator_core.client import LIBRARIES
from coordinator_core.coordinator.era_evidence import EraEvidence
from coordinator_core.coordinator.eras import ERAS, era_of_evidence, era_of_version
from coordinator_core.log_lines import holds_in

VERSIONS = {
    "0.9.0.1": "0.9",
    "0.10.0.1": "0.9",
    "0.10.1.1": "0.10",
    "0.10.2.2": "0.10",
    "0.11.0.3": "0.10",
    "1.0.2": "2.0",
    "2.2.2": "2.0",
    "2.3.1": "2.5",
    "2.8.2": "2.5",
    "3.0.2": "3.9",
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
    with pytest.raises(ValueError, match=r"no era has Kafka 0\.8\.2"):
        era_of_version("0.8.2")


def test_eras_are_in_the_order_of_their_versions_and_print_one_of_them():
    firsts = [[int(n) for n in era.versions.split("-")[0].split(".")] for era in ERAS.values()]
    assert firsts == sorted(firsts)
    assert [name for name, era in ERAS.items() if not holds_in(era.versions, era.kafka)] == []


def test_the_client_libraries_of_eras_are_modelled():
    named = {name for era in ERAS.values() for name in era.client_libraries}
    assert named - {*LIBRARIES} == set()
    assert ERAS["4.4"].client_library == "java-4.4"


EVIDENCE = [
    ({}, "3.9", "group records have version 3, no log"),
    ({"group_versions": {0}}, "0.9", "group records have version 0"),
    ({"group_versions": {0, 1}}, "2.0", "group records have version 1"),
    ({"offset_versions": {1, 4}}, "4.1", "offset commits have version 4"),
    ({"has_modern_records": True}, "4.1", "its targets have no times"),
    ({"has_modern_records": True, "has_target_times": True}, "4.4", "its targets have times"),
    (
        {"has_target_times": True, "has_emptied_without_target": True},
        "4.3",
        "targets have times, and a group that becomes empty gets no new target",
    ),
    (
        {"offset_versions": {4}, "has_assignment_epochs": True},
        "4.4",
        "its assignments have epochs",
    ),
]


@pytest.mark.parametrize(("evidence", "era", "why"), EVIDENCE)
def test_evidence_shows_the_newest_era_that_explains_it(evidence, era, why):
    assert era_of_evidence(EraEvidence(**evidence)) == (era, why)
