"""Clusters of several brokers: killed coordinators, and an upgrade in mid-history."""

from pathlib import Path

import pytest

from jobs.alerts.alerting import AlertsOptions, find_alerts
from jobs.checks.check import broken_laws
from jobs.configuration.alert_settings import AlertSettings
from jobs.engine.embedded import embedded_session
from jobs.ingest import Inputs, run
from jobs.lake.opening import open_lake
from jobs.replay.command import ReplayOptions, replay_whole_group
from jobs.sources.topic.segments import segment_files
from tests.end_to_end.incident_lake import IncidentLake

DATA = Path(__file__).parents[1] / "data" / "several_brokers"
UPGRADE, THREE = DATA / "upgrade-3.9-to-4.4", DATA / "three-brokers-4.4.0"
SECOND = DATA / "upgrade-4.1-to-4.4"
# Partition-seconds without an owner, by the callbacks of all clients, until the groups were
# stopped.
UNOWNED_S = {"bills-eager": 174.3, "billing": 335.6, "stock-static": 161.0}
EPISODES = {
    "bills-eager": ["group_start", "rolling_deployment", "rolling_deployment",
                    "process_lost_or_frozen", "shutdown"],
    "billing": ["group_start", "rolling_deployment", "coordinator_failover", "shutdown"],
    "stock-static": ["group_start", "rolling_deployment", "rolling_deployment",
                     "rolling_deployment", "coordinator_failover"],
}  # fmt: skip


@pytest.fixture(scope="module")
def clusters(made_once):
    def write(root):
        lake = IncidentLake(str(root), "embedded")
        lake.run("upgrade", UPGRADE / "__consumer_offsets-*/*.log", UPGRADE / "b*/server.log.gz")
        lake.run("three", THREE / "b2/__consumer_offsets-*/*.log", THREE / "b*.server.log.gz")

    return IncidentLake(str(made_once("lake-several-brokers", write)), "embedded")


# Partition-seconds without an owner, by the callbacks of all clients, from the first time at which
# each partition had an owner.
UNOWNED_OF_SECOND_S = {"bills-eager": 200.9, "clicks-consumer": 125.3}
SECOND_EPISODES = {
    "bills-eager": ["group_start", "rolling_deployment", "rolling_deployment",
                    "configuration_change", "process_lost", "shutdown"],
    # One process left while the coordinator moved, and was back before its leave was recorded.
    "clicks-consumer": ["group_start", "rolling_deployment", "rolling_deployment", "process_lost",
                        "shutdown"],
}  # fmt: skip


@pytest.fixture(scope="module")
def second(made_once):
    def write(root):
        lake = IncidentLake(str(root), "embedded")
        lake.run("c", SECOND / "__consumer_offsets-*/*.log", SECOND / "b*/server.log.gz")

    return IncidentLake(str(made_once("lake-second-upgrade", write)), "embedded")


@pytest.fixture
def ingested_in(tmp_path):
    """``ingested_in(*patterns)``: the lake after one run per pattern of segments."""

    def ingest(*patterns):
        session = embedded_session()
        for pattern in patterns:
            lake = open_lake(session, str(tmp_path), "three")
            run(lake, Inputs(segments=segment_files(str(pattern))))
        return IncidentLake(str(tmp_path), "embedded")

    return ingest


def test_no_client_that_lost_its_session_counts_as_restarted(clusters):
    kinds = {group: [] for group in EPISODES}
    for group, kind in clusters.rows("SELECT group_id, kind FROM episodes ORDER BY from_time"):
        kinds[group].append(kind)

    assert kinds == EPISODES
    assert broken_laws(clusters.root)[1] == []


def test_the_partition_downtime_is_that_of_the_callbacks(clusters):
    unowned = clusters.rows("""
        SELECT group_id, SUM(unowned_partition_ms) / 1000 FROM episodes
        WHERE kind <> 'shutdown' GROUP BY group_id""")

    assert dict(unowned) == pytest.approx(UNOWNED_S, rel=0.1)


def test_java_clients_through_an_upgrade_and_a_migration_to_the_consumer_protocol(second):
    kinds = {group: [] for group in SECOND_EPISODES}
    for group, kind in second.rows("SELECT group_id, kind FROM episodes ORDER BY from_time"):
        kinds[group].append(kind)
    unowned = second.rows("""
        SELECT group_id, SUM(unowned_ms) / 1000 FROM ownership_gaps
        WHERE to_time < TIMESTAMP '2026-11-27 16:31:50' GROUP BY group_id""")

    assert kinds == SECOND_EPISODES
    assert dict(unowned) == pytest.approx(UNOWNED_OF_SECOND_S, rel=0.1)
    assert broken_laws(second.root)[1] == []


