"""Defects of brokers that the events and records of one group show."""

import pytest

from jobs.lake.tables import schema_of

MINUTE = 60_000


def event(at_ms, name, **more):
    return {"group_id": "g", "event": name, "event_seq": at_ms, "event_time": at_ms} | more


def in_timeline(at_ms, name, generation, **more):
    row = {"group_id": "g", "seq": at_ms, "event_time": at_ms, "event": name, "incarnation": 1}
    return row | {"current_generation": generation} | more


def generation(number, *, preparing=None, joined=None, stable=None, ended=None, **more):
    times = {"preparing_time": preparing, "joined_time": joined, "stable_time": stable}
    row = {"group_id": "g", "incarnation": 1, "generation": number, "outcome": "stable"}
    return row | times | {"ended_time": ended} | more


def member(number, name, **more):
    row = {"group_id": "g", "incarnation": 1, "generation": number, "member_id": name}
    return row | {"process": name, "subscribed_topics": ["orders"], "gone": False} | more


def commit(at_ms, offset=None, partition=0, *, topic="orders", **more):
    """Without an offset: a tombstone."""
    row = {"group_id": "g", "topic": topic, "partition": partition, "append_time": at_ms}
    row |= {"topic_partition": "__consumer_offsets-7", "log_offset": at_ms, "outcome": "plain"}
    row |= {"tombstone": offset is None, "committed_offset": offset}
    return row | {"commit_time": None if offset is None else at_ms} | more


def broker_line(at_ms, name, **more):
    row = {"event": name, "event_time": at_ms, "broker_id": 2, "line": name, "file_id": "f"}
    row |= {"position": at_ms, "file": "server.log", "topic_partition": "__consumer_offsets-7"}
    return row | more


class TestKafka9752:
    STUCK = generation(
        7, joined=1000, ended=15 * MINUTE, outcome="superseded", evidence="log", member_count=3
    )
    JOINED = event(1000, "JOIN_COMPLETE", generation=7)
    EXPIRED = event(15 * MINUTE, "HEARTBEAT_EXPIRED", member_id="m-1")

    @pytest.mark.parametrize(
        ("events", "version", "count"),
        [
            pytest.param([JOINED], "2.3", 1, id="nobody expired"),
            pytest.param([JOINED, EXPIRED], "2.3", 0, id="the leader expired"),
            pytest.param([JOINED], "2.7", 0, id="KAFKA-12890"),
        ],
    )
    def test_a_group_waits_for_a_member_that_is_gone(self, findings, events, version, count):
        tables = {"generations": [self.STUCK], "group_events": events}

        rows = findings("KAFKA-9752", tables, "group_id", versions={"broker": version})

        assert rows == [("g",)] * count


class TestKafka8653:
    @staticmethod
    def records(timeout_ms, count=3):
        fields = schema_of("group_metadata")["members"].dataType.elementType.names
        shown = {"member_id": "m", "client_id": "old", "rebalance_timeout_ms": timeout_ms}
        row = dict.fromkeys(fields) | shown
        return [
            {"group_id": "g", "generation": n, "log_offset": n, "append_time": n * 1000}
            | {"value_version": 3, "tombstone": False, "members": [row]}
            for n in range(1, count + 1)
        ]

    @pytest.mark.parametrize(
        ("timeout_ms", "count", "expected"),
        [
            pytest.param(-1, 3, [("g", 3)], id="the default of the request"),
            pytest.param(300_000, 3, [], id="a timeout"),
            pytest.param(-1, 2, [], id="two rebalances"),
        ],
    )
    def test_old_clients_have_no_rebalance_timeout(self, findings, timeout_ms, count, expected):
        tables = {
            "group_metadata": self.records(timeout_ms, count),
            "generation_members": [member(1, "m", rebalance_timeout_ms=timeout_ms)],
        }
        versions = {"broker": "2.3"}

        assert findings("KAFKA-8653", tables, "group_id", "rebalances", versions=versions) == (
            expected
        )


class TestKafka7196:
    MEMBERS = (member(4, "m-1"), member(4, "m-2", gone=True), member(5, "m-1"))

    @pytest.mark.parametrize(
        ("current", "version", "expected"),
        [
            pytest.param(5, "1.1", [("m-2", 1)], id="dropped by generation 5"),
            pytest.param(4, "1.1", [], id="still a member"),
            pytest.param(6, "1.1", [], id="no record of the generation"),
            pytest.param(5, "2.0.1", [], id="the fix"),
        ],
    )
    def test_a_dropped_member_expires(self, findings, current, version, expected):
        expired = event(9000, "HEARTBEAT_EXPIRED", member_id="m-2")
        tables = {
            "group_events": [expired],
            "timeline": [in_timeline(9000, "HEARTBEAT_EXPIRED", current, member_id="m-2")],
            "generation_members": list(self.MEMBERS),
        }

        rows = findings(
            "KAFKA-7196", tables, "member_id", "rebalances", versions={"broker": version}
        )

        assert rows == expected


