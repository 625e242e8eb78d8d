"""The data of a report, from small lakes: downtime, spells, windows, size limits."""

import pytest

from jobs.console.errors import UsageError
from jobs.report.data import GROUP_ROOM, OVERVIEW_ROOM, overview, timelines
from jobs.report.json_text import as_json
from jobs.report.lake import ReportLake
from jobs.report.lanes import assigned_text, spells
from jobs.report.timeline import objects
from jobs.report.window import ReportWindow, parse_window
from tests.jobs.report.planted import (
    cause,
    events,
    gaps,
    generation,
    member,
    members,
    tables,
)

pytestmark = pytest.mark.slow

EAGER = tables(
    generation(1, 1000, 4000, 4100, 10_000, cause="MEMBER_NEW", culprit_client_id="a"),
    generation(2, 10_000, 12_000, 12_100, 20_000, cause="LEAVE", culprit_client_id="b"),
    generation(3, 20_000, 21_000, None, 22_000, cause="MEMBER_NEW", outcome="superseded"),
    generation(4, 22_000, 23_000, 23_500, None, cause="MEMBER_NEW", culprit_client_id="c"),
    **members(
        member(1, "a", (0, 1), change="joined"),
        member(1, "b", (2, 3), change="joined", left_how="left", left_time=10_000, gone=True),
        member(2, "a", (0, 1, 2, 3)),
        member(4, "a", (0, 1)),
        member(4, "b", (2, 3), member_id="b-id-2", change="joined"),
    ),
    rebalance_causes=[
        cause(1, 1000, "a", "MEMBER_NEW", "start"),
        cause(1, 2000, "b", "MEMBER_NEW", "start", seq=2, role="contributing"),
        cause(2, 10_000, "b", "LEAVE", "restart", reason="by `LeaveGroup`"),
        cause(3, 20_000, "b", "MEMBER_NEW", "return", member_id="b-id-2"),
        cause(4, 22_000, "c", "MEMBER_NEW", "start"),
    ],
    ownership_gaps=[
        *gaps(2, 10_000, 12_100, (0, 1, 2, 3), 1),
        *gaps(4, 20_000, 23_500, (0, 1, 2, 3), 2),
        *gaps(4, 25_000, 26_000, (0,), 4),  # a static replacement
    ],
    timeline=events(1000, 30_000),
)

COOPERATIVE = {"protocol": "cooperative-sticky"}
TWO_ROUNDS = tables(
    generation(1, 1000, 1900, 2000, 5000, **COOPERATIVE),
    generation(2, 5000, 6000, 6100, 6200, **COOPERATIVE),
    generation(3, 6200, 6300, 6400, 9000, **COOPERATIVE),
    generation(4, 9000, 9400, 9500, 12_000, **COOPERATIVE),
    generation(5, 12_000, 12_100, None, 50_000, protocol=None, outcome="empty"),
    generation(6, 50_000, 52_900, 53_000, None, **COOPERATIVE),
    **members(
        member(1, "a", (0, 1, 2, 3)),
        member(2, "a", (0, 1)),
        member(2, "b"),
        member(3, "a", (0, 1), left_how="left", left_time=8900, gone=True),
        member(3, "b", (2, 3)),
        member(4, "b", (0, 1, 2, 3), left_how="left", left_time=12_000, gone=True),
        member(6, "b", (0, 1, 2, 3), member_id="b-id-2"),
    ),
    timeline=events(1000, 60_000),
)


@pytest.fixture(scope="module")
def eager(plant, tmp_path_factory):
    return plant(tmp_path_factory.mktemp("eager"), EAGER)


@pytest.fixture(scope="module")
def two_rounds(plant, tmp_path_factory):
    return plant(tmp_path_factory.mktemp("cooperative"), TWO_ROUNDS)


def page_of(root, *, group_id=None, within=None, room=OVERVIEW_ROOM, group_room=GROUP_ROOM):
    lake = ReportLake(root, "c", group_id, within or ReportWindow())
    data = overview(lake, "c", room)
    return data | {"timelines": list(timelines(lake, data, group_room))}


