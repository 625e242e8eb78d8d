"""Memberships grouped by process, and the lives of each process; with constructed memberships."""

import pytest

from coordinator_core.incident.evidence import RecordedMember
from coordinator_core.incident.stimuli import Basis
from coordinator_core.lives import (
    Departure,
    EndKind,
    Membership,
    StartKind,
    TimeEstimate,
    classify_lives,
    identify_processes,
    is_flapping,
)

SESSION, POLL, HEARTBEAT = 10_000, 60_000, 3000


def member(member_id, *, client="app", host="/10.0.0.1", instance=None):
    return RecordedMember(
        member_id=member_id,
        instance_id=instance,
        client_id=client,
        client_host=host,
        rebalance_timeout_ms=POLL,
        session_timeout_ms=SESSION,
        subscription=b"",
        assignment=b"",
    )


def membership(member_id, began, ended=None, departure=Departure.LEFT, reason=None, **who):
    made = Membership(
        member=member(member_id, **who),
        incarnation=1,
        began=TimeEstimate.exactly(began),
        basis=Basis.LOG,
        evidence="line",
    )
    if ended is not None:
        made.departure, made.reason = departure, reason
        made.ended = TimeEstimate.exactly(ended)
        if departure is Departure.SESSION_EXPIRED:
            made.last_contact_ms = ended - SESSION
            made.ended = TimeEstimate(ended - SESSION, ended - SESSION, ended)
        if departure is Departure.REPLACED:
            made.ended = TimeEstimate(ended, ended - SESSION, ended)
    return made


def lived(memberships, **options):
    """By process: (member ids, end, killed) of each life."""
    return {
        process.name: [
            (life.member_ids, None if life.ended is None else life.ended.at_ms, life.killed)
            for life in process.lives
        ]
        for process in identify_processes(memberships, heartbeat_ms=HEARTBEAT, **options)
    }


def test_the_same_client_and_host_is_the_same_process():
    lives = lived([membership("a", 0, 100_000), membership("b", 103_000)])

    assert lives == {"app": [(("a",), 100_000, False), (("b",), None, False)]}


def test_a_leave_that_waited_behind_a_join_ended_before_the_next_life_joined():
    """The process waited for a join from 100 s on, closed, and was back at 110 s; the coordinator
    handled the leave at 130 s, when the join ended."""
    closed, started = membership("a", 0, 130_000), membership("b", 110_000)
    closed.waited_since_ms = 100_000

    [process] = identify_processes([closed, started], heartbeat_ms=HEARTBEAT)

    [first, second] = process.lives
    assert tuple(first.ended) == (106_500, 103_000, 110_000)
    assert (first.confidence, second.member_ids) == (0.8, ("b",))


def test_another_host_at_the_same_time_is_another_process():
    lives = lived([membership("a", 0), membership("b", 10, host="/10.0.0.2")])

    assert lives == {
        "app@10.0.0.1": [(("a",), None, False)],
        "app@10.0.0.2": [(("b",), None, False)],
    }


def test_a_new_member_continues_the_process_that_departed_last():
    lives = lived(
        [
            membership("a", 0, 150_000),
            membership("b", 1, 200_000),
            membership("c", 2),
            membership("d", 203_000),
        ]
    )

    assert lives == {
        "app@10.0.0.1#1": [(("a",), 150_000, False)],
        "app@10.0.0.1#2": [(("b",), 200_000, False), (("d",), None, False)],
        "app@10.0.0.1#3": [(("c",), None, False)],
    }


