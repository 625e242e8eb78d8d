"""Tables from clients' logs: alone, beside those of a broker, and by date."""

from datetime import date, datetime
from pathlib import Path

import pytest

from jobs import ingest
from jobs.checks.check import broken_laws
from jobs.engine.choice import Workload
from jobs.engine.session import open_session
from jobs.lake.client_rows import TABLES
from jobs.lake.dates import date_range
from jobs.lake.opening import open_lake
from jobs.lake.scope import scope_of
from jobs.lake.sql import query
from jobs.nightly_run.pending_dates import pending
from jobs.nightly_run.pipeline import Progress, run_all

DATA = Path(__file__).parents[1] / "data" / "client_logs"
REPORTS = [str(DATA / f"reports-{number}.log.gz") for number in (1, 2, 3)]
SERVER_LOG = Path(__file__).parents[2] / "examples" / "mixed-clients-4.1.2" / "server.log"
JOBS = (
    "group_metadata",
    "group_records",
    "group_events",
    "timeline",
    "generations",
    "generation_members",
    "assignments",
    "churn",
    "rebalance_latency",
    "rebalance_causes",
    "ownership_gaps",
    "episodes",
    "group_days",
    "client_evidence",
)


@pytest.fixture
def run(config):
    """``run(root, day, client_logs=..., broker_logs=...)``: ingest and derive one date, or all."""

    def run(root, day=None, **logs):
        lake = open_lake(open_session(config, Workload(0)), str(root), "c")
        dates = date_range(day, None, None)
        ingest.run(lake, ingest.Inputs(dates=dates, **logs))
        run_all(scope_of(lake, dates.first, dates.last), Progress(), JOBS)
        return lake

    return run


def rows(root, sql):
    return query(str(root), sql)[1]


def contents(root):
    """All rows of the tables that have rows of clients."""
    return {table: sorted(rows(root, f"SELECT * FROM {table}"), key=str) for table in TABLES}


GENERATIONS = "SELECT generation, join_ms, sync_ms, outcome, evidence FROM rebalance_latency"
# Each row: generation, join_ms, sync_ms, outcome, evidence.  The broker logged the same five
# generations, and then an empty group.
OF_CLIENTS = [
    (1, 3032, 138, "stable", "clients"),
    (2, 2116, 8, "stable", "clients"),
    (3, 10, 17, "stable", "clients"),
    (4, 2292, 9, "stable", "clients"),
    (5, 2015, 8, "stable", "clients"),
    (6, None, None, "empty", "clients"),  # The last clients had left.
]


@pytest.mark.embedded_suffices
def test_clients_alone(tmp_path, run):
    run(tmp_path, client_logs=REPORTS)

    assert rows(tmp_path, f"{GENERATIONS} ORDER BY generation") == OF_CLIENTS
    assert rows(
        tmp_path,
        "SELECT generation, STRING_AGG(process || ' ' || change || ' ' || COALESCE(left_how, '-'),"
        " ', ' ORDER BY process) FROM generation_members GROUP BY generation ORDER BY generation",
    ) == [
        (1, "reports-1 joined -"),
        (2, "reports-1 retained -, reports-2 joined -"),
        (3, "reports-2 retained -"),
        (4, "reports-1 joined -, reports-2 retained -"),
        (5, "reports-1 retained left, reports-2 retained left, reports-3 joined left"),
    ]
    assert rows(
        tmp_path,
        "SELECT process, topic, COUNT(*), MIN(partition) FROM assignments"
        " WHERE generation = 5 AND assignor = 'actual' GROUP BY ALL ORDER BY ALL",
    ) == [
        ("reports-1", "orders", 4, 0),
        ("reports-1", "payments", 4, 0),
        ("reports-2", "orders", 4, 4),
        ("reports-2", "payments", 4, 4),
        ("reports-3", "orders", 4, 8),
        ("reports-3", "payments", 4, 8),
    ]
    assert rows(
        tmp_path,
        "SELECT generation, role, cause, story, process FROM rebalance_causes"
        " ORDER BY generation, cause_seq",
    ) == [
        (1, "trigger", "MEMBER_NEW", "start", "reports-1"),
        (2, "trigger", "MEMBER_NEW", "start", "reports-2"),
        (4, "trigger", "MEMBER_NEW", "crash_restart", "reports-1"),
        (5, "trigger", "MEMBER_NEW", "start", "reports-3"),
        (6, "trigger", "LEAVE", "stop", "reports-1"),
        (6, "contributing", "LEAVE", "stop", "reports-2"),
        (6, "contributing", "LEAVE", "stop", "reports-3"),
    ]
    violated = {law for law, *_ in broken_laws(str(tmp_path))[1]}
    assert violated == {"a run writes to every table"}  # Not all jobs were run.


