"""Defects of brokers: raised, and not raised for what is most like them."""

import pytest

from coordinator_core.log_lines.version_ranges import ranges_of
from jobs.known_problems.judgement import Judgement, judged
from jobs.known_problems.versions import SeenVersions
from schemas.known_problems import problem

MINUTE = 60_000


def event(at_ms, name, **more):
    return {"group_id": "g", "event": name, "event_seq": at_ms, "event_time": at_ms} | more


RESTARTED = event(1000, "STATIC_REPLACED", instance_id="i", member_id="i-2", old_member_id="i-1")
LOADED = event(5000, "LOADED")
FENCED = event(7000, "STATIC_FENCED", instance_id="i", member_id="i-2", old_member_id="i-1")


class TestKafka10284:
    def test_a_restarted_static_member_is_fenced_after_a_load(self, findings):
        tables = {"group_events": [RESTARTED, LOADED, FENCED]}
        columns = "member_id", "from_time", "confidence", "version_seen", "version"

        rows = findings("KAFKA-10284", tables, *columns, versions={"broker": "2.5.1"})

        assert rows == [("i-2", 7000, 0.9, True, "2.5.1")]

    @pytest.mark.parametrize(
        "events",
        [
            pytest.param([RESTARTED, FENCED], id="no load between: two processes"),
            pytest.param([LOADED, RESTARTED | {"event_seq": 6000}, FENCED], id="load before"),
            pytest.param(
                [RESTARTED, LOADED, FENCED | {"old_member_id": "i-3"}], id="another process came"
            ),
        ],
    )
    def test_other_fences_are_not_the_defect(self, findings, events):
        tables = {"group_events": events}

        assert findings("KAFKA-10284", tables, "finding", versions={"broker": "2.5.1"}) == []

    def test_it_is_not_two_processes_with_one_instance_id(self, findings):
        """The client logs that it was fenced, and a takeover is inferred from its line."""
        takeover = {"group_id": "g", "generation": 3, "cause_seq": 1, "event_time": 7008}
        takeover |= {"cause": "STATIC_FENCED", "story": "takeover", "instance_id": "i"}
        events = {"group_events": [RESTARTED, LOADED, FENCED]}

        assert findings("static_id_used_twice", {"rebalance_causes": [takeover]}, "finding") == [
            ("static_id_used_twice",)
        ]
        tables = events | {"rebalance_causes": [takeover]}
        assert findings("static_id_used_twice", tables, "finding") == []

    def test_a_broker_with_the_fix_does_not_have_it(self, findings):
        tables = {"group_events": [RESTARTED, LOADED, FENCED]}

        assert findings("KAFKA-10284", tables, "finding", versions={"broker": "2.6.1"}) == []

    def test_an_unknown_version_is_said(self, findings):
        tables = {"group_events": [RESTARTED, LOADED, FENCED]}

        [(confidence, version_seen, summary)] = findings(
            "KAFKA-10284", tables, "confidence", "version_seen", "summary"
        )

        assert (confidence, version_seen) == (0.45, False)
        assert summary.endswith(
            "the member id of its last restart was not stored"
            " (the version of the broker is not in the evidence; affected: 2.3 to 2.6.0)"
        )


def generation(number, joined, *, ended=None, stable=None, **more):
    times = {"joined_time": joined, "stable_time": stable, "ended_time": ended}
    row = {"group_id": "g", "generation": number, "member_count": 3, "evidence": "log"}
    return row | {"outcome": "superseded" if ended else "unknown"} | times | more


class TestKafka12890:
    STUCK = generation(7, 1000, ended=1000 + 15 * MINUTE)
    JOINED = event(1000, "JOIN_COMPLETE", generation=7)

    def test_a_group_stays_in_completing_rebalance(self, findings):
        tables = {"generations": [self.STUCK], "group_events": [self.JOINED]}
        columns = "from_time", "to_time", "version_seen", "summary"

        assert findings("KAFKA-12890", tables, *columns, versions={"broker": "2.7"}) == [
            (
                1000,
                1000 + 15 * MINUTE,
                True,
                "g stayed in CompletingRebalance for 900 s after all 3 members of generation 7 had"
                " joined: the leader sent no SyncGroup, and the coordinator removed no member",
            )
        ]

    def test_a_group_that_is_still_stuck_has_no_end(self, findings):
        last = event(20 * MINUTE, "REBALANCE_START", group_id="other")
        tables = {"generations": [generation(7, 1000)], "group_events": [self.JOINED, last]}

        assert findings("KAFKA-12890", tables, "from_time", "to_time") == [(1000, None)]

    @pytest.mark.parametrize(
        ("generations", "events"),
        [
            pytest.param([generation(7, 1000, ended=4 * MINUTE)], [], id="a short sync phase"),
            pytest.param(
                [generation(7, 1000, stable=1400, ended=15 * MINUTE)], [], id="the leader synced"
            ),
            pytest.param(
                [STUCK],
                [event(15 * MINUTE, "REBALANCE_START", cause="SYNC_TIMEOUT")],
                id="members without SyncGroup are removed: since 2.8.1",
            ),
        ],
    )
    def test_other_sync_phases_are_not_the_defect(self, findings, generations, events):
        tables = {"generations": generations, "group_events": [self.JOINED, *events]}

        assert findings("KAFKA-12890", tables, "finding", versions={"broker": "2.7"}) == []

    def test_a_version_that_cannot_have_it_excludes_it(self, findings):
        tables = {"generations": [self.STUCK], "group_events": [self.JOINED]}

        assert findings("KAFKA-12890", tables, "finding", versions={"broker": "2.4-2.5"}) == []


