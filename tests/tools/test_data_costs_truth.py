"""The truth of a small play that was written down by hand."""

import csv
import gzip
import json

import pytest

from tools.data_costs_play.lag import Lag
from tools.data_costs_play.truth import truth_of

T0 = 1_000_000_000
KILLED, ASSIGNED = 30_500, 40_000
GROUP = {"topic": "t", "client": "c", "protocol": "eager", "mode": "auto", "delay_ms": 5}


def write_lines(file, lines):
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_handled(folder, group, process, pid, rows):
    lines = (f"{T0 + at_ms} {partition} {offset}\n" for at_ms, partition, offset in rows)
    (folder / "clients" / f"{group}.{process}.{pid}.handled").write_text("".join(lines))


def note(at_ms, group, process, pid, what, **fields):
    own = {"client": process, "group": group, "pid": pid, "what": what}
    return {"wall_ms": T0 + at_ms, **own, **fields}


def act(at_ms, action, **fields):
    return {"wall_ms": T0 + at_ms, "action": action, **fields}


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    """Two partitions get a record each second, at most 60.

    killed: t-1 owns partition 0 and is killed at 30.5 s; t-2 owns partition 1, handles its offset
    20 twice, and gets partition 0 at 40 s from offset 28 on.
    pill: t-1 owns both and stops handling partition 1 at offset 12, which crashes it at 12 s and
    15 s; from 20 s on t-2 owns both, pauses partition 0 until 35 s, and handles the record.
    """
    folder = tmp_path_factory.mktemp("play")
    (folder / "clients").mkdir()
    with gzip.open(folder / "produced.csv.gz", "wt") as out:
        rows = csv.writer(out)
        rows.writerow(["topic", "partition", "offset", "wall_ms"])
        rows.writerows(["t", number, n, T0 + 1000 * n] for n in range(60) for number in (0, 1))
    windows = [["start", 0], ["steady", 0], ["kill", 30], ["stop", 59.5]]
    groups = {"killed": GROUP, "pill": GROUP}
    begin = {"t0_wall_ms": T0, "play": "X", "broker": "4.4.0", "windows": windows, "groups": groups}
    timeline = [
        act(0, "topics created", rates={"t": [1, 1]}),
        act(0, "script begins", **begin),
        act(KILLED, "kill", group="killed", process="t-1", pid=11),
        act(60_000, "end"),
    ]
    write_lines(folder / "timeline.jsonl", timeline)
    notes = [
        note(0, "killed", "t-1", 11, "assigned", partitions=[0]),
        note(0, "killed", "t-2", 12, "assigned", partitions=[1]),
        note(ASSIGNED, "killed", "t-2", 12, "assigned", partitions=[0]),
        note(0, "pill", "t-1", 21, "assigned", partitions=[0, 1]),
        note(12_005, "pill", "t-1", 21, "poison try", partition=1, offset=12),
        note(12_005, "pill", "t-1", 21, "crash"),
        note(14_000, "pill", "t-1", 22, "assigned", partitions=[0, 1]),
        note(15_000, "pill", "t-1", 22, "poison try", partition=1, offset=12),
        note(15_000, "pill", "t-1", 22, "crash"),
        note(20_000, "pill", "t-2", 23, "assigned", partitions=[0, 1]),
        note(20_000, "pill", "t-2", 23, "pause", partitions=[0]),
        note(20_010, "pill", "t-2", 23, "poison try", partition=1, offset=12),
        note(35_000, "pill", "t-2", 23, "resume", partitions=[0]),
    ]
    write_lines(folder / "clients.jsonl", notes)
    both = [(1000 * n + 10, n) for n in range(60)]
    write_handled(folder, "killed", "t-1", 11, [(at, 0, n) for at, n in both if at < KILLED])
    again = [(20_500, 1, 20)]
    ones = [(at, 1, n) for at, n in both]
    taken = [(ASSIGNED + 10 * (n - 27), 0, n) for n in range(28, 41)]
    later = [(at, 0, n) for at, n in both if n > 40]
    write_handled(folder, "killed", "t-2", 12, ones + again + taken + later)
    first = [(at, number, n) for at, n in both if n < 12 for number in (0, 1)]
    write_handled(folder, "pill", "t-1", 21, first)
    write_handled(folder, "pill", "t-1", 22, [(14_500, 0, 11), (14_600, 0, 12)])
    ones = [(max(at, 20_010 + n), 1, n) for at, n in both if n >= 12]
    zeros = [(max(at, 35_000 + n), 0, n) for at, n in both if n >= 13]
    write_handled(folder, "pill", "t-2", 23, ones + zeros)
    return truth_of(folder)


