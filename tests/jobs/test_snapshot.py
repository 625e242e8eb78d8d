"""Snapshots: rows from what the client library answers, the loop, and the views over them."""

import sys
from datetime import UTC, datetime
from types import SimpleNamespace

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka._model import ConsumerGroupState, ConsumerGroupType, Node
from confluent_kafka.admin import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    ListConsumerGroupsResult,
    MemberAssignment,
    MemberDescription,
)
from deltalake import DeltaTable

from jobs import snapshot
from jobs.checks.check import broken_laws, notes
from jobs.command_line.cli import main
from jobs.console.errors import RunFailed, UsageError
from jobs.lake.opening import open_without_engine
from jobs.lake.sql import query
from jobs.snapshot import SnapshotOptions, Snapshots, table_of
from jobs.sources.topic import live_groups
from jobs.sources.topic.live_groups import GroupRow, LiveGroups, described, other_group
from jobs.what_if.command import WhatIfOptions, evaluate
from schemas import table_names

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
LATER = datetime(2026, 11, 21, 12, 0, 1, tzinfo=UTC)


def assignment(topic, *partitions):
    return MemberAssignment([TopicPartition(topic, partition) for partition in partitions])


def description(group="g", state="STABLE", type_="CLASSIC", members=(), **more):
    values = {"is_simple_consumer_group": False, "partition_assignor": "range"} | more
    return ConsumerGroupDescription(
        group,
        members=list(members),
        state=ConsumerGroupState[state],
        coordinator=Node(3, "broker", 9092),
        type=ConsumerGroupType[type_],
        **values,
    )


def member(name, assigned, target=None, instance_id=None):
    return MemberDescription(name, name[0], "/10.0.0.1", assigned, instance_id, target)


def row(group="g", state="Stable", members=(), **more):
    return GroupRow(
        group_id=group,
        requested_time=NOON,
        described_time=LATER,
        group_type="classic",
        protocol_type="consumer",
        state=state,
        members=[*members],
        **more,
    )


def assigned(name, *partitions, instance_id=None):
    topics = [{"topic": "t", "partitions": [*partitions]}] if partitions else []
    return {
        "member_id": name, "instance_id": instance_id, "client_id": name, "client_host": "/h",
        "assigned": topics, "target": None,
    }  # fmt: skip


def test_the_row_of_a_classic_group():
    members = [
        member("b-2", MemberAssignment([]), instance_id=""),
        member("a-1", assignment("t", 2, 0), instance_id="i"),
    ]

    columns = described(description(members=members), NOON, LATER).columns()

    assert columns.pop("assignment_hash") == "fef3f6b5177dfccd"
    assert columns == {
        "group_id": "g",
        "requested_time": NOON,
        "described_time": LATER,
        "group_type": "classic",
        "protocol_type": "consumer",
        "state": "Stable",
        "protocol": "range",
        "coordinator_id": 3,
        "member_count": 2,
        "members": [
            {
                "member_id": "a-1", "instance_id": "i", "client_id": "a",
                "client_host": "/10.0.0.1",
                "assigned": [{"topic": "t", "partitions": [0, 2]}], "target": None,
            },
            {
                "member_id": "b-2", "instance_id": None, "client_id": "b",
                "client_host": "/10.0.0.1", "assigned": [], "target": None,
            },
        ],
        "error": None,
    }  # fmt: skip


def test_a_consumer_group_that_reconciles_has_targets():
    moving = member("a", assignment("t", 0, 1), target=assignment("t", 1))

    group = described(description(state="UNKNOWN", type_="CONSUMER", members=[moving]), NOON, LATER)

    assert (group.group_type, group.state) == ("consumer", "Reconciling")
    assert group.members[0]["assigned"] == [{"topic": "t", "partitions": [0, 1]}]
    assert group.members[0]["target"] == [{"topic": "t", "partitions": [1]}]


def test_a_group_that_only_commits_has_no_members():
    simple = description(state="EMPTY", is_simple_consumer_group=True, partition_assignor="")

    group = described(simple, NOON, LATER)

    assert (group.protocol_type, group.protocol, group.members) == ("", None, [])


def other(name, state="Stable", protocol_type="connect", members=(), error=None):
    return SimpleNamespace(
        id=name, state=state, protocol_type=protocol_type, protocol="sessioned", error=error,
        broker=SimpleNamespace(id=2), members=members,
    )  # fmt: skip


def worker(name, assignment):
    return SimpleNamespace(id=name, client_id="w", client_host="/h", assignment=assignment)


