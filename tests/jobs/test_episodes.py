"""episodes: the job that infers each group's episodes from the tables."""

import pytest

from jobs.episodes import READS, episodes

pytestmark = pytest.mark.embedded_suffices
TABLES = {
    # Subscription of a Java client with the cooperative-sticky assignor: version 1, one topic, and
    # as user data the generation that the assignor remembers.
    "subscription": "0001 00000001 0001 74 00000004 {generation} 00000000",
}
COLUMNS = [
    "kind",
    "processes",
    "hosts",
    "generations",
    "rebalances",
    "not_stable_ms",
    "unowned_partition_ms",
    "partitions_moved",
    "summary",
    "evidence",
]
T = 1_700_000_000_000


def generation(number, at_ms, outcome="stable", **more):
    return {
        "generation": number,
        "preparing_time": T + at_ms,
        "stable_time": T + at_ms + 1000,
        "outcome": outcome,
        "member_count": 2,
        **more,
    }


def cause(number, at_ms, kind, story, member_id, **more):
    return {
        "generation": number,
        "cause_seq": 1,
        "event_time": T + at_ms,
        "cause": kind,
        "story": story,
        "member_id": member_id,
        "client_id": member_id[0],
        "client_host": "/h1",
        "process": f"{member_id[0]}@h1",
        "session_timeout_ms": 10_000,
        **more,
    }


def latency(number, at_ms, total_ms):
    return {
        "generation": number,
        "to_time": T + at_ms,
        "total_ms": total_ms,
        "logical_rebalance": number,
    }


def gap(number, from_ms, to_ms, partition=0, **more):
    return {
        "generation": number,
        "topic": "t",
        "partition": partition,
        "from_time": T + from_ms,
        "to_time": to_ms and T + to_ms,
        "unowned_ms": (to_ms or 60_000) - from_ms,
        "from_process": "a",
        "from_generation": 1,
        "why": "left",
        "evidence": "log",
        "estimated": False,
        **more,
    }


def record(number, member_id, generation_in_user_data):
    subscription = TABLES["subscription"].format(generation=generation_in_user_data)
    return {
        "topic_partition": "__consumer_offsets-0",
        "log_offset": number,
        "generation": number,
        "protocol": "cooperative-sticky",
        "tombstone": False,
        "members": [
            {
                "member_id": member_id,
                "client_id": "a",
                "client_host": "/h1",
                "rebalance_timeout_ms": 1,
                "session_timeout_ms": 1,
                "subscribed_topics": ["t"],
                "subscription": bytes.fromhex(subscription),
                "assignment": b"",
            }
        ],
    }


@pytest.fixture
def inferred(frame, by_group):
    """``inferred(tables)``: rows of episodes of group g with COLUMNS."""

    def run(**tables):
        of_group = {
            name: [row | {"group_id": "g"} for row in tables.get(name, [])] for name in READS
        }
        rows = episodes(**{name: frame(name, rows) for name, rows in of_group.items()})
        return by_group(rows, ["activity_time", "episode"], COLUMNS)["g"]

    return run


@pytest.mark.every_time
def test_an_episode_has_the_figures_of_its_rebalances(inferred):
    (row,) = inferred(
        generations=[generation(2, 0), generation(3, 3000)],
        rebalance_latency=[latency(2, 1000, 1000), latency(3, 4500, 1500)],
        churn=[
            {"generation": 2, "partitions_moved": 4, "members_retained": 1, "members_gone": 1},
            {"generation": 3, "partitions_moved": 5, "members_retained": 1, "members_gone": 0},
        ],
        rebalance_causes=[
            cause(2, 0, "LEAVE", "restart", "a1"),
            cause(3, 3000, "MEMBER_NEW", "return", "a2"),
        ],
        ownership_gaps=[gap(2, -500, 1000), gap(2, -500, 1000, partition=1), gap(3, 3000, 4500)],
    )

    assert tuple(row) == (
        "restart",
        ["a@h1"],
        ["h1"],
        [2, 3],
        2,
        2500,
        4500,
        9,
        "a restarted: 2 rebalances, 2.5 s not stable, 4.5 partition-seconds, 9 partitions moved",
        "log",
    )


def test_downtime_that_no_rebalance_ends_belongs_to_the_static_member_that_is_back(inferred):
    static = {"instance_id": "a", "role": "absorbed"}
    rows = inferred(
        generations=[generation(1, 0)],
        churn=[{"generation": 1, "partitions_moved": 0}],
        rebalance_causes=[
            cause(1, 0, "MEMBER_NEW", "start", "a1", instance_id="a"),
            cause(1, 300_000, "STATIC_REPLACED", "restart", "a2", cause_seq=2, **static),
        ],
        ownership_gaps=[gap(1, 290_000, 300_000), gap(None, 400_000, None, unowned_ms=5)],
    )

    assert [(row.kind, row.generations, row.unowned_partition_ms) for row in rows] == [
        ("group_start", [1], 0),
        ("restart", [], 10_005),
    ]


