"""Figures of the tables compared with figures counted independently.

One script of process lives ran with one setting changed at a time.  truth.json was computed from
the logs of clients and brokers during the runs; the tables must have the same numbers.
"""

import json

import pytest

from jobs.nightly_run.pipeline import JOBS
from tools.faults.lakes import tables_of

SCRIPT = "rolling-deploy-and-crash"
VERSIONS = ["3.9.1", "4.1.2"]
ON_BOTH_ENGINES = "4.1.2"
TRUTHS = ("truth.json", "play2/truth.json")
# Rebalances that ended in the period are counted, and time not Stable is clipped to the period.
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
        SELECT *, EPOCH_MS(preparing_time) AS started, EPOCH_MS(to_time) AS ended,
            EPOCH_MS(to_time) BETWEEN {first} AND {last} AS here
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


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_tables_have_the_counted_figures(twins_files, twins_by, version):
    lake = twins_by("embedded", SCRIPT, version)

    for truth in TRUTHS:
        truths = json.loads((twins_files(SCRIPT, version) / "plays" / truth).read_text())
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


@pytest.mark.spark
def test_both_engines_give_the_same_tables(twins_by):
    in_spark = tables_of(twins_by("spark", SCRIPT, ON_BOTH_ENGINES).root)
    embedded = tables_of(twins_by("embedded", SCRIPT, ON_BOTH_ENGINES).root)

    # Two jobs are excluded: one has no table of its name, and the table of the other is about
    # clients' logs.
    expected = {"offsets_records", *JOBS} - {"assign_partitions", "client_evidence"}
    assert expected <= in_spark.keys() == embedded.keys()
    for table, rows in in_spark.items():
        assert embedded[table] == rows, table
