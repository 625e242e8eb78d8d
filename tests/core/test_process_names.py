"""Names of processes: a client id may contain @, a host does not."""

import pytest

from coordinator_core.protocol.processes import process_name, without_host

NAMES = {
    ("billing-1", "/10.0.0.1"): "billing-1@10.0.0.1",
    ("team@billing", "/10.0.0.1"): "team@billing@10.0.0.1",
    ("team@billing", None): "team@billing@",
}


@pytest.mark.parametrize(("client", "host"), NAMES)
def test_a_name_without_its_host_is_the_client_id(client, host):
    assert process_name(client, host) == NAMES[client, host]
    assert without_host(NAMES[client, host]) == client


def test_an_instance_id_has_no_host():
    assert without_host("inventory-pod-1") == "inventory-pod-1"
