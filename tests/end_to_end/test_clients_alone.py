"""Lakes of clients' logs alone: their tables against those that the brokers' evidence gives, and
what the commands say of them."""

from pathlib import Path

import pytest

from jobs.checks.check import broken_laws
from jobs.configuration.config import Engine, load_config
from jobs.console.errors import UsageError
from jobs.console.printing import Format
from jobs.incident_replay import run_all
from jobs.replay.command import ReplayOptions, replay_whole_group
from jobs.what_if.command import WhatIfOptions, evaluate
from schemas import view_names
from tests.end_to_end.incident_lake import IncidentLake

pytestmark = [pytest.mark.slow, pytest.mark.seldom]
ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
LOGS, INCIDENT_LOGS = DATA / "client_logs", DATA / "incident_client_logs"
# incident -> cluster with the brokers' evidence, and the clients' logs
INCIDENTS = {
    "mixed-clients-3.9.1": ("kafka-3.9", INCIDENT_LOGS / "mixed-3.9.1" / "*.gz"),
    "mixed-clients-4.1.2": ("kafka-4.1", LOGS / "reports-*.log.gz"),
    "mixed-protocols-4.4.0": ("mixed-4.4.0", INCIDENT_LOGS / "mixed-4.4.0" / "*.gz"),
}


@pytest.fixture(scope="module")
def lake(incidents, tmp_path_factory):
    """Of each incident also a cluster `clients-INCIDENT` of its clients' logs alone."""
    lake = incidents.copy(tmp_path_factory.mktemp("clients-alone"))
    for incident, (_, client_log) in INCIDENTS.items():
        lake.run(f"clients-{incident}", client_log=str(client_log))
    return lake


# Each row: group, group type, and the row of docs/sources.md.
TABLE = [
    (
        "reports-java",
        "classic",
        "| mixed-clients-3.9.1, reports-java (classic) | 6 of 6 | 11 of 11 | 148 of 148 | 0 |",
    ),
    (
        "reports-java",
        "classic",
        "| mixed-clients-4.1.2, reports-java (classic) | 5 of 5 | 9 of 9 | 120 of 120 | 0 |",
    ),
    (
        "ledger-rolled-back",
        "classic",
        "| mixed-protocols-4.4.0, ledger-rolled-back, classic | 6 of 6 | 15 of 15 | 48 of 48 | 0 |",
    ),
    (
        "ledger-rolled-back",
        "consumer",
        "| mixed-protocols-4.4.0, ledger-rolled-back while it was a consumer group | 5 of 5 |"
        " 10 of 13 | 25 of 38 | 0 |",
    ),
    (
        "billing-consumer",
        "consumer",
        "| mixed-protocols-4.4.0, billing-consumer | 12 of 12 | 28 of 39 | 178 of 243 | 0 |",
    ),
    (
        "audit-regex",
        "consumer",
        "| mixed-protocols-4.4.0, audit-regex (a log of one of two members) | 4 of 7 |"
        " 3 of 7, 1 more | 16 of 38 | 0 |",
    ),
]


@pytest.mark.parametrize(("group", "group_type", "row"), TABLE, ids=[row[2] for row in TABLE])
def test_clients_against_brokers(lake, group, group_type, row):
    """Generations that have members by the broker; members and partitions in those of them that
    clients logged, too."""
    name, *figures = row.strip("| ").split(" | ")
    incident = name.partition(",")[0]
    clusters = {"brokers": INCIDENTS[incident][0], "clients": f"clients-{incident}"}

    def keys(side, columns, table, condition="true"):
        place = f"cluster_id = '{clusters[side]}' AND group_id = '{group}' AND {condition}"
        return set(lake.rows(f"SELECT generation, {columns} FROM {table} WHERE {place}"))

    def of_both_sides(columns, table, condition="true"):
        pair = (keys(side, columns, table, condition) for side in ("brokers", "clients"))
        return [{key for key in own if key[0] in common} for own in pair]

    is_type = f"group_type = '{group_type}'"
    with_members = {key[0] for key in keys("brokers", "member_id", "generation_members")}
    of_type = {key[0] for key in keys("brokers", "outcome", "generations", is_type)}
    brokers = with_members & of_type
    common = brokers & {key[0] for key in keys("clients", "outcome", "generations")}
    by_broker, by_clients = of_both_sides("member_id", "generation_members")
    assigned, logged = of_both_sides(
        "member_id, topic, partition", "assignments", "assignor = 'actual' AND NOT is_target"
    )

    more = len(by_clients - by_broker)
    assert figures == [
        f"{len(common)} of {len(brokers)}",
        f"{len(by_clients & by_broker)} of {len(by_broker)}" + (f", {more} more" if more else ""),
        f"{len(assigned & logged)} of {len(assigned)}",
        f"{len(logged - assigned)}",
    ]
    assert row in (ROOT / "docs" / "sources.md").read_text()