def test_a_connect_group_has_members_without_assignments():
    group = other_group(other("c", members=[worker("w-2", b"2"), worker("w-1", b"1")]), NOON)
    changed = other_group(other("c", members=[worker("w-2", b"1"), worker("w-1", b"2")]), NOON)

    assert (group.protocol_type, group.state, group.coordinator_id) == (
        "connect",
        "Stable",
        2,
    )
    assert [(m["member_id"], m["assigned"]) for m in group.members] == [
        ("w-1", None),
        ("w-2", None),
    ]
    assert group.columns()["assignment_hash"] != changed.columns()["assignment_hash"]


def test_a_group_of_another_type_is_named():
    group = other_group(other("s", state="Dead", protocol_type=""), NOON)

    assert (group.state, group.members, group.error) == (
        None,
        None,
        "a share or streams group, which the client library cannot describe",
    )


@pytest.mark.parametrize(
    ("members", "is_same"),
    [
        ([assigned("b", 1), assigned("a", 0)], True),
        ([assigned("a", 0), assigned("c", 1)], False),
        ([assigned("a", 1), assigned("b", 0)], False),
        ([assigned("a", 0)], False),
    ],
    ids=["order", "another member", "swapped", "fewer"],
)
def test_the_hash_is_of_members_and_their_partitions(members, is_same):
    before = row(members=[assigned("a", 0), assigned("b", 1)]).columns()["assignment_hash"]

    assert (row(members=members).columns()["assignment_hash"] == before) is is_same


def test_a_replaced_static_member_keeps_the_hash():
    hashes = {
        row(members=[assigned(name, 0, instance_id="i")]).columns()["assignment_hash"]
        for name in ("i-1", "i-2")
    }

    assert len(hashes) == 1


class Answers:
    """An AdminClient with these answers; ``asked``: the groups of each describe call."""

    def __init__(self, listed=(), errors=(), others=(), descriptions=None):
        self.listed, self.errors, self.others = listed, errors, others
        self.descriptions, self.asked = descriptions or {}, []

    def list_consumer_groups(self, **_):
        groups = [
            ConsumerGroupListing(n, False, type=ConsumerGroupType.CLASSIC) for n in self.listed
        ]
        return Future(ListConsumerGroupsResult(groups, list(self.errors)))

    def list_groups(self, **_):
        if isinstance(self.others, Exception):
            raise self.others
        return list(self.others)

    def describe_consumer_groups(self, names, **_):
        self.asked.append(names)
        return {name: Future(self.descriptions.get(name) or description(name)) for name in names}


class Future:
    def __init__(self, value):
        self.value = value

    def result(self):
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


def failed(code):
    return KafkaException(KafkaError(code))


@pytest.fixture
def groups(monkeypatch):
    """``groups(**answers)``: LiveGroups of a cluster that gives these answers."""

    def build(**answers):
        client = Answers(**answers)
        monkeypatch.setattr(live_groups, "AdminClient", lambda _: client)
        monkeypatch.setattr("jobs.sources.topic.live_groups.require_answer", lambda *_: None)
        return LiveGroups("b:1", {}), client

    return build


def test_groups_are_described_in_batches(groups, monkeypatch):
    monkeypatch.setattr(live_groups, "GROUPS_PER_BATCH", 2)
    live, client = groups(listed=["c", "a", "b"])

    assert [each.group_id for each in live.rows()] == ["a", "b", "c"]
    assert client.asked == [["a", "b"], ["c"]]


def test_every_listed_group_has_a_row(groups):
    denied = failed(KafkaError.GROUP_AUTHORIZATION_FAILED)
    gone = failed(KafkaError.GROUP_ID_NOT_FOUND)
    live, _ = groups(
        listed=["denied", "gone", "", "plain"],
        others=[other("plain", protocol_type="consumer"), other("worker")],
        descriptions={"denied": denied, "gone": gone},
    )

    assert [(r.group_id, r.group_type, r.state, r.error) for r in live.rows()] == [
        ("worker", "classic", "Stable", None),
        ("", "classic", None, "the client library cannot describe a group without a name"),
        ("denied", "classic", None, "Broker: Group authorization failed"),
        ("gone", "classic", "Dead", None),
        ("plain", "classic", "Stable", None),
    ]


def test_a_group_of_the_previous_snapshot_is_asked_for_even_if_no_broker_lists_it(groups):
    live, client = groups(listed=["a"], others=[other("worker")])

    list(live.rows(previous={"a", "deleted", "worker"}))

    assert client.asked == [["a", "deleted"]]


