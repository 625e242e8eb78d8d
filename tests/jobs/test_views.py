"""The views of the 15 questions on histories that no captured incident has; times are ms."""

import re
from datetime import date

import pytest

from jobs.console.errors import UsageError
from jobs.lake.sql import query
from schemas import table_names, view_names, view_sql

DAY = 86_400_000


@pytest.fixture(scope="module")
def empty(write_lake, tmp_path_factory):
    return write_lake(tmp_path_factory.mktemp("empty"), {table: [] for table in table_names()})


@pytest.fixture
def ask(write_lake, empty, tmp_path_factory):
    """``ask(tables, sql)``: rows from a lake of these tables, every other table empty."""

    def ask(tables, sql):
        root = tmp_path_factory.mktemp("lake")
        for table in set(table_names()) - set(tables):
            (root / table).symlink_to(f"{empty}/{table}")
        return query(write_lake(root, tables), sql)[1]

    return ask


def generation(number, start, running, group="g", **more):
    """A rebalance from ``start`` to ``running`` that made generation ``number``."""
    place = {"group_id": group, "incarnation": more.pop("incarnation", 1), "generation": number}
    of_latency = {"to_time": running, "preparing_time": start, "total_ms": running - start}
    outcome = more.pop("outcome", "stable")
    return (
        place | {"preparing_time": start, "outcome": outcome} | more,
        place | of_latency | {"outcome": outcome, "logical_rebalance": number},
    )


def history(*rebalances):
    generations, latency = zip(*rebalances, strict=True)
    return {"generations": list(generations), "rebalance_latency": list(latency)}


def commit(at, offset, topic="t", partition=0, group="g", **more):
    return {
        "group_id": group,
        "topic": topic,
        "partition": partition,
        "log_offset": at,
        "append_time": at,
        "commit_time": at,
        "committed_offset": offset,
    } | more


def client_line(group):
    place = {"file_id": "f", "position": 0, "file": "app.log", "library": "java", "line": ""}
    return place | {"group_id": group, "event": "JOINING", "event_time": 7000}


def owned(number, **owners):
    """Assignments of a generation: partition p0, p1, ... to a member that is its own process."""
    return [
        {"group_id": "g", "generation": number, "partition": int(name[1:])}
        | {"member_id": owner, "process": owner}
        for name, owner in owners.items()
    ]


def members(number, *ids, **more):
    return [
        {"group_id": "g", "generation": number, "member_id": name, "process": name} | more
        for name in ids
    ]


def recorded(*numbers):
    return [{"group_id": "g", "generation": n, "partitions_assigned": 1} for n in numbers]


# Order of rows by view: the costliest rows come first, or rows are in the order of time.
ORDERS = {
    "q01_by_day": "event_date",
    "q01_episodes": "cost_ms DESC",
    "q01_most_rebalanced_groups": "rebalances DESC",
    "q02_each_rebalance": "group_id, incarnation",
    "q02_rebalance_durations": "total_p95_ms DESC",
    "q03_causes": "group_id, generations DESC",
    "q04_offenders": "rebalances_started DESC",
    "q05_moved_nothing": "group_id, incarnation",
    "q06_assignors": "group_id, assignor",
    "q06_movement": "moves_in_excess DESC",
    "q07_storms": "not_stable_ms DESC",
    "q08_slow_members": "join_ms DESC",
    "q09_coordinator_changes": "group_id, change_time",
    "q10_by_protocol": "group_id, from_time",
    "q10_deploys": "group_id, from_time",
    "q10_each_rebalance": "group_id, incarnation",
    "q11_static_members": "group_id, instance_id",
    "q11_would_benefit": "not_stable_avoidable_ms DESC",
    "q12_what_if": "group_id, saved_partition_ms DESC",
    "q13_config_audit": "group_id",
    "q14_commits_without_owner": "group_id, incarnation",
    "q14_idle_owners": "held_ms DESC",
    "q15_hot_partitions": "bytes DESC",
    "q15_lifecycle": "group_id",
    "q15_storage": "bytes DESC",
    "q16_findings": "confidence DESC",
    "q17_data_costs": "records_reprocessed DESC",
}


@pytest.mark.parametrize("view", [view for view in view_names() if view.startswith("q")])
def test_a_question_s_view_is_in_the_order_that_its_name_promises(view):
    *_, order = view_sql(view).replace(" NULLS LAST", "").splitlines()

    leading = re.sub(r"ORDER BY (cluster_id, )?(f\.)?", "", order)
    assert leading.startswith(ORDERS[view])


def test_the_group_that_rebalanced_most_is_first(ask):
    tables = history(
        *(generation(1, 0, 100, group=group) for group in "xy"),
        *(generation(n, n * 1000, n * 1000 + 100, group="m") for n in (1, 2, 3)),
    )

    rows = ask(tables, "SELECT group_id, rebalances FROM q01_most_rebalanced_groups")

    assert rows == [("m", 3), ("x", 1), ("y", 1)]


COUNTS = """\
group_type  outcome     evidence  rebalance  aborted  superseded target
classic     stable      both      1          0        0
classic     superseded  log       0          1        0
classic     failed      log       0          1        0
classic     empty       both      0          0        0
classic     unknown     both      0          0        0
classic     unknown     clients   -          -        0
-           stable      clients   1          0        0
consumer    stable      both      1          0        0
consumer    superseded  both      1          0        1
consumer    unknown     records   1          0        0
consumer    unknown     log       1          0        -
share       superseded  records   1          0        1
streams     empty       both      0          0        0
"""