class TestKafka9801:
    JOINED = event(1000, "JOIN_COMPLETE", generation=7)
    REPLACED = event(1500, "STATIC_REPLACED", instance_id="i", member_id="i-2", old_member_id="i-1")
    STARTED = event(1501, "REBALANCE_START", generation=7)
    ASSIGNED = event(2000, "ASSIGNMENT_RECEIVED", generation=7)

    @pytest.mark.parametrize(
        ("events", "expected"),
        [
            pytest.param(
                [JOINED, REPLACED, ASSIGNED], [("i-2", 1500, 2000)], id="no new rebalance"
            ),
            pytest.param([JOINED, REPLACED, STARTED, ASSIGNED], [], id="a new rebalance"),
            pytest.param([JOINED, ASSIGNED, REPLACED | {"event_seq": 3000}], [], id="while Stable"),
        ],
    )
    def test_a_member_restarts_before_the_assignment(self, findings, events, expected):
        columns = "member_id", "from_time", "to_time"

        rows = findings(
            "KAFKA-9801", {"group_events": events}, *columns, versions={"broker": "2.4"}
        )

        assert rows == expected


class TestKafka13435:
    RETURNED = in_timeline(10_000, "STATIC_REPLACED", 3, instance_id="i", member_id="i-2")
    LEADER = member(3, "i-1", instance_id="i", is_leader=True)
    TOPIC = (
        {"topic": "orders", "partitions": 4, "since": None},
        {"topic": "orders", "partitions": 6, "since": 20_000},
    )
    LATER = generation(4, preparing=25_000)

    @pytest.mark.parametrize(
        ("leader", "generations", "expected"),
        [
            pytest.param(LEADER, [], [("i-2", 20_000)], id="nobody watches the topic"),
            pytest.param(LEADER, [LATER], [], id="a rebalance follows"),
            pytest.param(LEADER | {"is_leader": False}, [], [], id="a follower returned"),
            pytest.param(LEADER | {"subscribed_topics": ["ads"]}, [], [], id="another topic"),
        ],
    )
    def test_added_partitions_are_missed(self, findings, leader, generations, expected):
        tables = {
            "topic_partitions": list(self.TOPIC),
            "group_events": [event(10_000, "STATIC_REPLACED")],
            "timeline": [self.RETURNED],
            "generation_members": [leader],
            "generations": generations,
            "committed_offsets": [commit(20 * MINUTE, 70)],
        }
        versions = {"broker": "2.8"}

        rows = findings("KAFKA-13435", tables, "member_id", "from_time", versions=versions)

        assert rows == expected


class TestKafka13636:
    REBALANCE = generation(3, preparing=10_000, joined=12_000, stable=13_000)
    STARTED = event(10_000, "REBALANCE_START")

    @pytest.mark.parametrize(
        ("tombstone", "lines", "version", "count"),
        [
            pytest.param(commit(11_000), [], "2.8.1", 1, id="in the join phase"),
            pytest.param(commit(9_000), [], "2.8.1", 0, id="before it: the group was Empty"),
            pytest.param(commit(11_000, topic="ads"), [], "2.8.1", 0, id="not subscribed"),
            pytest.param(
                commit(11_000),
                [broker_line(11_000, "OFFSETS_DELETED")],
                "2.8.1",
                0,
                id="deleted topic",
            ),
            pytest.param(commit(11_000), [], "3.2", 0, id="the fix"),
        ],
    )
    def test_offsets_expire_in_a_rebalance(self, findings, tombstone, lines, version, count):
        tables = {
            "generations": [self.REBALANCE],
            "group_events": [self.STARTED],
            "generation_members": [member(3, "m-1")],
            "committed_offsets": [commit(5000, 70), tombstone],
            "broker_log_events": lines,
        }

        rows = findings("KAFKA-13636", tables, "summary", versions={"broker": version})

        lost = "g lost its offsets of 1 partitions during the rebalance to generation 3"
        assert rows == [(f"{lost}: orders-0",)] * count


class TestKafka8069:
    OLD_FORMAT = commit(5000, 70, value_version=1)

    @pytest.mark.parametrize(
        ("last", "gone_ms", "count"),
        [
            pytest.param(OLD_FORMAT, 90_000, 1, id="after a load"),
            pytest.param(OLD_FORMAT | {"expire_time": 80_000}, 90_000, 0, id="expired in time"),
            pytest.param(OLD_FORMAT | {"value_version": 3}, 90_000, 0, id="the new format"),
            pytest.param(OLD_FORMAT, 55_000, 0, id="before the load"),
        ],
    )
    def test_loaded_offsets_expire_at_once(self, findings, last, gone_ms, count):
        tables = {
            "committed_offsets": [last, commit(gone_ms)],
            "broker_log_events": [broker_line(60_000, "PARTITION_LOAD", step="finished")],
        }

        rows = findings("KAFKA-8069", tables, "group_id", "broker_id", versions={"broker": "2.1"})

        assert rows == [("g", 2)] * count


