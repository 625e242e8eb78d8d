"""Figures of the tables compared with figures counted independently.

One script of process lives ran with one setting changed at a time.  truth.json was computed from
the logs of clients and brokers during the runs; the tables must have the same numbers.
"""

import json
import shutil
import tarfile
from functools import cache
from itertools import count
from pathlib import Path

import pytest

from jobs.nightly_run.pipeline import JOBS
from jobs.what_if.downtime import downtime_within
from tests.end_to_end.incident_lake import IncidentLake
from tools.faults.lakes import tables_of

TWINS = Path(__file__).parents[1] / "data" / "twins"
# The broker of each run: its segments, its log.
BROKERS = [
    ("segments", "server.log"),
    ("segments-delay", "server-delay.log"),
    ("play2/segments", "play2/server.log"),
]
VERSIONS = ["3.9.1", "4.1.2"]
TRUTHS = ("truth.json", "play2/truth.json")
# Rebalances that ended in the period are counted; time not Stable is clipped to the period.
COUNTS = """
    SELECT
        COUNT(*) FILTER (here AND outcome = 'stable'),
        SUM(members_joined) FILTER (here),
        SUM(members_left) FILTER (here),
        SUM(members_expired) FILTER (here),
        SUM(members_replaced) FILTER (here),
        SUM(partitions_moved) FILTER (here),
        SUM(GREATEST(0, LEAST(ended, {last}) - GREATEST(started, {first})))
    FROM (
        SELECT *, EPOCH_MS(preparing_time) AS started, EPOCH_MS(end_time) AS ended,
            EPOCH_MS(end_time) BETWEEN {first} AND {last} AS here
        FROM churn JOIN rebalance_latency USING (cluster_id, group_id, incarnation, generation)
        WHERE cluster_id = '{cluster}' AND group_id = '{group}')"""
MEANING = [
    "rebalances",
    "members_joined",
    "members_left",
    "members_expired",
    "static_members_replaced",
    "partitions_moved",
]
EVER = (0, 1 << 50)
# Static processes that were killed right after a commit: assumed to have ended 2.5 s after it.
LATE_ENDS = {"3.9.1": {"invoices-static"}, "4.1.2": set()}


@pytest.fixture(scope="module")
def broker_files(tmp_path_factory):
    """``broker_files(version)``: the brokers of all runs as one cluster.  They share no group, so
    it suffices to renumber their partitions of __consumer_offsets.
    """

    @cache
    def unpacked(version):
        folder = tmp_path_factory.mktemp(version)
        with tarfile.open(TWINS / f"rolling-deploy-and-crash-{version}.tar.gz") as archive:
            archive.extractall(folder / "plays", filter="data")
        (folder / "logs").mkdir()
        numbers = count()
        for broker, (segments, log) in enumerate(BROKERS):
            for partition in sorted((folder / "plays" / segments).iterdir()):
                name = f"__consumer_offsets-{next(numbers)}"
                shutil.copytree(partition, folder / "segments" / name)
            shutil.copy(folder / "plays" / log, folder / "logs" / f"server-{broker}.log")
        return folder

    return unpacked


@pytest.fixture(scope="module")
def lake_of(broker_files):
    """``lake_of(version, engine)``: its lake."""

    @cache
    def written(version, engine):
        folder = broker_files(version)
        lake = IncidentLake(str(folder / f"lake-{engine}"), engine)
        lake.run(version, folder / "segments", folder / "logs")
        return lake

    return written


@pytest.mark.parametrize("version", VERSIONS)
def test_tables_have_the_counted_figures(broker_files, lake_of, engine, version):
    lake = lake_of(version, engine)

    for truth in TRUTHS:
        truths = json.loads((broker_files(version) / "plays" / truth).read_text())
        window = (truths["t0_wall_ms"], truths["t0_wall_ms"] + truths["window_ms"])
        assert truths["groups"]
        for name, counted_figures in truths["groups"].items():
            for span, (first, last) in {"whole_run": EVER, "window": window}.items():
                sql = COUNTS.format(cluster=version, group=name, first=first, last=last)
                *counts, not_stable_ms = lake.rows(sql)[0]

                assert counts == [counted_figures[span][what] for what in MEANING], (name, span)
                assert not_stable_ms == pytest.approx(
                    counted_figures[span]["not_stable_ms"], rel=0.01
                ), name


@pytest.mark.parametrize("version", VERSIONS)
def test_downtime_is_that_of_the_callbacks(broker_files, lake_of, engine, version):
    """Within a tenth or 5 s: revocations, and most ends of processes, are inferred."""
    lake, differing = lake_of(version, engine), set()

    for truth in TRUTHS:
        truths = json.loads((broker_files(version) / "plays" / truth).read_text())
        window = (truths["t0_wall_ms"], truths["t0_wall_ms"] + truths["window_ms"])
        for name, counted_figures in truths["groups"].items():
            lasted = downtime_within("EPOCH_MS(from_time)", "unowned_ms", *window)
            ((downtime_ms,),) = lake.rows(
                f"SELECT SUM({lasted}) FROM ownership_gaps WHERE group_id = '{name}'"
            )
            counted_ms = counted_figures["window"]["unowned_partition_ms"]
            if abs(downtime_ms - counted_ms) > max(0.1 * counted_ms, 5000):
                differing.add(name)

    assert differing == LATE_ENDS[version]


@pytest.mark.spark
@pytest.mark.parametrize("version", VERSIONS)
def test_both_engines_give_the_same_tables(lake_of, version):
    in_spark = tables_of(lake_of(version, "spark").root)
    embedded = tables_of(lake_of(version, "embedded").root)

    assert {"offsets_records", *JOBS} - {"assign_partitions"} <= in_spark.keys() == embedded.keys()
    for table, rows in in_spark.items():
        assert embedded[table] == rows, table