def test_an_end_and_a_start_within_a_minute_are_one_pod_under_a_new_name():
    pods = [
        membership("a", 0, 100_000, client="pod-x", host="/10.0.0.1"),
        membership("b", 0, client="pod-y", host="/10.0.0.2"),
        membership("c", 130_000, 500_000, client="pod-z", host="/10.0.0.3"),
        membership("d", 900_000, client="pod-w", host="/10.0.0.4"),
    ]

    processes = identify_processes(pods, heartbeat_ms=HEARTBEAT)

    assert [[life.client_id for life in each.lives] for each in processes] == [
        ["pod-x", "pod-z"],
        ["pod-y"],
        ["pod-w"],
    ]
    assert [each.lives[0].confidence for each in processes] == [0.6, 1.0, 1.0]


def test_a_pod_that_starts_before_the_previous_one_ends():
    surge = [membership("a", 0, 120_000, client="pod-x"), membership("b", 100_000, client="pod-y")]

    assert lived(surge) == {"pod-x": [(("a",), 120_000, False), (("b",), None, False)]}


def test_a_process_that_ends_first_does_not_replace_the_other():
    """Scaled out at 70 s and in at 83 s; the first process was shut down at 125 s."""
    scaled = [
        membership("a", 0, 125_000, client="pod-x"),
        membership("b", 70_000, 83_000, client="pod-y"),
    ]

    assert lived(scaled) == {
        "pod-x": [(("a",), 125_000, False)],
        "pod-y": [(("b",), 83_000, False)],
    }


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Both processes were scaled out together, and later in together.
        ((66_200, 80_000), (66_600, 80_030)),
        ((66_200, 80_000), (66_500, 83_000)),  # started together
        ((0, 80_000), (66_000, 83_000)),  # ended nearly together
    ],
)
def test_processes_that_run_beside_each_other_for_long_do_not_replace_each_other(first, second):
    scaled = [membership("a", *first, client="pod-x"), membership("b", *second, client="pod-y")]

    assert lived(scaled) == {
        "pod-x": [(("a",), first[1], False)],
        "pod-y": [(("b",), second[1], False)],
    }


def test_a_replacement_may_start_before_the_other_process_ends():
    replaced = [
        membership("a", 0, 62_000, client="pod-x"),
        membership("b", 60_000, 125_000, client="pod-y"),
    ]

    assert lived(replaced) == {"pod-x": [(("a",), 62_000, False), (("b",), 125_000, False)]}


@pytest.mark.parametrize(
    ("back_ms", "host", "frozen_until_ms"),
    [
        (41_000, "/10.0.0.1", 41_000),
        # The process returned before the session expired, so it was restarted.
        (39_000, "/10.0.0.1", None),
        (41_000, "/10.0.0.2", None),
        (101_000, "/10.0.0.1", None),  # The process returned more than a minute later.
    ],
)
def test_a_process_back_after_its_session_expired_may_have_been_frozen(
    back_ms, host, frozen_until_ms
):
    memberships = [
        membership("a", 0, 40_000, Departure.SESSION_EXPIRED),
        membership("b", back_ms, host=host),
    ]

    lives = [life for process in identify_processes(memberships) for life in process.lives]

    assert lives[0].killed
    frozen_until = lives[0].frozen_until
    assert (None if frozen_until is None else frozen_until.at_ms) == frozen_until_ms


def test_a_process_that_predates_the_evidence_continues_no_other():
    before = membership("b", 30_000, client="pod-y")
    before.predates_evidence = True

    assert len(lived([membership("a", 0, 20_000, client="pod-x"), before])) == 2


def test_a_crash_lies_within_a_heartbeat_after_the_last_contact():
    (process,) = identify_processes(
        [membership("a", 0, 110_000, Departure.SESSION_EXPIRED)], heartbeat_ms=HEARTBEAT
    )

    assert process.lives[0].killed
    assert process.lives[0].ended == TimeEstimate(101_500, 100_000, 103_000)


def test_a_process_that_is_back_before_its_expiry_had_ended_by_then():
    memberships = [membership("a", 0, 110_000, Departure.SESSION_EXPIRED), membership("b", 101_000)]

    (process,) = identify_processes(memberships, heartbeat_ms=HEARTBEAT)

    assert process.lives[0].ended == TimeEstimate(100_500, 100_000, 101_000)
    assert process.lives[0].confidence == 0.95  # A process that returns later may have been frozen.