def test_what_a_generation_counts_as(ask):
    rows = [re.split(r"  +", line) for line in COUNTS.splitlines()[1:]]
    generations = [
        {"group_id": "g", "generation": n, "group_type": None if type_ == "-" else type_}
        | {"outcome": outcome, "evidence": evidence}
        for n, (type_, outcome, evidence, *_) in enumerate(rows, start=1)
    ]

    counts = ask(
        {"generations": generations},
        "SELECT rebalances, aborted_rebalances, superseded_targets FROM rebalance_counts",
    )

    assert counts == [tuple(None if n == "-" else int(n) for n in row) for _, _, _, *row in rows]


def test_time_without_members_is_not_in_the_share(ask):
    tables = history(
        generation(1, 0, 1000),
        generation(2, 9000, 10_000, outcome="empty", ended_time=50_000),
        generation(1, 100_000, 102_000, incarnation=2),
    ) | {"committed_offsets": [commit(110_000, 1)]}

    rows = ask(
        tables,
        "SELECT generations, rebalances, not_stable_ms, with_members_ms, not_stable_percent "
        "FROM q01_most_rebalanced_groups",
    )

    # The periods are 0 to 9 s, the rebalance into Empty, and from 100 s to the last time in the
    # lake.
    assert rows == [(3, 2, 4000, 9000 + 1000 + 10_000, 20.0)]


def episode(number, kind, summary, unowned_ms, *, processes=("a",), group="g", **more):
    return {
        "group_id": group,
        "incarnation": 1,
        "activity_time": 0,
        "episode": number,
        "kind": kind,
        "from_time": number * 1000,
        "to_time": number * 1000 + 500,
        "processes": list(processes),
        "hosts": [],
        "first_generation": number,
        "last_generation": number,
        "generations": [number],
        "rebalances": 1,
        "not_stable_ms": 2400,
        "unowned_partition_ms": unowned_ms,
        "summary": summary,
        "evidence": "log",
        "confidence": 0.9,
        "activity_last_generation": 9,
    } | more


EPISODES = [
    episode(1, "group_start", "starts", 900_000),
    episode(2, "process_lost", "a killed", 5_000, partitions_moved=2),
    episode(3, "process_lost", "b and c lost", 70_000, processes="bc", confidence=0.7),
    episode(4, "slow_poll", "a is slow", 6_000),
    episode(1, "slow_poll", "another group", 1, group="h", not_stable_ms=None),
]


def test_episodes_of_one_kind_are_one_sentence(ask):
    rows = ask(
        {"episodes": EPISODES},
        "SELECT group_id, kind, episodes, processes, unowned_partition_ms, confidence, text "
        "FROM q01_episodes ORDER BY group_id, kind",
    )

    assert rows == [
        ("g", "group_start", 1, 1, 900_000, 0.9, "starts"),
        (
            "g", "process_lost", 2, 3, 75_000, 0.7,
            "3 processes lost: 2 rebalances, 5 s not stable, 75 partition-seconds",
        ),
        ("g", "slow_poll", 1, 1, 6_000, 0.9, "a is slow"),
        ("h", "slow_poll", 1, 1, 1, 0.9, "another group"),
    ]  # fmt: skip


def test_a_sum_with_rebalances_without_a_logged_begin_is_a_lower_limit(ask):
    lost = [episode(n, "process_lost", "x", 5_000, rebalances_without_begin=n) for n in (0, 1)]
    out = [episode(n, "restart", "x", 0, rebalances_without_begin=1) for n in (2, 3)]

    rows = ask({"episodes": lost + out}, "SELECT text FROM q01_episodes ORDER BY kind")

    assert rows == [
        (
            "2 processes lost: 2 rebalances, 5 s not stable, at least 10 partition-seconds"
            " (1 of 2 rebalances without a logged begin)",
        ),
        (
            "2 restarts, 2 processes: 2 rebalances, 5 s not stable, partition downtime "
            "unknown (2 of 2 rebalances without a logged begin)",
        ),
    ]


def test_figures_of_zero_in_the_sentence_of_a_kind_are_words_or_left_out(ask):
    none = {"rebalances": 0, "not_stable_ms": 0}
    conflicts = [episode(n, "instance_id_conflict", "x", 0, generations=[], **none) for n in (1, 2)]
    shutdowns = [episode(n, "shutdown", "x", 2_000, **none) for n in (3, 4)]
    once = [episode(5, "restart", "x", 0), episode(6, "restart", "x", 0, **none)]

    rows = ask({"episodes": conflicts + shutdowns + once}, "SELECT text FROM q01_episodes")

    assert sorted(rows) == [
        ("2 conflicts of instance ids: no rebalance, no partition downtime",),
        ("2 restarts, 2 processes: 1 rebalance, 2 s not stable, no partition downtime",),
        ("2 shutdowns: 4 partition-seconds",),
    ]


def unserved(partition, first_s, last_s, reason="slow_poll", process="a@h"):
    return {
        "group_id": "g",
        "generation": 1,
        "topic": "t",
        "partition": partition,
        "process": process,
        "member_id": "m",
        "from_time": first_s * 1000,
        "to_time": last_s * 1000,
        "unserved_ms": (last_s - first_s) * 1000,
        "reason": reason,
        "commit_interval_ms": 5000,
        "evidence": "log",
        "estimated": True,
    }


