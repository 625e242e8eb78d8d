"""Replay and prediction of two real incidents from a lake: all groups by a job, and one by one."""

from datetime import date

import pytest

from coordinator_core.whatif import Figures, SettingsChange
from jobs import incident_replay, what_if_sweep
from jobs.lake.existing import open_existing_lake
from jobs.nightly_run import advice_step
from jobs.replay.command import ReplayOptions, replay_group
from jobs.what_if import command as what_if

COUNTS = """
    SELECT group_id, COUNT(*), COUNT(*) FILTER (WHERE verdict = 'reproduced'),
        MIN(evidence), MIN(era)
    FROM incident_replay WHERE cluster_id = '{cluster}' GROUP BY group_id ORDER BY group_id"""

# Each row: cluster, era, generations of each group.
INCIDENTS = [
    ("kafka-3.9", "3.9", {"analytics-cooperative": 8, "audit-python": 6,
                                    "billing-eager": 16, "inventory-static": 5, "reports-java": 7}),
    ("kafka-4.1", "4.1.2", {"analytics-cooperative": 9, "audit-python": 6,
                                    "billing-eager": 18, "inventory-static": 5, "reports-java": 6}),
]  # fmt: skip


@pytest.fixture(scope="module")
def lake_copy(demo, tmp_path_factory):
    return demo.copy(tmp_path_factory.mktemp("lake"))


@pytest.mark.parametrize(("cluster", "era", "groups"), INCIDENTS)
def test_every_generation_is_reproduced(config, lake_copy, cluster, era, groups):
    incident_replay.run(open_existing_lake(lake_copy.root, cluster, config))

    expected = [(group, count, count, "both", era) for group, count in groups.items()]
    assert lake_copy.rows(COUNTS.format(cluster=cluster)) == expected
    for group, count in groups.items():
        result = replay_group(ReplayOptions(lake_copy.root, cluster, group))
        assert sum(each.is_reproduced for each in result.generations) == count


FIGURES = ", ".join(Figures._fields).replace("unavailable", "unowned")
LIVES = """
    SELECT name, life, started_how, ended_how, deploy, len(member_ids), len(slow_polls)
    FROM process_lives WHERE cluster_id = '{cluster}' AND group_id = '{group}'
    ORDER BY name, life"""


# Every life in the captures has a record, so its process joins with the other tables.
WITHOUT_MEMBERS = """
    SELECT l.group_id, l.process FROM process_lives l
    LEFT JOIN generation_members m USING (cluster_id, group_id, process)
    WHERE m.process IS NULL"""


def test_the_sweep_has_the_figures_of_the_command_and_the_process_lives(config, lake_copy):
    cluster = "kafka-3.9"
    lake = open_existing_lake(lake_copy.root, cluster, config)

    what_if_sweep.run(lake, (SettingsChange(membership="static"),), seeds=1)

    for group in ("billing-eager", "reports-java"):
        options = what_if.WhatIfOptions(
            lake=lake_copy.root,
            cluster_id=cluster,
            group_id=group,
            settings=("membership=static",),
            seeds=1,
        )
        result = what_if.evaluate(options)
        where = f"cluster_id = '{cluster}' AND group_id = '{group}'"
        assert lake_copy.rows(
            f"SELECT basis, {FIGURES} FROM what_if WHERE {where} ORDER BY basis"
        ) == [
            ("model", *result.model.median),
            ("observed", *result.observed),
            ("predicted", *result.predicted[0].median),
        ]
    advised = lake_copy.rows(f"SELECT COUNT(*) FROM advice WHERE cluster_id = '{cluster}'")
    assert advised == [(5,)]

    assert lake_copy.rows(LIVES.format(cluster=cluster, group="reports-java")) == [
        ("reports-1", 1, "start", "session_expired", None, 1, 0),
        ("reports-1", 2, "crash_restart", "shut_down", None, 1, 0),
        ("reports-2", 1, "start", "shut_down", None, 1, 0),
        ("reports-3", 1, "scale_out", "shut_down", None, 1, 0),
    ]
    assert lake_copy.rows(WITHOUT_MEMBERS) == []
    slow = lake_copy.rows(LIVES.format(cluster=cluster, group="audit-python"))
    assert [(row[0], row[5], row[6]) for row in slow] == [("audit-1", 2, 1), ("audit-2", 1, 0)]


