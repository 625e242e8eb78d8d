"""Twins: one script of process lives, one setting changed at a time, counted by another hand.

truth.json was computed from the clients' and the brokers' own logs when the incident was played;
its numbers are what the tables must say.
"""

import json

import pytest

# what was played    tables of        segments          log                 groups
PLAYS = [
    pytest.param("truth.json", "segments", "server.log", id="orders"),
    pytest.param("truth.json", "segments-delay", "server-delay.log", id="orders-delay"),
    pytest.param("play2/truth.json", "play2/segments", "play2/server.log", id="clicks-invoices"),
]

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


@pytest.mark.parametrize("version", ["3.9.1", "4.1.2"])
@pytest.mark.parametrize(("truth", "segments", "log"), PLAYS)
def test_tables_give_the_truth(lakes, twins, version, truth, segments, log):
    incident = twins(version)
    cluster = f"{version} {segments}"
    lakes.run(cluster, incident, segments, log)
    played = json.loads((incident / truth).read_text())
    window = (played["t0_wall_ms"], played["t0_wall_ms"] + played["window_ms"])
    groups = {
        name: said
        for name, said in played["groups"].items()
        if truth != "truth.json" or said["broker"] == log
    }

    for name, said in groups.items():
        for span, (first, last) in {"whole_run": EVER, "window": window}.items():
            sql = COUNTS.format(cluster=cluster, group=name, first=first, last=last)
            *counts, not_stable_ms = lakes.rows(sql)[0]

            assert counts == [said[span][what] for what in MEANING], (name, span)
            assert not_stable_ms == pytest.approx(said[span]["not_stable_ms"], rel=0.01), name

    assert groups