def test_each_unserved_time_is_in_one_episode(ask):
    """An unserved time is in the episode of its kind, then of its process, then with the longest
    overlap."""
    episodes = [
        episode(1, "slow_poll", "a is slow", 1000, to_time=30_000),
        episode(2, "slow_poll", "b is slow", 2000, to_time=60_000, processes="b"),
        episode(3, "process_lost", "a killed", 3000, to_time=90_000),
    ]
    times = [
        unserved(0, 5, 25),
        unserved(1, 5, 26),
        unserved(0, 40, 70, reason="owner_stalled"),
        unserved(2, 5, 80, reason="stuck"),
        unserved(3, 5, 80, reason="no_progress"),
        unserved(4, 100, 110),
    ]

    rows = ask(
        {"episodes": episodes, "unserved_times": times},
        "SELECT summary, unowned_partition_ms, unserved_partition_ms, longest_unserved_ms,"
        " partitions FROM episode_unserved ORDER BY episode",
    )

    assert rows == [
        ("a is slow", 1000, 41_000, 21_000, 2),
        ("b is slow", 2000, None, None, None),
        ("a killed", 3000, 30_000, 30_000, 1),
    ]


def test_a_slow_poll_ranks_by_its_unserved_time(ask):
    """Starts of the group are last, and what is not known is not in the text."""
    episodes = [
        episode(1, "group_start", "starts", 900_000),
        episode(2, "process_lost", "a killed", 5_000, from_time=100_000, to_time=120_000),
        episode(3, "slow_poll", "a is slow", 0, to_time=30_000),
        episode(4, "restart", "b restarted", None),
    ]
    costs = [handover(2, 3.6)]
    tables = {"episodes": episodes, "unserved_times": [unserved(0, 5, 26)], "handover_costs": costs}

    by_place = ask(
        tables, "SELECT place, cost_ms, records_reprocessed, text FROM episode_costs ORDER BY place"
    )
    of_kinds = ask(
        tables,
        "SELECT kind, unserved_partition_ms, cost_ms, records_reprocessed FROM q01_episodes"
        " ORDER BY cost_ms",
    )
    [costliest] = ask(
        tables | history(generation(1, 0, 100)),
        "SELECT costliest_episode FROM q01_most_rebalanced_groups",
    )

    assert by_place == [
        (1, 21_000, None, "a is slow, 21 partition-seconds owned but not served"),
        (2, 5_000, 3.6, "a killed, 4 records handled again"),
        (3, None, None, "b restarted"),
        (4, 900_000, None, "starts"),
    ]
    assert of_kinds == [
        ("process_lost", None, 5_000, 3.6),
        ("slow_poll", 21_000, 21_000, None),
        ("group_start", None, 900_000, None),
        ("restart", None, None, None),
    ]
    assert costliest == ("a is slow, 21 partition-seconds owned but not served",)


def test_a_lake_of_an_earlier_version_has_its_episodes_without_costs_of_data(
    write_lake, tmp_path, capsys
):
    root = write_lake(tmp_path, {"episodes": EPISODES})

    _, rows = query(root, "SELECT place, unserved_partition_ms, text FROM episode_costs")
    with pytest.raises(UsageError, match="no table handover_costs in it yet"):
        query(root, "SELECT * FROM q17_data_costs")

    assert sorted(rows)[0] == (1, None, "b and c lost")
    assert capsys.readouterr().err == ""


def test_downtime_of_a_kind_is_that_of_the_episodes_of_which_it_is_known(ask):
    episodes = [
        episode(1, "scale_in", "x", None), episode(2, "scale_in", "x", 3_000),
        episode(3, "scale_out", "x", None), episode(4, "scale_out", "x", None),
    ]  # fmt: skip

    rows = ask({"episodes": episodes}, "SELECT unowned_partition_ms, text FROM q01_episodes")

    assert sorted(rows, key=str) == [
        (
            3_000,
            "scale in by 2 processes: 2 rebalances, 5 s not stable, at least 3 partition-seconds",
        ),
        (
            None,
            "scale out by 2 processes: 2 rebalances, 5 s not stable, "
            "partition downtime unknown without records",
        ),
    ]


def test_the_costliest_episode_of_a_group_is_no_start_of_it(ask):
    tables = history(generation(1, 0, 100)) | {"episodes": EPISODES}

    rows = ask(tables, "SELECT episodes, costliest_episode FROM q01_most_rebalanced_groups")

    assert rows == [(4, "b and c lost")]


def test_the_last_day_and_week_end_with_the_last_time_in_the_lake(ask):
    tables = history(
        generation(1, 0, 100),
        generation(2, 3 * DAY, 3 * DAY + 200),
        generation(3, 8 * DAY, 8 * DAY + 400),
    ) | {"timeline": [{"group_id": "g", "seq": 1, "event": "RECORD", "event_time": 9 * DAY - 1}]}

    rows = ask(
        tables,
        "SELECT rebalances, rebalances_last_day, rebalances_last_week, not_stable_last_day_ms, "
        "not_stable_last_week_ms FROM q01_most_rebalanced_groups",
    )

    assert rows == [(3, 1, 2, 400, 600)]


