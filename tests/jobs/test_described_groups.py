# ruff: noqa: E501 - output of a tool stays on one line
"""Output of `kafka-consumer-groups --describe` as snapshots."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable

from jobs.lake.sql import query
from jobs.sources.logs.dates import since_ms_of_option
from jobs.sources.topic.described_groups import NO_MEMBERS, described_groups

ROOT = Path(__file__).parents[2]
A, B = "app-1-aaaaaaaa-1111-4222-8333-00000000000a", "app-1-bbbbbbbb-1111-4222-8333-00000000000b"
OFFSETS = f"""
GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID                                HOST            CLIENT-ID
orders          t               0          1714557600      1714557611      11              {A} /10.0.0.1       app-1
orders          t               2          -               5               -               {A} /10.0.0.1       app-1
orders          u               1          7               7               0               {B} /10.0.0.2       app-1
orders          t               1          3               3               0               -                                          -               -
orders          -               -          -               -               -               app-1-c                                    /10.0.0.3       app-1
"""
MEMBERS_2 = f"""
GROUP           CONSUMER-ID                                GROUP-INSTANCE-ID HOST            CLIENT-ID       #PARTITIONS     ASSIGNMENT
orders          {A} pod-0             /10.0.0.1       app-1           2               t(0,2)
orders          {B}                   /10.0.0.2       app-1           3               t(1), u(0,1)
"""
MEMBERS_4 = f"""
GROUP           CONSUMER-ID                                HOST            CLIENT-ID       #PARTITIONS     CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT   
orders          {A} /10.0.0.1       app-1           2               5               t:0,2                6               t:0                 
orders          {B} /10.0.0.2       app-1           0               6               -                    6               t:2;u:1             
"""
STATE = """
GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                #MEMBERS
orders          broker-1:9092  (3)        range                CompletingRebalance  2
"""
STATE_4 = """
GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                GROUP-EPOCH     TARGET-ASSIGNMENT-EPOCH   #MEMBERS
orders          broker-1:9092  (3)        uniform              Stable               6               6                         2
"""


def read(text, timezone="UTC", since=None):
    return described_groups(text.encode(), timezone, since_ms_of_option(since))


def assigned(**topics):
    return [{"topic": topic, "partitions": numbers} for topic, numbers in topics.items()]


def test_offsets_name_each_member_and_its_partitions():
    ((time, (group,)),) = read(f"Fri Nov 27 10:00:00 CET 2026\n{OFFSETS}").snapshots

    assert time == datetime(2026, 11, 27, 9, tzinfo=UTC)
    assert (group.group_id, group.state, group.group_type, group.error) == (
        "orders", "Stable", None, None,
    )  # fmt: skip
    assert [
        (m["member_id"], m["client_id"], m["client_host"], m["assigned"]) for m in group.members
    ] == [
        (A, "app-1", "/10.0.0.1", assigned(t=[0, 2])),
        (B, "app-1", "/10.0.0.2", assigned(u=[1])),
        ("app-1-c", "app-1", "/10.0.0.3", []),
    ]


def test_members_with_partitions_and_instance_ids():
    ((_, (group,)),) = read(f"2026-11-27T10:00:00Z\n{MEMBERS_2}").snapshots

    assert [(m["member_id"], m["instance_id"], m["assigned"], m["target"]) for m in group.members] == [
        (A, "pod-0", assigned(t=[0, 2]), None),
        (B, None, assigned(t=[1], u=[0, 1]), None),
    ]  # fmt: skip


def test_members_of_the_consumer_protocol_have_targets():
    ((_, (group,)),) = read(f"2026-11-27T10:00:00Z\n{MEMBERS_4}{STATE_4}").snapshots

    assert (group.group_type, group.state, group.protocol, group.coordinator_id) == (
        "consumer", "Stable", "uniform", 3,
    )  # fmt: skip
    assert [(m["member_id"], m["assigned"], m["target"]) for m in group.members] == [
        (A, assigned(t=[0, 2]), assigned(t=[0])),
        (B, [], assigned(t=[2], u=[1])),
    ]


def test_tables_of_one_time_are_one_row():
    ((_, (group,)),) = read(f"1795773600\n{STATE}\n{OFFSETS}\n{MEMBERS_2}").snapshots

    assert (group.state, group.protocol, group.coordinator_id) == (
        "CompletingRebalance",
        "range",
        3,
    )
    assert [m["instance_id"] for m in group.members] == ["pod-0", None, None]


def test_a_state_alone_has_no_members():
    ((_, (group,)),) = read(f"2026-11-27 10:00:00\n{STATE}").snapshots

    assert (group.state, group.members, group.error) == ("CompletingRebalance", None, NO_MEMBERS)


@pytest.mark.parametrize(
    ("sentence", "table", "state", "members"),
    [
        (
            "Consumer group 'orders' has no active members.",
            OFFSETS,
            "Empty",
            3,
        ),
        ("Warning: Consumer group 'orders' is rebalancing.", OFFSETS, "PreparingRebalance", 3),
        ("Warning: Consumer group 'orders' is rebalancing.", MEMBERS_4, "Reconciling", 2),
        ("Error: Consumer group 'orders' does not exist.", "", "Dead", 0),
        ("Consumer group 'orders' has no active members.", "", "Empty", 0),
    ],
)
def test_sentences_about_a_state(sentence, table, state, members):
    ((_, (group,)),) = read(f"2026-11-27 10:00:00\n{sentence}\n{table}").snapshots

    assert group.state == state
    assert len(group.members) == members


def test_an_output_without_members_is_of_an_empty_group():
    rows = [line for line in OFFSETS.splitlines() if "app-1" not in line]

    ((_, (group,)),) = read("\n".join(["2026-11-27 10:00:00", *rows])).snapshots

    assert (group.state, group.members) == ("Empty", [])


def test_text_that_lost_its_spaces_is_read():
    def squeezed(text):
        return "\n".join(" ".join(line.split()) for line in text.splitlines())

    text = f"2026-11-27 10:00:00\n{OFFSETS}\n{MEMBERS_4}\n{STATE_4}"

    assert read(squeezed(text)).snapshots == read(text).snapshots


def test_a_time_before_each_line():
    """As `ts` writes it."""
    lines = [f"Nov 27 10:00:00 {line}" for line in OFFSETS.splitlines() if line]

    ((time, (group,)),) = read("\n".join(lines), since="2026-11-01").snapshots

    assert (time, len(group.members)) == (datetime(2026, 11, 27, 10, tzinfo=UTC), 3)


def test_several_outputs_in_one_file():
    text = "\n".join(f"2026-11-27 10:0{n}:00\n{OFFSETS}" for n in range(3))

    snapshots = read(text, timezone="Europe/Berlin").snapshots

    assert [each.time for each in snapshots] == [
        datetime(2026, 11, 27, 9, minute, tzinfo=UTC) for minute in range(3)
    ]


def test_times_without_a_date_follow_the_option():
    text = f"23:59:30\n{OFFSETS}\n00:00:30\n{OFFSETS}"

    times = [each.time for each in read(text, since="2026-11-27T20:00").snapshots]

    assert times == [
        datetime(2026, 11, 27, 23, 59, 30, tzinfo=UTC), datetime(2026, 11, 28, 0, 0, 30, tzinfo=UTC),
    ]  # fmt: skip


def test_the_option_is_the_time_of_one_output():
    ((time, _),) = read(OFFSETS, since="2026-11-27T20:00").snapshots

    assert time == datetime(2026, 11, 27, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "snapshots", "problem"),
    [
        (OFFSETS, 0, "line 2: no line above has a date: print `date` before each output, or give --log-date"),
        (
            f"9999-12-31T23:59:59-12:00\n{OFFSETS}",
            0,
            "line 3: date 10000-01-01 11:59:59,000 is not between 1970-01-02 and 2261-12-30",
        ),
        (
            f"2026-11-27 10:00:00\n{OFFSETS}{OFFSETS}",
            1,
            "line 11: group orders is described again without a date in between: print `date` before each output",
        ),
        (
            "2026-11-27 10:00:00\nTOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID\nt  0  1  2  1  c-1  /h  c\n",
            0,
            "line 2: no column GROUP: print it with Kafka 2.2 or newer",
        ),
    ],
    ids=["without a date", "a date beyond dates", "twice", "without a group"],
)  # fmt: skip
def test_what_cannot_be_used_is_named(text, snapshots, problem):
    description = read(text)

    assert (len(description.snapshots), description.problems) == (snapshots, [problem])


def regroup(*arguments):
    command = [sys.executable, "-m", "jobs.command_line.cli", "snapshot", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_command_adds_each_snapshot_once(tmp_path):
    later = MEMBERS_2.replace("t(1), u(0,1)", "t(1)")
    (tmp_path / "groups.txt").write_text(
        f"2026-11-27 10:00:00\n{MEMBERS_2}\n2026-11-27 10:01:00\n{MEMBERS_2}\n2026-11-27 10:02:00\n{later}"
    )
    lake = tmp_path / "lake"
    arguments = ["--lake", lake, "--cluster-id", "c", "--describe", tmp_path / "groups.txt"]

    runs = [regroup(*arguments) for _ in range(2)]

    assert [(run.returncode, run.stderr) for run in runs] == [
        (0, f"{tmp_path}/groups.txt: 3 snapshots, 3 groups (3 Stable), 6 members\n")
    ] * 2
    assert DeltaTable(str(lake / "group_snapshots")).to_pyarrow_table().num_rows == 3
    rows = query(
        str(lake),
        "SELECT generation, outcome, member_count, snapshots FROM snapshot_generations ORDER BY generation",
    )
    assert [tuple(row) for row in rows[1]] == [(1, "stable", 2, 2), (2, "stable", 2, 1)]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        ([], 2, "regroup: give either --bootstrap or --describe"),
        (["--describe", "/nowhere.txt"], 2, "regroup: --describe /nowhere.txt: no such file"),
    ],
)
def test_wrong_options_of_the_command(tmp_path, arguments, exit_code, message):
    run = regroup("--lake", tmp_path / "lake", "--cluster-id", "c", *arguments)

    assert (run.returncode, run.stderr.startswith(message)) == (exit_code, True), run.stderr


def test_a_file_without_a_snapshot_fails(tmp_path):
    file = tmp_path / "groups.txt"
    file.write_text(OFFSETS)

    run = regroup("--lake", tmp_path / "lake", "--cluster-id", "c", "--describe", file)

    assert run.returncode == 1
    assert run.stderr.splitlines() == [
        f"{file}: line 2: no line above has a date: print `date` before each output, or give --log-date",
        f"{file}: 0 snapshots, 0 groups, 0 members",
        f"regroup: no snapshot in {file}: give output of kafka-consumer-groups --describe",
    ]