def record(offset, name, **more):
    row = {"group_id": "g", "record": name, "log_offset": offset, "append_time": offset * 1000}
    return row | {"topic_partition": "__consumer_offsets-7", "key_type": 3} | more


class TestKafka19720:
    REGEX = record(1, "ConsumerGroupRegularExpression", regex="ord.*")
    CLASSIC = record(2, "ConsumerGroupMemberMetadata", member_id="m", protocols=["range"])

    @pytest.mark.parametrize(
        ("row", "count"),
        [
            pytest.param(CLASSIC | {"regex": "ord.*"}, 1, id="kept"),
            pytest.param(CLASSIC, 0, id="without an expression"),
            pytest.param(CLASSIC | {"regex": "ord.*", "protocols": None}, 0, id="a consumer's own"),
        ],
    )
    def test_a_classic_member_has_a_regular_expression(self, findings, row, count):
        tables = {"group_records": [self.REGEX, row]}

        rows = findings("KAFKA-19720", tables, "member_id", versions={"broker": "4.1.0"})

        assert rows == [("m",)] * count


class TestKafka20291:
    EPOCHS = tuple(record(n, "ShareGroupMetadata", epoch=n, metadata_hash=9) for n in range(1, 23))

    @pytest.mark.parametrize(
        ("records", "expected"),
        [
            pytest.param(EPOCHS, [(2000, 22_000)], id="nothing changed"),
            pytest.param(EPOCHS[:20], [], id="nineteen times"),
            pytest.param(
                [row | {"metadata_hash": row["epoch"]} for row in EPOCHS], [], id="topics changed"
            ),
        ],
    )
    def test_the_epoch_rises_with_each_heartbeat(self, findings, records, expected):
        tables = {"group_records": list(records)}
        columns = "from_time", "to_time"

        rows = findings("KAFKA-19468", tables, *columns, versions={"broker": "4.1"})

        assert rows == expected

    def test_epochs_of_new_members_are_not_the_defect(self, findings):
        pairs = [
            record(n, name, epoch=n, metadata_hash=9)
            for n, name in enumerate(("ShareGroupMemberMetadata", "ShareGroupMetadata") * 22)
        ]

        assert findings("KAFKA-19468", {"group_records": pairs}, "finding") == []


class TestKafka21581:
    MEMBER = record(5, "ConsumerGroupCurrentMemberAssignment", member_id="m", epoch=0)
    REACHED = MEMBER | {"log_offset": 6, "epoch": 1}

    @pytest.mark.parametrize(
        ("group_epoch", "members", "count"),
        [
            pytest.param(0, [MEMBER], 1, id="converted before a generation"),
            pytest.param(1, [MEMBER], 0, id="a member of another group"),
            pytest.param(0, [REACHED], 0, id="a member with an epoch"),
            pytest.param(0, [MEMBER, REACHED], 0, id="the copy of a replaced static member"),
        ],
    )
    def test_a_member_has_the_epoch_0(self, findings, group_epoch, members, count):
        group = record(4, "ConsumerGroupMetadata", epoch=group_epoch)
        tables = {"group_records": [group, *members]}

        rows = findings("KAFKA-21581", tables, "member_id", versions={"broker": "4.1"})

        assert rows == [("m",)] * count


class TestKafka20431:
    @staticmethod
    def step(at_ms, state):
        row = {"group_id": "g", "incarnation": 1, "member_id": "m", "process": "m", "epoch": 5}
        row |= {"topic_partition": "__consumer_offsets-7", "log_offset": at_ms, "time": at_ms}
        return row | {"state": state}

    @pytest.mark.parametrize(
        ("revoked_ms", "version", "count"),
        [
            pytest.param(9000, "4.1", 1, id="in a revocation"),
            pytest.param(1500, "4.1", 0, id="after the revocation"),
            pytest.param(2050, "4.1", 0, id="while the answer came"),
            pytest.param(9000, "4.3.0", 0, id="the first release with the fix"),
            pytest.param(9000, "4.1-4.4", 0, id="an unknown version"),
        ],
    )
    def test_partitions_are_not_described(self, findings, revoked_ms, version, count):
        fields = schema_of("group_snapshots")["members"].dataType.elementType.names
        snapshot = {"group_id": "g", "group_type": "consumer", "snapshot_time": 2000}
        snapshot |= {"requested_time": 2000, "described_time": 2100}
        tables = {
            "group_snapshots": [
                snapshot | {"members": [dict.fromkeys(fields) | {"member_id": "m"}]}
            ],
            "member_epochs": [self.step(1000, "UNREVOKED"), self.step(revoked_ms, "STABLE")],
        }
        columns = "group_id", "from_time", "to_time"

        rows = findings("KAFKA-20431", tables, *columns, versions={"broker": version})

        assert rows == [("g", 2000, 2100)] * count
