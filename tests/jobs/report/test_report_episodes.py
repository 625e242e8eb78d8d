"""Episodes and advice in the data of a report."""

import pytest

from jobs.report.data import overview, timelines
from jobs.report.lake import ReportLake
from jobs.report.timeline import objects
from jobs.report.window import ReportWindow
from tests.jobs.report.planted import advised, episode, events, finding, generation, tables

pytestmark = pytest.mark.slow

TWO_GROUPS = (
    generation(1, 1000, 3000, 3100, 20_000, group_id="billing"),
    generation(2, 20_000, 22_000, 22_100, None, group_id="billing"),
    generation(1, 5000, 9000, 9100, None, group_id="audit"),
)
LAKE = tables(
    *TWO_GROUPS,
    timeline=events(1000, 30_000, group_id="billing"),
    episodes=[
        episode(1, "group_start", 1000, 3100, group_id="billing"),
        episode(2, "slow_poll", 15_000, 22_100, group_id="billing", first_generation=2),
        episode(1, "slow_poll", 5000, 9100, group_id="audit", unowned_partition_ms=7000)
        | {"unowned_partition_ms_low": 1000, "unowned_partition_ms_high": 8000},
        episode(2, "scale_in", 9000, 9100, group_id="audit", unowned_partition_ms=0),
    ],
    advice=[
        advised("billing", "static: 1 rebalance less", client_properties="group.instance.id=NAME"),
        advised("audit", "nothing to gain", setting=None, saved_unowned_partition_ms=0),
    ],
)


@pytest.fixture(scope="module")
def root(plant, tmp_path_factory):
    return plant(tmp_path_factory.mktemp("episodes"), LAKE)


def page_of(root, *, group_id=None, within=None):
    lake = ReportLake(root, "c", group_id, within or ReportWindow())
    data = overview(lake, "c")
    return data, {timeline["group"]: timeline for timeline in timelines(lake, data)}


def test_episodes_are_listed_by_partition_downtime_without_starts(root):
    data, _ = page_of(root)

    listed = objects(data["episodes"]["listed"])
    assert [(e["group_id"], e["kind"], e["from_ms"], e["to_ms"]) for e in listed] == [
        ("audit", "slow_poll", 5000, 9100),
        ("billing", "slow_poll", 15_000, 22_100),
        ("audit", "scale_in", 9000, 9100),
    ]


def test_an_episode_has_the_number_of_those_that_are_alike(root):
    """Those of one kind in groups whose names differ in numbers only."""
    listed = objects(page_of(root)[0]["episodes"]["listed"])

    assert [(e["pattern"], e["alike"], e["alike_groups"]) for e in listed] == [
        ("audit", 1, 1),
        ("billing", 1, 1),
        ("audit", 1, 1),
    ]


def test_findings_of_the_window_and_the_group_are_listed_the_surest_first(plant, tmp_path):
    findings = [
        finding("host_lost", 5000, group_id="audit"),
        finding("KAFKA-1", 9000, group_id="billing", confidence=0.9),
        finding("coordinator_stall", 7000, broker_id=1),
        finding("KAFKA-2", 50_000, group_id="audit"),
    ]
    rows = tables(*TWO_GROUPS, timeline=events(1000, 30_000), findings=findings)
    root = plant(tmp_path, rows)

    data, _ = page_of(root, within=ReportWindow(from_ms=0, to_ms=30_000))
    assert data["findings"]["count"] == 3
    assert [(each["finding"], each["from_ms"]) for each in objects(data["findings"]["listed"])] == [
        ("KAFKA-1", 9000),
        ("host_lost", 5000),
        ("coordinator_stall", 7000),
    ]
    data, _ = page_of(root, group_id="audit", within=ReportWindow(from_ms=0, to_ms=30_000))
    assert [each["finding"] for each in objects(data["findings"]["listed"])] == [
        "host_lost",
        "coordinator_stall",
    ]
    assert page_of(plant(tmp_path / "none", LAKE))[0]["findings"] is None


def test_of_each_kind_the_costliest_episodes_are_listed(plant, tmp_path):
    restarts = [
        episode(number, "restart", 5000, 9100, group_id="audit", unowned_partition_ms=number * 1000)
        for number in range(1, 31)
    ]
    cheap = episode(31, "slow_poll", 5000, 9100, group_id="audit", unowned_partition_ms=1)
    rows = tables(*TWO_GROUPS, timeline=events(1000, 30_000), episodes=[*restarts, cheap])

    data, _ = page_of(plant(tmp_path, rows))

    listed = objects(data["episodes"]["listed"])
    assert [e["unowned_partition_ms"] for e in listed] == [*range(30_000, 10_000, -1000), 1]


def test_kinds_have_the_sums_of_their_episodes(root):
    data, _ = page_of(root)

    assert data["episodes"]["kinds"]["rows"] == [
        ["slow_poll", 2, 2, 2, 2, 4000, 11_000, 5000, 12_000, 2, 4, None, None],
        ["scale_in", 1, 1, 1, 1, 2000, 0, 0, 0, 1, 2, None, None],
    ]


def test_each_group_has_its_kinds(root):
    data, _ = page_of(root)

    one = {"episodes": 1}
    assert data["episodes"]["of_groups"] == [
        ["audit", [{"kind": "slow_poll"} | one, {"kind": "scale_in"} | one]],
        ["billing", [{"kind": "slow_poll"} | one]],
    ]


def test_a_timeline_has_its_episodes_since_its_start(root):
    _, of_group = page_of(root)

    rows = objects(of_group["billing"]["episodes"])
    assert [(e["kind"], e["from_ms"], e["to_ms"]) for e in rows] == [
        ("group_start", 0, 2100),
        ("slow_poll", 14_000, 21_100),
    ]


def test_a_window_leaves_out_other_episodes(root):
    data, of_group = page_of(root, group_id="billing", within=ReportWindow(16_000, 30_000))

    assert [e["kind"] for e in objects(data["episodes"]["listed"])] == ["slow_poll"]
    assert [e["kind"] for e in objects(of_group["billing"]["episodes"])] == ["slow_poll"]


def test_advice_with_a_setting_comes_first_and_each_group_has_its_own(root):
    data, of_group = page_of(root)

    assert [a["sentence"] for a in objects(data["advice"])] == [
        "static: 1 rebalance less",
        "nothing to gain",
    ]
    (of_billing,) = objects(of_group["billing"]["advice"])
    assert of_billing["client_properties"] == "group.instance.id=NAME"


def test_without_any_episode_the_page_shows_causes_instead(plant, tmp_path):
    rows = tables(*TWO_GROUPS, timeline=events(1000, 30_000, group_id="billing"), episodes=[])

    data, _ = page_of(plant(tmp_path, rows))

    assert data["episodes"] is None


def test_a_lake_of_an_older_version_has_no_episodes(plant, tmp_path):
    root = plant(tmp_path, tables(*TWO_GROUPS, timeline=events(1000, 30_000, group_id="billing")))

    data, of_group = page_of(root)

    assert (data["episodes"], of_group["billing"]["episodes"]) == (None, None)