def test_duplicates(truth):
    group = truth["groups"]["killed"]

    assert group["total"]["produced"] == 120
    assert group["total"]["handled"] == 124
    assert group["total"]["distinct"] == 120
    kinds = ("duplicates", "same_process", "other_process_same_name", "other_process")
    counts = {name: [window[kind] for kind in kinds] for name, window in group["windows"].items()}
    assert counts == {
        "start": [0, 0, 0, 0],
        "steady": [1, 1, 0, 0],
        "kill": [3, 0, 0, 3],
        "stop": [0, 0, 0, 0],
    }
    assert truth["groups"]["pill"]["total"]["other_process_same_name"] == 1


def test_lag(truth):
    """At 40 s ten records of partition 0 wait, and the new one of partition 1."""
    group = truth["groups"]["killed"]

    assert (group["steady_lag_max"], group["level"]) == (2, 4)
    kill = group["windows"]["kill"]
    assert (kill["peak_lag"], kill["catch_up_ms"]) == (11, 10_090)
    assert kill["longest_pause_ms"] == kill["paused_partition_ms"] == 9040
    # Offset 31 waits 9.04 s, each following offset waits 0.99 s less, and the other records wait 10
    # ms.
    assert kill["record_seconds_all"] == pytest.approx(45.85 + 0.5, abs=0.05)
    assert kill["record_seconds"] == pytest.approx(45.85 + 0.5 - 0.02 * 29.5, abs=0.05)


def test_handover(truth):
    (handover,) = truth["groups"]["killed"]["handovers"]

    assert handover == {
        "partition": 0,
        "window": "kill",
        "ended": "gone",
        "ended_s": 30.5,
        "assigned_s": 40.0,
        "old": "t-1",
        "old_pid": 11,
        "new": "t-2",
        "new_pid": 12,
        "moved": True,
        "old_handled_none": False,
        "last_old_s": 30.01,
        "last_old_offset": 30,
        "first_new_s": 40.01,
        "first_new_offset": 28,
        "first_fresh_s": 40.04,
        "duplicates_by_new": 3,
        "pause_ms": 10_000,
        "lag_at_last_old": 0,
        "lag_at_first_new": 10,
        "pause_fresh_ms": 10_030,
        "wait_fresh_ms": 9040,
        "catch_up_ms": 10_110,
        "peak_lag": 10,
    }


def test_poison_pill(truth):
    group = truth["groups"]["pill"]

    assert group["poison"] == {
        "partition": 1,
        "offset": 12,
        "produced_s": 12.0,
        "tries": 3,
        "processes": 3,
        "names": ["t-1", "t-2"],
        "crashes": 2,
        "first_try_s": 12.005,
        "last_try_s": 20.01,
        "handled_s": 20.022,
        "list": [[12.005, "t-1", 21], [15.0, "t-1", 22], [20.01, "t-2", 23]],
    }


def test_stuck_partition(truth):
    group = truth["groups"]["pill"]

    scripted = {"partition": 0, "from_s": 20.0, "to_s": 35.0, "owner": "t-2", "pid": 23}
    assert group["scripted_stuck"] == [scripted]
    (stuck,) = group["stuck"]
    assert stuck == {
        **scripted,
        "to_s": 35.013,
        "lag_at_end": 22,
        "owner_handled_others": 24,
        "owner_reprocessed_this": 0,
        "class": "paused by script",
    }


def test_lag_of_a_stretch():
    lag = Lag([0, 10, 20], [15, 30])

    assert [lag.at(ms) for ms in (-1, 0, 10, 15, 20, 30)] == [0, 1, 2, 1, 2, 1]
    assert lag.steps(5, 25) == [(5, 5, 1), (10, 5, 2), (15, 5, 1), (20, 5, 2)]
    assert lag.peak(12, 40) == (2, 12)
    assert lag.seconds(5, 25) == 0.03
    assert lag.percentile(0.5, 5, 25) == 1
    assert lag.first_at_most(1, 10, 40) == 15
    assert lag.ms_above(1, 5, 25) == 10