def test_a_storm_is_found_by_its_pauses(ask):
    starts = [0, 20_000, 40_000, 60_000, 80_000, 140_999, 141_999]
    tables = history(
        *(
            generation(n, start, start + 1000, cause=cause, culprit_client_id=who)
            for n, (start, cause, who) in enumerate(
                zip(starts, ["A", "B", "B", "A", "C", "C", "C"], "xyyxxxx", strict=True), start=1
            )
        )
    )

    rows = ask(
        tables,
        "SELECT pause_below_ms, first_generation, last_generation, longest_pause_ms, "
        "dominant_cause, dominant_percent, culprits FROM storms ORDER BY ALL",
    )
    storms = ask(tables, "SELECT first_generation, generations, lasted_ms FROM q07_storms")

    # A pause of 59,999 ms is below 60 s.  The first of equally frequent causes is shown.
    assert rows == [
        (60_000, 1, 7, 59_999, "C", 42.9, 2),
        (300_000, 1, 7, 59_999, "C", 42.9, 2),
    ]
    assert storms == [(1, 7, 142_999)]


def line(at, event, broker, **more):
    return {
        "event_time": at,
        "position": at,
        "event": event,
        "broker_id": broker,
        "topic_partition": "__consumer_offsets-7",
    } | more


def test_a_coordinator_change_affects_the_groups_of_its_partition(ask):
    log = {"topic_partition": "__consumer_offsets-7"}
    tables = history(
        generation(1, 1000, 2000, **log),
        generation(2, 70_000, 71_000, cause="MEMBER_NEW", **log),
        generation(1, 60_000, 61_000, group="later", **log),
        generation(1, 1000, 2000, group="deleted", **log),
        generation(1, 1000, 2000, group="elsewhere", topic_partition="__consumer_offsets-8"),
    ) | {
        "timeline": [{"group_id": "deleted", "seq": 1, "event": "TOMBSTONE", "event_time": 5000}],
        "broker_log_events": [
            line(10, "PARTITION_LOAD", 1),
            line(20, "PARTITION_LOAD", 1, duration_ms=5),
            line(50_000, "PARTITION_UNLOAD", 1),
            line(50_001, "PARTITION_UNLOAD", 1),
            line(50_002, "PARTITION_LOAD", 2),
            line(50_900, "PARTITION_LOAD", 2, duration_ms=900),
        ],
    }

    rows = ask(
        tables,
        "SELECT group_id, change, EPOCH_MS(change_time), broker_id, previous_broker_id, load_ms, "
        "rebalances_within_5_min, next_cause FROM q09_coordinator_changes ORDER BY change_time",
    )

    assert rows == [
        ("g", "unloaded", 50_000, 1, None, None, 1, "MEMBER_NEW"),
        ("g", "loaded", 50_900, 2, 1, 900, 1, "MEMBER_NEW"),
    ]


def gap(generation, partition, from_ms, to_ms, from_generation=1, **more):
    return {
        "group_id": "g", "topic": "t", "generation": generation, "partition": partition,
        "from_time": from_ms, "to_time": to_ms, "unowned_ms": to_ms - from_ms,
        "from_process": "a", "to_process": "a", "from_generation": from_generation,
        "why": "rebalance", "evidence": "log", "estimated": True, **more,
    }  # fmt: skip


def test_movement_has_the_downtime_that_each_generation_ended(ask):
    sticky = {"protocol": "cooperative-sticky"}
    tables = history(
        generation(1, 0, 100, ended_time=10_000, **sticky),
        generation(2, 10_000, 12_000, ended_time=12_500, **sticky),
        generation(3, 12_500, 13_000, **sticky),
    ) | {
        "churn": recorded(1, 2, 3),
        "assignments": [
            *owned(1, p0="a", p1="a"),
            *owned(2, p0="a"),
            *owned(3, p0="a", p1="b", p2="b"),
        ],
        "ownership_gaps": [
            gap(3, 1, 12_000, 13_000),
            gap(3, 0, 14_000, 15_000, 3),  # a static replacement
        ],
    }

    rows = ask(
        tables,
        "SELECT generation, partition, from_process, to_process, change, unowned_ms "
        "FROM partition_movement WHERE generation > 1 ORDER BY ALL",
    )

    assert rows == [
        (2, 0, "a", "a", "kept", 0),
        (2, 1, "a", None, "orphaned", None),
        (3, 0, "a", "a", "kept", 0),
        (3, 1, "a", "b", "moved", 1000),
        (3, 2, None, "b", "new", None),
    ]


def test_each_rebalance_has_the_downtime_that_it_ended(ask):
    tables = history(generation(1, 0, 100), generation(2, 5000, 6000)) | {
        "ownership_gaps": [
            gap(2, 0, 5200, 6000),
            gap(2, 1, 4000, 6000),
            gap(2, 0, 7000, 8000, 2),  # a static replacement
        ]
    }

    rows = ask(
        tables,
        "SELECT generation, partitions_unowned, unowned_partition_ms, "
        "longest_unowned_ms FROM q10_each_rebalance ORDER BY 1",
    )

    assert rows == [(1, 0, 0, None), (2, 2, 2800, 2000)]


def test_without_a_record_the_cost_of_a_rebalance_is_unknown(ask):
    both, log = ({"evidence": name} for name in ("both", "log"))
    tables = history(generation(1, 0, 100, **both), generation(2, 5000, 6000, **log))

    rows = ask(
        tables,
        "SELECT generation, partitions_unowned, unowned_partition_ms, offset_rewinds, "
        "reconsumed_records FROM q10_each_rebalance ORDER BY 1",
    )

    assert rows == [(1, 0, 0, 0, 0), (2, None, None, None, None)]


