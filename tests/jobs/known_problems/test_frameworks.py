"""Defects of Kafka Streams and Kafka Connect, by the records of their groups."""

import pytest

from jobs.lake.tables import schema_of
from tests.jobs.known_problems.conftest import DAY_MS

MINUTE = 60_000


def generation(number, *, joined=None, stable=None, ended=None, **more):
    row = {"group_id": "g", "incarnation": 1, "generation": number, "outcome": "stable"}
    times = {"joined_time": joined, "stable_time": stable, "ended_time": ended}
    return row | times | more


def cause(number, name):
    row = {"group_id": "g", "incarnation": 1, "generation": number, "cause_seq": 1}
    return row | {"cause": name, "role": "trigger", "event_time": 1000 * number}


TASK_FIELDS = schema_of("group_metadata")["task_members"].dataType.elementType.names


def worker(name, **more):
    row = dict.fromkeys(TASK_FIELDS) | {"member_id": name, "tasks": [], "revoked": []}
    shown = {"version": 1, "config_offset": 5, "assigned_config_offset": 5, "delay_ms": 0}
    return row | shown | {"error_code": 0} | more


def record(number, at_ms, *workers, **more):
    row = {"group_id": "g", "generation": number, "append_time": at_ms, "log_offset": at_ms}
    row |= {"protocol_type": "connect", "protocol": "sessioned", "tombstone": False}
    return row | {"leader": "w-1", "task_members": list(workers)} | more


def churn(number, **more):
    row = {"group_id": "g", "incarnation": 1, "generation": number, "members_gone": 0}
    return row | more


def end(at_ms):
    row = {"group_id": "g", "seq": at_ms, "event_time": at_ms, "event": "RECORD"}
    return row | {"incarnation": 1}


class TestKafka14382:
    @pytest.mark.parametrize(
        ("name", "outcome", "expected"),
        [
            pytest.param("PROBING_REBALANCE", "superseded", [("g", 3)], id="cut off"),
            pytest.param("PROBING_REBALANCE", "stable", [], id="after the assignment"),
            pytest.param("MEMBER_NEW", "superseded", [], id="by new members"),
        ],
    )
    def test_follow_ups_cut_off_rebalances(self, findings, name, outcome, expected):
        tables = {
            "generations": [
                *(generation(n, joined=1000 * n, outcome=outcome) for n in (1, 2, 3)),
                generation(4, joined=4000, stable=4100),
            ],
            "rebalance_causes": [cause(n, name) for n in (2, 3, 4)],
        }
        columns = "group_id", "rebalances"

        assert findings("KAFKA-14382", tables, *columns, versions={"streams": "3.3.1"}) == expected


class TestKafka10455:
    @pytest.mark.parametrize(
        ("version", "scheduled", "next_ms", "expected"),
        [
            pytest.param(7, "w-2", 40 * MINUTE, [("w-2", 20 * MINUTE)], id="half an hour late"),
            pytest.param(7, "w-2", 21 * MINUTE, [], id="at the time"),
            pytest.param(7, "w-1", 40 * MINUTE, [], id="the leader"),
            pytest.param(8, "w-2", 40 * MINUTE, [], id="metadata that differs: 2.6.1"),
        ],
    )
    def test_a_probing_rebalance_does_not_come(
        self, findings, version, scheduled, next_ms, expected
    ):
        due = {"version": version, "next_rebalance_ms": DAY_MS + 20 * MINUTE}
        others = {"version": version, "next_rebalance_ms": None}
        first = [worker(name, **(due if name == scheduled else others)) for name in ("w-1", "w-2")]
        streams = {"protocol_type": "consumer", "protocol": "stream"}
        commit = {
            "group_id": "g",
            "topic": "t",
            "partition": 0,
            "log_offset": 9,
            "outcome": "plain",
        }
        commit |= {"topic_partition": "__consumer_offsets-7", "tombstone": False}
        tables = {
            "group_metadata": [
                record(1, 10 * MINUTE, *first, **streams),
                record(2, next_ms, worker("w-1", **others), **streams),
            ],
            "committed_offsets": [commit | {"append_time": 50 * MINUTE}],
        }
        versions = {"streams": "2.6"}

        rows = findings("KAFKA-10455", tables, "member_id", "from_time", versions=versions)

        assert rows == expected


class TestKafka9184:
    @pytest.mark.parametrize(
        ("delay_ms", "gone", "expected"),
        [
            pytest.param(300_000, 0, [("g", 3)], id="a delay each time"),
            pytest.param(0, 0, [], id="the delay is over"),
            pytest.param(300_000, 1, [], id="a worker was lost each time"),
        ],
    )
    def test_the_delay_is_not_reset(self, findings, delay_ms, gone, expected):
        numbers = (2, 3, 4)
        tables = {
            "rebalance_causes": [cause(n, "SCHEDULED_REBALANCE") for n in numbers],
            "group_metadata": [
                record(n, 1000 * n, worker("w-1", delay_ms=delay_ms)) for n in numbers
            ],
            "churn": [churn(n, members_gone=gone) for n in numbers],
        }
        versions = {"connect": "2.3"}

        assert findings("KAFKA-9184", tables, "group_id", "rebalances", versions=versions) == (
            expected
        )


