"""The sentence of each kind of episode."""

import pytest

from coordinator_core.episodes.inference import infer_episodes
from coordinator_core.episodes.sentences import summary
from coordinator_core.figures import Downtime
from tests.core.episodes.test_episodes import (
    also,
    cause,
    expires,
    joins,
    leaves,
    ms,
    rebalance,
    replaced,
    restart,
)


def slow(number, second):
    return [
        (
            rebalance(2 * number, second),
            leaves(2 * number, second, f"a{number}", "slow_poll"),
        ),
        (
            rebalance(2 * number + 1, second + 5),
            joins(2 * number + 1, second + 5, f"a{number + 1}", "return"),
        ),
    ]


# rebalances and causes of one episode -> sentence about what happened
CASES = [
    ([(rebalance(1, 0), joins(1, 0, "a1"))], "group starts with 1 process"),
    ([(rebalance(1, 0, size=2),)], "group starts with 2 members"),
    ([(rebalance(1, 0, size=0),)], "group starts"),
    (
        [(rebalance(2, 0, outcome="empty", size=0),)],
        "group lost all members, no root cause in the evidence",
    ),
    ([(rebalance(2, 0), joins(2, 0, "a1"))], "scale out by a"),
    (
        [(rebalance(2, 0), leaves(2, 0, "a1"), also(leaves(2, 1, "b1")))],
        "scale in by 2 processes",
    ),
    (
        [(rebalance(2, 0), expires(2, 0, "a1")), (rebalance(3, 9), joins(3, 9, "a2", "return"))],
        "a killed or frozen, session expired, back after 9.0 s",
    ),
    (
        [
            (rebalance(2, 0), expires(2, 0, "a1", instance_id="a")),
            (rebalance(3, 9), joins(3, 9, "a2", "return", instance_id="a")),
        ],
        "a closed, killed or frozen, session expired, back after 9.0 s",
    ),
    (
        [
            (rebalance(2, 0, expires_when_slow=True), expires(2, 0, "a1")),
            (rebalance(3, 9), joins(3, 9, "a2", "return")),
        ],
        "a killed, frozen or slow to process a record, session expired, back after 9.0 s",
    ),
    (restart(2, 0, "a"), "a restarted"),
    ([(None, replaced(1, 0, "a2"))], "a restarted (static member)"),
    (
        [(None, replaced(1, 0, "a2")), (None, replaced(1, 9, "a3"))],
        "a restarted 2 times (static member)",
    ),
    (
        [
            (rebalance(2, 100, size=3), joins(2, 100, "new1")),
            (rebalance(3, 102, size=3), leaves(3, 102, "a1")),
        ],
        "a restarted as new",
    ),
    (
        [
            (rebalance(2, 103, until=110), joins(2, 103, "v-a1"), also(expires(2, 110, "a1"))),
            (rebalance(3, 113, until=120), joins(3, 113, "w-a1"), also(expires(3, 120, "v-a1"))),
            (rebalance(4, 123, until=130), joins(4, 123, "x-a1"), also(expires(4, 130, "w-a1"))),
        ],
        "crash loop: a, and then its successors, ended 3 times",
    ),
    (
        [
            (rebalance(2, 100, size=2), joins(2, 100, "new-a1")),
            (rebalance(3, 102, size=2), leaves(3, 102, "a1")),
            (rebalance(4, 104, size=2), joins(4, 104, "new-b1")),
            (rebalance(5, 106, size=2), leaves(5, 106, "b1")),
        ],
        "rolling deployment of 2 processes under new names, new processes first",
    ),
    (
        [
            row
            for n, (old, new) in enumerate((("a1", "a3"), ("a2", "a4")))
            for row in (
                (rebalance(2 * n, 10 * n, size=3), joins(2 * n, 10 * n, new, process=new)),
                (
                    rebalance(2 * n + 1, 10 * n + 5, size=2),
                    leaves(2 * n + 1, 10 * n + 5, old, process=old),
                ),
            )
        ],
        "rolling deployment of 2 processes, new processes first",
    ),
    (
        [(rebalance(2, 5, until=12), joins(2, 5, "a2", "return"), also(expires(2, 12, "a1")))],
        "a killed",
    ),
    ([(rebalance(2, 0), expires(2, 0, "a1"))], "session of a expired, not back"),
    (
        [
            (rebalance(2, 0), expires(2, 0, "a1"), also(expires(2, 1, "b1"))),
            (rebalance(3, 30), joins(3, 30, "a2", "return")),
        ],
        "sessions of 2 processes expired, some did not return",
    ),
    (
        [
            (rebalance(2, 0), expires(2, 0, "a1")),
            (rebalance(3, 7), joins(3, 7, "a2", "return", kept_state=True)),
        ],
        "a frozen or cut off, session expired, back 17.0 s after its last heartbeat",
    ),
    (slow(1, 0), "a exceeded max.poll.interval.ms"),
    (
        [*slow(1, 0), *slow(2, 40), *slow(3, 80)],
        "flapping: a exceeded max.poll.interval.ms 3 times",
    ),
    (
        [*restart(2, 0, "a"), *restart(4, 30, "a", 2), *restart(6, 60, "a", 3)],
        "flapping: a departs 3 times",
    ),
    (
        [(rebalance(2, 0), cause("LEADER_REJOIN", "topic_change", 2, 0, "a1"))],
        "topics or partitions changed",
    ),
    (
        [
            (rebalance(2, 0), leaves(2, 0, "a1")),
            (rebalance(3, 2), joins(3, 2, "a2", instance_id="i")),
        ],
        "configuration change of a (group.instance.id set)",
    ),
    (
        [(rebalance(2, 0), cause("CONFIG_CHANGE", None, 2, 0, "a1"))],
        "configuration change (connectors or tasks)",
    ),
    (
        [(rebalance(9, 0), cause("PROBING_REBALANCE", None, 9, 0, "a1"))],
        "members rejoin at the time that an earlier assignment set",
    ),
    (
        [
            (rebalance(2, 0), expires(2, 0, "a1")),
            (rebalance(3, 20), cause("SCHEDULED_REBALANCE", None, 3, 20, "b1")),
        ],
        "session of a expired, not back",
    ),
    ([(rebalance(9, 0),)], "no root cause in the evidence"),
    (
        [(rebalance(9, 0, is_first_seen=True),)],
        "evidence begins with generation 9",
    ),
]


