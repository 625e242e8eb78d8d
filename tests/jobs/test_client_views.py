"""Views over consumers' events: clocks, and generations as the clients saw them; times are ms."""

import pytest

from jobs.lake.sql import query
from schemas import table_names

T = 1_800_000_000_000
TABLES = ("client_events", "generations")


@pytest.fixture(scope="module")
def empty(write_lake, tmp_path_factory):
    return write_lake(tmp_path_factory.mktemp("empty"), {table: [] for table in table_names()})


@pytest.fixture
def ask(write_lake, empty, tmp_path):
    def ask(events, generations, sql):
        for table in set(table_names()) - set(TABLES):
            (tmp_path / table).symlink_to(f"{empty}/{table}")
        rows = {"client_events": events, "generations": generations}
        return query(write_lake(tmp_path, rows), sql)[1]

    return ask


def of_client(client, *events):
    """Events (ms after T, event, generation) of one client's log."""
    common = {"file_id": client, "client_id": client, "group_id": "g", "library": "java"}
    return [
        common
        | {"event_time": T + ms, "event": event, "generation": generation, "position": position}
        | {"line": "l", "file": "f"}
        for position, (ms, event, generation) in enumerate(events)
    ]


def of_broker(generation, joined, incarnation=1):
    place = {"group_id": "g", "incarnation": incarnation, "generation": generation}
    return place | {"joined_time": T + joined, "outcome": "stable", "group_type": "classic"}


def joined_and_synced(joining, joined, generation):
    return (
        (joining, "JOINING", None),
        (joined, "JOINED", generation),
        (joined + 5, "SYNCED", generation),
    )


# Each row: lead of the client's clock; when the client sends and receives, in its own time; bounds
# and estimate.
CLOCKS = [
    ("in step", joined_and_synced(100, 1002, 1), (1, -900, 2, 0)),
    (
        "an hour ahead",
        joined_and_synced(3_601_100, 3_601_002 + 1000, 1),
        (1, 3_600_100, 3_601_002, 3_600_100),
    ),
    ("a minute behind", joined_and_synced(-59_900, -58_998, 1), (1, -60_900, -59_998, -59_998)),
]


@pytest.mark.parametrize(("name", "events", "expected"), CLOCKS, ids=[row[0] for row in CLOCKS])
def test_bounds_of_a_clients_clock(ask, name, events, expected):
    columns = "generations, ahead_at_least_ms, ahead_at_most_ms, ahead_ms"

    rows = ask(
        of_client("a", *events), [of_broker(1, 1000)], f"SELECT {columns} FROM client_clocks"
    )

    assert rows == [expected]


def test_generations_of_the_nearest_incarnation_are_compared(ask):
    generations = [of_broker(1, 1000), of_broker(1, 900_000, incarnation=2)]

    rows = ask(
        of_client("a", *joined_and_synced(899_000, 900_003, 1)),
        generations,
        "SELECT generations, ahead_at_most_ms FROM client_clocks",
    )

    assert rows == [(1, 3)]


def test_generations_of_a_group_that_is_converted_are_not_compared(ask):
    """Generation 1 is of a consumer group by the records, 2 by a client that joined it twice."""
    generations = [
        of_broker(1, 1000) | {"group_type": "consumer"},
        of_broker(2, 10_000),
        of_broker(3, 20_000),
    ]
    events = of_client(
        "a",
        *joined_and_synced(3_000, 3_001, 1),
        *joined_and_synced(9_900, 10_001, 2),
        *joined_and_synced(14_000, 14_001, 2),
        *joined_and_synced(19_000, 20_002, 3),
    )

    rows = ask(
        events,
        generations,
        "SELECT generations, ahead_at_least_ms, ahead_at_most_ms, ahead_ms FROM client_clocks",
    )

    assert rows == [(1, -1000, 2, 0)]


BY_CLIENTS = of_broker(2, 9_500) | {"evidence": "clients"}


@pytest.mark.parametrize(
    ("generations", "expected"),
    [
        ([of_broker(1, 995), BY_CLIENTS], ("brokers", 1, 5)),
        ([BY_CLIENTS], ("clients", 1, -490)),
    ],
)
def test_clocks_are_compared_with_the_brokers_if_one_has_a_generation(ask, generations, expected):
    events = of_client("a", *joined_and_synced(100, 1000, 1), *joined_and_synced(9_000, 9_010, 2))
    columns = "reference, generations, ahead_at_most_ms"

    assert ask(events, generations, f"SELECT {columns} FROM client_clocks") == [expected]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT generation, client_id, waited_ms, UNIX_MILLIS(synced_time)"
            " FROM client_generations",
            (3, None, 800, T + 950),
        ),
        ("SELECT clients, sync_ms, outcome FROM client_rebalances", (1, 50, "stable")),
    ],
)
def test_a_client_that_logs_neither_its_id_nor_the_answer_to_sync(ask, sql, expected):
    events = of_client(
        "a",
        (100, "JOINING", None),
        (900, "JOINED", 3),
        (950, "ASSIGNED", None),
        (990, "PARTITIONS_REVOKED", None),
    )
    python = [event | {"library": "kafka-python", "client_id": None} for event in events]

    assert ask(python, [], sql) == [expected]


