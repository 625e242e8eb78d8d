"""Which log files are one log: copies count once, and logs that begin alike are kept apart."""

import gzip
import json
import shutil
from collections import Counter

import pytest
from deltalake import DeltaTable, write_deltalake

from jobs import ingest
from jobs.checks.check import broken_laws
from jobs.ingest import Inputs, run
from jobs.lake.opening import open_lake
from jobs.lake.sql import query
from tests.engines import ENGINES

pytestmark = pytest.mark.embedded_suffices

BROKER = (
    "INFO [GroupCoordinator 1]: Preparing to rebalance group {who} in state PreparingRebalance"
    " with old generation {n} (__consumer_offsets-3) (reason: Adding new member {who} with group"
    " instance id None) (kafka.coordinator.group.GroupCoordinator)"
)
CLIENT = (
    "INFO [Consumer clientId=app, groupId=g] Successfully joined group with generation"
    " Generation{{generationId={n}, memberId='{who}', protocol='range'}}"
    " (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
)
KINDS = {
    "broker": ("broker_logs", "broker_log_events", BROKER),
    "client": ("client_logs", "client_events", CLIENT),
}


class Logs:
    """Log files of one kind in a folder, and a lake that reads them."""

    def __init__(self, spark, root, kind):
        self.root = root
        self.option, self.table, self.wording = KINDS[kind]
        self.lake = open_lake(spark, str(root / "lake"), "c")

    def lines(self, who, numbers):
        return [
            f"[2026-11-21 08:00:{n:02},000] {self.wording.format(who=who, n=n)}\n" for n in numbers
        ]

    def alike(self, who, *, same=3, until=6):
        """``same`` lines that all logs have, then lines of its own."""
        return self.lines("all", range(same)) + self.lines(who, range(same, until))

    def write(self, name, lines):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = "".join(lines).encode()
        path.write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
        return path

    def read(self, *names):
        files = [str(self.root / name) for name in names]
        run(self.lake, Inputs(**{self.option: files}))

    def stored(self):
        """By id, the numbers of the lines, in a lake that violates no law."""
        assert broken_laws(self.lake.root)[1] == []
        _, rows = query(
            self.lake.root, f"SELECT file_id, generation FROM {self.table} ORDER BY ALL"
        )
        by_id = {}
        for file_id, number in rows:
            by_id.setdefault(file_id, []).append(number)
        return sorted(by_id.values())


@pytest.fixture(params=list(KINDS))
def logs(spark, tmp_path, request):
    return Logs(spark, tmp_path, request.param)