def timeline_of(root, **more):
    return page_of(root, **more)["timelines"][0]


def test_the_overview_counts_stable_and_aborted_rebalances(eager):
    (group,) = objects(page_of(eager)["groups"])

    assert (group["group_id"], group["rebalances"], group["aborted_rebalances"]) == ("g", 3, 1)
    assert (group["not_stable_ms"], group["longest_ms"]) == (3100 + 2100 + 2000 + 1500, 3100)


def test_downtime_is_that_of_ownership_gaps(eager):
    timeline, page = timeline_of(eager), page_of(eager)

    downtime_ms = {
        g["generation"]: g["unowned_partition_ms"] for g in objects(timeline["generations"])
    }
    assert downtime_ms == {1: 0, 2: 4 * 2100, 3: 0, 4: 4 * 3500}
    assert timeline["unowned"] == [
        [9000, 4], [11_100, 0], [19_000, 4], [22_500, 0], [24_000, 1], [25_000, 0]
    ]  # fmt: skip
    (group,) = objects(page["groups"])
    assert (
        group["unowned_partition_ms"] == page["totals"]["unowned_partition_ms"] == 4 * 5600 + 1000
    )


def test_downtime_is_not_known_from_a_log_alone(plant, tmp_path):
    times = {"preparing_time": 900, "joined_time": 1000, "stable_time": 1100}
    generation = {"generation": 1, "evidence": "log"}
    tables = {"generations": [generation | times], "rebalance_latency": [generation]}
    lake = plant(tmp_path, tables)

    assert timeline_of(lake)["unowned"] is None


def test_the_time_with_members_is_without_the_time_in_empty(two_rounds):
    (group,) = objects(page_of(two_rounds)["groups"])

    # The group has members from 1000 ms to 12,100 ms, when it became empty, and from 50,000 ms to
    # the last event at 60,000 ms.
    assert group["with_members_ms"] == 11_100 + 10_000


def test_a_lane_has_all_member_ids_of_a_process(eager):
    timeline = timeline_of(eager)

    assert [lane["process"] for lane in timeline["lanes"]] == ["a@host", "b@host"]
    assert timeline["assigned"] == [("t 0-1", 2), ("t 2-3", 2), ("t 0-3", 4)]
    # Each spell is [generation, partitions].  If it is shorter than the generation, it also has
    # from, to and how the member left.
    assert [lane["spells"] for lane in timeline["lanes"]] == [
        [[0, 0], [1, 2], [3, 0]],
        [[0, 1, 1000, 9000, "left"], [3, 1, 19_000, 29_000, None]],
    ]
    first = spells(timeline["lanes"][0], objects(timeline["generations"]), timeline["end_ms"])
    assert list(first) == [
        (0, 0, 9000, 0, None),
        (1, 9000, 19_000, 2, None),
        (3, 21_000, 29_000, 0, None),
    ]


def test_causes_have_a_generation_and_a_lane(eager):
    causes = objects(timeline_of(eager)["causes"])

    assert [(c["at"], c["at_ms"], c["lane"], c["role"], c["story"], c["who"]) for c in causes] == [
        (0, 0, 0, "trigger", "start", "a"),
        (0, 1000, 1, "contributing", "start", "b"),
        (1, 9000, 1, "trigger", "restart", "b"),
        (2, 19_000, 1, "trigger", "return", "b"),
        (3, 21_000, None, "trigger", "start", "c"),  # No group record contains c, so c has no lane.
    ]
    assert causes[2]["reason"] == "by `LeaveGroup`"


def test_a_window_has_the_generations_that_overlap_it(eager):
    page = page_of(eager, within=ReportWindow(11_000, 21_500))

    generations = objects(page["timelines"][0]["generations"])
    assert [g["generation"] for g in generations] == [2, 3]
    assert (page["from_ms"], page["to_ms"]) == (11_000, 21_500)
    assert generations[0]["unowned_partition_ms"] == 4 * 2100
    assert page["totals"]["unowned_partition_ms"] == 4 * (1100 + 1500)