def test_consumers_that_only_the_other_call_lists_are_described(groups):
    others = [
        other("late", protocol_type="consumer"),
        other("offsets", state="Empty", protocol_type=""),
        other("share", state="Dead", protocol_type=""),
    ]
    live, client = groups(listed=["a"], others=others)

    assert [each.group_id for each in live.rows()] == ["share", "a", "late", "offsets"]
    assert client.asked == [["a", "late", "offsets"]]


def test_a_group_without_a_name_alone_is_not_asked_for(groups):
    live, client = groups(listed=[""])

    assert [each.error for each in live.rows()] == [
        "the client library cannot describe a group without a name"
    ]
    assert client.asked == []


def test_what_cannot_be_listed_is_a_problem(groups):
    live, _ = groups(listed=["a"], errors=[failed(KafkaError._TIMED_OUT)], others=failed(7))

    assert len(list(live.rows())) == 1
    assert live.problems == [
        "groups of Kafka Connect, share and streams groups not listed: Broker: Request timed out",
        "a broker did not list its groups: Local: Timed out",
    ]


def test_brokers_that_list_nothing_are_an_error_but_an_empty_cluster_is_not(groups):
    live, _ = groups(errors=[failed(KafkaError._TIMED_OUT)])
    with pytest.raises(RunFailed, match="--bootstrap b:1: ListGroups: Local: Timed out"):
        list(live.rows())

    live, _ = groups()
    assert list(live.rows()) == []
    assert live.problems == [
        "no group is listed: the cluster has no groups, or this user lacks DESCRIBE on them"
    ]


def test_no_broker_is_one_line():
    with pytest.raises(RunFailed) as raised:
        LiveGroups("127.0.0.1:9", {})

    assert str(raised.value) == (
        "--bootstrap: 127.0.0.1:9 does not answer: Connection refused; correct --bootstrap, start "
        "the broker, or open the network path to it"
    )


@pytest.mark.parametrize(
    ("bootstrap", "settings", "message"),
    [
        ("nonsense", {}, "--bootstrap nonsense: give HOST:PORT"),
        (
            "127.0.0.1:9",
            {"security.protocol": "SSL", "ssl.truststore.location": "/t.jks"},
            r"\[kafka\] ssl.truststore.location \(JKS\): the client library, librdkafka, has no",
        ),
        (
            "127.0.0.1:9",
            {
                "security.protocol": "SSL",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": "/nowhere/ca.pem",
            },
            r"--bootstrap: settings under \[kafka\] are not valid",
        ),
    ],
    ids=["address", "JKS", "no such file"],
)
def test_wrong_settings(bootstrap, settings, message):
    with pytest.raises(UsageError, match=message):
        LiveGroups(bootstrap, settings)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 1),
        ({"count": 3}, 3),
        ({"every": "30s", "lasts": "1m"}, 3),
        ({"lasts": "59s"}, 2),
        ({"every": "5m", "lasts": "1m"}, 1),
    ],
)
def test_when_the_loop_ends(options, expected):
    options = SnapshotOptions("lake", "c", "b:1", **options)

    numbers = (n for n in range(1, 10) if options.is_last(n, n * options.every_s))

    assert next(numbers) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lasts": "1m", "count": 2}, "give either --for or --count"),
        ({"every": "soon"}, "--every soon: not a duration"),
        ({"lasts": "0s"}, "--for 0s: not a duration"),
    ],
)
def test_wrong_options_are_errors_before_anything_is_asked(options, message):
    with pytest.raises(UsageError, match=message):
        snapshot.snapshot(SnapshotOptions("lake", "c", "127.0.0.1:9", **options), None)


def test_a_lake_that_delta_rs_cannot_write():
    with pytest.raises(UsageError, match="--lake hdfs://n/lake: give a folder, or a URI of abfs"):
        open_without_engine("hdfs://n/lake", "c")


class Scripted:
    """LiveGroups whose calls of `rows` return, or raise, these one after the other."""

    def __init__(self, *answers):
        self.answers, self.problems, self.previous = list(answers), [], []

    def rows(self, previous):
        self.previous.append(set(previous))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return iter(answer)


@pytest.fixture
def loop(tmp_path):
    """``loop(answers, **options)``: run it; returns the lines, the LiveGroups and the error."""

    def run(*answers, **options):
        lines, scripted, error = [], Scripted(*answers), None
        options = SnapshotOptions(str(tmp_path / "lake"), "c", "b:1", **options)
        lake = open_without_engine(options.lake, "c")
        snapshots = Snapshots(
            options=options, lake=lake, groups=scripted, say=lines.append, wait=lambda _: None
        )
        try:
            snapshots.run()
        except RunFailed as failure:
            error = str(failure)
        return [line.partition(" snapshot ")[2] or line for line in lines], scripted, error

    return run