def test_without_records_downtime_and_moved_partitions_are_null(inferred):
    (row,) = inferred(
        generations=[generation(2, 0)],
        rebalance_latency=[latency(2, 1000, 1000)],
        churn=[{"generation": 2, "members_left": 1}],
        rebalance_causes=[cause(2, 0, "LEAVE", "stop", "a1")],
    )

    assert (row.unowned_partition_ms, row.partitions_moved) == (None, None)
    assert row.summary == (
        "scale in by a: 1 rebalance, 1.0 s not stable, partition downtime unknown without records"
    )


def member(number, name, **more):
    return {
        "generation": number,
        "member_id": f"{name}{number}",
        "process": name,
        "change": "joined",
        "session_timeout_ms": 10_000,
        "subscribed_topics": ["t"],
        **more,
    }


def test_settings_that_change_within_an_activity_make_a_configuration_change(inferred):
    longer = {"session_timeout_ms": 45_000, "subscribed_topics": ["t", "u"]}
    (row,) = inferred(
        generations=[
            generation(2, 0, protocol="range"),
            generation(3, 3000, protocol="sticky"),
            generation(4, 6000, protocol="sticky"),
            generation(5, 9000, protocol="sticky"),
        ],
        generation_members=[
            member(2, "b"), member(3, "a"), member(3, "b"), member(4, "a"),
            member(5, "a"), member(5, "b", **longer),
        ],
        rebalance_causes=[
            cause(2, 0, "LEAVE", "restart", "a1"),
            cause(3, 3000, "MEMBER_NEW", "return", "a2"),
            cause(4, 6000, "LEAVE", "restart", "b1"),
            cause(5, 9000, "MEMBER_NEW", "return", "b2"),
        ],
    )  # fmt: skip

    assert (row.kind, row.generations) == ("configuration_change", [2, 3, 4, 5])
    assert row.summary.startswith(
        "configuration change of 2 processes (partition.assignment.strategy range -> sticky; "
        "session.timeout.ms 10000 -> 45000; topics t -> t,u): 4 rebalances"
    )


def test_groups_that_are_inferred_in_one_call_have_their_own_episodes(frame, by_group, monkeypatch):
    monkeypatch.setattr("jobs.episodes.BUCKETS", 1)
    tables = {
        "generations": [generation(2, 0)],
        "churn": [{"generation": 2, "partitions_moved": 0}],
        "rebalance_causes": [cause(2, 0, "LEAVE", "stop", "a-1")],
        "ownership_gaps": [gap(2, 0, 1000)],
    }
    groups = ("g", "h", "i")
    rows = {
        name: [row | {"group_id": group} for group in groups for row in tables.get(name, [])]
        for name in READS
    }

    inferred = episodes(**{name: frame(name, each) for name, each in rows.items()})

    columns = ["kind", "generations", "unowned_partition_ms"]
    shown = by_group(inferred, ["episode"], columns)
    assert [tuple(row) for group in groups for row in shown[group]] == [("scale_in", [2], 1000)] * 3


def event(name, at_ms, **more):
    return {"event": name, "event_time": T + at_ms, "seq": at_ms, **more}


def test_another_group_type_is_a_change_of_protocol_and_a_load_is_evidence(inferred):
    rows = inferred(
        generations=[
            generation(2, 0, group_type="classic"),
            generation(3, 3000, group_type="consumer"),
            generation(4, 900_000, group_type="consumer"),
        ],
        rebalance_causes=[
            cause(2, 0, "LEAVE", "restart", "a-1"),
            cause(3, 3000, "MEMBER_NEW", "return", "a-2"),
            cause(4, 900_000, "LEADER_REJOIN", "rejoin", "b-1"),
        ],
        timeline=[event("LOADED", 890_000)],
    )

    assert [(row.kind, row.summary.split(":")[0]) for row in rows] == [
        ("configuration_change", "configuration change of a (group.protocol classic -> consumer)"),
        ("coordinator_failover", "coordinator failover"),
    ]


@pytest.mark.parametrize(
    ("generation_in_user_data", "kind", "text"),
    [
        ("00000001", "process_frozen", "a frozen or cut off"),
        ("FFFFFFFF", "process_lost", "a killed"),
    ],
)
def test_the_subscription_of_a_java_member_shows_whether_it_kept_its_state(
    inferred, generation_in_user_data, kind, text
):
    (row,) = inferred(
        generations=[generation(2, 0), generation(3, 5000)],
        rebalance_causes=[
            cause(2, 0, "SESSION_EXPIRY", "session_expired", "a1"),
            cause(3, 5000, "MEMBER_NEW", "return", "a2"),
        ],
        group_metadata=[record(3, "a2", generation_in_user_data)],
    )

    assert (row.kind, row.summary.split(",")[0].split(":")[0]) == (kind, text)