def test_a_start_before_the_last_contact_is_no_bound():
    """Clocks of lines differ, and the end of a join counts as contact of a member that waits."""
    memberships = [membership("a", 0, 110_000, Departure.SESSION_EXPIRED), membership("b", 99_950)]

    (process,) = identify_processes(memberships, heartbeat_ms=HEARTBEAT)

    assert process.lives[0].ended == TimeEstimate(101_500, 100_000, 103_000)


def test_a_process_ended_after_its_last_commit():
    memberships = [membership("a", 0, 110_000, Departure.SESSION_EXPIRED)]

    (process,) = identify_processes(
        memberships, heartbeat_ms=HEARTBEAT, last_commit_ms={"a": 102_000}
    )

    assert process.lives[0].ended.earliest_ms == 102_000


@pytest.mark.parametrize(
    ("silences", "ended_ms"),
    [
        pytest.param({"app@10.0.0.1": [(101_200, 110_400)]}, 101_200, id="until the expiry"),
        pytest.param({"a": [(101_200, 110_400)]}, 101_200, id="of several processes of a client"),
        pytest.param({"app@10.0.0.1": [(101_200, 106_000)]}, 101_500, id="over before the expiry"),
        pytest.param({"app@10.0.0.1": [(90_000, 110_400)]}, 101_500, id="before the last contact"),
        pytest.param({"app@10.0.0.2": [(101_200, 110_400)]}, 101_500, id="of another process"),
    ],
)
def test_a_process_ended_when_its_partitions_lost_their_owner(silences, ended_ms):
    memberships = [membership("a", 0, 110_000, Departure.SESSION_EXPIRED)]

    (process,) = identify_processes(memberships, heartbeat_ms=HEARTBEAT, silences=silences)

    assert process.lives[0].ended == TimeEstimate(ended_ms, 100_000, 103_000)


def test_a_crash_during_a_long_join():
    dead = membership("a", 0, 110_000, Departure.SESSION_EXPIRED)
    dead.waited_since_ms = 80_000

    (process,) = identify_processes([dead], heartbeat_ms=HEARTBEAT)

    assert process.lives[0].ended == TimeEstimate(91_500, 80_000, 103_000)


@pytest.mark.parametrize(
    ("reason", "commits", "is_slow", "confidence"),
    [
        ("consumer poll timeout has expired.", {}, True, 1.0),
        ("the consumer is being closed", {"a": 40_000}, False, 0.9),
        # With librdkafka, nothing was committed for the poll interval.
        (None, {"a": 40_000}, True, 0.8),
        (None, {"a": 99_000}, False, 0.9),
        (None, {}, False, 0.9),
    ],
)
def test_slow_poll(reason, commits, is_slow, confidence):
    memberships = [membership("a", 0, 100_000, Departure.LEFT, reason), membership("b", 130_000)]

    (process,) = identify_processes(memberships, heartbeat_ms=HEARTBEAT, last_commit_ms=commits)

    assert len(process.lives) == (1 if is_slow else 2)
    if is_slow:
        (slow,) = process.lives[0].slow_polls
        assert (slow.began.at_ms, slow.to.at_ms, slow.confidence) == (39_750, 130_000, confidence)
        assert process.lives[0].member_ids == ("a", "b")
    else:
        assert process.lives[0].confidence == confidence


def test_members_of_libraries_without_a_poll_interval_are_closed_not_slow():
    # sarama commits nothing without new records, and does not have max.poll.interval.ms.
    memberships = [
        membership("a", 0, 100_000, client="sarama"),
        membership("b", 130_000, client="sarama"),
    ]

    (process,) = identify_processes(
        memberships, heartbeat_ms=HEARTBEAT, last_commit_ms={"a": 40_000}
    )

    assert [(life.member_ids, life.slow_polls) for life in process.lives] == [
        (("a",), ()),
        (("b",), ()),
    ]


