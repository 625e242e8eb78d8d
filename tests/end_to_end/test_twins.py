"""Twins: one script of process lives, one setting changed at a time, counted by another hand.

truth.json was computed from the clients' and the brokers' own logs when the incident was played;
its numbers are what the tables must say.
"""

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from jobs.nightly_run.pipeline import JOBS
from tests.end_to_end.incident_lake import IncidentLake

TWINS = Path(__file__).parents[1] / "data" / "twins"
# The broker of each play: its segments, its log.
BROKERS = [
    ("segments", "server.log"),
    ("segments-delay", "server-delay.log"),
    ("play2/segments", "play2/server.log"),
]
TRUTHS = ("truth.json", "play2/truth.json")
# Nothing that is counted comes from what these write.
NOT_COUNTED = {"committed_offsets", "rebalance_causes", "group_days", "assign_partitions"}

# Counts are of the rebalances that ended in the span, time not Stable is clipped to it.
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


@pytest.fixture
def left_behind(tmp_path, version):
    """The plays' brokers as one cluster: no two have a group in common, so it is enough that their
    partitions of __consumer_offsets have numbers of their own."""
    with tarfile.open(TWINS / f"rolling-deploy-and-crash-{version}.tar.gz") as archive:
        archive.extractall(tmp_path / "plays", filter="data")
    number = 0
    for broker, (segments, log) in enumerate(BROKERS):
        for partition in sorted((tmp_path / "plays" / segments).iterdir()):
            shutil.copytree(partition, tmp_path / "segments" / f"__consumer_offsets-{number}")
            number += 1
        (tmp_path / "logs").mkdir(exist_ok=True)
        shutil.copy(tmp_path / "plays" / log, tmp_path / "logs" / f"server-{broker}.log")
    return tmp_path


@pytest.mark.parametrize("version", ["3.9.1", "4.1.2"])
def test_tables_give_the_truth(left_behind, version):
    lake = IncidentLake(str(left_behind / "lake"))
    counted = [job for job in JOBS if job not in NOT_COUNTED]
    lake.run(version, left_behind / "segments", left_behind / "logs", jobs=counted)

    for truth in TRUTHS:
        played = json.loads((left_behind / "plays" / truth).read_text())
        window = (played["t0_wall_ms"], played["t0_wall_ms"] + played["window_ms"])
        assert played["groups"]
        for name, said in played["groups"].items():
            for span, (first, last) in {"whole_run": EVER, "window": window}.items():
                sql = COUNTS.format(cluster=version, group=name, first=first, last=last)
                *counts, not_stable_ms = lake.rows(sql)[0]

                assert counts == [said[span][what] for what in MEANING], (name, span)
                assert not_stable_ms == pytest.approx(said[span]["not_stable_ms"], rel=0.01), name