def refused(at_ms, epoch, member="m-1"):
    line = (
        f"ConsumerGroupHeartbeatRequest failed for member {member} because epoch {epoch} is fenced."
    )
    place = {"file_id": "f", "position": at_ms, "file": "app.log", "library": "java", "line": line}
    member_of = {"group_id": "g", "client_id": "c-1", "member_id": member, "epoch": epoch}
    return place | member_of | {"event": "FENCED", "event_time": at_ms}


class TestKafka21305:
    def test_a_fenced_member_is_refused_again(self, findings):
        tables = {"client_events": [refused(1000, 4), refused(1100, 0), refused(6100, 0)]}

        rows = findings(
            "kafka-21305", tables, "member_id", "from_time", "to_time", "summary",
            versions={"broker": "4.1.2"},
        )  # fmt: skip

        assert rows == [
            (
                "m-1",
                1000,
                6100,
                "member m-1 of g was fenced and could not join again: FENCED_MEMBER_EPOCH 3 times",
            )
        ]

    def test_it_was_stable_before_and_is_after_its_session_expired(self, findings):
        before, after = (
            refused(at_ms, epoch) | {"event": "STATE", "state": "STABLE", "line": "STABLE"}
            for at_ms, epoch in ((0, 4), (9000, 7))
        )
        tables = {"client_events": [before, refused(1000, 4), refused(1100, 0), after]}

        rows = findings("kafka-21305", tables, "from_time", "to_time", versions={"broker": "4.1.2"})

        assert rows == [(1000, 1100)]

    def test_members_that_are_fenced_once_are_not_the_defect(self, findings):
        tables = {"client_events": [refused(1000, 4), refused(1100, 4, member="m-2")]}

        assert findings("kafka-21305", tables, "finding", versions={"broker": "4.1.2"}) == []

    def test_a_member_that_joined_again_in_between_is_not_the_defect(self, findings):
        joined = refused(1200, 5) | {"event": "STATE", "state": "STABLE", "line": "STABLE"}
        tables = {"client_events": [refused(1000, 4), joined, refused(60_000, 9)]}

        assert findings("kafka-21305", tables, "finding", versions={"broker": "4.1.2"}) == []


AFFECTED = problem("KAFKA-12890")  # Affected: 2.6.1-2.6, 2.7, 2.8.0; the problem is specific.


@pytest.mark.parametrize(
    ("seen", "judgement"),
    [
        (None, Judgement(0.8)),
        (SeenVersions(ranges_of("2.7")), Judgement(0.8, True, "2.7")),
        (SeenVersions(ranges_of("2.6.2")), Judgement(0.8, True, "2.6.2")),
        (SeenVersions(ranges_of("2.6.0")), None),
        (SeenVersions(ranges_of("2.8.1-")), None),
        (SeenVersions(None, is_absent=True), None),
        (
            SeenVersions(ranges_of("2.6-2.7")),
            Judgement(
                0.56,
                False,
                "2.6-2.7",
                "the evidence allows the broker 2.6 to 2.7;"
                " affected: 2.6 from 2.6.1 on or 2.7 or 2.8.0",
            ),
        ),
        (
            SeenVersions(None),
            Judgement(
                0.4,
                False,
                None,
                "the version of the broker is not in the evidence;"
                " affected: 2.6 from 2.6.1 on or 2.7 or 2.8.0",
            ),
        ),
    ],
)
def test_confidence_and_version_follow_from_the_versions_seen(seen, judgement):
    assert judged(AFFECTED, 0.8, seen) == judgement


def test_a_symptom_with_other_causes_needs_a_known_version():
    unspecific = problem("librdkafka-4783")

    assert judged(unspecific, 0.8, SeenVersions(None)) is None
    assert judged(unspecific, 0.8, SeenVersions(ranges_of("2.0-2.12"))) is None
    assert judged(unspecific, 0.8, SeenVersions(ranges_of("2.0-2.6.0"))).version_seen is True
