"""Findings on captured incidents: what their scripts planted, and no defect of the software."""

import pytest


@pytest.mark.parametrize("version", ["4.4.0", "4.1.2"])
def test_the_only_findings_are_the_second_processes_with_an_instance_id(incidents_of, version):
    """Each script starts a second process with an instance id in use; the brokers and clients have
    none of the known defects."""
    findings = incidents_of(version).rows(
        "SELECT cluster_id, group_id, finding, kind, confidence FROM findings ORDER BY ALL"
    )

    twice = "inventory-static", "static_id_used_twice", "configuration", 0.7
    clusters = "kafka-3.9", "kafka-4.1", f"mixed-{version}"
    assert findings == [(cluster, *twice) for cluster in clusters]
