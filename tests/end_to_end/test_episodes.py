"""Every action of the scripts that real processes played is an episode of the right kind.

Each script was played on two broker versions by groups that differ in one setting.  What does not
show on a broker is not expected: processes frozen for less than their session, static members that
stop after the broker.  Static members that were killed and came back in time look restarted; a
static member that stops looks lost.  A process that was back after its session expired was lost or
frozen, unless its client shows its old state, or that it has none (`invoices-cooperative`).
"""

import pytest

from jobs.checks.check import broken_laws


def undecided(script, *processes):
    """``script`` with processes that were lost or frozen."""
    for each in processes:
        assert f"process_lost {each}" in script
        script = script.replace(f"process_lost {each}", f"process_lost_or_frozen {each}")
    return script


# 22 on: 1 to 6 restarted one after the other; 66 kill 2, back at 71; 82 kill 3, back at 97;
# 116 kill 4 and 1, back at 118; 136 stop 6, back at 148; 158 slow 5 (35 s); 170 kill 2, back at 175
DEPLOYED = """
    group_start 1,2,3,4,5,6; rolling_deployment 1,2,3,4,5,6; process_lost 2; process_lost 3;
    process_lost 1,4; restart 6; process_lost 2; slow_poll 5; shutdown 1,2,3,4,5,6"""
# 22.7 on: 1 to 9 restarted in threes; 66.7 kill 2 and 3, back at 71.7; 82.7 kill 5, back at 97.7;
# 116.7 kill 4, back at 118.7; 136.7 stop 9 and 8, back at 148.7; 158.7 slow 6 (35 s)
IN_THREES = """
    group_start 1,2,3,4,5,6,7,8,9; rolling_deployment 1,2,3,4,5,6,7,8,9; process_lost 2,3;
    process_lost 5; process_lost 4; restart 8,9; slow_poll 6; shutdown 1,2,3,4,5,6,7,8,9"""
# 25.4 on: 1 to 3 restarted; 68.4 kill 2, back at 73.4; 84.4 kill 3, back at 99.4; 118.4 kill 1,
# back at 120.4; 150.4 slow 2 (35 s)
JAVA = """
    group_start 1,2,3; rolling_deployment 1,2,3; process_lost 2; process_lost 3; process_lost 1;
    slow_poll 2; shutdown 1,2,3"""
# 18, 25, 32 kill 1, each time back after 1 s; 42 slow 2 (35 s); 84 start 5; 86 start 6; 98 freeze 3
# for 6 s; 112 freeze 4 for 16 s; 132 slow 1 (35 s); 140 stop 6; 176 stop all, back at 181
FLAPPING = """
    group_start 1,2,3,4; flapping_member 1; slow_poll 2; scale_out 5,6; process_lost 4; scale_in 6;
    slow_poll 1; whole_group_restart 1,2,3,4,5; shutdown 1,2,3,4,5"""
# 18.7, 25.7 kill 1 and 2, each time back after 1 s; 42.7 freeze 3 and 4 for 16 s; 66.7 start 8;
# 67.7 start 9; 76.7 slow 5 (35 s); 120.7 freeze 6 for 6 s; 132.7 stop 9; 142.7, 149.7, 156.7 stop
# 2, each time back after 1 s; 176.7 stop all, back at 181.7
FLAPPING_TWICE = """
    group_start 1,2,3,4,5,6,7; process_lost 1,2; process_lost 1,2; process_lost 3,4; scale_out 8,9;
    slow_poll 5; scale_in 9; flapping_member 2; whole_group_restart 1,2,3,4,5,6,7,8;
    shutdown 1,2,3,4,5,6,7,8"""
# 20.4, 30.4 kill 1, each time back after 1.5 s; 44.4 slow 2 (35 s); 86.4 start 3; 104.4 freeze 1
# for 16 s; 128.4 freeze 2 for 6 s; 140.4 stop 3; 177.4 stop all, back at 182.4
FLAPPING_JAVA = """
    group_start 1,2; process_lost 1; process_lost 1; slow_poll 2; scale_out 3; {frozen} 1;
    scale_in 3; whole_group_restart 1,2; shutdown 1,2"""
