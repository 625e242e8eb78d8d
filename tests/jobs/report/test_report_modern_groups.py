"""Consumer, share and streams groups in the data of a page, as a trace and as a diagram."""

import json
import re
import shutil
from pathlib import Path

import pytest

from coordinator_core.modern_history import causes
from jobs.console.errors import UsageError
from jobs.report.command import ReportOptions, report
from jobs.report.data import overview, timelines
from jobs.report.lake import ReportLake
from jobs.report.sequence import sequence
from jobs.report.timeline import objects
from jobs.report.window import ReportWindow
from tests.jobs.report.modern_groups import lake_of_modern_groups

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
FAMILY = (ROOT / "jobs" / "report" / "static" / "family.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def root(plant, tmp_path_factory):
    return plant(tmp_path_factory.mktemp("modern-groups"), lake_of_modern_groups())


def page_of(root):
    lake = ReportLake(root, "c", None, ReportWindow())
    data = overview(lake, "c")
    return data, {each["group"]: each for each in timelines(lake, data)}


@pytest.fixture(scope="module")
def pages(root):
    return page_of(root)


def spans(timeline):
    """[process, from, to, phase, what it has, what it must give up] in s of the timeline."""
    texts = [each[0] for each in timeline["assigned"]]
    text = lambda at: texts[at] if at >= 0 else "-"  # noqa: E731 - a short name for a column
    return [
        (lane["process"][:-5], begin / 1000, end / 1000, phase, text(has), text(gives))
        for lane in timeline["lanes"]
        for begin, end, phase, has, gives, _ in lane.get("epochs", ())
    ]


# When b joins, a learns of it at its next heartbeat and gives up two partitions, and b takes them
# at its own heartbeat.
ORDERS = [
    ("a", 0.0, 9.0, "stable", "t 0-3", "-"),
    ("a", 9.0, 10.0, "behind", "t 0-3", "-"),
    ("a", 10.0, 10.5, "revoke", "t 0-1", "t 2-3"),
    ("a", 10.5, 19.5, "stable", "t 0-1", "-"),
    ("a", 19.5, 20.0, "behind", "t 0-1", "-"),
    ("a", 20.0, 29.0, "stable", "t 0-3", "-"),
    ("b", 9.0, 12.0, "wait", "-", "-"),
    ("b", 12.0, 19.0, "stable", "t 2-3", "-"),
]


def test_each_process_has_its_own_phases(pages):
    assert spans(pages[1]["orders"]) == ORDERS


def test_handovers_have_who_waited_for_what(pages):
    orders = pages[1]["orders"]
    (moved,) = objects(orders["handovers"])

    assert orders["assigned"][moved.pop("moved")] == ("t 2-3", 2)
    assert moved == {
        "at": 1, "from": 0, "to": 1, "asked_ms": 9000, "released_ms": 10_500, "assigned_ms": 12_000,
        "waited_for": "heartbeat",
    }  # fmt: skip


def test_several_members_of_a_share_group_may_have_a_partition(pages):
    assert [(who, has) for who, *_, has, _ in spans(pages[1]["jobs"])] == [
        ("j1", "t 0"),
        ("j2", "t 0"),
    ]


def test_standby_and_warm_up_tasks_are_told_apart(pages):
    text = "0_0-2 (clicks); standby 1_4 (counts); warm-up 1_5 (counts)"

    assert pages[1]["clicks"]["assigned"] == [(text, 3, 1, 1)]


def test_a_converted_group_has_its_types_and_the_times_before_and_after(pages):
    data, of_group = pages
    types = {row["group_id"]: row["types"] for row in objects(data["groups"])}
    periods = objects(of_group["moved"]["periods"])

    assert types["moved"] == ["classic", "consumer"]
    assert types["orders"] == ["consumer"]
    assert of_group["orders"]["periods"] is None
    assert [(p["group_type"], p["restarts"], p["per_restart_ms"]) for p in periods] == [
        ("classic", 0, None),
        ("consumer", 1, 1000),
    ]


def test_a_lake_without_the_tables_of_members_has_phases_of_the_group_only(root, tmp_path):
    older = str(shutil.copytree(root, tmp_path / "older"))
    for table in ("member_epochs", "handovers"):
        shutil.rmtree(f"{older}/{table}")

    orders = page_of(older)[1]["orders"]

    assert spans(orders) == []
    assert orders["handovers"]["rows"] == []
    assert len(orders["lanes"]) == 2


def test_the_trace_has_member_epochs_and_handovers(root, tmp_path):
    out = tmp_path / "trace.json"
    report(ReportOptions(lake=root, cluster_id="c", group_id="orders", trace=str(out)))
    events = json.loads(out.read_text(encoding="utf-8"))["traceEvents"]

    group = [each["name"] for each in events if each["ph"] == "X" and each["tid"] == 1]
    of_a = [each["name"] for each in events if each["ph"] == "X" and each["tid"] == 2]
    flows = [(e["ph"], e["tid"], e["ts"] // 1000, e["name"]) for e in events if e["ph"] in "sf"]
    assert group == ["Stable 2", "Reconciling 3", "Stable 3", "Assigning 4", "Reconciling 4",
                     "Stable 4"]  # fmt: skip
    assert of_a == ["STABLE 2", "behind the target 2", "UNREVOKED 2", "STABLE 3",
                    "behind the target 3", "STABLE 4"]  # fmt: skip
    assert flows == [("s", 2, 11_500, "t 2-3"), ("f", 3, 13_000, "t 2-3")]


DIAGRAM = """\
sequenceDiagram
    participant p0 as b
    participant p1 as a
    participant p2 as coordinator
    participant p3 as log
    p0->>p2: 0 s ConsumerGroupHeartbeat, epoch 0: joins
    p2->>p3: 0 s ConsumerGroupMetadata: group epoch 3
    p2->>p3: 0 s target assignment 3 by uniform, 2 members
    p2-->>p0: 0 s epoch 3: nothing assigned#59; waits for partitions of other members
    p0->>p2: 0.1 s ConsumerGroupHeartbeat, epoch 3
    p2-->>p0: 0.1 s epoch 3: nothing assigned#59; waits for partitions of other members
    p1->>p2: 1 s ConsumerGroupHeartbeat, epoch 2
    p2-->>p1: 1 s epoch 2: t 0-1#59; must give up t 2-3
    p1->>p2: 1.5 s ConsumerGroupHeartbeat, epoch 2
    p2-->>p1: 1.5 s epoch 3: t 0-1
    p0->>p2: 3 s ConsumerGroupHeartbeat, epoch 3
    p2-->>p0: 3 s epoch 3: t 2-3
    Note over p2: 3 s every member has reached target 3: Stable
"""


def test_a_target_assignment_as_a_diagram(root):
    assert sequence(root, "c", "orders", "3") == DIAGRAM


def test_a_target_that_the_group_does_not_have(root):
    with pytest.raises(UsageError, match="no such generation of orders; it has 2, 3, 4"):
        sequence(root, "c", "orders", "9")


def words(name):
    """The keys of an object of family.js."""
    (body,) = re.findall(rf"const {name} = {{(.*?)\n}};", FAMILY, re.DOTALL)
    return set(re.findall(r"(\w+):", re.sub(r'"[^"]*"', '""', body)))


def listed_causes():
    """Causes of group epochs, those of docs/metrics.md, and those that table rebalance_causes
    lists."""
    epochs = {value for value in vars(causes).values() if isinstance(value, str)}
    table = (ROOT / "schemas" / "tables" / "rebalance_causes.sql").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    names = re.findall(
        r"[A-Z]{2,}(?:_[A-Z]+)*", table[table.index("cause class:") :].split("\n")[0]
    )
    rows = re.findall(r"^\| ((?:`[A-Z_]+`(?:, )?)+) \|", page, re.MULTILINE)
    documented = [name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)]
    named = {*epochs, *causes.DEPARTURES.values(), *names, *documented}
    return {name for name in named if re.fullmatch(r"[A-Z]+(_[A-Z]+)*", name)}


def test_every_cause_has_a_family_and_words():
    listed = listed_causes()

    assert {"REBALANCE_TIMEOUT", "TOPIC_CHANGE", "LEAVE_POLL_TIMEOUT", "STORE_ERROR"} <= listed
    assert sorted(listed - words("FAMILY_OF")) == []
    assert sorted(listed - words("CAUSE_WORDS") - words("GROUP_CAUSE_WORDS")) == []


def test_every_story_has_words_and_is_documented():
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    table = page[page.index("| story | cause | meaning |") :].split("\n\n")[0]
    names = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", table, re.MULTILINE)
    stories = {name for row in names for name in re.findall(r"`(\w+)`", row)}

    assert "slow_revoke" in stories
    assert sorted(stories ^ words("STORY_WORDS")) == []