def test_an_offset_rewind_counts_for_its_generation(ask):
    tables = history(generation(1, 0, 100), generation(2, 5000, 6000)) | {
        "committed_offsets": [
            commit(1000, 50),
            commit(2000, 80),
            commit(3000, 10, outcome="aborted"),
            commit(6100, 60),
            commit(6200, 70),
            commit(6300, None, tombstone=True),
            commit(6400, 5),
        ]
    }

    rows = ask(
        tables,
        "SELECT generation, offset_rewinds, reconsumed_records FROM q10_each_rebalance ORDER BY 1",
    )

    assert rows == [(1, 0, 0), (2, 1, 20)]


def of_timeline(at, event, member_id=None, forming=None, **more):
    return {
        "group_id": "g", "seq": at, "event_time": at, "event": event, "member_id": member_id,
        "forming_generation": forming,
    } | more  # fmt: skip


def test_a_log_alone_shows_the_last_join_only_if_all_members_are_new(ask):
    of_log = {"evidence": "log", "member_count": 2}
    tables = history(
        generation(1, 0, 3000, joined_time=2900, **of_log),
        generation(2, 5000, 7000, joined_time=6900, **of_log),
    ) | {
        "timeline": [
            of_timeline(0, "MEMBER_JOIN", "a", 1), of_timeline(40, "MEMBER_JOIN", "b", 1),
            of_timeline(5000, "MEMBER_JOIN", "c", 2),
        ]
    }  # fmt: skip

    rows = ask(
        tables,
        "SELECT generation, last_to_join, last_join_after_ms, waited_on_ms FROM q08_slow_members "
        "ORDER BY 1",
    )

    assert rows == [(1, "b", 40, 2860), (2, None, None, None)]


def test_a_member_whose_session_expires_while_others_wait_for_it_did_not_rejoin(ask):
    culprit = {"culprit_member_id": "a"}
    tables = history(generation(2, 1000, 9000, joined_time=8900, evidence="log", **culprit)) | {
        "churn": [{"group_id": "g", "generation": 2, "members_dropped": 0}],
        "timeline": [
            of_timeline(1001, "HEARTBEAT_EXPIRED", "a", 2),
            of_timeline(8000, "HEARTBEAT_EXPIRED", "b", 2),
            of_timeline(8900, "DROPPED_NOT_REJOINED", None, 2, members=["c", "d"]),
        ],
    }

    rows = ask(tables, "SELECT members_dropped, did_not_rejoin FROM q08_slow_members")

    assert rows == [(3, ["b", "c", "d"])]


def test_by_logs_alone_a_coordinator_moves_before_the_first_generation(ask):
    home = {"topic_partition": "__consumer_offsets-7", "evidence": "log"}
    tables = history(generation(5102, 10_000, 12_000, cause="SESSION_EXPIRY", **home)) | {
        "broker_log_events": [
            line(700, "PARTITION_UNLOAD", 3),
            line(711, "PARTITION_UNLOAD", 3),
            line(900, "PARTITION_LOAD", 2),
            line(1060, "PARTITION_LOAD", 2, duration_ms=160),
        ]
    }

    rows = ask(
        tables,
        "SELECT change, epoch_ms(change_time), broker_id, previous_broker_id, load_ms, "
        "rebalances_within_5_min, next_cause FROM q09_coordinator_changes ORDER BY 2",
    )

    assert rows == [
        ("unloaded", 700, 3, None, None, 1, "SESSION_EXPIRY"),
        ("loaded", 1060, 2, 3, 160, 1, "SESSION_EXPIRY"),
    ]


def test_static_members_of_logs_alone(ask):
    """Also of a line that names no group."""
    fenced = {"event": "STATIC_FENCED", "instance_id": "1", "member_id": "1-335"}
    place = {"broker_id": 1, "file_id": "f", "position": 9, "event_time": 9}
    of_group = {"group_id": "g", "source": "broker_log", "instance_id": "i", "event_time": 1}
    tables = {
        "group_events": [
            of_group | {"event_seq": 1, "event": "STATIC_NEW", "member_id": "i-1", "file_id": "f",
                        "broker_id": 1, "position": 1},
            of_group | {"event_seq": 2, "event": "STATIC_REPLACED", "old_member_id": "i-1",
                        "member_id": "i-2", "file_id": "f", "broker_id": 1, "position": 2},
        ],
        "broker_log_events": [
            fenced | place | {"old_member_id": "1-144", "line": "", "file": "server.log"}
        ],
    }  # fmt: skip

    rows = ask(
        tables,
        "SELECT group_id, instance_id, member_ids, hosts, session_timeout_ms, fenced "
        "FROM q11_static_members ORDER BY 2",
    )

    assert rows == [(None, "1", 1, None, None, 1), ("g", "i", 2, None, None, 0)]


def test_without_records_nothing_is_known_of_tombstones(ask):
    tables = history(generation(1, 0, 100, outcome="empty", evidence="log")) | {
        "timeline": [of_timeline(500, "ADMIN_DELETE", incarnation=1)]
    }

    rows = ask(
        tables,
        "SELECT state, epoch_ms(deleted_time), group_tombstones, offset_tombstones "
        "FROM q15_lifecycle",
    )

    assert rows == [("dead", 500, None, None)]