def test_each_snapshot_appends_rows_and_a_line(loop, tmp_path):
    denied = [
        GroupRow(group_id=name, requested_time=NOON, described_time=LATER, error="denied")
        for name in ("d", "e")
    ]
    first = [row("a", members=[assigned("x", 0)]), row("b", "Empty"), *denied]

    lines, scripted, error = loop(first, [row("a", "Dead")], count=2)

    assert [line.rpartition(", ")[0] for line in lines] == [
        "regroup: not described: 2 groups, the first is d: denied".rpartition(", ")[0],
        "1: 4 groups (1 Stable, 1 Empty), 1 member",
        "2: 1 group (1 Dead), 0 members",
    ]
    assert scripted.previous == [set(), {"a", "b", "d", "e"}]
    assert error is None
    rows = query(
        f"{tmp_path}/lake",
        "SELECT group_id, state, member_count, error, DENSE_RANK() OVER (ORDER BY snapshot_time) "
        "FROM group_snapshots ORDER BY 5, 1",
    )[1]
    assert rows == [
        ("a", "Stable", 1, None, 1),
        ("b", "Empty", 0, None, 1),
        ("d", None, None, "denied", 1),
        ("e", None, None, "denied", 1),
        ("a", "Dead", 0, None, 2),
    ]


def test_a_later_failure_is_a_line_and_exit_1(loop):
    lines, _, error = loop([row()], RunFailed("no answer"), [row()], count=3)

    assert [line.partition(",")[0] for line in lines] == [
        "1: 1 group (1 Stable)",
        "2: failed: no answer",
        "3: 1 group (1 Stable)",
    ]
    assert error == "1 of 3 snapshots failed; see the lines above"


def test_a_failure_of_the_first_snapshot_ends_the_command(loop):
    assert loop(RunFailed("no answer"), [row()], count=2)[2] == "no answer"


def test_files_are_combined(loop, tmp_path, monkeypatch):
    monkeypatch.setattr(snapshot, "SNAPSHOTS_PER_COMPACTION", 3)

    loop(*[[row()]] * 4, count=4)

    assert len(DeltaTable(f"{tmp_path}/lake/group_snapshots").file_uris()) == 2


def test_a_lake_of_snapshots_alone_violates_no_law(loop, tmp_path):
    loop([row()])

    assert broken_laws(f"{tmp_path}/lake")[1] == []
    assert notes(f"{tmp_path}/lake") == []


def seen(seconds, *groups):
    """The rows of a snapshot, as Arrow; it begins so many seconds after noon."""
    return table_of(list(groups), "c", datetime.fromtimestamp(NOON.timestamp() + seconds, UTC))


def at(seconds, members=(), state="Stable", **more):
    """Group g, requested 10 ms and described 20 ms after so many seconds after noon."""
    requested, answered = (
        datetime.fromtimestamp(NOON.timestamp() + seconds + ms / 1000, UTC) for ms in (10, 20)
    )
    members = [assigned(name, *partitions) for name, partitions in dict(members).items()]
    group = GroupRow(
        group_id="g",
        requested_time=requested,
        described_time=answered,
        group_type="classic",
        protocol_type="consumer",
        state=state,
        members=members,
    )
    return seen(seconds, *[group])


@pytest.fixture
def ask(tmp_path):
    """``ask(snapshots, sql)``: rows from a lake of these snapshots."""

    def ask(snapshots, sql):
        lake = open_without_engine(str(tmp_path), "c")
        lake.append_rows("group_snapshots", pa.concat_tables(snapshots))
        return query(str(tmp_path), sql)[1]

    return ask


JOIN = [
    at(0, {"a": [0, 1], "b": [2, 3]}),
    at(30, {"a": [0, 1], "b": [2, 3]}),
    at(60, {"a": [0, 1], "b": [2, 3], "c": []}, "PreparingRebalance"),
    at(65, {"a": [0, 1], "b": [2, 3], "c": []}, "PreparingRebalance"),
    at(90, {"a": [0, 1], "c": [2, 3]}),
    at(120, {}, "Empty"),
]
MS = "UNIX_MILLIS({0}) - 1795262400000"  # after noon


def test_generations_are_between_the_snapshots(ask):
    bounds = ", ".join(
        MS.format(n) for n in ("not_before_time", "not_after_time", "last_seen_time")
    )

    rows = ask(
        JOIN,
        f"SELECT generation, outcome, member_count, {bounds}, met_snapshots, total_ms_min, "
        "total_ms_max, snapshots, evidence FROM snapshot_generations",
    )

    assert rows == [
        (1, "stable", 2, None, 20, 30_020, None, None, None, 2, "snapshot"),
        (2, "stable", 2, 30_010, 90_020, 90_020, 2, 4_990, 60_010, 1, "snapshot"),
        (3, "empty", 0, 90_010, 120_020, 120_020, 0, None, 30_010, 1, "snapshot"),
    ]