# p1 to p3 replaced by p1-v2 to p3-v2 that start first; p2-v2 frozen; p4 and p5 start and stop;
# all stop, and are back after 4 s
SURGE = """
    group_start p1,p2,p3; rolling_deployment p1,p2,p3; process_lost p2-v2; scale_out p4,p5;
    scale_in p4,p5; whole_group_restart p1-v2,p2-v2,p3-v2; shutdown p1-v2,p2-v2,p3-v2"""

# 30, 38, 46 p1 to p3 stopped, and back after 2 s with one setting changed; 125 all stop
CHANGED = "group_start p1,p2,p3; configuration_change p1,p2,p3; shutdown p1,p2,p3"
DEPLOYED_TWICE = """
    group_start p1,p2,p3; configuration_change p1,p2,p3; rolling_deployment p1,p2,p3;
    shutdown p1,p2,p3"""
CONFIGURATION_CHANGES = {
    # Members offered range, then roundrobin and range, then (from 80 s on) only roundrobin; records
    # have the chosen assignor.
    "assignor": DEPLOYED_TWICE,
    "dynamic": "group_start 1,2,3; configuration_change 1,2,3; shutdown p1,p2,p3",
    "poll": CHANGED,
    "session": CHANGED,
    "static": "group_start p1,p2,p3; configuration_change p1,p2,p3; shutdown 1,2,3",
    "static-session": "group_start 1,2,3; configuration_change 1,2,3; shutdown 1,2,3",
    "topics": CHANGED,
    "unchanged": CHANGED.replace("configuration_change", "rolling_deployment"),
}
# 30 p1 stopped, but of quiet-*; 31 one of two brokers killed; 31.5 p1 back; 75 the broker is back,
# and coordinator again; 133 the other broker stopped, 160 back, and coordinator again
RESTARTED = "group_start p1,p2,p3; restart p1; shutdown p1,p2,p3"
STABLE = "group_start p1,p2,p3; shutdown p1,p2,p3"
STATIC_RESTARTED = "group_start 1,2,3; restart 1; shutdown 1,2,3"
FAILOVERS = {
    "coop-1": RESTARTED, "coop-2": RESTARTED, "eager-1": RESTARTED, "eager-2": RESTARTED,
    "quiet-1": STABLE, "quiet-2": STABLE,
    "static-1": STATIC_RESTARTED, "static-2": STATIC_RESTARTED,
}  # fmt: skip
# 40 search-* and two of ledger-* restarted with the consumer protocol; 84 these two back to the
# classic one; 107 slow legacy-2 (25 s); 125 orders grown; 164 kill legacy-3, back at 182; 168 kill
# ledger-2, back at 186; all stop; a legacy-new of the consumer protocol, and a classic search-1;
# 256 both deleted
PROTOCOLS = {
    "ledger-rolled-back": """
        group_start 1,2,3; configuration_change 1,2; configuration_change 1,2;
        process_lost_or_frozen 2;
        shutdown 1,2,3""",
    "legacy-eager": """
        group_start 1,2,3; slow_poll 2; topic_change; process_lost_or_frozen 3; shutdown 1,2,3;
        group_start new; shutdown new; group_deleted""",
    "search-migrated": """
        group_start 1,2,3; configuration_change 1,2,3; topic_change; process_lost 2;
        shutdown 1,2,3; group_start 1; shutdown 1; group_deleted""",
}

