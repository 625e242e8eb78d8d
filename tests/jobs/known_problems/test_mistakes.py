"""Mistakes in configuration and operation, and brokers that clients cannot reach."""

import pytest

from tests.jobs.known_problems.test_libraries import (
    MINUTE,
    assigned,
    changed,
    expired,
    generation,
    logged,
    member,
    python,
)


def static(instance, number, **more):
    return member(instance, number, instance_id=instance, session_timeout_ms=45_000) | more


DEPLOYED = {
    "generations": [generation(1, 0), generation(2, 100_000), generation(3, 190_000)],
    "generation_members": [
        static("a-1", 1), static("a-2", 1),
        *(static(f"a-{n}", 2, left_how="session_expired", left_time=180_000 + n) for n in (1, 2)),
        *(static(f"b-{n}", each) for n in (1, 2) for each in (2, 3)),
    ],
}  # fmt: skip


def test_static_ids_that_change_per_deployment(findings):
    rows = findings("static_ids_per_deployment", DEPLOYED, "from_time", "to_time", "summary")

    assert rows == [
        (
            135_001,
            180_002,
            "2 static members of g were replaced by 2 members with other instance ids (a-1, then"
            " b-1), and held their partitions until their sessions expired",
        )
    ]


def test_a_scale_in_of_static_members_is_no_deployment(findings):
    members = [each for each in DEPLOYED["generation_members"] if each["member_id"][0] == "a"]
    tables = DEPLOYED | {"generation_members": members}

    assert findings("static_ids_per_deployment", tables, "finding") == []


def crowded(until, members=3):
    return {
        "generations": [generation(1, 0), generation(2, until)],
        "churn": [changed(n, partitions_orphaned=0) for n in (1, 2)],
        "generation_members": [member(f"m-{n}", 1) for n in range(members)],
        "assignments": assigned("m-0", 1, 0, 1),
    }


def test_more_consumers_than_partitions(findings):
    rows = findings("more_consumers_than_partitions", crowded(15 * MINUTE), "from_time", "summary")

    assert rows == [(0, "g has up to 3 consumers for 2 partitions")]


@pytest.mark.parametrize(
    "tables", [crowded(MINUTE), crowded(15 * MINUTE, members=2)], ids=["for a minute", "two"]
)
def test_as_many_consumers_as_partitions(findings, tables):
    assert findings("more_consumers_than_partitions", tables, "finding") == []


INCOMPATIBLE = (
    "JoinGroup failed due to fatal error: The group member's supported protocols are incompatible"
    " with those of existing members"
)


def test_assignors_without_a_common_one(findings):
    tables = {"client_events": [logged(5, "JOIN_FAILED", INCOMPATIBLE)]}
    of_python = python(5, "JOIN_FAILED", "InconsistentGroupProtocolError", file="f-2")

    assert findings("assignors_differ", tables, "from_time", "summary") == [
        (5, "1 joins of g were refused (1 logs): no assignor is common to all members")
    ]
    assert findings("assignors_differ", {"client_events": [of_python]}, "from_time") == [(5,)]


def test_another_failed_join(findings):
    failed = logged(5, "JOIN_FAILED", "JoinGroup failed due to fatal error: Not authorized")

    assert findings("assignors_differ", {"client_events": [failed]}, "finding") == []


def short_sessions(session, back_after=1000):
    client = {"client_id": "c", "session_timeout_ms": session}
    return {
        "generations": [
            generation(n, at)
            for n, at in ((1, 0), (2, 20_000 + back_after), (3, 40_000 + back_after))
        ],
        "generation_members": [
            expired("m-1", 1, 20_000, **client),
            expired("m-2", 2, 40_000, change="joined", **client),
            member("m-3", 3, change="joined", **client),
        ],
    }


def test_sessions_below_three_heartbeats(findings):
    rows = findings("session_below_heartbeats", short_sessions(6000), "from_time", "summary")

    assert rows == [
        (
            20_000,
            "2 sessions of g expired after 6000 ms, and their clients joined again within seconds:"
            " too short for three heartbeats",
        )
    ]


