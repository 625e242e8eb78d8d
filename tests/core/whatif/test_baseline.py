"""What a baseline takes from a group's evidence, on simulated groups."""

from types import SimpleNamespace

import pytest

from coordinator_core.client.libraries import recognised
from coordinator_core.incident import explain, incarnations
from coordinator_core.incident.evidence import RecordedMember
from coordinator_core.lives import TimeEstimate
from coordinator_core.records import Subscription, encode_subscription
from coordinator_core.whatif import baseline_of
from coordinator_core.whatif.baseline import heartbeat_of, idle_between_incarnations, library_of
from tests.core.incident.incident_rows import of_fleet, of_twins


def baseline(assignor, grows, plans):
    rows = of_fleet(
        {
            "name": "grown",
            "length": "10m",
            "topics": [{"name": "orders", "partitions": 12, "grows": grows}],
            "groups": [
                {
                    "name": "billing",
                    "topics": ["orders"],
                    "processes": 2,
                    "client": "java-4.1",
                    "assignors": [assignor],
                    "metadata_max_age": "30s",
                    "plans": plans,
                }
            ],
        }
    )
    return baseline_of(incarnations("billing", rows.events["billing"], rows.records["billing"]))


SCALE = [{"kind": "scale", "at": "4m", "to": 4}]
GROWTH = [{"at": "4m", "to": 15}]


@pytest.mark.parametrize(
    ("assignor", "grows", "plans", "counts", "metadata_max_age_ms"),
    [
        ("range", [], SCALE, [12], 300_000),
        ("cooperative-sticky", [], SCALE, [12], 300_000),
        ("range", GROWTH, [], [12, 15], 10_000),
        ("cooperative-sticky", GROWTH, [], [12, 15], 10_000),
    ],
    ids=[
        "a scaled group",
        "a scaled cooperative group, which lacks revoked partitions for one generation",
        "a topic that grows",
        "a topic that grows in a cooperative group",
    ],
)
def test_clients_look_for_new_partitions_often_only_where_those_started_a_rebalance(
    assignor, grows, plans, counts, metadata_max_age_ms
):
    result = baseline(assignor, grows, plans)

    (topic,) = result.topics
    assert [topic.partitions, *(count for _, count in topic.grows)] == counts
    assert result.metadata_max_age_ms == metadata_max_age_ms


@pytest.mark.parametrize("version", ["4.1.2", "4.4.0"])
def test_joins_that_waited_for_a_slow_application_show_no_heartbeat_interval(version):
    """One of seven joins lasted 7 s, as an application did not poll; the interval was 3 s."""
    (rows,) = of_twins(version, "next-slow-polls-and-freezes")
    group = "orders-base"

    explained = explain(incarnations(group, rows.events[group], rows.records[group]))

    assert heartbeat_of(explained.incarnations) == 3000


@pytest.mark.parametrize(
    ("gaps", "idle"),
    [
        ([(60_000, 60_000)], [(60_000, 63_000)]),
        ([(60_000, 63_000)], []),
        ([(61_000, 62_000)], [(60_000, 63_000)]),
    ],
    ids=["the group was shut down", "its gaps end with the next incarnation", "an earlier gap"],
)
def test_a_gap_of_ownership_between_incarnations_counts(gaps, idle):
    """The only process ended at 60 s, and its next life got its assignment at 63 s."""
    exactly = TimeEstimate.exactly
    lives = [
        SimpleNamespace(started=exactly(0), ended=exactly(60_000)),
        SimpleNamespace(started=exactly(62_500), ended=None),
    ]
    processes = [SimpleNamespace(lives=lives)]

    assert list(idle_between_incarnations(processes, [63_000], [], gaps)) == idle


# era, version of the subscription, its user data, assignor -> the most similar library of the
# client model
LIBRARIES = [
    ("0.9", 0, None, "range", "java-0.9"),
    ("0.10", 0, None, "range", "java-0.10"),
    ("2.0", 0, None, "range", "java-2.0"),
    ("2.0", 3, None, "range", "java-3.9"),
    ("2.5", 0, None, "range", "java-2.3"),
    ("2.5", 1, None, "range", "java-2.5"),
    ("3.9", 2, None, "range", "java-2.5"),
    ("3.9", 3, None, "range", "java-3.9"),
    ("4.1", 0, None, "range", "java-2.3"),
    ("4.1", 3, None, "range", "java-4.1"),
    ("4.4", 3, None, "range", "java-4.4"),
    ("4.4", 1, None, "range", "java-2.5"),
    ("4.4", 3, b"", "range", "librdkafka-2"),
    ("4.4", 0, b"", "range", "kafka-python-3"),
    ("2.0", 0, b"", "range", "java-2.0"),
    ("4.4", 3, b"", "sticky", "kafka-python-3"),
]
# The client.id of a library that sends subscriptions of version 0 with empty user data -> the
# library.
CLIENT_IDS = {
    "consumer-1": "java-2.3",
    "consumer-orders-2": "java-2.3",
    "kafka-python-3.0.12": "kafka-python-3",
    "aiokafka-0.14.0": "aiokafka-0",
    "sarama": "sarama-1",
    "kgo": "franz-go-1",
    "kafkajs": "kafkajs-2",
    "orders@host-1 (github.com/segmentio/kafka-go)": "kafka-go-0",
    "billing-7": "kafka-python-3",
}


