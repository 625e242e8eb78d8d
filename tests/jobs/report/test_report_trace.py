"""The trace of a report: the events for Perfetto and chrome://tracing."""

import json

import pytest

from jobs.report.command import ReportOptions, report
from jobs.report.trace import phases
from tests.jobs.report.planted import cause, events, gaps, generation, member, members, tables

LAKE = tables(
    generation(1, 1000, 4000, 4100, 10_000, cause="MEMBER_NEW"),
    generation(2, 10_000, 12_000, None, None, cause="LEAVE", outcome="empty", protocol=None),
    **members(member(1, "a", (0, 1), left_how="left", left_time=10_000, gone=True)),
    rebalance_causes=[
        cause(1, 1000, "a", "MEMBER_NEW", "start", reason="Adding new member"),
        cause(2, 10_000, "unknown", "LEAVE"),
    ],
    ownership_gaps=gaps(2, 10_000, 12_000, (0, 1), 1),
    timeline=events(1000, 20_000),
)


@pytest.fixture(scope="module")
def events(plant, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trace")
    out = folder / "trace.json"
    report(ReportOptions(lake=plant(folder / "lake", LAKE), cluster_id="c", trace=str(out)))
    return json.loads(out.read_text(encoding="utf-8"))["traceEvents"]


def of_kind(events, kind):
    return [event for event in events if event["ph"] == kind]


def test_a_group_is_a_process_and_its_processes_are_threads(events):
    named = [(e["name"], e["pid"], e["tid"], e["args"].get("name")) for e in of_kind(events, "M")]

    assert named == [
        ("process_name", 1, 0, "g"),
        ("thread_name", 1, 1, "group"),
        ("thread_name", 1, 2, "a@host"),
        ("thread_sort_index", 1, 2, None),
    ]


def test_phases_are_slices_in_us(events):
    slices = [(e["tid"], e["ts"], e["dur"], e["name"]) for e in of_kind(events, "X")]

    assert sorted(slices) == [
        (1, 1_000_000, 3_000_000, "join 1"),
        (1, 4_000_000, 100_000, "sync 1"),
        (1, 4_100_000, 5_900_000, "Stable 1"),
        (1, 10_000_000, 2_000_000, "join 2"),
        (1, 12_000_000, 8_000_000, "Empty 2"),
        (2, 1_000_000, 3_000_000, "join 1"),
        (2, 4_000_000, 100_000, "sync 1"),
        (2, 4_100_000, 5_900_000, "Stable 1"),
    ]


def test_a_slice_has_the_partitions_of_its_process(events):
    (stable,) = [e for e in of_kind(events, "X") if (e["tid"], e["name"]) == (2, "Stable 1")]

    assert stable["args"]["partitions"] == "t 0-1"
    assert stable["args"]["left_how"] == "left"


def test_causes_are_instants_on_the_lane_of_their_process(events):
    instants = [(e["ts"], e["tid"], e["s"], e["name"]) for e in of_kind(events, "i")]

    assert instants == [
        (1_000_000, 2, "p", "MEMBER_NEW (start)"),
        (10_000_000, 1, "p", "LEAVE"),  # A member without a group record is on the group's lane.
    ]
    assert of_kind(events, "i")[0]["args"]["reason"] == "Adding new member"


def test_unowned_partitions_are_a_counter(events):
    counted = [(e["ts"], e["args"]["partitions"]) for e in of_kind(events, "C")]

    assert counted == [(10_000_000, 2), (12_000_000, 0)]


@pytest.mark.parametrize(
    ("joined", "stable", "outcome", "expected"),
    [
        (40, 60, "stable", [("join", 0, 40), ("sync", 40, 60), ("stable", 60, 100)]),
        (0, 60, "stable", [("sync", 0, 60), ("stable", 60, 100)]),
        (40, None, "superseded", [("join", 0, 40), ("sync", 40, 100)]),
        (None, None, "superseded", [("join", 0, 100)]),
        (40, None, "empty", [("join", 0, 40), ("empty", 40, 100)]),
        (None, 60, "stable", [("join", 0, 60), ("stable", 60, 100)]),
        (140, 160, "stable", [("join", 0, 100)]),
    ],
)
def test_phases_of_a_generation_within_a_spell(joined, stable, outcome, expected):
    row = {"joined_ms": joined, "stable_ms": stable, "outcome": outcome}

    assert phases(row, 0, 100) == expected
