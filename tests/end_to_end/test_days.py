"""The same input gives the same tables: in one run, or in two parallel runs by date."""

import re
import struct
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import crc32c
import pytest

from jobs.checks.check import pending_dates
from jobs.command_line.config import load_config
from jobs.lake.sql import open_lake, query
from jobs.nightly import NightlyOptions, nightly
from jobs.nightly_run.coverage import BRONZE
from jobs.nightly_run.demo import INCIDENTS
from schemas import table_names

# The incident began at 00:46 UTC; moved back by this time, it spans midnight.
EARLIER = timedelta(minutes=48, seconds=30)
DAYS = ("2026-11-20", "2026-11-21")
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


@pytest.fixture(scope="module")
def incident(tmp_path_factory):
    """The incident on Kafka 4.1, moved so that it spans midnight."""
    source, target = INCIDENTS["kafka-4.1"], tmp_path_factory.mktemp("midnight")
    log = (source / "server.log").read_text()
    (target / "server.log").write_text(_LINE_TIME.sub(earlier_line, log))
    for segment in Path(source / "segments").rglob("*.log"):
        copy = target / segment.relative_to(source)
        copy.parent.mkdir(parents=True)
        copy.write_bytes(earlier_batches(segment.read_bytes()))
    return target


def run(root, incident, **dates):
    sources = {"segments": str(incident / "segments"), "broker_log": str(incident / "server.log")}
    nightly(NightlyOptions(str(root), "c", **sources, **dates), load_config(None))


def tables(root):
    return {
        table: sorted(map(repr, query(str(root), f"SELECT * FROM {table}")[1]))
        for table in set(table_names()) - {"runs"}  # differs by design
        if (Path(root) / table).is_dir()
    }


@pytest.mark.spark
def test_parallel_runs_by_date_give_the_same_tables_as_one_run(incident, tmp_path):
    first, last = DAYS
    run(tmp_path / "together", incident, first=first, last=last)
    together = tables(tmp_path / "together")
    with ThreadPoolExecutor() as at_once:
        list(at_once.map(lambda day: run(tmp_path / "by day", incident, date=day), DAYS))
    by_day = tables(tmp_path / "by day")

    assert {row.count("2026, 11, 20") > 0 for row in together["generations"]} == {True, False}
    for table in together:
        assert by_day[table] == together[table], table
    lake = str(tmp_path / "by day")
    assert pending_dates(lake, open_lake(lake, " ".join(["runs", *BRONZE]))) == []