def test_a_slow_poll_that_never_ends():
    (process,) = identify_processes(
        [membership("a", 0, 100_000, reason="consumer poll timeout has expired.")]
    )

    (life,) = process.lives
    assert life.ended is None
    assert life.slow_polls[0].to is None


def test_a_static_member_ends_without_leaving():
    memberships = [
        membership("a", 0, 100_000, Departure.REPLACED, instance="pod-0"),
        membership("b", 100_000, 200_000, Departure.SESSION_EXPIRED, instance="pod-0"),
        membership("c", 240_000, instance="pod-0"),
    ]

    assert lived(memberships, last_commit_ms={"a": 97_000}) == {
        "pod-0": [
            (("a",), 97_000, False),
            (("b",), 191_500, True),
            (("c",), None, False),
        ]
    }


def test_a_replaced_process_ended_when_its_partitions_lost_their_owner():
    memberships = [
        membership("a", 0, 100_000, Departure.REPLACED, instance="pod-0"),
        membership("b", 100_000, instance="pod-0"),
    ]
    silences = {"pod-0": [(94_500, 100_050)]}

    lives = lived(memberships, last_commit_ms={"a": 93_000}, silences=silences)

    assert lives == {"pod-0": [(("a",), 94_500, False), (("b",), None, False)]}


def test_a_slow_static_member_replaces_itself():
    memberships = [
        membership("a", 0, 100_000, Departure.REPLACED, instance="i"),
        membership("b", 100_000, instance="i"),
    ]

    (process,) = identify_processes(memberships, last_commit_ms={"a": 35_000})

    assert [(slow.began.at_ms, slow.to.at_ms) for slow in process.lives[0].slow_polls] == [
        (35_000, 100_000)
    ]


def deployed(gap_ms):
    """Three processes, restarted one after the other."""
    memberships = []
    for n in range(3):
        at = 600_000 + n * gap_ms
        memberships += [
            membership(f"{n}a", n, at, client=f"app-{n}"),
            membership(f"{n}b", at + 5000, client=f"app-{n}"),
        ]
    return identify_processes(sorted(memberships, key=lambda each: each.began))


def test_restarts_in_a_row_are_a_deployment():
    kinds = classify_lives(deployed(30_000))

    assert {each.started_how for (_, n), each in kinds.items() if n} == {StartKind.ROLLING_DEPLOY}
    assert {each.deploy for (_, n), each in kinds.items() if n} == {1}


def test_restarts_far_apart_are_not_a_deployment():
    kinds = classify_lives(deployed(900_000))

    assert {each.started_how for (_, n), each in kinds.items() if n} == {StartKind.RESTART}


def test_scaling_and_shutting_down():
    processes = identify_processes(
        [
            membership("a", 0, 1_000_000, client="one"),
            membership("b", 500_000, 800_000, client="two"),
            membership("c", 200_000, 300_000, Departure.SESSION_EXPIRED, client="three"),
        ]
    )

    kinds = {
        name: (each.started_how, each.ended_how)
        for (name, _), each in classify_lives(processes).items()
    }

    assert kinds == {
        "one": (StartKind.START, EndKind.SHUT_DOWN),
        "two": (StartKind.SCALE_OUT, EndKind.SCALE_IN),
        "three": (StartKind.SCALE_OUT, EndKind.SESSION_EXPIRED),
    }


def test_three_expired_sessions_within_an_hour_are_flapping():
    memberships = []
    for n in range(3):
        at = n * 1_000_000
        memberships.append(membership(f"m{n}", at, at + 500_000, Departure.SESSION_EXPIRED))
    assert is_flapping(identify_processes(memberships)[0])

    assert not is_flapping(identify_processes(memberships[:2])[0])
