"""Table `runs`: a run's steps, the rows that each wrote, and the error if it failed."""

import io
from datetime import date

import pytest

from jobs import __version__
from jobs.lake.opening import open_lake
from jobs.lake.sql import query
from jobs.nightly_run.pipeline import Progress
from jobs.nightly_run.runs import Run, summary

pytestmark = pytest.mark.embedded_suffices
DAY = date(2026, 11, 21)


@pytest.fixture
def run(spark, tmp_path):
    return Run(
        lake=open_lake(spark, str(tmp_path), "c"),
        options={"segments": "/kafka"},
        first=DAY,
        last=DAY,
    )


@pytest.fixture
def progress():
    return Progress(io.StringIO())


def rows(lake, columns):
    return query(lake.root, f"SELECT {columns} FROM runs ORDER BY step")[1]


def churn(frame, *generations):
    return frame("churn", [{"group_id": "g", "generation": n} for n in generations])


def test_a_run_writes_one_row_per_step_and_one_for_the_whole_run(run, progress, frame):
    run.bronze_versions = {"offsets_records": 7}
    before = churn(frame, 1)
    run.lake.replace("churn", before)  # before this run

    with run.recorded(progress):
        progress.step("churn", lambda: run.lake.replace("churn", churn(frame, 1, 2, 3)))

    assert rows(run.lake, "step, outcome, error, first_date, last_date, rows_written, options") == [
        ("churn", "done", None, DAY, DAY, {"churn": 3}, None),
        ("nightly", "done", None, DAY, DAY, {"churn": 3}, {"segments": "/kafka"}),
    ]
    [(step_s, none), (whole_s, bronze)] = rows(run.lake, "seconds, bronze_versions")
    assert (none, bronze) == (None, {"offsets_records": 7})
    assert 0 < step_s <= whole_s
    [(_, versions)] = rows(run.lake, "step, versions")[1:]
    assert versions["regroup"] == __version__


@pytest.mark.every_time
def test_rows_that_a_merge_only_copied_are_not_counted(run, progress, frame):
    run.lake.replace("churn", churn(frame, 1, 2, 3))

    with run.recorded(progress):
        progress.step("churn", lambda: run.lake.upsert("churn", churn(frame, 3, 4)))

    assert rows(run.lake, "rows_written")[0] == ({"churn": 2},)


def test_a_failed_run_is_recorded_with_its_error(run, progress):
    def fail():
        raise ValueError("no room\nand a long trace")

    with pytest.raises(ValueError, match="no room"), run.recorded(progress):
        progress.step("churn", fail)

    assert rows(run.lake, "step, outcome, error") == [
        ("churn", "failed", "ValueError: no room"),
        ("nightly", "failed", "ValueError: no room"),
    ]


def test_the_error_that_ended_a_run_is_raised_even_if_its_rows_cannot_be_written(
    run, progress, monkeypatch
):
    def no_session(*_):
        raise OSError("connection refused")

    monkeypatch.setattr(run.lake.spark, "createDataFrame", no_session)

    with pytest.raises(ValueError, match="out of disk"), run.recorded(progress):
        raise ValueError("out of disk")


def test_steps_of_an_earlier_run_in_the_same_process_are_not_recorded_again(run, progress):
    progress.step("churn", lambda: None)

    with run.recorded(progress):
        progress.step("timeline", lambda: None)

    assert rows(run.lake, "step") == [("nightly",), ("timeline",)]


@pytest.mark.parametrize(
    ("count", "lines"),
    [
        (0, []),
        (3, ["KAFKA-1: first", "rejoin_loop: second", "rejoin_loop: third"]),
        (
            5,
            [
                "KAFKA-1: first",
                "rejoin_loop: second",
                "3 more findings (view q16_findings): rejoin_loop 2, host_lost 1",
            ],
        ),
    ],
)
def test_the_summary_has_the_surest_findings(run, frame, count, lines):
    findings = [
        {"finding": "rejoin_loop", "confidence": 0.8, "summary": "second", "from_time": 1000},
        {"finding": "rejoin_loop", "confidence": 0.8, "summary": "third", "from_time": 2000},
        {"finding": "KAFKA-1", "confidence": 0.9, "summary": "first", "from_time": 3000},
        {"finding": "host_lost", "confidence": 0.7, "summary": "fourth", "from_time": 1000},
        {"finding": "rejoin_loop", "confidence": 0.6, "summary": "fifth", "from_time": 1000},
    ]
    outside = findings[2] | {"event_date": date(2026, 11, 20)}
    run.lake.replace("findings", frame("findings", [*findings[:count], outside]))

    assert summary(run).splitlines()[1:-2] == lines