SIX = [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("same", [1, 3, 5])
def test_logs_that_begin_alike_are_kept_apart(logs, same):
    for who in ("a", "b", "c"):
        logs.write(f"{who}.log", logs.alike(who, same=same))

    logs.read("a.log", "b.log", "c.log")

    assert logs.stored() == [SIX, SIX, SIX]


def test_logs_that_begin_alike_and_arrive_one_after_the_other(logs):
    for who in ("a", "b", "c"):
        logs.write(f"{who}.log", logs.alike(who))
        logs.read(f"{who}.log")
    for who in ("c", "a", "b"):
        logs.write(f"{who}.log", logs.alike(who, until=8))
        logs.read(f"{who}.log")
    logs.read("b.log", "c.log", "a.log")

    assert logs.stored() == [[*range(8)], [*range(8)], [*range(8)]]


@pytest.mark.every_time
def test_a_log_that_ends_within_what_others_have_in_common_is_one_of_them(logs):
    logs.write("a.log", logs.alike("a"))
    logs.write("b.log", logs.alike("b"))
    logs.write("short.log", logs.alike("b", until=3))

    logs.read("a.log", "b.log", "short.log")

    assert logs.stored() == [SIX, SIX]


def test_copies_of_a_log_count_once(logs):
    lines = logs.alike("a")
    for name in ("app.log", "copy/app.log", "app.log.1", "app.log.2.gz"):
        logs.write(name, lines)
    logs.write("older/app.log", lines[:4])
    logs.write("older/app.log.gz", lines[:5])
    names = ["app.log", "copy/app.log", "app.log.1", "app.log.2.gz", "older/app.log"]

    logs.read(*names, "older/app.log.gz")
    logs.read(*names)
    logs.read("older/app.log.gz")

    assert logs.stored() == [SIX]


@pytest.mark.parametrize("later", ["app.log", "app.log.1", "app.log.gz", "older/app.log"])
def test_a_log_that_grew_moved_or_was_packed_since_is_the_same(logs, later):
    logs.write("app.log", logs.alike("a", until=4))
    logs.read("app.log")
    (logs.root / "app.log").unlink()
    grown = logs.alike("a", until=6)
    logs.write(later, grown[:3] if later == "older/app.log" else grown)

    logs.read(later)
    logs.read(later)

    assert logs.stored() == [[0, 1, 2, 3] if later == "older/app.log" else SIX]


def test_a_shorter_log_that_begins_like_a_stored_one_is_kept_apart(logs):
    logs.write("a.log", logs.alike("a", same=3, until=9))
    logs.read("a.log")
    logs.write("b.log", logs.alike("b", same=3, until=5))
    logs.read("b.log")
    logs.read("a.log", "b.log")

    assert logs.stored() == [[*range(5)], [*range(9)]]


def test_files_that_were_equal_so_far_and_go_on_in_other_ways_become_two_logs(logs):
    common = logs.alike("a", same=3, until=3)
    logs.write("a.log", common)
    logs.write("b.log", common)
    logs.read("a.log", "b.log")
    assert logs.stored() == [[0, 1, 2]]
    logs.write("a.log", logs.alike("a"))
    logs.write("b.log", logs.alike("b", until=8))

    logs.read("a.log", "b.log")
    logs.read("b.log")
    logs.read("a.log")

    assert logs.stored() == [SIX, [*range(8)]]


def test_a_changed_place_in_a_large_log_is_found(logs):
    lines = logs.lines("a", range(60)) * 40
    other = [*lines[:1900], *logs.lines("b", range(60)), *lines[1960:]]
    logs.write("a.log", lines)
    logs.write("b.log", lines + logs.lines("b", range(3)))
    logs.write("c.log", other[:1990])
    assert (logs.root / "a.log").stat().st_size > 4 << 16

    logs.read("a.log", "b.log")
    logs.read("c.log")

    assert sorted(map(len, logs.stored())) == [1990, 2403]


def without_digests(lake):
    """As an earlier version left the table."""
    table = DeltaTable(f"{lake}/ingested_files").to_pyarrow_table()
    shutil.rmtree(f"{lake}/ingested_files")
    write_deltalake(f"{lake}/ingested_files", table.drop_columns(["copies"]))


@pytest.mark.parametrize("later", ["a.log", "a.log.1", "a.log.gz", "older/a.log"])
def test_a_log_of_an_earlier_version_keeps_its_id(spark, logs, later):
    logs.write("a.log", logs.alike("a", until=5))
    logs.read("a.log")
    before = query(logs.lake.root, f"SELECT DISTINCT file_id FROM {logs.table}")[1]
    without_digests(logs.lake.root)
    logs.lake = open_lake(spark, logs.lake.root, "c")
    logs.write("b.log", logs.alike("b", until=7))
    logs.write(later, logs.alike("a", until=4 if later == "older/a.log" else 6))

    logs.read("b.log", later)
    logs.read(later)

    expected = [[*range(5)] if later == "older/a.log" else SIX, [*range(7)]]
    assert logs.stored() == expected
    assert before[0] in query(logs.lake.root, f"SELECT DISTINCT file_id FROM {logs.table}")[1]


def test_a_run_that_was_killed_before_it_counted_loses_no_line(spark, logs):
    logs.write("a.log", logs.alike("a"))
    logs.read("a.log")
    shutil.rmtree(f"{logs.lake.root}/ingested_files")
    logs.lake = open_lake(spark, logs.lake.root, "c")
    logs.write("b.log", logs.alike("b", until=9))

    logs.read("b.log", "a.log")

    assert logs.stored() == [SIX, [*range(9)]]


def test_a_log_that_arrives_after_a_killed_run_is_not_taken_for_its_log(logs, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    logs.write("a.log", logs.alike("a"))
    logs.write("b.log", logs.alike("b", until=9))
    with monkeypatch.context() as patch:
        patch.setattr(ingest, "_store_counts", killed)
        with pytest.raises(KeyboardInterrupt):
            logs.read("a.log")

    run(logs.lake, Inputs(**{logs.option: [str(logs.root / "b.log")]}))
    logs.read("a.log")

    assert logs.stored() == [SIX, [*range(9)]]


def test_a_later_export_of_a_log_is_the_same(logs):
    def export(lines):
        events = [{"message": line.rstrip("\n"), "ingestionTime": 1} for line in lines]
        return [json.dumps({"events": events, "nextToken": str(len(lines))}, indent=2)]

    logs.write("1.json", export(logs.alike("a", until=4)))
    logs.read("1.json")
    logs.write("2.json", export(logs.alike("a")))
    logs.write("3.json", export(logs.alike("b")))
    logs.read("2.json", "3.json")
    logs.read("1.json")

    assert logs.stored() == [SIX, SIX]


@pytest.mark.parametrize("engine", ENGINES, indirect=True, scope="module")
def test_unreadable_lines_of_logs_that_begin_alike_are_kept_apart(spark, logs):
    for who in ("a", "b"):
        lines = logs.alike(who)
        logs.write(f"{who}.log", [line.replace("2026-11-21", "9999-99-99", 1) for line in lines])

    logs.read("a.log", "b.log")

    _, rows = query(logs.lake.root, "SELECT file FROM quarantine")
    assert sorted(Counter(rows).values()) == [6, 6]
