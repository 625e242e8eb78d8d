"""Episodes of brokers, from their starts, shutdowns and versions; and what they cost the groups."""

import pytest

from coordinator_core.episodes.brokers import (
    BrokerEpisode,
    BrokerEpisodeKind,
    BrokerLife,
    BrokerRestart,
    Disruption,
    GroupCost,
    GroupMove,
    broker_episodes,
    costs,
    summary,
)
from coordinator_core.log_lines.version_ranges import ranges_of

S = 1000
SCALA, JAVA = ranges_of("-3.9"), ranges_of("4.0-")
BOTH = ("3.9.2", "4.4.0")
TWO = ("4.1.2", "4.4.0")


def life(broker_id, started_s, stopped_s, wordings=JAVA, named=("4.4.0",), last_s=None):
    """Seconds; the last line is the shutdown's, else at ``last_s``."""
    last_s = stopped_s if last_s is None else last_s
    stopped_ms = None if stopped_s is None else stopped_s * S
    started_ms = None if started_s is None else started_s * S
    return BrokerLife(broker_id, started_ms, stopped_ms, last_s * S, wordings, named)


def rolled(*named, wordings=(JAVA, JAVA), pause_s=60):
    """Three brokers, restarted one after another for 5 s each, which run on."""
    lives = []
    for number in (1, 2, 3):
        at_s = number * pause_s
        lives += [
            life(number, 0, at_s, wordings[0], named),
            life(number, at_s + 5, None, wordings[1], named, last_s=20_000),
        ]
    return lives


CRASHED = [life(1, 0, None, last_s=90), life(1, 130, None, last_s=900)]


@pytest.mark.parametrize(
    ("lives", "outages", "expected"),
    [
        (rolled(*BOTH, wordings=(SCALA, JAVA)), [],
         [("broker_upgrade", [1, 2, 3], "3.9.2", "4.4.0", 60, 185, 0.95)]),
        # The log has equal wordings for two starts and two versions.
        (rolled("4.1.1", "4.1.2"), [],
         [("broker_upgrade", [1, 2, 3], "4.1.1", "4.1.2", 60, 185, 0.95)]),
        # Two versions are possible for three starts: versions only rise, and each start has one of
        # them.
        ([life(1, 0, 60, named=TWO), life(1, 65, None, ranges_of("4.3-"), TWO, last_s=95),
          life(1, 130, None, named=TWO, last_s=900)], [(95 * S, 107 * S)],
         [("broker_upgrade", [1], "4.1.2", "4.4.0", 60, 65, 0.95),
          ("broker_crash", [1], "4.4.0", "4.4.0", 95, 130, 0.9)]),
        (rolled(wordings=(SCALA, JAVA)), [],
         [("broker_upgrade", [1, 2, 3], "up to 3.9", "4.0 and later", 60, 185, 0.95)]),
        (rolled(*BOTH, wordings=(JAVA, SCALA)), [],
         [("broker_downgrade", [1, 2, 3], "4.4.0", "3.9.2", 60, 185, 0.95)]),
        (rolled("4.4.0"), [],
         [("rolling_broker_restart", [1, 2, 3], "4.4.0", "4.4.0", 60, 185, 0.95)]),
        # With an hour between two brokers, somebody restarted each broker by itself.
        (rolled("4.4.0", pause_s=3600), [],
         [("broker_restart", [n], "4.4.0", "4.4.0", n * 3600, n * 3600 + 5, 0.95)
          for n in (1, 2, 3)]),
        (CRASHED, [(95 * S, 107 * S)],
         [("broker_crash", [1], "4.4.0", "4.4.0", 95, 130, 0.9)]),
        # The log has no line about the shutdown, and there was no outage, so the log may lack its
        # last lines.
        (CRASHED, [], [("broker_restart", [1], "4.4.0", "4.4.0", 90, 130, 0.7)]),
        ([life(1, 0, 100), life(2, 0, 101)], [],
         [("broker_stop", [1, 2], "4.4.0", None, 100, 101, 0.95)]),
        ([life(1, 0, None, last_s=900)], [], []),
    ],
    ids=["upgrade", "upgrade within an era", "upgrade and crash", "upgrade by wordings",
         "downgrade", "rolling restart", "single restarts", "crash", "lines are missing", "stop",
         "one start"],
)  # fmt: skip
def test_restarts_of_one_action_are_one_episode(lives, outages, expected):
    assert [
        (each.kind, [r.broker_id for r in each.restarts], each.restarts[0].from_version,
         each.restarts[0].to_version, each.from_ms // S, each.to_ms // S, each.confidence)
        for each in broker_episodes(lives, outages)
    ] == expected  # fmt: skip


def test_a_broker_that_is_gone_from_its_log_stopped_when_others_loaded_its_groups():
    moves = [GroupMove("g", None, 95 * S, 1), GroupMove("g", None, 96 * S, 2)]

    assert [each.from_ms for each in broker_episodes(CRASHED, [], moves)] == [95 * S]


UPGRADE = BrokerEpisode(
    BrokerEpisodeKind.UPGRADE,
    [BrokerRestart(n, n * 100 * S, (n * 100 + 5) * S, False, "3.9.2", "4.4.0", is_changed=True)
     for n in (1, 2)],
    0.95,
)  # fmt: skip
CRASH = BrokerEpisode(
    BrokerEpisodeKind.CRASH,
    [BrokerRestart(1, 900 * S, 930 * S, True, "4.4.0", "4.4.0")],
    0.9,
)


def test_a_group_pays_from_the_move_on_and_for_sessions_that_it_lost():
    moves = [
        GroupMove("a", 101 * S, 102 * S, 1),
        GroupMove("a", 230 * S, 231 * S, 2),
        GroupMove("b", None, 912 * S, 1),
        # This move is too long after the last restart to be due to it.
        GroupMove("c", None, 2000 * S, 1),
    ]
    disruptions = [
        # This rebalance was open when the coordinator moved.
        Disruption("a", 98 * S, 110 * S, partitions=4),
        Disruption("a", 97 * S, 112 * S, not_stable_ms=15 * S),
        Disruption("a", 120 * S, 130 * S, partitions=4),  # This is a deployment between the moves.
        Disruption("d", 902 * S, 913 * S, partitions=3, is_failover=True),
    ]

    of_upgrade, of_crash = costs([UPGRADE, CRASH], moves, disruptions)

    assert of_upgrade == [GroupCost("a", 2, 1, 15 * S, 4 * 9 * S)]
    assert of_crash == [GroupCost("d", 0, 0, 0, 3 * 11 * S), GroupCost("b", 1, 0, 0, 0)]
    assert summary(UPGRADE, of_upgrade) == (
        "brokers 1 and 2 upgraded from 3.9.2 to 4.4.0: coordinators of 1 group moved 2 times,"
        " 1 rebalance disrupted, 36 partition-seconds"
    )
    assert summary(CRASH, of_crash) == (
        "broker 1 killed or crashed: coordinators of 1 group moved 1 time, 33 partition-seconds"
    )