EXPECTED = {
    "rolling-deploy-and-crash": {
        "orders-base": undecided(DEPLOYED, "3"),
        "orders-cooperative": DEPLOYED,
        "orders-session": DEPLOYED,
        "orders-delay": undecided(DEPLOYED, "3"),
        "orders-static": """
            group_start 1,2,3,4,5,6; rolling_deployment 1,2,3,4,5,6; restart 2;
            process_lost_or_frozen 3; restart 1,4; process_lost_or_frozen 6; restart 2;
            slow_poll 5""",
        "orders-static+session": """
            group_start 1,2,3,4,5,6; rolling_deployment 1,2,3,4,5,6; restart 2; restart 3;
            restart 1,4; restart 6; restart 2; slow_poll 5""",
        "clicks-base": undecided(IN_THREES, "5"),
        "clicks-cooperative": IN_THREES,
        "clicks-static": """
            group_start 1,2,3,4,5,6,7,8,9; rolling_deployment 1,2,3,4,5,6,7,8,9; restart 2,3;
            process_lost_or_frozen 5; restart 4; process_lost_or_frozen 8,9; slow_poll 6""",
        "invoices-base": undecided(JAVA, "3"),
        "invoices-cooperative": JAVA,
        "invoices-static": """
            group_start 1,2,3; rolling_deployment 1,2,3; restart 2; process_lost_or_frozen 3;
            restart 1; slow_poll 2""",
    },
    "flapping-and-slow-poll": {
        "orders-base": undecided(FLAPPING, "4"),
        # A thawed member of librdkafka joins with its previous generation.
        "orders-cooperative": FLAPPING.replace("process_lost 4", "process_frozen 4"),
        # The session lasts longer than the freeze.
        "orders-session": FLAPPING.replace("process_lost 4; ", ""),
        # A slow static member sends no heartbeats; within a session its commits show the slow poll.
        "orders-static": """
            group_start 1,2,3,4; restart 1; slow_poll 2; scale_out 5,6; process_lost_or_frozen 4;
            process_lost 6; process_lost 1; whole_group_restart 1,2,3,4,5""",
        "orders-static+session": """
            group_start 1,2,3,4; restart 1; slow_poll 2; scale_out 5,6; process_lost 6;
            slow_poll 1; whole_group_restart 1,2,3,4,5""",
        "clicks-base": undecided(FLAPPING_TWICE, "3,4"),
        "clicks-cooperative": FLAPPING_TWICE.replace("process_lost 3,4", "process_frozen 3,4"),
        "clicks-static": """
            group_start 1,2,3,4,5,6,7; restart 1,2; process_lost_or_frozen 3,4; scale_out 8,9;
            slow_poll 5; process_lost 9; restart 2; whole_group_restart 1,2,3,4,5,6,7,8""",
        "invoices-base": FLAPPING_JAVA.format(frozen="process_lost_or_frozen"),
        "invoices-cooperative": FLAPPING_JAVA.format(frozen="process_frozen"),
        "invoices-static": """
            group_start 1,2; restart 1; slow_poll 2; scale_out 3; process_lost_or_frozen 1;
            process_lost 3; whole_group_restart 1,2""",
    },
    # Classic groups and consumer groups that play the same script.  In consumer groups, a static
    # member that is killed cannot come back before its session expires.
    "next-rolling-deploy-and-crash": {
        "orders-base": undecided(DEPLOYED, "3"),
        "orders-cooperative": DEPLOYED,
        "orders-static": """
            group_start 1,2,3,4,5,6; rolling_deployment 1,2,3,4,5,6; restart 2;
            process_lost_or_frozen 3; restart 1,4; process_lost_or_frozen 6; restart 2;
            slow_poll 5""",
        "orders-consumer": DEPLOYED,
        "orders-consumer-default": DEPLOYED,
        "orders-consumer-range": DEPLOYED,
        "orders-consumer-session": DEPLOYED,
        "orders-consumer-static": DEPLOYED,
        "invoices-base": undecided(JAVA, "3"),
        "invoices-cooperative": JAVA,
        "invoices-consumer": JAVA,
        "invoices-consumer-range": JAVA,
        "invoices-consumer-session": JAVA,
        "invoices-consumer-static": JAVA,
    },
    "surge-freeze-and-autoscale": {
        "g-base": undecided(SURGE, "p2-v2"),
        "g-cooperative": SURGE.replace("process_lost", "process_frozen"),
        "g-static": """
            group_start p1,p2,p3; rolling_deployment p1,p2,p3; process_lost_or_frozen p2-v2;
            scale_out p4,p5; process_lost p4,p5; whole_group_restart p1-v2,p2-v2,p3-v2""",
    },
}
EXPECTED |= {
    "configuration-changes": CONFIGURATION_CHANGES,
    "failovers": FAILOVERS,
}
ON_BOTH_ENGINES = [
    ("rolling-deploy-and-crash", "4.1.2"),
]
# On Spark, these captures show nothing that the other captures do not show.
EMBEDDED_ONLY = [
    pytest.param("rolling-deploy-and-crash", "3.9.1", marks=pytest.mark.campaign),
    ("flapping-and-slow-poll", "3.9.1"),
    ("flapping-and-slow-poll", "4.1.2"),
    pytest.param("surge-freeze-and-autoscale", "4.1.2", marks=pytest.mark.campaign),
    ("next-rolling-deploy-and-crash", "4.1.2"),
    ("next-rolling-deploy-and-crash", "4.4.0"),
]
CHANGES = [
    ("configuration-changes", "3.9.1"),
    pytest.param("configuration-changes", "4.1.2", marks=pytest.mark.campaign),
    ("failovers", "3.9.1"),
    ("failovers", "4.1.2"),
]
# test_mixed_incidents has the actions of the script of the demo's incidents.
DEMO = {
    "analytics-cooperative": """
        group_start 1,2,3,4; slow_poll 2; scale_out 5,6; scale_in 6; shutdown 1,2,3,4,5""",
    "audit-python": """
        group_start 1,2; slow_poll 1; scale_in 2; topic_change; shutdown 1; group_deleted""",
    "billing-eager": """
        group_start 1,2,3,4,5,6; rolling_deployment 1,2,3,4,5,6; process_lost_or_frozen 3;
        scale_in 5,6; shutdown 1,2,3,4; group_deleted""",
    "inventory-static": """
        group_start 1,2,3,4; rolling_deployment 1,2,3,4; process_lost_or_frozen 2;
        instance_id_conflict 1; process_lost 1; shutdown 2,3,4""",
    "reports-java": "group_start 1,2; process_lost_or_frozen 1; scale_out 3; shutdown 1,2,3",
}
SHOWN = """
    SELECT group_id, kind, processes FROM episodes WHERE cluster_id = '{cluster}'
    ORDER BY group_id, activity_time, episode"""