CLUSTER = "clients-mixed-protocols-4.4.0"


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A lake without any broker evidence."""
    lake = IncidentLake(str(tmp_path_factory.mktemp("alone") / "lake"), "embedded")
    lake.run(CLUSTER, client_log=str(INCIDENT_LOGS / "mixed-4.4.0" / "*.gz"))
    return lake


def test_no_law_is_broken(alone):
    assert broken_laws(alone.root)[1] == []


@pytest.mark.parametrize("view", view_names())
def test_every_view_answers(alone, view):
    alone.rows(f"SELECT * FROM {view}")


def test_a_view_names_the_source_that_it_needs(alone, capsys):
    rows = alone.rows("SELECT * FROM q09_coordinator_changes")

    assert rows == []
    assert capsys.readouterr().err == (
        f"--lake {alone.root}: no table broker_log_events in it yet;"
        " run `regroup nightly --broker-log GLOB`\n"
    )


def test_the_last_line_of_a_client_is_the_last_time_of_the_cluster(alone):
    rows = alone.rows("SELECT cluster_id, EPOCH_MS(last_time) FROM observed_spans")

    assert rows == [(CLUSTER, 1795401591046)]


@pytest.mark.parametrize("group", ["billing-consumer", "ledger-rolled-back"])
@pytest.mark.parametrize(
    "command",
    [
        lambda **group: replay_whole_group(ReplayOptions(**group)),
        lambda **group: evaluate(WhatIfOptions(**group)),
    ],
    ids=["replay", "what-if"],
)
def test_a_model_needs_broker_evidence(alone, group, command):
    message = f"--group {group}: only clients' logs of this group in .*; add records or the brokers"

    with pytest.raises(UsageError, match=message):
        command(lake=alone.root, cluster_id=CLUSTER, group_id=group)


def test_a_replay_of_all_groups_needs_broker_evidence(alone, tmp_path, capsys):
    config = load_config(None, Engine.EMBEDDED)

    code = run_all(alone.copy(tmp_path).root, CLUSTER, config, Format.CSV)

    out, err = capsys.readouterr()
    assert (code, out) == (0, "group_id,generations,reproduced,undecided,diverged\n")
    assert err == (
        "no group to replay: a replay needs records or a broker's log;"
        " clients' logs alone do not suffice\n"
    )


# Views of groups by name: clients of consumer groups log no durations, and no client logs downtime.
VIEWS = [
    (
        "generations, rebalances, aborted_rebalances, longest_ms, rebalances_last_day",
        "q01_most_rebalanced_groups",
        [(4, 4, 0, None, 4), (12, 12, 0, None, 12), (11, 11, 0, 6222, 11)],
    ),
    (
        "generations, rebalances, aborted_rebalances",
        "q01_by_day",
        [(4, 4, 0), (12, 12, 0), (11, 11, 0)],
    ),
    (
        "generations, rebalances, dominant_cause, dominant_percent, culprits",
        "q07_storms",
        [(8, 8, "MEMBER_NEW", 25.0, 3), (9, 9, "MEMBER_NEW", 66.7, 3)],
    ),
    (
        "period, group_type, rebalances, unowned_partition_ms, restarts",
        "q10_by_protocol",
        [
            (1, "consumer", 4, None, None),
            (1, "consumer", 12, None, None),
            (1, "classic", 3, None, None),
            (2, "consumer", 4, None, None),
            (3, "classic", 4, None, 3),
        ],
    ),
    (
        "COUNT(*), COUNT(unowned_partition_ms), COUNT(partitions_unowned)",
        "q10_each_rebalance GROUP BY group_id",
        [(4, 0, 0), (12, 0, 0), (11, 0, 0)],
    ),
    ("*", "q11_would_benefit", []),
    ("assignors", "q13_config_audit", [(None,), (None,), (["range"],)]),
]


@pytest.mark.parametrize(("columns", "view", "expected"), VIEWS, ids=[row[1] for row in VIEWS])
def test_what_clients_do_not_log_is_null(alone, columns, view, expected):
    order = "group_id, period" if "period" in columns else "group_id"

    assert alone.rows(f"SELECT {columns} FROM {view} ORDER BY {order}") == expected


def test_clocks_of_a_group_that_is_converted(alone):
    """The clocks are one machine's; a consumer group answers each client of the classic protocol
    on its own."""
    rows = alone.rows(
        "SELECT client_id, generations, ahead_ms FROM client_clocks ORDER BY client_id"
    )

    assert rows == [("ledger-1", 5, -1), ("ledger-2", 5, 0), ("ledger-3", 5, -12)]