class TestKafka9848:
    @pytest.mark.parametrize(
        ("delays", "gone", "expected"),
        [
            pytest.param((0, 300_000), 0, [(2000, 302_000)], id="nobody is gone"),
            pytest.param((0, 300_000), 1, [], id="a worker is gone"),
            pytest.param((300_000, 200_000), 0, [], id="the rest of a delay"),
            pytest.param((0, 0), 0, [], id="no delay"),
        ],
    )
    def test_no_worker_is_lost(self, findings, delays, gone, expected):
        tables = {
            "group_metadata": [
                record(n, 1000 * n, worker("w-1", delay_ms=delay))
                for n, delay in enumerate(delays, start=1)
            ],
            "churn": [churn(1), churn(2, members_gone=gone)],
        }
        versions = {"connect": "2.4"}

        rows = findings("KAFKA-9848", tables, "from_time", "to_time", versions=versions)

        assert rows == expected


class TestKafka12495:
    @staticmethod
    def task(name, number):
        row = {"group_id": "g", "incarnation": 1, "generation": 3, "member_id": name}
        row |= {"process": name, "topic": "sink", "partition": number, "role": "task"}
        return row | {"assignor": "actual"}

    @pytest.mark.parametrize(
        ("tasks", "delay_ms", "ended", "expected"),
        [
            pytest.param((4, 1), 0, 30 * MINUTE, [(1000, 30 * MINUTE)], id="four and one"),
            pytest.param((3, 0), 0, None, [(1000, 60 * MINUTE)], id="three and none, until now"),
            pytest.param((3, 2), 0, 30 * MINUTE, [], id="three and two"),
            pytest.param((4, 1), 0, 5 * MINUTE, [], id="five minutes"),
            pytest.param((4, 1), 60_000, 30 * MINUTE, [], id="until a delay is over"),
        ],
    )
    def test_workers_keep_unequal_tasks(self, findings, tasks, delay_ms, ended, expected):
        names = ("w-1", "w-2")
        member = {"group_id": "g", "incarnation": 1, "generation": 3, "config_offset": 5}
        tables = {
            "group_metadata": [record(3, 1000, *(worker(n, delay_ms=delay_ms) for n in names))],
            "generations": [generation(3, joined=900, stable=1000, ended=ended)],
            "generation_members": [member | {"member_id": n, "process": n} for n in names],
            "assignments": [
                self.task(name, 10 * index + number)
                for index, (name, count) in enumerate(zip(names, tasks, strict=True))
                for number in range(count)
            ],
            "timeline": [end(60 * MINUTE)],
        }
        versions = {"connect": "3.3"}

        rows = findings("KAFKA-12495", tables, "from_time", "to_time", versions=versions)

        assert rows == expected


class TestKafka15693:
    @pytest.mark.parametrize(
        ("second", "changes", "ended", "count"),
        [
            pytest.param({}, {}, None, 1, id="a lost worker"),
            pytest.param({"delay_ms": 300_000}, {}, None, 0, id="a delay"),
            pytest.param({"assigned_config_offset": 6}, {}, None, 0, id="a deleted connector"),
            pytest.param({}, {"members_gone": 0}, None, 0, id="no worker is gone"),
            pytest.param({}, {}, 9000, 0, id="assigned seven seconds later"),
        ],
    )
    def test_tasks_have_no_worker(self, findings, second, changes, ended, count):
        lost = {"members_gone": 1, "partitions_orphaned": 3, "partitions_assigned": 2}
        gone = {"group_id": "g", "incarnation": 1, "generation": 1, "member_id": "w-2"}
        tables = {
            "group_metadata": [
                record(1, 1000, worker("w-1"), worker("w-2")),
                record(2, 2000, worker("w-1", **second)),
            ],
            "generation_members": [gone | {"process": "w-2", "gone": True}],
            "generations": [generation(2, joined=1900, stable=2000, ended=ended)],
            "churn": [churn(2, **(lost | changes))],
            "timeline": [end(60 * MINUTE)],
        }
        versions = {"connect": "3.5.1"}

        rows = findings("KAFKA-15693", tables, "group_id", versions=versions)

        assert rows == [("g",)] * count


class TestStrimzi3225:
    @pytest.mark.parametrize(
        ("numbers", "error", "expected"),
        [
            pytest.param(range(1, 11), 1, [("g", 10)], id="ten assignments with the error"),
            pytest.param(range(1, 10), 1, [], id="nine"),
            pytest.param(range(1, 11), 0, [], id="without an error"),
        ],
    )
    def test_the_leader_lacks_the_configuration(self, findings, numbers, error, expected):
        workers = worker("w-1", error_code=error), worker("w-2", error_code=error)
        tables = {"group_metadata": [record(n, 100 * n, *workers) for n in numbers]}

        assert findings("strimzi-3225", tables, "group_id", "rebalances") == expected
