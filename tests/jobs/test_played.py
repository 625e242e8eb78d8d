"""Modern groups are played once per run, and every job takes its rows from there."""

from threading import Barrier, Thread

import pytest

from jobs import generation_members, generations, group_epochs, member_epochs
from jobs.group_events import SEQ_PER_MS
from jobs.lake.opening import open_lake
from jobs.lake.scope import AllDates
from jobs.lake.shared import SharedFrames
from jobs.modern_history import played

pytestmark = pytest.mark.embedded_suffices

NOON_MS = 1_795_262_400_000  # 2026-11-21 12:00 UTC
GROUPS = {"g": "consumer", "h": "share"}


def records(group, group_type):
    """Member m joins; the target of epoch 1 is empty, and the member takes it at its next step."""
    name = group_type.capitalize()
    each = [
        ("GroupMemberMetadata", "MEMBER_RECORD", {"member_id": "m", "client_id": "m"}),
        ("GroupMetadata", "EPOCH_RECORD", {"epoch": 1}),
        ("GroupTargetAssignmentMetadata", "TARGET_RECORD", {"epoch": 1}),
        (
            "GroupCurrentMemberAssignment",
            "OTHER_RECORD",
            {"member_id": "m", "epoch": 1, "state": 0},
        ),
    ]
    for number, (record, event, values) in enumerate(each):
        row = {"group_id": group, "log_offset": number, "topic_partition": "__consumer_offsets-0"}
        yield (
            row | values | {"record": f"{name}{record}", "group_type": group_type},
            row | {
                "event": event, "event_time": NOON_MS + number,
                "seq": (NOON_MS + number) * SEQ_PER_MS,
                "event_generation": 1 if event == "TARGET_RECORD" else None,
            },
        )  # fmt: skip


@pytest.fixture
def scope(spark, tmp_path, write_lake):
    rows = [row for group in GROUPS.items() for row in records(*group)]
    tables = {"group_records": [of for of, _ in rows], "timeline": [of for _, of in rows]}
    return AllDates(open_lake(spark, write_lake(tmp_path, tables), "c"))


def test_a_run_plays_each_group_once_for_all_of_its_jobs(scope, monkeypatch):
    plays, play = [], played._play
    monkeypatch.setattr(played, "_play", lambda *read: plays.append(1) or play(*read))

    for job in (generations, generation_members, group_epochs, member_epochs):
        job.run(scope)

    assert plays == [1]
    lake = scope.lake
    assert sorted(
        (row.group_id, row.group_type, row.generation, row.outcome)
        for row in lake.read("generations").collect()
    ) == [("g", "consumer", 1, "stable"), ("h", "share", 1, "stable")]
    assert sorted(
        (row.group_id, row.member_id, row.change)
        for row in lake.read("generation_members").collect()
    ) == [("g", "m", "joined"), ("h", "m", "joined")]
    assert sorted(
        (row.group_id, row.epoch, row.cause, row.log_offset)
        for row in lake.read("group_epochs").collect()
    ) == [("g", 1, "MEMBER_NEW", 1), ("h", 1, "MEMBER_NEW", 1)]
    assert sorted(
        (row.group_id, row.member_id, row.state, row.log_offset)
        for row in lake.read("member_epochs").collect()
    ) == [("g", "m", "STABLE", 3), ("h", "m", "STABLE", 3)]


def test_a_lake_without_such_groups_is_not_played(spark, tmp_path, write_lake):
    root = write_lake(tmp_path, {"timeline": []})
    assert played.played(AllDates(open_lake(spark, root, "c")), "generations") is None


def test_jobs_that_ask_at_the_same_time_share_one_frame():
    shared, made, at_once, got = SharedFrames(), [], Barrier(2), []

    def make():
        made.append(object())
        return made[-1]

    def ask():
        at_once.wait()
        got.append(shared.get("played", make))

    threads = [Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(made) == 1
    assert got == [made[0], made[0]]


def test_jobs_that_ask_for_different_frames_do_not_wait_for_each_other():
    shared, at_once, got = SharedFrames(), Barrier(2, timeout=20), []

    def ask(name):
        got.append(shared.get(name, lambda: (at_once.wait(), name)[1]))

    threads = [Thread(target=ask, args=[name]) for name in ("played", "costs")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(got) == ["costs", "played"]