def test_a_revocation_belongs_to_the_next_generation_joined(ask):
    events = of_client(
        "a",
        *joined_and_synced(100, 1000, 1),
        (1010, "PARTITIONS_ADDED", None),
        (5000, "PARTITIONS_REVOKED", None),
        *joined_and_synced(5200, 6000, 2),
        (8000, "JOINING", None),
        (8100, "JOINED", 3),
        (8200, "SYNC_FAILED", 3),
    )

    rows = ask(
        events,
        [],
        "SELECT generation, revoke_ms, waited_ms, UNIX_MILLIS(added_time), UNIX_MILLIS(synced_time)"
        " FROM client_generations ORDER BY generation",
    )

    assert rows == [
        (1, None, 900, T + 1010, T + 1005),
        (2, 200, 800, None, T + 6005),
        (3, None, 100, None, None),
    ]


def test_generations_from_clients_alone(ask):
    events = [
        *of_client("a", *joined_and_synced(100, 1000, 1), *joined_and_synced(2000, 2100, 2)),
        *of_client("b", *joined_and_synced(400, 1001, 1), *joined_and_synced(700_000, 700_100, 1)),
    ]

    rows = ask(
        events,
        [],
        "SELECT generation, clients, outcome, join_ms, sync_ms, evidence FROM client_rebalances"
        " ORDER BY joined_time",
    )

    assert rows == [
        (1, 2, "stable", 900, 5, "clients"),
        (2, 1, "stable", 100, 5, "clients"),
        (1, 1, "stable", 100, 5, "clients"),
    ]


@pytest.mark.parametrize(
    "names", [{"member_id": "instance-1"}, {"instance_id": "instance"}], ids=["member", "instance"]
)
def test_a_static_member_that_replaced_itself_is_not_compared(ask, names):
    """It joined 600 s after the generation: its member id does not begin with its client id."""
    events = of_client(
        "a", *joined_and_synced(600_900, 601_000, 1), *joined_and_synced(900_100, 901_000, 2)
    )
    static = [event | (names if event["generation"] else {}) for event in events]

    rows = ask(
        static,
        [of_broker(1, 1000), of_broker(2, 901_000)],
        "SELECT generations, ahead_ms FROM client_clocks",
    )

    assert rows == [(1, 0)]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT generation, member_id, UNIX_MILLIS(joining_time),"
            " UNIX_MILLIS(client_joined_time), UNIX_MILLIS(synced_time), UNIX_MILLIS(added_time),"
            " waited_ms FROM client_generations ORDER BY generation",
            [
                (1, "sarama-1", None, T + 3000, T + 3000, T + 3000, None),
                (2, "sarama-2", T + 9000, T + 9900, T + 9900, T + 9900, 900),
                (4, "sarama-4", None, T + 45_000, T + 45_000, T + 45_000, None),
                (5, "sarama-5", T + 50_000, None, None, None, None),
            ],
        ),
        (
            "SELECT generation, clients, outcome FROM client_rebalances",
            [(1, 1, "stable"), (2, 1, "stable"), (4, 1, "stable")],
        ),
    ],
    ids=["generations", "rebalances"],
)
def test_generations_that_a_client_names_when_its_session_ends(ask, sql, expected):
    """sarama: the end of a session is the beginning of the next join, unless the process starts."""
    events = of_client(
        "a",
        (0, "STARTED", None),
        (10, "COORDINATOR_FOUND", None),
        (3000, "ASSIGNED_PARTITION", None),
        (3010, "ASSIGNED_PARTITION", None),
        (9000, "SESSION_ENDED", 1),
        (9900, "ASSIGNED_PARTITION", None),
        (20_000, "SESSION_ENDED", 2),
        (40_000, "STARTED", None),
        (45_000, "ASSIGNED_PARTITION", None),
        (50_000, "SESSION_ENDED", 4),
        (51_000, "SESSION_ENDED", 5),
    )
    of_sarama = {"library": "sarama", "client_id": None}

    rows = ask(
        [event | of_sarama | {"member_id": f"sarama-{event['generation']}"} for event in events],
        [],
        sql,
    )

    assert rows == expected