def lasting(unowned_ms):
    """A downtime without another reading."""
    return Downtime(unowned_ms, unowned_ms, unowned_ms)


@pytest.mark.parametrize(("evidence", "expected"), CASES, ids=[case[1] for case in CASES])
def test_what_happened(evidence, expected):
    rebalances = [row[0] for row in evidence if row[0] is not None]
    (episode,) = infer_episodes(rebalances, [each for row in evidence for each in row[1:]])

    happened, _ = summary(episode, lasting(0)).rsplit(": ", 1)
    assert happened == expected


def test_a_failover_in_the_middle_of_an_episode():
    rebalances, causes = zip(*restart(2, 0, "a"), strict=True)
    (restarted,) = infer_episodes(rebalances, causes, [ms(2.5)])
    rejoined = cause("LEADER_REJOIN", "rejoin", 2, 0, "a1")
    (moved,) = infer_episodes([rebalance(2, 0)], [rejoined], [ms(-1)])
    (joined,) = infer_episodes(
        [rebalance(2, 10), rebalance(3, 15)],
        [expires(2, 10, "a1"), joins(3, 15, "a2", "return")],
        [ms(0)],
    )

    cost = lasting(1_000)
    assert summary(restarted, cost).startswith("a restarted during a coordinator failover: ")
    assert summary(moved, cost).startswith("coordinator failover: ")
    assert summary(joined, cost).startswith("coordinator failover, a joined again: ")


def test_a_process_that_no_evidence_names():
    left = leaves(2, 0, "a1")._replace(member_id=None, client_id=None, process=None)

    (episode,) = infer_episodes([rebalance(2, 0)], [left])

    assert summary(episode, lasting(0)).startswith("a process without a name in the evidence left:")


def test_the_cost_of_an_episode():
    stable = rebalance(2, 0, not_stable_ms=12_340, partitions_moved=1)
    (episode,) = infer_episodes([stable], [leaves(2, 0, "a1")])

    assert summary(episode, lasting(1_234_567)) == (
        "scale in by a: 1 rebalance, 12.3 s not stable, 1,235 partition-seconds, 1 partition moved"
    )