def episodes_of(lake, cluster):
    """By group: each episode as ``kind processes``, without the processes' common name."""
    by_group = {}
    for group, kind, processes in lake.rows(SHOWN.format(cluster=cluster)):
        clients = [each.split("@")[0] for each in processes]
        names = ",".join(each if each[0] == "p" else each.split("-")[-1] for each in clients)
        by_group.setdefault(group, []).append(f"{kind} {names}".strip())
    return by_group


def listed(text):
    return [" ".join(each.split()) for each in text.split(";")]


def assert_episodes(lake, script, version):
    expected = {group: listed(text) for group, text in EXPECTED[script].items()}
    assert episodes_of(lake, version) == expected
    assert broken_laws(lake.root)[1] == []


@pytest.mark.again_on_spark
@pytest.mark.parametrize(("script", "version"), ON_BOTH_ENGINES)
def test_every_action_is_an_episode_of_its_kind_and_none_is_invented(
    twins_by, engine, script, version
):
    assert_episodes(twins_by(engine, script, version), script, version)


@pytest.mark.slow
@pytest.mark.parametrize(("script", "version"), EMBEDDED_ONLY)
def test_every_action_of_other_scripts_is_an_episode_of_its_kind(twins_by, script, version):
    assert_episodes(twins_by("embedded", script, version), script, version)


@pytest.mark.slow
@pytest.mark.parametrize(("script", "version"), CHANGES)
def test_every_change_and_failover_is_an_episode_and_none_is_invented(twins_by, script, version):
    assert_episodes(twins_by("embedded", script, version), script, version)


