"""Eras of a group's coordinators before and after an upgrade of the brokers."""

from coordinator_core.coordinator.era_evidence import NO_EVIDENCE, BrokerVersion, EraEvidence
from coordinator_core.incident.evidence import Incarnation, LogEvent, incarnations
from coordinator_core.incident.generation_evidence import by_generation
from coordinator_core.incident.modern import GroupEvidence, replay_group
from coordinator_core.incident.stretches import infer_eras
from coordinator_core.log_lines.version_ranges import ranges_of
from tests.core.incident.modern_group_evidence import captured

SCALA = "Adding new member m with group instance id None; client reason: not provided"
JAVA = "explicit `LeaveGroup` request for (m) members."
ABSENT = dict.fromkeys(
    ("generation", "member_id", "instance_id", "old_member_id", "step", "reason", "client_reason",
     "cause", "member_count", "members")
)  # fmt: skip


def line(at_ms, event, **more):
    return LogEvent(seq=at_ms, at_ms=at_ms, event=event, where="broker 1 log f:0", **more)


def names(*events, offset_versions=(), cluster=NO_EVIDENCE):
    eras = infer_eras([Incarnation("g", 1, events, ())], offset_versions, cluster)
    return [(each.from_ms, each.era.name) for each in eras.stretches]


def test_the_wording_of_reasons_changes_with_the_coordinator():
    events = (
        line(10, "REBALANCE_START", generation=0, reason=SCALA),
        line(20, "LOADED", member_count=2),
        line(30, "REBALANCE_START", generation=1, reason=JAVA),
    )

    assert names(*events) == [(0, "3.9"), (20, "4.1")]
    cluster = EraEvidence(versions=ranges_of("3.9.2, 4.4.0"))
    assert names(*events, cluster=cluster) == [(0, "3.9"), (20, "4.4")]


def test_the_line_about_a_load_shows_the_coordinator_of_a_group_without_rebalances():
    events = (
        line(10, "REBALANCE_START", generation=0, reason=SCALA),
        line(20, "LOADED", generation=1),
        line(40, "LOADED", member_count=2),
    )

    assert names(*events, offset_versions=(3, 4)) == [(0, "3.9"), (40, "4.1")]


def test_one_coordinator_has_one_era():
    events = (
        line(10, "REBALANCE_START", generation=0, reason=JAVA),
        line(20, "LOADED", member_count=2),
    )

    assert names(*events) == [(0, "4.1")]


def test_an_unload_that_is_logged_after_the_next_load_unloads_nothing():
    rows = [
        {"event": event, "broker_id": broker, "event_seq": seq}
        for seq, (event, broker) in enumerate(
            [("UNLOADED", 1), ("LOADED", 2), ("LOADED", 3), ("UNLOADED", 2), ("UNLOADED", 3)]
        )
    ]
    common = {"incarnation": 1, "at_ms": 0, "file_id": "f", "position": 0}

    (only,) = incarnations("g", [ABSENT | common | row for row in rows], [])

    assert [(each.event, each.broker) for each in only.events] == [
        ("UNLOADED", "broker 1"), ("LOADED", "broker 2"), ("LOADED", "broker 3"),
        ("UNLOADED", "broker 3"),
    ]  # fmt: skip


def test_generations_that_a_move_lost_are_no_part_of_those_with_their_numbers():
    events = (
        line(10, "REBALANCE_START", generation=2, member_id="a"),
        line(11, "JOIN_COMPLETE", generation=3),
        line(12, "ASSIGNMENT_RECEIVED", generation=3),
        line(13, "REBALANCE_START", generation=3, member_id="a"),
        line(14, "JOIN_COMPLETE", generation=4),
        line(15, "LEFT", member_id="b"),
        line(16, "REBALANCE_START", generation=4, member_id="b"),
        line(17, "UNLOADED", generation=4),
        line(18, "LOADED", member_count=2),
        line(20, "REBALANCE_START", generation=3, member_id="c"),
        line(21, "JOIN_COMPLETE", generation=4),
        line(22, "REBALANCE_START", generation=4, member_id="a"),
    )

    cut = by_generation(Incarnation("g", 1, events, ()))

    assert [(each.generation, [e.at_ms for e in each.events]) for each in cut] == [
        (3, [10, 11, 12, 17, 18]), (4, [20, 21]), (5, [22]),
    ]  # fmt: skip


def test_a_broker_that_was_upgraded_has_the_era_of_its_version():
    def loaded_by(broker_id, at_ms):
        return line(at_ms, "LOADED", member_count=2)._replace(where=f"broker {broker_id} log f:0")

    events = (
        line(10, "REBALANCE_START", generation=0, reason=JAVA),
        loaded_by(2, 20),
        loaded_by(1, 40),
        loaded_by(2, 60),
    )
    versions = [
        BrokerVersion(1, 0, "4.1.1"), BrokerVersion(1, 30, "4.4.0"),
        BrokerVersion(2, 0, "4.1.1"), BrokerVersion(2, 50, "4.4.0"),
    ]  # fmt: skip
    cluster = EraEvidence(versions=ranges_of("4.1.1, 4.4.0"), of_brokers=versions)

    assert names(*events, cluster=cluster) == [(0, "4.1"), (40, "4.4")]


def test_a_broker_of_a_version_without_an_era_has_the_era_of_its_evidence():
    events = (
        line(10, "REBALANCE_START", generation=0, reason=SCALA),
        line(40, "LOADED", member_count=2),
    )
    versions = [BrokerVersion(1, 0, "3.10.0"), BrokerVersion(1, 30, "4.4.0")]
    cluster = EraEvidence(versions=ranges_of("3.10.0, 4.4.0"), of_brokers=versions)

    assert names(*events, offset_versions=(3,), cluster=cluster) == [(0, "3.9"), (40, "4.4")]


def test_generations_of_a_consumer_group_have_the_era_of_their_coordinator():
    records, _, names = captured("upgraded-4.1.2-4.4.0")
    stored = [
        {"incarnation": 1, "topic_partition": topic_partition, "log_offset": int(offset),
         "at_ms": each.at_ms, "key": each.record[0], "value": each.record[1]}
        for each in records["carts-static"]
        for topic_partition, offset in [each.place.split("@")]
    ]  # fmt: skip
    loads = [
        ABSENT | {"event": "LOADED", "incarnation": 1, "event_seq": seq, "broker_id": broker_id,
                  "at_ms": at_ms, "step": "group", "member_count": 4, "file_id": "f", "position": 0}
        for seq, (broker_id, at_ms) in enumerate([(2, 1795796630000), (1, 1795796751938)])
    ]  # fmt: skip
    cluster = EraEvidence(
        versions=ranges_of("4.1.2, 4.4.0"),
        of_brokers=[BrokerVersion(1, 1795796732952, "4.4.0"), BrokerVersion(2, 0, "4.1.2")],
    )

    evidence = GroupEvidence("carts-static", loads, [], stored, names)
    replayed = replay_group(evidence, cluster=cluster).modern.generations

    assert [(each.number, each.era, each.verdict.value) for each in replayed] == [
        (1, "4.1.2", "reproduced"), (2, "4.1.2", "reproduced"), (3, "4.1.2", "reproduced"),
        (4, "4.1.2", "reproduced"), (5, "4.4", "reproduced"), (6, "4.4", "reproduced"),
        (10, "4.4", "reproduced"),
    ]  # fmt: skip
