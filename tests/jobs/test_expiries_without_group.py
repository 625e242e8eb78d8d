"""Clients' lines about an expired session that name no group, as librdkafka's by default."""

from jobs.causes.clients import expiries_without_group

# The session of 10 s expired at 30 s, so the coordinator's last answer was at 20 s.
EXPIRY_MS, SESSION_MS = 30_000, 10_000


def expired(member, at_ms=EXPIRY_MS, **more):
    return {
        "group_id": "g",
        "generation": 2,
        "cause_seq": 1,
        "cause": "SESSION_EXPIRY",
        "role": "trigger",
        "evidence": "log",
        "member_id": member,
        "client_id": "rdkafka",
        "event_time": at_ms,
        "session_timeout_ms": SESSION_MS,
        **more,
    }


def line(at_ms, silent_ms, position=0, **more):
    return {
        "position": position,
        "event": "SESSION_EXPIRED",
        "library": "librdkafka",
        **dict.fromkeys(("file_id", "line", "file"), ""),
        "event_time": at_ms,
        "duration_ms": silent_ms,
        "client_id": "rdkafka",
        **more,
    }


def frozen_members(frame, causes, lines):
    rows = expiries_without_group(frame("rebalance_causes", causes), frame("client_events", lines))
    return [(row.group_id, row.member_id, row.story, row.client_reason) for row in rows.collect()]


OF_G = ("g", "m", "frozen", "session expired; no response from the coordinator for 16.0 s")


def test_the_time_without_an_answer_shows_whose_session_expired(frame):
    causes = [
        expired("m"),
        expired("other", at_ms=36_000, group_id="later"),
        expired("left", cause="LEAVE", group_id="h"),
    ]

    assert frozen_members(frame, causes, [line(35_960, 15_955)]) == [OF_G]


def test_a_line_without_a_client_id_and_with_whole_seconds(frame):
    assert frozen_members(frame, [expired("m")], [line(35_000, 15_955, client_id=None)]) == [OF_G]


def test_the_last_heartbeat_before_a_freeze_may_have_no_answer(frame):
    assert frozen_members(frame, [expired("m")], [line(35_960, 17_955)]) == [
        ("g", "m", "frozen", "session expired; no response from the coordinator for 18.0 s")
    ]


def test_a_line_of_another_client_or_of_another_time_is_of_no_member(frame):
    lines = [line(35_960, 15_955, client_id="other"), line(37_000, 15_955, position=1)]

    assert frozen_members(frame, [expired("m")], lines) == []


def test_two_members_whose_sessions_expired_at_once_are_not_told_apart(frame):
    causes = [expired("m"), expired("n", group_id="h")]

    assert frozen_members(frame, causes, [line(35_960, 15_955)]) == []


def test_two_lines_about_one_time_are_not_told_apart(frame):
    lines = [line(35_960, 15_955), line(36_000, 15_999, file_id="second")]

    assert frozen_members(frame, [expired("m")], lines) == []
