"""Defects of clients, and mistakes: raised, and not raised for what is most like them."""

import pytest


def generation(number, *, preparing=None, joined=None, stable=None, ended=None, **more):
    times = {"preparing_time": preparing, "joined_time": joined, "stable_time": stable}
    row = {"group_id": "g", "generation": number, "outcome": "stable", "ended_time": ended}
    return row | times | more


def rejoined(number, at_ms, cause="LEADER_REJOIN", member="worker-1"):
    return generation(number, preparing=at_ms, cause=cause, culprit_member_id=member)


class TestRejoinLoop:
    def test_one_member_rejoins_without_end(self, findings):
        loop = [rejoined(number, 100 * number) for number in range(1, 13)]

        columns = "group_id", "member_id", "rebalances", "from_time", "to_time", "summary"
        rows = findings("rejoin_loop", {"generations": loop}, *columns)

        assert rows == [
            (
                "g",
                "worker-1",
                12,
                100,
                1200,
                "member worker-1 of g triggered 12 rebalances within 1.1 s without leaving;"
                " its reason: unknown",
            )
        ]

    @pytest.mark.parametrize(
        "generations",
        [
            pytest.param([rejoined(n, 100 * n) for n in range(1, 10)], id="nine times"),
            pytest.param([rejoined(n, 9000 * n) for n in range(1, 13)], id="with pauses"),
            pytest.param(
                [rejoined(n, 100 * n, member=f"w-{n}") for n in range(1, 13)], id="many members"
            ),
            pytest.param(
                [rejoined(n, 100 * n, cause="MEMBER_NEW") for n in range(1, 13)], id="new members"
            ),
        ],
    )
    def test_other_rebalances_are_no_loop(self, findings, generations):
        assert findings("rejoin_loop", {"generations": generations}, "finding") == []


class TestLibrdkafka4783:
    STABLE = generation(
        4, joined=0, stable=500, ended=9000, member_count=3, protocol="cooperative-sticky",
        leader="rdkafka-1",
    )  # fmt: skip
    UNASSIGNED = generation(
        5, joined=10_000, ended=40_000, member_count=3, outcome="superseded", evidence="log"
    )

    def next_because_of(self, cause, member):
        return generation(6, joined=43_000, stable=44_000, cause=cause, culprit_member_id=member)

    def test_a_leader_that_does_not_send_the_assignment_is_removed(self, findings):
        expired = self.next_because_of("SESSION_EXPIRY", "rdkafka-1")
        tables = {"generations": [self.STABLE, self.UNASSIGNED, expired]}

        rows = findings(
            "librdkafka-4783", tables, "member_id", "from_time", "to_time", "summary",
            versions={"librdkafka": "2.3.0"},
        )  # fmt: skip

        assert rows == [
            (
                "rdkafka-1",
                10_000,
                40_000,
                "leader rdkafka-1 of g did not send the assignment of generation 5 for 30 s"
                " and was removed",
            )
        ]

    @pytest.mark.parametrize(
        ("tables", "versions"),
        [
            pytest.param((STABLE, UNASSIGNED, "rdkafka-2"), "2.3.0", id="a follower expired"),
            pytest.param(
                (STABLE | {"protocol": "range"}, UNASSIGNED, "rdkafka-1"), "2.3.0", id="assignor"
            ),
            pytest.param((STABLE, UNASSIGNED, "rdkafka-1"), "2.6.1", id="with the fix"),
            pytest.param((STABLE, UNASSIGNED, "rdkafka-1"), None, id="a Java client"),
        ],
    )
    def test_other_failed_generations_are_not_the_defect(self, findings, tables, versions):
        stable, unassigned, member = tables
        expired = self.next_because_of("SESSION_EXPIRY", member)
        rows = {"generations": [stable, unassigned, expired]}

        seen = {"librdkafka": versions}
        assert findings("librdkafka-4783", rows, "finding", versions=seen) == []

    def test_an_unknown_version_is_not_enough(self, findings):
        expired = self.next_because_of("SESSION_EXPIRY", "rdkafka-1")
        tables = {"generations": [self.STABLE, self.UNASSIGNED, expired]}

        assert findings("librdkafka-4783", tables, "finding", versions={}) == []


def cause(at_ms, story, instance="i-1", **more):
    row = {"group_id": "g", "generation": 3, "cause_seq": at_ms, "event_time": at_ms}
    return row | {"cause": "STATIC_REPLACED", "story": story, "instance_id": instance} | more


def logged(at_ms, event, client="app-1", file="f", **more):
    place = {"file_id": file, "position": at_ms, "file": "app.log", "library": "java"}
    row = {"group_id": "g", "client_id": client, "instance_id": "i-1", "event": event}
    return place | row | {"event_time": at_ms, "line": f"a line of {event}"} | more


