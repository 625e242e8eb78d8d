"""The lives of processes in modern groups."""

import pytest

from coordinator_core.episodes.evidence import Cause, Rebalance
from coordinator_core.episodes.lives import process_lives

STATIC = {"instance_id": "i"}


def cause(kind, story, generation, at_ms, member_id, role="trigger", **more):
    names = {"client_id": "a", "client_host": "/h", "process": "a@h"} | more
    return Cause(
        incarnation=1,
        generation=generation,
        at_ms=at_ms,
        role=role,
        cause=kind,
        story=story,
        member_id=member_id,
        **names,
    )


def rebalances(*times_ms):
    return [
        Rebalance(
            incarnation=1,
            generation=number,
            from_ms=at_ms,
            to_ms=at_ms + 1,
            outcome="stable",
            group_type="consumer",
        )
        for number, at_ms in enumerate(times_ms, 1)
    ]


STARTS = cause("MEMBER_NEW", "start", 1, 0, "a1")

# rule -> causes, times without an owner, and per life: start, end, whether it was killed, ids, slow
# polls
CASES = {
    "a restarted process has two lives": (
        [STARTS, cause("LEAVE", "restart", 2, 1000, "a1"),
         cause("MEMBER_NEW", "return", 3, 2000, "a2")], {},
        [(0, 1000, False, ("a1",), 0), (2000, None, False, ("a2",), 0)],
    ),
    "a slow poll, after which the member is back under its id, ends no life": (
        [STARTS, cause("LEAVE", "slow_poll", 2, 1000, "a1"),
         cause("MEMBER_NEW", "return", 3, 2000, "a1")], {},
        [(0, None, False, ("a1",), 1)],
    ),
    "a freeze ends no life": (
        [STARTS, cause("SESSION_EXPIRY", "frozen", 2, 1000, "a1"),
         cause("MEMBER_NEW", "return", 3, 2000, "a1")], {},
        [(0, None, False, ("a1",), 0)],
    ),
    "a killed process ended when its partitions lost their owner": (
        [STARTS, cause("SESSION_EXPIRY", "session_expired", 2, 9000, "a1"),
         cause("MEMBER_NEW", "return", 3, 12_000, "a2")], {"a@h": [(500, 600), (4000, 9500)]},
        [(0, 4000, True, ("a1",), 0), (12_000, None, False, ("a2",), 0)],
    ),
    "a process that joins beside its previous member had been killed before": (
        [STARTS, cause("MEMBER_NEW", "crash_restart", 2, 5000, "a2"),
         cause("SESSION_EXPIRY", "session_expired", 3, 9000, "a1")], {},
        [(0, 5000, True, ("a1",), 0), (5000, None, False, ("a2",), 0)],
    ),
    "a static process ends when it closes, not when its session expires": (
        [STARTS._replace(**STATIC),
         cause("STATIC_LEAVE", "stop", 1, 1000, "a1", "absorbed", **STATIC),
         cause("SESSION_EXPIRY", "stop", 2, 9000, "a1", **STATIC)], {},
        [(0, 1000, False, ("a1",), 0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", CASES)
def test_lives(rule):
    causes, silences, expected = CASES[rule]

    [process] = process_lives(rebalances(0, 1000, 2000), causes, silences)

    assert [
        (
            each.started.at_ms, each.ended and each.ended.at_ms, each.killed, each.member_ids,
            len(each.slow_polls),
        )
        for each in process.lives
    ] == expected  # fmt: skip


def test_a_freeze_began_when_the_session_did():
    """Within the session that expired: the member came back under its id, so it never ended."""
    session = {"session_timeout_ms": 10_000}
    causes = [
        STARTS,
        cause("SESSION_EXPIRY", "frozen", 2, 31_000, "a1", **session),
        cause("MEMBER_NEW", "return", 3, 36_000, "a1"),
    ]

    [process] = process_lives(rebalances(0, 31_000, 36_000), causes, {})

    [life] = process.lives
    [freeze] = life.freezes
    assert (tuple(freeze.began), freeze.to.at_ms) == ((21_000, 21_000, 31_000), 36_000)
    assert life.ended is None


def test_a_last_poll_tells_a_slow_application_from_a_freeze():
    """Its client went silent after max.poll.interval.ms; the record of its removal is 3 ms late."""
    session = {"session_timeout_ms": 10_000}
    causes = [
        STARTS,
        cause("SESSION_EXPIRY", "frozen", 2, 71_000, "a1", **session),
        cause("MEMBER_NEW", "return", 3, 86_000, "a1"),
    ]
    last_polls = {("a1", 71_003): 31_000}

    [process] = process_lives(rebalances(0, 71_000, 86_000), causes, {}, last_polls)

    [life] = process.lives
    [slow] = life.slow_polls
    assert (slow.began.at_ms, slow.to.at_ms, life.freezes) == (31_000, 86_000, ())