ADVICE = """
    SELECT group_id, setting, client_properties, confidence > 0.5 FROM advice
    WHERE cluster_id = '{cluster}' AND group_id <> 'inventory-static' ORDER BY group_id"""


_BUDGET_S = 60.0
_WHAT_IF = """
    SELECT group_id, basis, setting, rebalances, not_stable_ms, moved_partitions,
        unowned_partition_ms, simulation, sessions_matter, outcomes
    FROM what_if WHERE cluster_id = 'kafka-4.1' ORDER BY group_id, basis, setting"""


def _set_outcomes(lake):
    rows = [row.asDict(recursive=True) for row in lake.read("what_if").collect()]
    outcome = dict(zip(Figures._fields, (1, 2, 3, 4, 0, 5, 6, 7), strict=True))
    for row in rows:
        if row["simulation"]:
            row["outcomes"] = row["outcome_costs"] = [outcome] * 3
            row["outcome_catch_ups_ms"] = [outcome["catch_up_ms"]] * 3
    lake.replace("what_if", lake.frame("what_if", [[*row.values()] for row in rows]))


@pytest.mark.again_on_spark
def test_nightly_advises_all_groups_and_simulates_the_costliest(config, lake_copy):
    """Advice stays for groups that did not rebalance, and for groups beyond the budget."""
    lake = open_existing_lake(lake_copy.root, "kafka-4.1", config)
    lines = advice_step.run(lake, None, None, budget_s=_BUDGET_S)
    properties = (
        '# every consumer of group analytics-cooperative\n\n{"max.poll.interval.ms": "60000"}'
    )

    advised = [
        ("analytics-cooperative", "rebalance_timeout_ms=60000", properties, True),
        ("audit-python", None, None, True),
        ("billing-eager", None, None, True),
        ("reports-java", None, None, True),
    ]
    assert lines == [
        "advice: 5 groups: 5 simulated (budget 60 s of simulation)",
        "best advice: inventory-static: group.protocol=consumer, consumer.session.timeout.ms=10000,"
        " consumer.heartbeat.interval.ms=3000: 8 rebalances instead of 4, partition downtime 122 s"
        " instead of 227 s (partition-seconds), but 8 rebalances instead of 4 and 36 partitions"
        f" moved instead of 27: regroup what-if --lake {lake.root} --cluster-id kafka-4.1"
        " --group inventory-static",
    ]
    assert lake_copy.rows(ADVICE.format(cluster="kafka-4.1")) == advised
    assert lake_copy.rows(
        "SELECT DISTINCT group_id, seeds FROM what_if WHERE cluster_id = 'kafka-4.1'"
        " AND basis <> 'observed' ORDER BY group_id"
    ) == [*((group, 3) for group, *_ in advised[:3]), ("inventory-static", 3), ("reports-java", 3)]

    what_if_rows = lake_copy.rows(_WHAT_IF)
    advice_step.run(lake, None, None, budget_s=_BUDGET_S)
    assert lake_copy.rows(_WHAT_IF) == what_if_rows
    _set_outcomes(lake)
    # This run takes the outcomes from the table.
    advice_step.run(lake, None, None, budget_s=_BUDGET_S)
    outcomes = [row[3:6] for row in lake_copy.rows(_WHAT_IF) if row[1] != "observed"]
    assert {*outcomes} == {(1, 2, 3)}
    advice_step.run(lake, None, None, simulate_all=True, budget_s=_BUDGET_S)
    assert lake_copy.rows(_WHAT_IF) == what_if_rows

    advice_step.run(lake, date(2026, 11, 21), date(2026, 11, 21), budget_s=0)
    assert lake_copy.rows(ADVICE.format(cluster="kafka-4.1")) == advised

    advice_step.run(lake, date(2026, 11, 22), date(2026, 11, 22))
    assert lake_copy.rows(ADVICE.format(cluster="kafka-4.1")) == advised