def test_a_range_of_the_downtime_is_said_unless_it_is_narrow():
    (episode,) = infer_episodes([rebalance(2, 0, not_stable_ms=0)], [leaves(2, 0, "a1")])

    wide, narrow = Downtime(12_000, 0, 12_600), Downtime(12_000, 11_800, 12_299)
    assert summary(episode, wide) == ("scale in by a: 1 rebalance, 12 partition-seconds (0 to 13)")
    assert summary(episode, narrow) == "scale in by a: 1 rebalance, 12 partition-seconds"


def test_without_a_log_the_downtime_is_a_lower_limit():
    (episode,) = infer_episodes([rebalance(2, 0)], [leaves(2, 0, "a1")])

    assert episode.rebalances_without_begin == 1
    assert summary(episode, lasting(500)) == (
        "scale in by a: 1 rebalance, at least 0.5 partition-seconds"
        " (1 of 1 rebalance without a logged begin)"
    )
    assert summary(episode, lasting(0)) == (
        "scale in by a: 1 rebalance, partition downtime unknown"
        " (1 of 1 rebalance without a logged begin)"
    )


def test_figures_of_zero_are_words_or_left_out():
    takeover = replaced(1, 0, "a2")._replace(story="takeover")
    _, conflict = infer_episodes([rebalance(1, -100)], [takeover])
    (shutdown,) = infer_episodes(
        [rebalance(2, 0, outcome="empty", not_stable_ms=0)], [leaves(2, 0, "a1")]
    )

    assert summary(conflict, lasting(0)) == (
        "second process with the instance id of a: no rebalance, no partition downtime"
    )
    assert summary(shutdown, lasting(4_400)) == "group shut down (a): 4.4 partition-seconds"


def test_without_records_the_downtime_is_unknown_and_not_zero():
    (left,) = infer_episodes([rebalance(2, 0, not_stable_ms=300)], [leaves(2, 0, "a1")])

    assert summary(left, None) == (
        "scale in by a: 1 rebalance, 300 ms not stable, partition downtime unknown without records"
    )


def test_without_records_a_group_that_loses_all_members_is_left_empty():
    lost, back = (
        infer_episodes([emptied, *more], [expires(2, 0, "a1")])[0]
        for emptied in [rebalance(2, 0, outcome="empty", size=0, not_stable_ms=3)]
        for more in ([], [rebalance(3, 90)])
    )

    assert summary(lost, None).endswith(
        ": 3 ms not stable, partition downtime unknown without records, group left empty"
    )
    assert summary(lost, lasting(9_000)).endswith(": 3 ms not stable, 9.0 partition-seconds")
    assert summary(back, None).endswith("partition downtime unknown without records")


def by_log(each, **more):
    """A cause that only a line shows: the client id is the beginning of the member id."""
    unknown = {"client_id": None, "client_host": None, "process": None, "session_timeout_ms": 0}
    member_id = f"{each.member_id[0]}-00000000-0000-4000-8000-00000000000{each.member_id[1:]}"
    return each._replace(member_id=member_id, **unknown | more)


def lines(*causes):
    return [by_log(each) for each in causes]


# Sentences about what lines alone show.
LINES = [
    ([(rebalance(1, 0, size=3), *lines(joins(1, 0, "a1")))], "group starts with 3 members"),
    (
        [(rebalance(2, 5, until=47), *lines(joins(2, 5, "a2"), also(expires(2, 47, "a1"))))],
        "session of a-00000000-0000-4000-8000-000000000001 expired, "
        "a-00000000-0000-4000-8000-000000000002 with its client id joined 42.0 s before",
    ),
    (
        [
            (rebalance(2, 0), *lines(expires(2, 0, "a1"))),
            (rebalance(3, 30), *lines(joins(3, 30, "a2"))),
        ],
        "a killed or frozen, session expired, a-00000000-0000-4000-8000-000000000002 with its "
        "client id joined 30.0 s later",
    ),
    (
        [(rebalance(2, 0), *lines(expires(2, 0, "a1"), also(expires(2, 0, "a2"))))],
        "sessions of 2 members expired",
    ),
    ([(rebalance(2, 0), *lines(expires(2, 0, "a1")))], "session of a expired"),
    (
        [(rebalance(2, 0, outcome="empty", size=0), *lines(expires(2, 0, "a1")))],
        "session of a expired, not back",
    ),
    (
        [
            (rebalance(2, 0), *lines(leaves(2, 0, "a1"))),
            (rebalance(3, 3), *lines(joins(3, 3, "a2"))),
        ],
        "a left and joined again",
    ),
    (
        [
            (
                rebalance(2, 0),
                *lines(leaves(2, 0, "a1", client_reason="the consumer is being closed")),
            ),
            (rebalance(3, 3), *lines(joins(3, 3, "a2"))),
        ],
        "a restarted",
    ),
    (
        [
            (
                rebalance(2, 0),
                *lines(cause("NOT_REJOINED", "slow_rejoin", 2, 0, "a1")),
            )
        ],
        "a did not rejoin within max.poll.interval.ms",
    ),
]