@pytest.mark.parametrize(
    ("between", "generations"),
    [
        ([], 1),
        ([at(10, {"a": [0]}, "CompletingRebalance")], 2),
        ([at(10, {}, "Dead")], 2),
        (
            [
                seen(
                    10,
                    GroupRow(
                        group_id="g", requested_time=NOON, described_time=LATER, error="denied"
                    ),
                )
            ],
            1,
        ),
    ],
    ids=["nothing", "a rebalance that moved nothing", "deleted", "not described"],
)
def test_what_makes_a_generation_of_equal_assignments(ask, between, generations):
    same = [at(0, {"a": [0]}), *between, at(20, {"a": [0]})]

    assert ask(same, "SELECT MAX(generation) FROM snapshot_generations") == [(generations,)]


def test_members_joined_and_gone(ask):
    rows = ask(JOIN, "SELECT generation, member_id, change, gone FROM snapshot_members")

    assert rows == [
        (1, "a", None, False),
        (1, "b", None, True),
        (2, "a", "retained", True),
        (2, "c", "joined", True),
    ]


def test_a_replaced_static_member(ask):
    snapshots = [seen(n, row(members=[assigned(f"i-{n}", n, instance_id="i")])) for n in range(2)]

    members = ask(snapshots, "SELECT generation, member_id, change, gone FROM snapshot_members")

    assert members == [(1, "i-0", None, False), (2, "i-1", "replaced", False)]


def test_partitions_that_moved(ask):
    rows = ask(
        JOIN,
        "SELECT generation, partition, member_id, previous_member_id, moved "
        "FROM snapshot_assignments WHERE generation = 2",
    )

    assert rows == [
        (2, 0, "a", "a", False),
        (2, 1, "a", "a", False),
        (2, 2, "c", "b", True),
        (2, 3, "c", "b", True),
    ]


def test_what_changed_from_generation_to_generation(ask):
    rows = ask(
        JOIN,
        "SELECT generation, members_joined, members_gone, members_replaced, members_retained, "
        "partitions_moved FROM snapshot_rebalances",
    )

    assert rows == [(2, 1, 1, 0, 1, 2), (3, 0, 2, 0, 0, 0)]


def test_the_newest_state_of_each_group(ask):
    gone = row("gone")
    snapshots = [
        seen(0, gone),
        *JOIN[:2],
        seen(
            31,
            GroupRow(group_id="denied", requested_time=NOON, described_time=LATER, error="denied"),
        ),
    ]

    rows = ask(
        snapshots,
        "SELECT group_id, state, member_count, is_in_newest, generation, error "
        "FROM snapshot_groups",
    )

    assert rows == [
        ("denied", None, None, True, None, "denied"),
        ("g", "Stable", 2, False, 1, None),
        ("gone", "Stable", 0, False, 1, None),
    ]


# -- a lake of snapshots alone ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ["investigate"],
        ["what-if", "--group", "g"],
        ["plan", "--group", "g"],
        ["gate", "--group", "g", "--since", "2026-11-22T09:00"],
    ],
    ids=" ".join,
)
def test_what_a_lake_of_snapshots_shows_and_what_is_missing(
    command, write_lake, tmp_path, monkeypatch, capsys
):
    row = {"group_id": "g", "snapshot_time": 0, "requested_time": 0, "described_time": 0}
    lake = write_lake(tmp_path, {"group_snapshots": [row]})
    arguments = [*command, "--lake", lake, "--cluster-id", "c"]
    monkeypatch.setattr(sys, "argv", ["regroup", *arguments])

    with pytest.raises(SystemExit) as left:
        main()

    assert left.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(f"regroup: --lake {lake}: it has snapshots only, and no table ")
    assert "`regroup sql` with view snapshot_rebalances shows rebalances, members and" in error
    assert "for causes and predictions add records or brokers' logs with `regroup nightly`" in error
    assert error.count("\n") == 1


def test_a_group_of_which_the_lake_has_snapshots_alone(write_lake, tmp_path):
    row = {"group_id": "g", "snapshot_time": 0, "requested_time": 0, "described_time": 0}
    tables = {name: [] for name in table_names()}
    lake = write_lake(tmp_path, tables | {"group_snapshots": [row]})

    with pytest.raises(UsageError, match=r"--group g: only snapshots of this group in .*; add rec"):
        evaluate(WhatIfOptions(lake=lake, cluster_id="c", group_id="g"))