def cause(number, at, cause_class, story, client_id, role="trigger", seq=1):
    return {
        "group_id": "g",
        "generation": number,
        "cause_seq": seq,
        "event_time": at,
        "role": role,
        "cause": cause_class,
        "story": story,
        "member_id": f"{client_id}-{at}",
        "client_id": client_id,
        "client_host": "h",
    }


def test_static_membership_avoids_restarts_that_are_back_within_their_session(ask):
    tables = {
        "generation_members": [
            {"group_id": "g", "generation": 1, "member_id": who, "process": who}
            | {"client_id": who, "client_host": "h", "session_timeout_ms": 10_000}
            for who in "abc"
        ],
        "rebalance_causes": [
            cause(2, 10_000, "LEAVE", "restart", "a"),
            cause(3, 14_000, "MEMBER_NEW", "return", "a"),
            cause(4, 20_000, "LEAVE", "restart", "b"),  # The process was away for 11 s.
            cause(5, 31_000, "MEMBER_NEW", "return", "b"),
            cause(6, 40_000, "LEAVE", "restart", "a"),
            cause(6, 40_100, "LEAVE", "stop", "c", "contributing", 2),  # another cause
            cause(7, 44_000, "MEMBER_NEW", "return", "a"),
        ],
        "rebalance_latency": [
            {"group_id": "g", "generation": n, "total_ms": 10**n} for n in range(2, 8)
        ],
    }

    rows = ask(
        tables,
        "SELECT dynamic_processes, restarts, rebalances_avoidable, not_stable_avoidable_ms, "
        "would_benefit FROM q11_would_benefit",
    )

    assert rows == [(3, 2, 3, 10**2 + 10**3 + 10**7, True)]


def test_a_configuration_with_all_oddities(ask):
    first = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 9000, "subscribed_topics": ["t"]}
    other = {"session_timeout_ms": 45_000, "rebalance_timeout_ms": 300_000, "instance_id": "i"}
    subscriptions = [b"\0\1", b"\0\3"]
    tables = {
        "generations": [
            {"group_id": "g", "generation": 1, "protocol": "range"},
            {"group_id": "g", "generation": 2, "protocol": "sticky"},
        ],
        "churn": [
            {"group_id": "g", "generation": n, "partitions_assigned": 1, "partitions_orphaned": 0}
            for n in (1, 2)
        ],
        "generation_members": [
            *members(1, "a", **first),
            *members(2, "a", **first),
            *members(2, "b", **other, subscribed_topics=["t", "u"]),
            # These members are on an earlier date, so they are not part of the audit.
            *members(3, "old", event_date=date(2026, 11, 20), session_timeout_ms=1),
        ],
        "assignments": [*owned(1, p0="a"), *owned(2, p0="a")],
        "group_metadata": [
            {"group_id": "g", "log_offset": 1, "protocol_type": "consumer", "generation": 2}
            | {"members": [{"subscription": sent} for sent in subscriptions]}
        ],
    }

    rows = ask(
        tables,
        "SELECT members, partitions, idle_members, assignors, subscriptions, "
        "subscription_version_min, subscription_version_max, findings FROM q13_config_audit",
    )

    findings = (
        "session timeouts differ, rebalance timeouts differ, "
        "session timeout not below rebalance timeout, assignor changed, client versions differ, "
        "more members than partitions, subscriptions differ, static and dynamic members"
    )
    assert rows == [(2, 1, 1, ["range", "sticky"], 2, 1, 3, findings)]


def test_topics_in_another_order_are_the_same_subscription(ask):
    tables = {
        "generations": [{"group_id": "g", "generation": 1}],
        "generation_members": [
            *members(1, "a", subscribed_topics=["t", "u"]),
            *members(1, "b", subscribed_topics=["u", "t"]),
        ],
        "assignments": owned(1, p0="a", p1="b"),
    }

    assert ask(tables, "SELECT subscriptions, findings FROM q13_config_audit") == [(1, None)]


def test_commits_without_an_owner_in_the_group(ask):
    tables = history(
        generation(1, 1000, 2000, protocol="range", ended_time=8000),
        generation(2, 8000, 9000, outcome="empty"),
    ) | {
        "churn": recorded(1),
        "assignments": owned(1, p0="a"),
        "committed_offsets": [
            commit(500, 1),
            commit(3000, 2),
            commit(4000, 2, partition=1),
            # a commits when it stops, and this commit still counts for the generation.
            commit(8500, 3),
            commit(9500, 4),
        ],
    }

    rows = ask(
        tables,
        "SELECT why, generation, partition, commits, last_after_ms "
        "FROM q14_commits_without_owner ORDER BY first_time",
    )

    assert rows == [
        ("no generation yet", None, 0, 1, None),
        ("not assigned", 1, 1, 1, 2000),
        ("group empty", 2, 0, 1, 500),
    ]