@pytest.mark.parametrize(
    "tables", [short_sessions(10_000), short_sessions(6000, back_after=9000)], ids=["10 s", "slow"]
)
def test_sessions_of_killed_processes_or_long_enough(findings, tables):
    assert findings("session_below_heartbeats", tables, "finding") == []


def slow_polls(times):
    row = {"group_id": "g", "cause": "LEAVE_POLL_TIMEOUT", "story": "slow_poll", "process": "a"}
    row |= {"rebalance_timeout_ms": 300_000}
    causes = [row | {"generation": n, "cause_seq": 1, "event_time": n} for n in range(1, times + 1)]
    return {"rebalance_causes": causes}


def test_a_poll_interval_below_the_handling_time(findings):
    assert findings("poll_interval_too_short", slow_polls(3), "rebalances", "summary") == [
        (
            3,
            "members of g (a) polled too late 3 times: handling takes longer than"
            " max.poll.interval.ms (300000 ms)",
        )
    ]
    assert findings("poll_interval_too_short", slow_polls(2), "finding") == []


def test_an_unknown_poll_interval_is_not_named(findings):
    tables = slow_polls(3)
    for row in tables["rebalance_causes"]:
        del row["rebalance_timeout_ms"]

    assert findings("poll_interval_too_short", tables, "summary") == [
        (
            "members of g (a) polled too late 3 times: handling takes longer than"
            " max.poll.interval.ms",
        )
    ]


def workers(until, *sessions):
    return {
        "generations": [
            generation(n, at, protocol_type="connect") for n, at in ((1, 0), (2, until))
        ],
        "generation_members": [
            member(f"w-{n}", 1, session_timeout_ms=session, rebalance_timeout_ms=60_000)
            for n, session in enumerate(sessions)
        ],
    }


def test_workers_with_different_settings(findings):
    rows = findings("worker_settings_differ", workers(MINUTE * 30, 10_000, 30_000), "summary")

    assert rows == [
        (
            "members of g have different settings: session timeout 10000 to 30000 ms, rebalance"
            " timeout 60000 to 60000 ms",
        )
    ]


@pytest.mark.parametrize(
    "tables",
    [workers(MINUTE * 30, 10_000, 10_000), workers(MINUTE, 10_000, 30_000)],
    ids=["equal", "as they are deployed"],
)
def test_workers_with_equal_settings(findings, tables):
    assert findings("worker_settings_differ", tables, "finding") == []


def episode(number, kind, from_time, **more):
    row = {"group_id": "g", "activity_time": 0, "episode": number, "kind": kind}
    row |= {"from_time": from_time, "to_time": from_time + MINUTE, "processes": [], "hosts": []}
    row |= {"first_generation": 1, "last_generation": 1, "generations": [], "rebalances": 2}
    row |= {"summary": "", "evidence": "log", "confidence": 1.0, "activity_last_generation": 1}
    return row | more


def scaled(pause, *kinds):
    return {"episodes": [episode(n, kind, n * pause) for n, kind in enumerate(kinds)]}


TURNS = ("scale_out", "scale_in", "scale_out", "scale_in")


def test_scaling_out_and_in_again_and_again(findings):
    tables = scaled(10 * MINUTE, *TURNS)

    assert findings("scaling_oscillation", tables, "from_time", "rebalances", "summary") == [
        (
            0,
            6,
            "g was scaled out and in 3 times in a row, with pauses of at most 30 minutes:"
            " 6 rebalances",
        )
    ]


@pytest.mark.parametrize(
    "tables",
    [scaled(60 * MINUTE, *TURNS), scaled(10 * MINUTE, *["scale_out"] * 4)],
    ids=["hourly", "one way"],
)
def test_scaling_that_does_not_oscillate(findings, tables):
    assert findings("scaling_oscillation", tables, "finding") == []