def test_the_trend_counts_by_buckets_of_round_size(eager):
    page = page_of(eager)

    buckets = [(r["bucket_ms"], r["cause"], r["generations"]) for r in objects(page["trend"])]
    assert page["bucket_ms"] == 1000
    assert buckets == [
        (1000, "MEMBER_NEW", 1),
        (10_000, "LEAVE", 1),
        (20_000, "MEMBER_NEW", 1),
        (22_000, "MEMBER_NEW", 1),
    ]


def test_a_generation_without_an_end_lasts_to_the_last_event_of_the_cluster(eager):
    assert timeline_of(eager)["end_ms"] == 29_000


@pytest.mark.parametrize(
    ("cluster", "group", "within", "message"),
    [
        ("x", None, ReportWindow(), "--cluster-id x: .* has c$"),
        ("c", "x", ReportWindow(), "--group x: no generations in cluster c$"),
        ("c", None, ReportWindow(90_000), "--cluster-id c: no generations in that time$"),
    ],
)
def test_a_scope_without_generations(eager, cluster, group, within, message):
    with pytest.raises(UsageError, match=message):
        ReportLake(eager, cluster, group, within)


def test_a_missing_lake(tmp_path):
    with pytest.raises(UsageError, match="no such folder; run `regroup nightly"):
        ReportLake(f"{tmp_path}/none", "c", None, ReportWindow())


def test_a_large_group_keeps_its_latest_generations(flapping):
    timeline = timeline_of(flapping, group_room=100_000)

    kept = objects(timeline["generations"])
    assert 0 < len(kept) < 1000
    assert timeline["left_out"] == 1000 - len(kept)
    assert kept[-1]["generation"] == 1000
    assert timeline["causes"]["rows"][0][0] == 0


def test_generations_without_a_log_begin_with_their_join(plant, tmp_path):
    unlogged = generation(1, 1000, 3000, 3100, None, evidence="records")
    unlogged["generations"] |= {"preparing_time": None}
    unlogged["rebalance_latency"] |= {"preparing_time": None, "join_ms": None, "total_ms": None}
    root = plant(tmp_path, tables(unlogged, timeline=events(3000, 9000)))

    page = page_of(root)

    (first,) = objects(page["timelines"][0]["generations"])
    assert (page["timelines"][0]["base_ms"], first["begin_ms"], first["stable_ms"]) == (
        3000,
        0,
        100,
    )
    (group,) = objects(page["groups"])
    assert (group["not_stable_ms"], group["is_partly_unlogged"]) == (None, True)


def test_storms_are_those_of_the_view(flapping):
    (storm,) = objects(page_of(flapping)["storms"])

    assert (storm["group_id"], storm["generations"], storm["dominant_cause"]) == (
        "flapping",
        1000,
        "LEAVE",
    )


def test_a_lake_with_what_if_advice_and_lives(plant, tmp_path):
    ends = {name: 5 for name in ("min", "max")}
    measured = ("rebalances", "not_stable_ms", "moved_partitions", "unowned_partition_ms")
    spread = {f"{name}_{end}": value for name in measured for end, value in ends.items()}
    outcome = dict.fromkeys(measured, 5) | spread | {"seeds": 3, "era": "4.1"}
    times = {"from_time": 1000, "to_time": 30_000}
    life = {
        "process": "b",
        "member_ids": ["b-id"],
        "life": 1,
        "from_time": 2000,
        "to_time": 9500,
    }
    root = plant(
        tmp_path,
        EAGER
        | {
            "what_if": [
                {"setting": "membership=static", "basis": "predicted"} | outcome | times,
                {"setting": "unchanged", "basis": "observed"} | outcome | times,
            ],
            "advice": [{"setting": "membership=static", "sentence": "Make it static."} | times],
            "process_lives": [
                life
                | {"ended_how": "session_expired", "started_how": "start", "confidence": 1.0}
                | {"slow_polls": [{"from_time": 5000, "to_time": 6000}]}
            ],
        },
    )

    page = page_of(root)

    timeline = page["timelines"][0]
    assert [row["basis"] for row in objects(timeline["what_if"])] == ["observed", "predicted"]
    assert objects(page["advice"])[0]["sentence"] == "Make it static."
    (life_row,) = timeline["lives"]
    assert (life_row["lane"], life_row["to"], life_row["ended_how"]) == (
        1,
        8500,
        "session_expired",
    )
    assert life_row["slow_polls"] == [[4000, 5000]]