def planted_episode(group, kind, number, cost_ms):
    place = {"group_id": group, "incarnation": 1, "activity_time": 0, "episode": number}
    times = {"from_time": 0, "to_time": 9000, "activity_last_generation": 1}
    lists = {"processes": [], "hosts": [], "generations": []}
    numbers = {"first_generation": 1, "last_generation": 1, "rebalances": 1, "confidence": 0.9}
    texts = {"kind": kind, "summary": f"{group} was slow", "evidence": "log"}
    return place | times | lists | numbers | texts | {"unowned_partition_ms": cost_ms}


def test_the_summary_names_none_of_five_episodes_that_are_alike(run, frame):
    like = [planted_episode(f"app-{n}", "slow_poll", 1, 10_000 * n) for n in range(1, 6)]
    few = [planted_episode(f"job-{n}", "slow_poll", 1, 1000 * n) for n in (1, 2)]
    own = [planted_episode("one", "restart", n, 2000) for n in range(1, 6)]
    run.lake.replace("episodes", frame("episodes", [*like, *few, *own]))

    assert summary(run).splitlines()[1:-2] == [
        "slow poll: 5 episodes in 5 groups app-*, 150 partition-seconds without an owner or "
        "not served",
        "job-2: job-2 was slow",
        "restart: 5 episodes in one, 10 partition-seconds without an owner or not served",
        "job-1: job-1 was slow",
    ]


def test_the_summary_has_new_input_rebalances_and_their_duration(run, frame):
    run.written = {"offsets_records": 6994, "quarantine": 2}
    latency = {"group_id": "g\x1b[2J", "generation": 1, "total_ms": 1200}
    outside = {"group_id": "h", "generation": 1, "event_date": date(2026, 11, 20)}
    aborted = latency | {"generation": 2, "outcome": "superseded", "total_ms": 4000}
    run.lake.replace("rebalance_latency", frame("rebalance_latency", [latency, aborted, outside]))

    episode = {
        "group_id": "g\x1b[2J",
        "incarnation": 1,
        "activity_time": 0,
        "from_time": 0,
        "to_time": 9000,
        "processes": [],
        "hosts": [],
        "first_generation": 1,
        "last_generation": 1,
        "generations": [],
        "rebalances": 2,
        "evidence": "log",
        "confidence": 0.9,
        "activity_last_generation": 1,
    }
    costs = [("restart", 100, "a restarted"), ("shutdown", 900, "down"), ("slow_poll", 30, "slow")]
    episodes = [
        episode | {"episode": n, "kind": kind, "unowned_partition_ms": cost, "summary": summary}
        for n, (kind, cost, summary) in enumerate(costs, 1)
    ]
    run.lake.replace("episodes", frame("episodes", episodes))
    unserved = {
        "group_id": "g\x1b[2J",
        "generation": 1,
        "topic": "t",
        "partition": 0,
        "process": "a",
        "member_id": "a1",
        "from_time": 1000,
        "to_time": 8000,
        "unserved_ms": 7000,
        "reason": "slow_poll",
        "commit_interval_ms": 5000,
        "evidence": "log",
        "estimated": True,
    }
    run.lake.replace("unserved_times", frame("unserved_times", [unserved]))

    missing = {"group_id": "new", "log_offset": 1}
    earlier = missing | {"group_id": "old", "log_offset": 2, "event_date": date(2026, 11, 20)}
    run.lake.replace("group_records", frame("group_records", [missing, earlier]))

    timeline = [{"group_id": name, "seq": 1, "event": "TOMBSTONE"} for name in ("new", "warmup")]
    run.lake.replace("timeline", frame("timeline", timeline))
    commits = [
        {"group_id": name, "log_offset": offset, "partition": 0}
        for offset, name in enumerate(["new", "warmup", "tool", "stable"])
    ]
    run.lake.replace("committed_offsets", frame("committed_offsets", commits))
    stable = {"group_id": "stable", "generation": 1, "event_date": date(2026, 11, 20)}
    made = [{key: row[key] for key in row if key != "total_ms"} for row in (latency, aborted)]
    run.lake.replace("generations", frame("generations", [stable, *made]))

    assert summary(run).splitlines() == [
        "c, 2026-11-21 to 2026-11-21: 6,994 new records, 0 new log lines, 2 quarantined",
        "g\\x1b[2J: slow, 7 partition-seconds owned but not served",
        "g\\x1b[2J: a restarted",
        "1 group, 1 rebalance, 1 aborted; 5.2 s not stable, longest 4.0 s (g\\x1b[2J)",
        "1 group without generations (no target assignment in the records): new",
        "1 group without generations (deleted, no rebalance in records or log): warmup",
        "1 group without generations (commits without members): tool",
        "most rebalances: g\\x1b[2J 1",
        f"run {run.run_id} (details in table runs)",
    ]