def test_members_that_stop_committing_while_others_commit(ask):
    tables = history(generation(1, 0, 1000, ended_time=61_000), generation(2, 61_000, 62_000)) | {
        "churn": recorded(1, 2),
        "assignments": owned(1, p0="a", p1="b", p2="b", p3="c"),
        "committed_offsets": [
            commit(50_000, 1),
            commit(40_000, 1, partition=1),
            commit(51_000, 1, partition=3),
        ],
    }

    rows = ask(
        tables,
        "SELECT process, partitions, partitions_without_commits, commits, without_commit_ms, "
        "stopped_committing FROM q14_idle_owners ORDER BY 1",
    )

    # a's last commit was 11 s before the end, but no other commit was 10 s later.
    assert rows == [("b", 2, 1, 1, 21_000, True)]


def test_states_of_groups(ask):
    tables = history(
        generation(1, 0, 1000, group="members"),
        generation(1, 0, 1000, group="recreated"),
        generation(1, 7000, 8000, group="recreated", incarnation=2, outcome="empty"),
        generation(1, 0, 1000, group="dead", outcome="empty"),
    ) | {
        "timeline": [
            {"group_id": "recreated", "seq": 1, "event": "TOMBSTONE", "event_time": 5000},
            {"group_id": "dead", "seq": 1, "event": "TOMBSTONE", "event_time": 5000},
        ],
        "committed_offsets": [commit(3000, 1, group="tool")],
    }

    rows = ask(
        tables,
        "SELECT group_id, incarnations, state, EPOCH_MS(empty_since), EPOCH_MS(deleted_time), "
        "EPOCH_MS(expires_time) FROM q15_lifecycle ORDER BY 1",
    )

    assert rows == [
        ("dead", 1, "dead", 1000, 5000, None),
        ("members", 1, "members", None, None, None),
        ("recreated", 2, "empty", 8000, None, 8000 + 7 * DAY),
        ("tool", None, "commits only", None, None, 3000 + 7 * DAY),
    ]


def test_groups_without_generations_have_a_reason(ask):
    tables = history(generation(1, 0, 1000, group="classic")) | {
        "group_records": [{"group_id": "new", "log_offset": 1, "epoch": 2}],
        "timeline": [
            {"group_id": "made", "seq": 1, "event": "SIMPLE_GROUP", "event_time": 5000},
            {"group_id": "gone", "seq": 1, "event": "LOADED", "event_time": 5000},
            {"group_id": "gone", "seq": 2, "event": "ADMIN_DELETE", "event_time": 5000},
            {"group_id": "moved", "seq": 1, "event": "LOADED", "event_time": 5000},
            {"group_id": "named", "seq": 1, "event": "MEMBER_JOIN", "event_time": 5000},
            {
                "group_id": "shared",
                "seq": 1,
                "event": "LEFT",
                "event_time": 5000,
                "group_type": "share",
            },
        ],
        "committed_offsets": [commit(3000, 1, group="tool"), commit(3000, 2, group="classic")],
        "client_events": [
            *(client_line(group) for group in ("classic", "polls", "made", "tool", None)),
            client_line("flink") | {"event": "SELF_ASSIGNED"},
        ],
    }

    rows = ask(
        tables, "SELECT group_id, group_type, reason FROM groups_without_generations ORDER BY 1"
    )

    assert rows == [
        (
            "flink",
            None,
            "assign(): consumers with assign() are not members, so the group has no rebalances",
        ),
        ("gone", None, "deleted, no rebalance in records or log"),
        ("made", "classic", "created by a commit, without members"),
        ("moved", None, "loaded or unloaded by a broker, no rebalance in records or log"),
        ("named", "classic", "no rebalance in records or log"),
        ("new", "consumer", "no target assignment in the records"),
        ("polls", None, "clients' lines without a generation"),
        ("shared", "share", "no target assignment in the lines"),
        ("tool", "classic", "commits without members"),
    ]


def test_bytes_per_group_and_partition(ask):
    def record(offset, key, value, log="__consumer_offsets-1"):
        return {"log_offset": offset, "topic_partition": log, "key": key, "value": value}

    log = {"topic_partition": "__consumer_offsets-1"}
    tables = {
        "offsets_records": [
            record(1, b"12345", b"123"),
            record(2, b"12345", None),
            record(3, b"12", b"12345678", log="__consumer_offsets-2"),  # unknown group
        ],
        "committed_offsets": [commit(1, 5, **log)],
        "group_metadata": [{"group_id": "g", "log_offset": 2, "tombstone": True} | log],
    }

    rows = ask(
        tables,
        "SELECT s.group_id, records, commit_records, group_records, s.tombstones, s.bytes, "
        "h.bytes_percent, h.groups, h.hottest_group "
        "FROM q15_storage s JOIN (SELECT * EXCLUDE (records) FROM q15_hot_partitions) h "
        "USING (topic_partition) ORDER BY ALL",
    )

    assert rows == [
        ("g", 2, 1, 1, 1, 13, 56.5, 1, "g"),
        (None, 1, 0, 0, 0, 10, 43.5, 0, None),
    ]


def sighting(at, end, partition=0, number=None):
    return {
        "file_id": "f", "position": at if number is None else number, "topic": "t",
        "partition": partition, "log_end_offset": end, "seen_time": at, "source": "end_offsets",
        "format": "json", "file": "f",
    }  # fmt: skip


