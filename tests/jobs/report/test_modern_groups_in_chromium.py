"""Consumer, share and streams groups in a browser: colors, words, conversions, handovers."""

import pytest

from tests.jobs.report.modern_groups import lake_of_modern_groups
from tests.jobs.report.test_report_in_chromium import generations, is_painted, page_of

pytestmark = pytest.mark.slow

NOTHING = "\u2013"


@pytest.fixture(scope="module")
def report_file(plant, tmp_path_factory):
    folder = tmp_path_factory.mktemp("modern-groups")
    return page_of(plant(folder / "lake", lake_of_modern_groups()), folder / "report.html")


@pytest.fixture
def open_group(chromium, report_file):
    def opened(group, rows, more=""):
        tab = chromium.open(report_file, f"#group={group}{more}")
        tab.until(f"rebalances.rows.length === {rows + 1}")
        return tab

    return opened


def text(tab, selector):
    return tab.run(f"document.querySelector('{selector}').textContent")


def test_a_consumer_group_has_its_own_phases_and_member_states(open_group):
    tab = open_group("orders", 3)

    assert tab.errors() == []
    colors = ("stable", "behind", "revoke", "wait", "join", "sync")
    assert [is_painted(tab, name) for name in colors] == [True] * 6
    heads = tab.run("[...rebalances.tHead.rows[0].cells].map((cell) => cell.textContent)")
    assert heads[3:5] == ["Assigning", "Reconciling"]
    assert "asked to give up" in text(tab, "#legend")
    assert "consumer" in text(tab, "#groups")


def test_details_have_what_was_asked_for_and_handed_over(open_group):
    tab = open_group("orders", 3)
    tab.run("rebalances.tBodies[0].rows[1].querySelector('button').click()")
    tab.until("details.querySelectorAll('table').length === 2")

    assert text(tab, "#details h3") == "Target assignment 3: b started"
    members, moved = tab.run(
        "[...details.querySelectorAll('table')].map((table) =>"
        " [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)))"
    )
    assert [row[3] for row in members] == ["t 2-3: 500 ms", NOTHING]
    assert [(row[0], row[1], row[2], row[7]) for row in moved] == [
        ("t 2-3", "a@host", "b@host", "the next owner's heartbeat")
    ]


def test_a_conversion_is_a_row_with_the_times_before_and_after(open_group):
    tab = open_group("moved", 3)

    assert generations(tab)[1].endswith("converted: classic group → consumer group")
    assert text(tab, "#timeline-note").startswith("Group type: classic → consumer.")
    rows = tab.run(
        "[...document.getElementById('periods-table').tBodies[0].rows]"
        ".map((row) => [row.cells[0].textContent, row.cells[9].textContent])"
    )
    assert rows == [["classic", NOTHING], ["consumer", "1.0 s"]]


def test_standby_and_warm_up_tasks_have_their_own_colors(open_group):
    tab = open_group("clicks", 1)

    assert [is_painted(tab, name) for name in ("stable", "standby", "warmup")] == [True] * 3
    assert "warm-up tasks" in text(tab, "#legend")
    tab.run("rebalances.querySelector('button').click()")
    tab.until("details.querySelector('table')")
    assert "tasks at the end" in text(tab, "#details thead")


def test_both_owners_of_a_shared_partition_are_shown(open_group):
    tab = open_group("jobs", 1)
    tab.run("rebalances.querySelector('button').click()")
    tab.until("details.querySelector('table')")

    cells = tab.run(
        "[...details.querySelectorAll('tbody td.wide')].map((each) => each.textContent)"
    )
    assert cells == ["t 0", "t 0"]
    assert "asked to give up" not in text(tab, "#details thead")