@pytest.mark.again_on_spark
def test_beside_a_broker_only_what_it_did_not_log_is_of_clients(tmp_path, run):
    """The broker's log ends with generation 3."""
    lines = SERVER_LOG.read_text().splitlines(keepends=True)
    own = [line for line in lines if "group reports-java " in line]
    end = next(n for n, line in enumerate(own) if "Stabilized" in line and "generation 4" in line)
    log = tmp_path / "server.log"
    log.write_text("".join(own[:end]))
    alone, beside = tmp_path / "alone", tmp_path / "beside"

    run(alone, broker_logs=[str(log)])
    run(beside, broker_logs=[str(log)], client_logs=REPORTS)
    once = contents(beside)
    run(beside, broker_logs=[str(log)], client_logs=REPORTS)

    assert contents(beside) == once
    of_broker = {
        table: [row for row in each if "clients" not in row]
        for table, each in contents(beside).items()
        if table not in ("rebalance_causes", "episodes")  # Clients' logs add rows to these tables.
    }
    assert of_broker == {table: contents(alone)[table] for table in of_broker}
    assert len(of_broker["generations"]) == 4  # The group had begun to prepare generation 4.
    of_clients = [row for row in OF_CLIENTS if row[0] >= 5]
    assert rows(beside, f"{GENERATIONS} WHERE evidence = 'clients'") == of_clients


def java_line(time, client, message):
    return (
        f"[{time}] INFO [Consumer clientId={client}, groupId=g] {message}"
        " (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n"
    )


def rebalance(times, client, generation):
    """The lines of one client about one generation: asked, joined, synced."""
    of = f"Generation{{generationId={generation}, memberId='{client}-1', protocol='range'}}"
    words = ["(Re-)joining group", f"Successfully joined group with generation {of}"]
    words.append(f"Successfully synced group in generation {of}")
    return "".join(java_line(time, client, word) for time, word in zip(times, words, strict=True))


FIRST, SECOND = "2026-11-21", "2026-11-22"
# Generation 2 begins before midnight and ends after it.
TIMES = [
    [f"{FIRST} 10:00:00,000", f"{FIRST} 10:00:01,000", f"{FIRST} 10:00:01,500"],
    [f"{FIRST} 23:59:59,000", f"{SECOND} 00:00:01,000", f"{SECOND} 00:00:02,000"],
    [f"{SECOND} 12:00:00,000", f"{SECOND} 12:00:03,000", f"{SECOND} 12:00:04,000"],
]


@pytest.mark.again_on_spark
@pytest.mark.campaign
def test_dates_apart_give_the_same_rows_as_together(tmp_path, run):
    logs = []
    for client in ("a", "b"):
        log = tmp_path / f"{client}.log"
        log.write_text("".join(rebalance(times, client, n + 1) for n, times in enumerate(TIMES)))
        logs.append(str(log))
    together, apart = tmp_path / "together", tmp_path / "apart"

    run(together, client_logs=logs)
    lake = run(apart, FIRST, client_logs=logs)
    only_asked = rows(apart, "SELECT MAX(generation) FROM generations")
    assert {day.isoformat() for day in pending(lake).dates or ()} == {FIRST}
    run(apart, SECOND, client_logs=logs)

    assert only_asked == [(2,)]  # The rebalance is not finished when the date ends.
    assert contents(apart) == contents(together)
    assert rows(
        together,
        "SELECT generation, event_date, preparing_time, stable_time FROM generations ORDER BY 1",
    )[1] == (
        2,
        date(2026, 11, 21),
        datetime(2026, 11, 21, 23, 59, 59),
        datetime(2026, 11, 22, 0, 0, 2),
    )
    versions = {table: lake.version(table) for table in TABLES}
    run(apart, FIRST, client_logs=logs)
    assert contents(apart) == contents(together)
    assert lake.version("rebalance_latency") >= versions["rebalance_latency"]