def test_a_lake_without_what_if_advice_and_lives(eager):
    page = page_of(eager)

    assert page["advice"] is None
    assert page["outcomes"] is None
    assert (page["timelines"][0]["what_if"], page["timelines"][0]["lives"]) == (None, None)


@pytest.mark.parametrize(
    ("assigned", "text"),
    [
        ([{"topic": "t", "partitions": [0]}], "t 0"),
        ([{"topic": "t", "partitions": [0, 1, 2, 7]}], "t 0-2, 7"),
        ([{"topic": "a", "partitions": [3]}, {"topic": "b", "partitions": [1, 3]}], "a 3; b 1, 3"),
    ],
)
def test_consecutive_partitions_are_a_range(assigned, text):
    assert assigned_text(assigned) == text


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (None, None, ReportWindow()),
        ("1970-01-01T00:00:01", None, ReportWindow(1000)),
        ("1970-01-01", "1970-01-01", ReportWindow(0, 86_399_999)),
        ("1970-01-01T02:00:00+02:00", "1970-01-01T00:00:02.5", ReportWindow(0, 2500)),
    ],
)
def test_times_without_a_zone_are_utc(first, last, expected):
    assert parse_window(first, last) == expected


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        ("yesterday", None, "--from yesterday: expected a UTC time, e.g. 2026-11-21T00"),
        (None, "21.11.", "--to 21.11.: expected a UTC time"),
        ("2026-11-22", "2026-11-21", "--from 2026-11-22 is after --to 2026-11-21: swap them"),
    ],
)
def test_invalid_times(first, last, message):
    with pytest.raises(UsageError, match=message):
        parse_window(first, last)


def test_totals_include_groups_beyond_the_size_limit(plant, tmp_path):
    generations = [
        generation(1, 1000, 3000, 3000 + number, None, group_id=f"{number:03}" * 300)
        for number in range(40)
    ]
    root = plant(tmp_path, tables(*generations, timeline=events(1000, 9000)))

    page = page_of(root, room=30_000)

    assert (page["totals"]["groups"], page["totals"]["rebalances"]) == (40, 40)
    assert page["totals"]["not_stable_ms"] == 40 * 2000 + sum(range(40))
    assert 0 < len(page["groups"]["rows"]) < 40
    assert len(as_json(page | {"timelines": []})) < 30_100


def test_incarnations_of_a_group_share_lanes(plant, tmp_path):
    second = {"incarnation": 2}
    generations = [
        generation(1, 1000, 4000, 4100, 9000),
        generation(1, 20_000, 23_000, 23_100, None),
    ]
    for rows in generations[1].values():
        rows |= second
    people = members(member(1, "a", (0,)), member(1, "a", (0,), member_id="a-id-2"))
    for rows in people.values():
        rows[1] |= second
    root = plant(tmp_path, tables(*generations, **people, timeline=events(1000, 30_000)))

    timeline = timeline_of(root)

    rows = objects(timeline["generations"])
    assert [(g["incarnation"], g["generation"]) for g in rows] == [(1, 1), (2, 1)]
    assert [lane["spells"] for lane in timeline["lanes"]] == [[[0, 0], [1, 0]]]