# Times from the scripts: the brokers were rolled at 21:57:18 and 20:43:21, and broker 1 was killed
# at 22:00:51.5 and 20:46:25.9.  The last records before these times are a second older.
BROKERS = {
    "upgrade": [
        ("broker_upgrade", "21:57:22", "21:58:10",
         "brokers 1, 2 and 3 upgraded from 3.9.2 to 4.4.0: coordinators of 2 groups moved 4 times"),
        ("broker_crash", "22:00:50", "22:01:16",
         "broker 1 killed or crashed: coordinators of 1 group moved 1 time, 39 partition-seconds"),
        ("broker_stop", "22:02:30", "22:02:31",
         "brokers 3, 2 and 1 stopped, not back: no group disrupted"),
    ],
    "three": [
        ("rolling_broker_restart", "20:43:23", "20:45:37",
         "brokers 1, 2 and 3 restarted one after another: coordinators of 1 group moved 2 times,"
         " 1 rebalance disrupted"),
        ("broker_crash", "20:46:25", "20:47:15",
         "broker 1 killed or crashed: coordinators of 1 group moved 2 times, 1 rebalance disrupted,"
         " 239 partition-seconds"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("cluster", BROKERS)
def test_brokers_that_were_rolled_or_killed_are_episodes_of_the_cluster(clusters, cluster):
    assert (
        clusters.rows(f"""
        SELECT kind, STRFTIME(from_time, '%H:%M:%S'), STRFTIME(to_time, '%H:%M:%S'), summary
        FROM broker_episodes WHERE cluster_id = '{cluster}' ORDER BY from_time""")
        == BROKERS[cluster]
    )


MIGRATED_BACK = DATA / "upgrade-4.1-to-4.4-migrated-back"


def test_a_process_that_is_migrated_and_back_converts_its_group_twice(made_once):
    def write(root):
        lake = IncidentLake(str(root), "embedded")
        segments = MIGRATED_BACK / "__consumer_offsets-*/*.log"
        lake.run("c", segments, MIGRATED_BACK / "b*/server.log.gz")

    lake = IncidentLake(str(made_once("lake-migrated-back", write)), "embedded")
    kinds = lake.rows("SELECT kind FROM episodes ORDER BY to_time DESC LIMIT 4")
    unowned = lake.rows(
        "SELECT SUM(unowned_ms) / 1000 FROM ownership_gaps"
        " WHERE to_time < TIMESTAMP '2026-11-27 19:55:20'"
    )
    options = ReplayOptions(lake=lake.root, cluster_id="c", group_id="orders-coop")
    replay = replay_whole_group(options).replay

    assert [kind for (kind,) in kinds] == [
        "shutdown", "process_lost", "configuration_change", "configuration_change",
    ]  # fmt: skip
    # By the callbacks, the two migrations cost 27.0 s and the killed process costs 57.5 s.
    assert unowned[0][0] == pytest.approx(84.5, rel=0.1)
    classic = [each.comparison.divergence for each in replay.classic.generations]
    modern = [each.divergence for each in replay.modern.generations]
    assert [*classic, *modern] == [None] * 7


FENCED = DATA / "static-clients-fenced"


def test_a_group_whose_static_clients_all_ended_fatally_is_dead_and_not_shut_down(made_once):
    def write(root):
        lake = IncidentLake(str(root), "embedded")
        lake.run("c", FENCED / "__consumer_offsets-*/*.log", FENCED / "b2/server.log.gz")

    lake = IncidentLake(str(made_once("lake-fenced", write)), "embedded")

    assert lake.rows("SELECT kind, summary FROM episodes ORDER BY from_time")[-1] == (
        "process_lost",
        "sessions of 4 processes expired after their clients were fenced, not back: 7 ms not"
        " stable, 1,037 partition-seconds",
    )
    # Twelve partitions have no owner for 86.4 s.
    assert lake.rows(
        "SELECT ROUND(SUM(unowned_ms) / 1000) FROM ownership_gaps WHERE to_time IS NULL"
    ) == [(1037,)]
    alerts, _ = find_alerts(AlertsOptions(lake.root), AlertSettings())
    assert [(each.alert, each.value) for each in alerts] == [("finding", 80), ("no_members", 71)]
    assert alerts[1].message.endswith("no members for 71 s: all sessions expired")


DEAD, ALIVE = (THREE / name / "__consumer_offsets-1/*.log" for name in ("dead-b1", "b2"))
BOTH = THREE / "*/__consumer_offsets-1/*.log"
RECORDS = "SELECT md5(string_agg(md5(key) || md5(value), '' ORDER BY log_offset)) FROM {}"


@pytest.mark.parametrize(
    "runs",
    [[BOTH], [DEAD, ALIVE], [ALIVE, DEAD]],
    ids=["one run", "the tail is corrected by a later run", "the tail is read later"],
)
def test_a_tail_that_was_never_replicated_changes_no_table(clusters, ingested_in, runs):
    lake = ingested_in(*runs)

    stored = RECORDS.format("offsets_records")
    assert lake.rows(stored) == clusters.rows(f"{stored} WHERE cluster_id = 'three'")
    assert lake.rows("SELECT log_offset, reason FROM quarantine ORDER BY 1") == [
        (offset, f"diverged replica: offset {offset} of leader epoch 2, but epoch 3 begins at"
         " offset 636 in another copy of the partition")
        for offset in (636, 637)
    ]  # fmt: skip
    assert broken_laws(lake.root)[1] == []


@pytest.mark.parametrize(
    ("cluster", "group", "generations", "eras"),
    [
        ("upgrade", "bills-eager", 28, ["3.9", "4.4"]),
        ("upgrade", "stock-static", 1, ["3.9", "4.4"]),
        ("three", "billing", 14, ["4.4"]),
    ],
)
def test_each_stretch_is_replayed_by_the_coordinator_that_had_the_group(
    clusters, cluster, group, generations, eras
):
    options = ReplayOptions(lake=clusters.root, cluster_id=cluster, group_id=group)

    replay = replay_whole_group(options).replay.classic

    assert [each.era.name for each in replay.eras.stretches] == eras
    assert [each.comparison.divergence for each in replay.generations] == [None] * generations
