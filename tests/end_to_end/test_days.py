"""The same input gives the same tables: in one run, or in two runs by date, by either engine."""

import re
import shutil
import struct
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta
from functools import cache
from itertools import product
from pathlib import Path

import crc32c
import pytest

from jobs.checks.check import broken_laws, pending_dates
from jobs.configuration.config import Engine, load_config
from jobs.lake.coverage import BRONZE
from jobs.lake.integrity import damages, tables_on_disk
from jobs.lake.sql import open_lake, query
from jobs.maintain import MaintainOptions, maintain
from jobs.nightly_run.demo import INCIDENTS
from jobs.simulate.command import simulate
from tests.end_to_end.incident_lake import IncidentLake
from tests.engines import using
from tools.faults.lakes import tables_of

pytestmark = pytest.mark.seldom

# The incident began at 00:46 UTC, and spans midnight if it is moved back by this time.
EARLIER = timedelta(minutes=48, seconds=30)
DAYS = ("2026-11-20", "2026-11-21")
DAY_AFTER = date(2026, 11, 22)
GENERATIONS = "SELECT COUNT(*), SUM(generation) FROM generations"
_LINE_TIME = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),", re.MULTILINE)


def earlier_line(match):
    moved = datetime.fromisoformat(match[1]) - EARLIER
    return f"[{moved:%Y-%m-%d %H:%M:%S},"


def earlier_batches(data):
    """Record batches (v2) with base and max timestamp moved, and a new checksum."""
    out, position = bytearray(data), 0
    while position < len(out):
        (length,) = struct.unpack_from(">i", out, position + 8)
        end = position + 12 + length
        for field in (27, 35):
            (time_ms,) = struct.unpack_from(">q", out, position + field)
            moved = time_ms - int(EARLIER.total_seconds() * 1000)
            struct.pack_into(">q", out, position + field, moved)
        checksum = crc32c.crc32c(bytes(out[position + 21 : end]))
        struct.pack_into(">I", out, position + 17, checksum)
        position = end
    return bytes(out)


# Simulated modern groups.  A deployment of all groups ends after midnight, and a process is killed
# before and after it.
FLEET = """
name = "over-midnight"
start = 2026-11-20T23:44:00Z
length = "32m"
cluster = {era = "4.4", config = {offsets_topic_partitions = 1}}
topics = [{name = "orders", partitions = 4}]
"""
GROUP = """
[[groups]]
name = "{protocol}"
topics = ["orders"]
processes = 3
protocol = "{protocol}"
client = "java-4.4"
plans = [
    {{kind = "start", at = "1s", spread = "8s"}},
    {{kind = "kill", at = "6m", every = "14m", pick = 1, down = "80s"}},
    {{kind = "deploy", at = "15m30s", gap = "25s", down = "3s"}},
]
"""
NEW_TYPES = ("consumer", "share", "streams")


def add_fleet(target, scratch):
    (scratch / "fleet.toml").write_text(
        FLEET + "".join(GROUP.format(protocol=each) for each in NEW_TYPES)
    )
    simulate(str(scratch / "fleet.toml"), str(scratch / "fleet"), None)
    made = scratch / "fleet" / "segments" / "__consumer_offsets-0"
    shutil.copytree(made, target / "segments" / "__consumer_offsets-100")
    shutil.copy(scratch / "fleet" / "server.log", target / "server-2.log")


@pytest.fixture(scope="module")
def incident(tmp_path_factory):
    """The incident on Kafka 4.1, moved so that it spans midnight, and modern groups."""
    source, target = INCIDENTS["kafka-4.1"], tmp_path_factory.mktemp("midnight")
    log = (source / "server.log").read_text()
    (target / "server.log").write_text(_LINE_TIME.sub(earlier_line, log))
    for segment in Path(source / "segments").rglob("*.log"):
        copy = target / segment.relative_to(source)
        copy.parent.mkdir(parents=True)
        copy.write_bytes(earlier_batches(segment.read_bytes()))
    add_fleet(target, tmp_path_factory.mktemp("fleet"))
    return target


def run(root, engine, incident, **dates):
    lake = IncidentLake(str(root), engine)
    lake.run("c", incident / "segments", incident / "server*.log", **dates)


@pytest.fixture(scope="module")
def together(incident, tmp_path_factory):
    """``together(engine)``: the tables of one run over both dates."""

    @cache
    def of(engine):
        root = str(tmp_path_factory.mktemp("together"))
        first, last = DAYS
        run(root, engine, incident, first=first, last=last)
        return tables_of(root)

    return of


def is_complete(root):
    return pending_dates(root, open_lake(root, " ".join(["runs", *BRONZE]), optional=BRONZE)) == []


@pytest.mark.again_on_spark
def test_parallel_runs_by_date_give_the_same_tables_as_one_run(
    engine, incident, together, tmp_path
):
    root = str(tmp_path)
    with ThreadPoolExecutor() as at_once:
        list(at_once.map(lambda day: run(root, engine, incident, date=day), DAYS))

    expected = together(engine)
    assert {row.count("2026, 11, 20") > 0 for row in expected["generations"]} == {True, False}
    types = query(root, "SELECT DISTINCT group_type, CAST(event_date AS VARCHAR) FROM generations")
    assert sorted(types[1]) == sorted(product(("classic", *NEW_TYPES), DAYS))
    for table, rows in tables_of(root).items():
        assert rows == expected[table], table
    assert is_complete(root)


@pytest.mark.spark
def test_both_engines_give_the_same_tables(together):
    in_spark = together("spark")

    assert in_spark.keys() == together("embedded").keys()
    for table, rows in together("embedded").items():
        assert rows == in_spark[table], table


@pytest.mark.spark
@pytest.mark.again_on_spark
@pytest.mark.parametrize("engines", [("spark", "embedded"), ("embedded", "spark")], ids=str)
def test_an_engine_continues_and_maintains_the_other_engines_lake(
    engines, incident, together, tmp_path
):
    root, (first, second) = str(tmp_path), engines
    run(root, first, incident, date=DAYS[0])
    run(root, second, incident, date=DAYS[1])

    for table, rows in tables_of(root).items():
        assert rows == together("embedded")[table], table
    assert broken_laws(root)[1] == []

    on_last_day = query(root, f"{GENERATIONS} WHERE event_date = DATE'{DAYS[1]}'")[1]
    for engine in engines:  # Each engine maintains files of both engines.
        options = MaintainOptions(root, keep_days=1, vacuum_hours=0)
        with using(engine):
            maintain(options, load_config(None, Engine(engine)), DAY_AFTER)

    assert query(root, GENERATIONS)[1] == on_last_day
    assert on_last_day[0][0] > 10
    assert [damage for table in tables_on_disk(root) for damage in damages(root, table)] == []
    assert is_complete(root)