def deployment(*outcomes):
    numbers = range(1, len(outcomes) + 1)
    return {
        "episodes": [episode(1, "rolling_deployment", 0, generations=list(numbers))],
        "generations": [
            generation(n, 1000 * n, outcome=outcome)
            for n, outcome in zip(numbers, outcomes, strict=True)
        ],
    }


def test_waves_of_a_deployment_overlap(findings):
    tables = deployment("superseded", "stable", "superseded", "stable")

    assert findings("deployment_waves_overlap", tables, "from_time", "summary") == [
        (
            0,
            "a deployment of g superseded 2 of its own rebalances: processes were restarted before"
            " the group had its assignment",
        )
    ]
    once = deployment("superseded", "stable", "stable")
    assert findings("deployment_waves_overlap", once, "finding") == []


def test_assign_in_a_group_with_members(findings):
    tables = {
        "client_events": [logged(5, "SELF_ASSIGNED")],
        "generation_members": [member("b", 1), member("c", 1)],
    }
    alone = {"client_events": tables["client_events"], "generation_members": [member("b", 1)]}
    alone["generation_members"][0]["group_id"] = "h"

    assert findings("assign_in_group_with_members", tables, "from_time", "summary") == [
        (
            5,
            "consumer a uses assign() with the group id g, which has 2 members that subscribe",
        )
    ]
    assert findings("assign_in_group_with_members", alone, "finding") == []
    of_connect = tables | {"generations": [generation(1, 0, protocol_type="connect")]}
    assert findings("assign_in_group_with_members", of_connect, "finding") == []


def lost(at_ms, group, file):
    return logged(at_ms, "COORDINATOR_LOST", group_id=group, file=file)


LOST = [lost(5000, "g", "f-1"), lost(6000, "h", "f-2"), lost(6500, "h", "f-1")]


def test_a_broker_that_cannot_be_reached(findings):
    rows = findings("broker_unreachable", {"client_events": LOST}, "from_time", "summary")

    assert rows == [
        (
            5000,
            "consumers of groups g, h (2 logs) lost their coordinator at once and did not find it"
            " within ten seconds",
        )
    ]


@pytest.mark.parametrize(
    "events",
    [
        [each | {"file_id": "f"} for each in LOST],
        [each | {"group_id": "g"} for each in LOST],
        [
            *LOST,
            *(
                each | {"event": "COORDINATOR_FOUND", "position": 9000, "event_time": 9000}
                for each in LOST
            ),
        ],
    ],
    ids=["one process", "one group", "found again"],
)
def test_coordinators_that_move_and_processes_that_freeze(findings, events):
    assert findings("broker_unreachable", {"client_events": events}, "finding") == []


def line(at, event, **more):
    return {"group_id": "g", "event": event, "event_seq": at, "event_time": at} | more


def fenced(instance, at, kept):
    return line(at, "STATIC_FENCED", instance_id=instance, old_member_id=kept)


def session_expired(at, member_id):
    return line(at, "HEARTBEAT_EXPIRED", member_id=member_id)


def test_static_clients_that_ended_fatally_are_named(findings):
    tables = {
        "group_events": [
            *(fenced(f"s-{n}", 1000 + n, f"kept-{n}") for n in (1, 2)),
            fenced("s-1", 2000, "kept-1"),
            # Another process had taken the member's place, and still runs.
            fenced("s-3", 1000, "kept-3"),
            *(session_expired(11_000 + n, f"kept-{n}") for n in (1, 2)),
        ]
    }

    assert findings("static_clients_fenced", tables, "from_time", "to_time", "summary") == [
        (
            1001,
            11_002,
            "2 static clients of g ended with FENCED_INSTANCE_ID, which is fatal, and did not"
            " return before the session expired: s-1, s-2",
        )
    ]


def test_a_static_client_that_replaced_itself_did_not_end_fatally(findings):
    tables = {
        "group_events": [
            fenced("s-1", 1000, "kept-1"),
            session_expired(400_000, "kept-1"),
        ]
    }

    assert findings("static_clients_fenced", tables, "finding") == []