@pytest.mark.parametrize("cluster", ["kafka-3.9", "kafka-4.1"])
def test_the_demo_has_the_episodes_of_its_script(demo, cluster):
    assert episodes_of(demo, cluster) == {group: listed(text) for group, text in DEMO.items()}


# Settings that the summaries of changes name.
SETTINGS = {
    "assignor": "partition.assignment.strategy range -> roundrobin",
    "dynamic": "group.instance.id removed",
    "poll": "max.poll.interval.ms 60000 -> 30000",
    "session": "session.timeout.ms 10000 -> 20000",
    "static": "group.instance.id set",
    "static-session": "session.timeout.ms 10000 -> 20000",
    "topics": "topics orders -> orders,payments",
}


@pytest.mark.campaign
@pytest.mark.parametrize("version", ["3.9.1", "4.1.2"])
def test_a_configuration_change_names_the_settings(twins_by, version):
    changes = twins_by("embedded", "configuration-changes", version).rows(
        "SELECT group_id, summary FROM episodes WHERE kind = 'configuration_change'"
    )

    named = {group: text[text.index("(") + 1 : text.index(")")] for group, text in changes}
    assert named == SETTINGS


def test_groups_that_change_their_protocol_have_the_episodes_of_their_script(twins_by):
    episodes = episodes_of(twins_by("embedded", "mixed-protocols", "4.4.0"), "4.4.0")

    assert {group: episodes[group] for group in PROTOCOLS} == {
        group: listed(text) for group, text in PROTOCOLS.items()
    }


@pytest.mark.parametrize("version", ["4.1.2", "4.4.0"])
def test_a_change_of_the_group_protocol_names_both(twins_by, version):
    changes = twins_by("embedded", "mixed-protocols", version).rows("""
        SELECT group_id, regexp_extract(summary, 'group.protocol [a-z]+ -> [a-z]+')
        FROM episodes WHERE summary LIKE '%(group.protocol%' ORDER BY group_id, from_time""")

    assert changes == [
        ("ledger-rolled-back", "group.protocol classic -> consumer"),
        ("ledger-rolled-back", "group.protocol consumer -> classic"),
        ("search-migrated", "group.protocol classic -> consumer"),
    ]


def test_a_restart_during_a_failover_says_so(twins_by):
    restarts = twins_by("embedded", "failovers", "4.1.2").rows(
        "SELECT group_id, rebalances, summary LIKE 'p1 restarted during a coordinator failover: %'"
        " FROM episodes WHERE kind = 'restart' AND group_id LIKE 'eager%' ORDER BY group_id"
    )

    # The leave of eager-1's p1 was not stored, so its rebalance waits for the session of the
    # previous member.
    assert restarts == [("eager-1", 1, True), ("eager-2", 1, False)]


@pytest.mark.again_on_spark
def test_figures_of_episodes_add_up_to_those_of_their_group(twins_by, engine):
    lake = twins_by(engine, "rolling-deploy-and-crash", "4.1.2")

    differing = lake.rows("""
        SELECT group_id, of_episodes, of_group FROM (
            SELECT group_id, (SUM(rebalances), SUM(not_stable_ms), SUM(partitions_moved),
                SUM(unowned_partition_ms)) AS of_episodes
            FROM episodes GROUP BY group_id)
        JOIN (
            SELECT group_id, (COUNT(*) FILTER (outcome = 'stable'), SUM(total_ms),
                SUM(partitions_moved), ANY_VALUE(unowned_ms)) AS of_group
            FROM rebalance_latency JOIN churn
                USING (cluster_id, group_id, incarnation, generation)
            JOIN (SELECT group_id, SUM(unowned_ms) AS unowned_ms FROM ownership_gaps
                  GROUP BY group_id) USING (group_id)
            GROUP BY group_id) USING (group_id)
        WHERE of_episodes <> of_group""")

    assert differing == []
