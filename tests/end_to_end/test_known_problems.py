"""Defects of brokers and clients, provoked with real old versions, are found by their names."""

from pathlib import Path

import pytest

from tests.end_to_end.incident_lake import IncidentLake

pytestmark = [pytest.mark.slow, pytest.mark.seldom]
CAPTURES = Path(__file__).parents[1] / "data" / "known_problems"


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A cluster per capture."""
    lake = IncidentLake(str(tmp_path_factory.mktemp("known-problems")), "embedded")
    for capture in sorted(each for each in CAPTURES.iterdir() if each.is_dir()):
        clients = capture / "clients"
        logs = {"client_log": str(clients / "*.log")} if clients.is_dir() else {}
        records = str(capture / "__consumer_offsets-0")
        lake.run(capture.name, records, capture / "server.log", **logs)
    return lake


@pytest.mark.parametrize(
    ("broker", "expected"),
    [
        ("2.0.0", [("KAFKA-7196", "billing", "0.11-2.0", False)]),
        ("2.1.0", [("KAFKA-8069", "ads", "2.1.0", True)]),
        (
            "2.3.0",
            [
                ("KAFKA-10284", "payments", "2.3-2.4", True),
                ("KAFKA-8653", "reports", "2.3-2.4", False),
                ("KAFKA-8715", "payments", "2.3-2.4", False),
                ("KAFKA-9801", "billing", "2.3-2.4", True),
            ],
        ),
        (
            "2.8.0",
            [
                ("KAFKA-13636", "ads", "2.8-2.8.0", True),
                ("KAFKA-14422", "shop", "2.8-2.8.0", True),
            ],
        ),
        ("2.8.0-sync", [("KAFKA-12890", "fraud", "2.8.0", True)]),
        (
            "4.1.1",
            [
                ("KAFKA-19468", "jobs", "4.1.1", True),
                ("KAFKA-19720", "billing", "4.1.1", True),
            ],
        ),
        ("4.1.1-fenced", [("kafka-21305", "fraud", "4.1.1", True)]),
        (
            "4.4.0",
            [
                ("consumer-group-dropped", "shop", "4.4.0", True),
                ("consumer-rewritten-record", "jobs", "4.4.0", True),
                ("consumer-unowned-partition", "ads", "4.4.0", True),
                ("tied-assignor-vote", "billing", "4.4.0", True),
            ],
        ),
    ],
)
def test_defects_of_a_broker_are_found(lake, broker, expected):
    rows = lake.rows(
        "SELECT finding, group_id, version, version_seen FROM findings"
        f" WHERE cluster_id = '{broker}' AND kind = 'broker_bug' ORDER BY finding"
    )

    assert rows == expected


def test_defects_of_clients_are_found(lake):
    rows = lake.rows(
        "SELECT finding, group_id, version, version_seen FROM findings"
        " WHERE cluster_id = '4.1.2-clients' AND kind LIKE '%bug' ORDER BY finding"
    )

    assert rows == [
        ("KAFKA-14024", "prices-sync", "3.2.0", True),
        ("KAFKA-16639", "refunds-daily", "3.7.0", True),
        ("aiokafka-1176", "returns-sync", "0.10.0", True),
        ("franz-go-1.10.0-sticky", "invoices-view", "-1.14.0", False),
        ("franz-go-686", "shipments-sync", "1.14.1-", False),
        ("kafka-python-3082", "orders-billing", "3.0.0", True),
        ("kafkajs-1361", "clicks-view", None, False),
        ("sarama-2292", "audit-sync", None, False),
    ]


def test_brokers_of_captures_have_no_client_bugs(lake):
    rows = lake.rows("SELECT DISTINCT cluster_id FROM findings WHERE kind = 'client_bug'")

    assert rows == [("4.1.2-clients",)]