@pytest.mark.parametrize(("evidence", "expected"), LINES, ids=[case[1] for case in LINES])
def test_what_lines_alone_show(evidence, expected):
    rebalances = [row[0] for row in evidence]
    (episode,) = infer_episodes(rebalances, [each for row in evidence for each in row[1:]])

    happened, _ = summary(episode, None).split(": ", 1)
    assert happened == expected


def test_a_change_within_the_rebalance_of_another_episode_has_none_of_its_own():
    started, lost = infer_episodes(
        [rebalance(2, 0, until=200, not_stable_ms=0)],
        [joins(2, 0, "a1"), also(expires(2, 190, "b1"))],
    )

    assert summary(lost, lasting(0)) == (
        "session of b expired, not back: triggered no rebalance of its own, no partition downtime"
    )
    assert summary(started, lasting(0)) == "scale out by a: 1 rebalance, no partition downtime"


def test_of_members_that_share_a_client_id_lines_do_not_show_which_is_back():
    rebalances = [rebalance(2, 0), rebalance(3, 3), rebalance(4, 90)]
    causes = lines(leaves(2, 0, "a1"), joins(3, 3, "a2"), leaves(4, 90, "a3"))
    first, second = infer_episodes(rebalances, causes)

    assert summary(first, None).startswith(
        "a-00000000-0000-4000-8000-000000000001 left, "
        "a-00000000-0000-4000-8000-000000000002 with its client id joined 3.0 s later: "
    )
    assert second.processes == ["a-00000000-0000-4000-8000-000000000003"]


def test_a_new_member_is_not_one_of_several_that_expired_at_once():
    """Other client ids, half a minute later."""
    rebalances = [rebalance(2, 0, size=3), rebalance(3, 30, size=1)]
    for shape in (by_log, lambda each: each):
        causes = [expires(2, 0, "a1"), also(expires(2, 0.01, "b1")), also(expires(2, 0.02, "c1"))]
        inferred = infer_episodes(rebalances, map(shape, [*causes, joins(3, 30, "d1")]))

        assert [(each.kind, each.processes) for each in inferred] == [
            ("process_lost", ["a", "b", "c"]),
            ("scale_out", ["d"]),
        ]


def by_client(each, reason, **more):
    return each._replace(evidence="clients+log", client_reason=reason, process="a", **more)


@pytest.mark.parametrize(
    ("departure", "expected"),
    [
        (
            by_client(expires(2, 100, "a"), "unknown member; no line for 41.0 s", story="frozen"),
            "a frozen or cut off, session expired, in the group again 1.0 s later, no line for"
            " 41.0 s",
        ),
        (
            by_client(leaves(2, 100, "a", "slow_poll"), "poll timeout; polled again 180.0 s later"),
            "a exceeded max.poll.interval.ms, polled again 180.0 s later",
        ),
        (
            by_client(leaves(2, 100, "a", "fenced"), "fenced"),
            "second process with the instance id of a",
        ),
    ],
)
def test_what_clients_log_beside_a_broker(departure, expected):
    rebalances = [rebalance(1, 0), rebalance(2, 100, until=101)]
    departure = departure._replace(session_timeout_ms=0)

    last = infer_episodes(rebalances, [departure])[-1]

    assert summary(last, None).startswith(f"{expected}: ")


def test_a_coordinator_that_loaded_an_older_id_fences_a_static_member():
    fenced = by_client(leaves(2, 125, "a", "fenced"), "fenced", instance_id="a")
    fenced = fenced._replace(cause="STATIC_FENCED", role="contributing", member_id="a-2")
    older = expires(2, 160, "a")._replace(instance_id="a", member_id="a-1", process="a")

    (last,) = infer_episodes([rebalance(2, 160)], [fenced, older], [ms(100)])

    assert summary(last, None).startswith("coordinator failover, a fenced: ")