def test_lag_is_interpolated_between_sightings_and_bounded_by_them(ask):
    tables = {
        "end_offsets": [
            sighting(1000, 10), sighting(5000, 50), sighting(9000, 50), sighting(9000, 49, number=1)
        ],
        "committed_offsets": [
            commit(500, 5), commit(2000, 18), commit(4000, 45), commit(9000, 48), commit(9500, 49),
            commit(4500, None, tombstone=True), commit(3000, 1, outcome="aborted"),
            commit(4000, 45, topic="other"),
        ],
    }  # fmt: skip
    columns = "UNIX_MILLIS(at_time), is_commit, committed_offset, log_end_offset, lag, lag_low"

    rows = ask(tables, f"SELECT {columns}, lag_high FROM partition_lag WHERE topic = 't'")

    assert rows == [
        (500, True, 5, None, None, None, 5),
        (1000, False, 5, 10, 5, 5, 5),
        (2000, True, 18, 20, 2, 0, 32),
        # By the sightings there were 40, but a group commits all the records that exist.
        (4000, True, 45, 45, 0, 0, 5),
        (9000, True, 48, 50, 2, 2, 2),
        (9500, True, 49, None, None, 1, None),
    ]


def test_lag_of_a_group_is_of_its_newest_commits_and_sightings(ask):
    tables = {
        "end_offsets": [sighting(1000, 10), sighting(5000, 50), sighting(6000, 7, 1, number=1)],
        "committed_offsets": [
            commit(500, 5), commit(4000, 45), commit(4001, 9, partition=1),
            commit(4002, 3, partition=2), commit(4003, None, partition=3, tombstone=True),
            commit(100, 1, group="unknown", topic="u"),
        ],
    }  # fmt: skip
    columns = "group_id, lag, max_lag, max_lag_partition, partitions, lagging_partitions"
    columns += ", unknown_partitions, UNIX_MILLIS(seen_time), UNIX_MILLIS(last_commit_time)"

    assert ask(tables, f"SELECT {columns} FROM group_lag") == [
        ("g", 5, 5, "t-0", 3, 1, 1, 5000, 4002),
        ("unknown", None, None, None, 1, 0, 1, None, 100),
    ]


def handover(number, records, *, partition=0, at=6000, **more):
    """A tenure that generation ``number`` ended, with the records that were handled again."""
    return {
        "group_id": "g", "topic": "t", "partition": partition, "process": "a", "member_id": "a1",
        "from_time": 0, "to_time": at - 1000, "to_time_low": at - 1000, "to_time_high": at - 1000,
        "how_ended": "session_expired", "records_reprocessed": records,
        "records_reprocessed_low": records and records - 1,
        "records_reprocessed_high": records and records + 1, "bounded": True,
        "next_process": "b", "next_time": at, "consumption_pause_ms": records and 1000,
        "commit_interval_ms": 5000, "from_generation": number - 1, "generation": number,
        "evidence": "log", "estimated": True,
    } | more  # fmt: skip


COSTS = {
    "handover_costs": [
        handover(2, 3.0),
        handover(2, 4.0, partition=1, bounded=False, catch_up_ms=1500, record_seconds=2.5),
        handover(3, None),
        handover(4, 9.0, generation=None, next_process=None, next_time=None),
    ]
}


def test_the_costs_of_a_rebalance_are_those_of_the_tenures_that_it_ended(ask):
    rows = ask(
        COSTS,
        "SELECT generation, handovers, records_reprocessed, records_reprocessed_low, "
        "records_reprocessed_high, bounded, consumption_pause_ms, longest_pause_ms, catch_up_ms "
        "FROM rebalance_costs ORDER BY 1",
    )

    assert rows == [
        (2, 2, 7.0, 5.0, 9.0, False, 2000, 1000, 1500),
        (3, 1, None, None, None, True, None, None, None),
    ]


def test_an_episode_costs_what_its_rebalances_cost(ask):
    episode = {
        "group_id": "g", "incarnation": 1, "activity_time": 0, "kind": "process_lost",
        "from_time": 0, "to_time": 9000, "processes": ["a"], "hosts": [], "rebalances": 1,
        "summary": "", "evidence": "log", "confidence": 1.0, "activity_last_generation": 4,
    }  # fmt: skip
    episodes = [
        episode | {"episode": n, "generations": of, "first_generation": 2, "last_generation": 4}
        for n, of in ((1, [2, 3]), (2, [4]))
    ]

    rows = ask(
        COSTS | {"episodes": episodes},
        "SELECT episode, handovers, records_reprocessed, bounded FROM episode_costs ORDER BY 1",
    )

    assert rows == [(1, 3, 7.0, False), (2, None, None, None)]


def test_a_day_costs_what_all_tenures_of_the_group_cost(ask):
    gap = {
        "group_id": "g", "topic": "t", "partition": 0, "from_time": 5000, "unowned_ms": 1000,
        "from_process": "a", "from_generation": 1, "why": "left", "evidence": "log",
        "estimated": False,
    }  # fmt: skip

    rows = ask(
        COSTS | {"ownership_gaps": [gap]},
        "SELECT handovers, unowned_partition_ms, records_reprocessed FROM group_day_costs",
    )

    assert rows == [(4, 1000, 16.0)]


def test_data_costs_by_the_way_in_which_tenures_ended(ask):
    tables = {"handover_costs": [*COSTS["handover_costs"], handover(5, 0.0, how_ended="left")]}

    rows = ask(
        tables,
        "SELECT how_ended, handovers, records_reprocessed, record_seconds FROM q17_data_costs "
        "ORDER BY 1",
    )

    assert rows == [("left", 1, 0.0, None), ("session_expired", 3, 7.0, 2.5)]