RESET = logged(1000, "MEMBER_RESET", reason="consumer pro-actively leaving the group")
SELF_FENCED = [RESET, logged(1500, "JOINING"), logged(3000, "FENCED")]


class TestInstanceIds:
    def test_two_processes_with_one_instance_id(self, findings):
        tables = {"rebalance_causes": [cause(1000, "takeover"), cause(9000, "takeover")]}

        rows = findings(
            "static_id_used_twice", tables, "from_time", "to_time", "confidence", "summary"
        )

        assert rows == [
            (
                1000,
                9000,
                0.9,
                "two processes of g used instance id i-1: one took the other's place or was"
                " refused (2 times)",
            )
        ]

    @pytest.mark.parametrize("story", ["restart", "crash_restart", "return"])
    def test_a_process_that_restarts_is_no_second_one(self, findings, story):
        tables = {"rebalance_causes": [cause(1000, story), cause(9000, story)]}

        assert findings("static_id_used_twice", tables, "finding") == []

    def test_a_refused_process_beside_a_running_one(self, findings):
        refused = cause(1000, "refused", cause="STATIC_REFUSED", member_id="m-1")
        later = cause(90_000, "stop", cause="SESSION_EXPIRY", member_id="m-1")

        rows = findings(
            "static_id_used_twice",
            {"rebalance_causes": [refused, later]},
            "from_time",
            "confidence",
        )

        assert rows == [(1000, 0.7)]

    def test_a_killed_process_that_returns_before_its_session_expires_is_no_second_one(
        self, findings
    ):
        """Consumer groups refuse it until then, as in the incident twins-next."""
        refused = cause(1000, "refused", cause="STATIC_REFUSED", member_id="m-1")
        expired = cause(4500, "session_expired", cause="SESSION_EXPIRY", member_id="m-1")
        tables = {"rebalance_causes": [refused, expired]}

        assert findings("static_id_used_twice", tables, "finding") == []

    def test_a_client_that_fences_itself(self, findings):
        columns = "from_time", "to_time", "version_seen"
        tables = {"client_events": SELF_FENCED}

        assert findings("KAFKA-20985", tables, *columns, versions={"java": "4.1"}) == [
            (1000, 3000, True)
        ]

    def test_a_client_that_fences_itself_is_not_two_processes(self, findings):
        tables = {"rebalance_causes": [cause(1600, "takeover")], "client_events": SELF_FENCED}

        assert findings("static_id_used_twice", tables, "finding") == []

    def test_a_client_that_another_process_fences_does_not_fence_itself(self, findings):
        other = logged(2500, "JOINING", client="app-2", file="f-2")

        assert findings("KAFKA-20985", {"client_events": [*SELF_FENCED, other]}, "finding") == []
        fenced = [logged(1500, "JOINING"), logged(3000, "FENCED")]
        assert findings("KAFKA-20985", {"client_events": fenced}, "finding") == []


def member(name, host, group="g", *, number=1, left=None, session=10_000, **more):
    row = {"group_id": group, "generation": number, "member_id": name, "process": name}
    ended = {"left_how": "session_expired", "left_time": left} if left is not None else {}
    return row | {"client_host": host, "session_timeout_ms": session} | ended | more


FORMED = [generation(1, joined=1000), generation(2, joined=61_000)]
# The last heartbeats of all three members were at 50 s to 52 s.
LOST = [
    member("a-1", "10.0.0.1", left=60_000),
    member("a-2", "10.0.0.1", left=60_900),
    member("b-1", "10.0.0.1", group="h", left=97_000, session=45_000),
    member("a-3", "10.0.0.2"),
    member("a-3", "10.0.0.2", number=2),
]


class TestHostLost:
    def test_all_processes_of_a_host_go_silent_together(self, findings):
        tables = {"generation_members": LOST, "generations": FORMED}

        assert findings("host_lost", tables, "from_time", "to_time", "summary") == [
            (
                50_000,
                97_000,
                "host 10.0.0.1 was lost: 3 processes of groups g, h stopped heartbeating"
                " within ten seconds",
            )
        ]

    def test_a_host_with_a_process_that_stays_is_not_lost(self, findings):
        stays = [member("a-4", "10.0.0.1", number=number) for number in (1, 2)]
        tables = {"generation_members": [*LOST, *stays], "generations": FORMED}

        assert findings("host_lost", tables, "finding") == []

    def test_sessions_that_end_minutes_apart_are_no_lost_host(self, findings):
        later = member("a-2", "10.0.0.1", left=200_000)
        tables = {
            "generation_members": [LOST[0], later, *LOST[3:]],
            "generations": FORMED,
        }

        assert findings("host_lost", tables, "finding") == []

    def test_the_only_host_of_the_evidence_says_nothing(self, findings):
        tables = {"generation_members": LOST[:3], "generations": FORMED}

        assert findings("host_lost", tables, "finding") == []