@pytest.mark.parametrize(("era", "version", "user_data", "assignor", "library"), LIBRARIES)
def test_the_library_of_a_process(era, version, user_data, assignor, library):
    assert library_with(era, Subscription(version, ["orders"], user_data), assignor) == library


@pytest.mark.parametrize("client_id", CLIENT_IDS)
def test_the_library_of_a_default_client_id(client_id):
    old = Subscription(0, ["orders"], b"")

    assert library_with("4.4", old, "range", client_id) == CLIENT_IDS[client_id]


# Subscription and assignment in hexadecimal, rebalance and session timeout in s, and assignor, as
# the libraries sent them to a real broker.  The client id does not name the library.
NULL_0, NULL_1 = "000000000000FFFFFFFF", "000100000000FFFFFFFF"
SIGNS = {
    "sarama-1": ("00010000000100016FFFFFFFFF00000000", NULL_0, 60, 10, "range"),
    "kafka-go-0": ("00010000000100016FFFFFFFFF", NULL_1, 30, 10, "range"),
    "kafkajs-2": ("00000000000100016F00000000", "0000" + "0" * 16, 60, 10, "RoundRobinAssigner"),
    "aiokafka-0": ("00000000000100016F00000000", "0000" + "0" * 16, 10, 10, "roundrobin"),
    "kafka-python-3": ("00000000000100016F00000000", "0000" + "0" * 16, 20, 10, "range"),
    "franz-go-1": (
        *("00030000000100016F0000000800000000FFFFFFFF00000000FFFFFFFFFFFF",),
        *(NULL_0, 60, 10, "cooperative-sticky"),
    ),
    "java-2.5": ("00010000000100016FFFFFFFFF00000000", NULL_1, 60, 10, "range"),
}


@pytest.mark.parametrize("library", SIGNS)
def test_the_library_of_a_member_without_a_default_client_id(library):
    subscription, assignment, rebalance_s, session_s, assignor = SIGNS[library]
    member = RecordedMember(
        member_id="m",
        instance_id=None,
        client_id="billing-7",
        client_host="/10.0.0.1",
        rebalance_timeout_ms=1000 * rebalance_s,
        session_timeout_ms=1000 * session_s,
        subscription=bytes.fromhex(subscription),
        assignment=bytes.fromhex(assignment),
    )
    record = SimpleNamespace(members=[member], protocol=assignor)
    life = SimpleNamespace(member_ids=["m"], client_id="billing-7")

    assert library_of(SimpleNamespace(lives=[life]), [record], "4.4") == library


def test_a_new_cooperative_member_of_librdkafka_is_not_one_of_franz_go():
    """Its assignment has version 0, and ends with the user data of its subscription."""
    member = RecordedMember(
        member_id="m",
        instance_id=None,
        client_id="billing-7",
        client_host="/10.0.0.1",
        rebalance_timeout_ms=60_000,
        session_timeout_ms=10_000,
        subscription=bytes.fromhex(
            "00030000000100016F0000000800000000FFFFFFFF00000000FFFFFFFF0000"
        ),
        assignment=bytes.fromhex("0000000000000000000800000000FFFFFFFF"),
    )

    assert recognised(member, "cooperative-sticky") is None


def library_with(era, subscription, assignor, client_id="billing-7"):
    member = RecordedMember(
        member_id="m",
        instance_id=None,
        client_id=client_id,
        client_host="/10.0.0.1",
        rebalance_timeout_ms=300_000,
        session_timeout_ms=45_000,
        subscription=encode_subscription(subscription),
        assignment=b"",
    )
    record = SimpleNamespace(members=[member], protocol=assignor)
    life = SimpleNamespace(member_ids=["m"], client_id=client_id)

    return library_of(SimpleNamespace(lives=[life]), [record], era)
