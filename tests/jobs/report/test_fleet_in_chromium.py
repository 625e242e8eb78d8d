"""Episodes, advice, and a page of many groups with data files, in a browser."""

from datetime import date

import pytest

from jobs.configuration.slo_settings import Objectives, SloSettings
from jobs.report.files import write_page
from jobs.report.lake import ReportLake
from jobs.report.window import ReportWindow
from tests.jobs.report.planted import (
    advised,
    episode,
    events,
    gaps,
    generation,
    member,
    members,
    tables,
)
from tests.jobs.test_views import handover

pytestmark = pytest.mark.slow

GROUPS = [f"billing-{number}" for number in range(1, 41)]
PROPERTIES = "a=1\n# b\n\ngroup.instance.id=NAME\n# end\n"
ODD = "billing-177"


def fleet():
    """40 groups that look alike, and one with a larger partition downtime than theirs."""
    generations = [
        row
        for group in [*GROUPS, ODD]
        for row in (
            generation(1, 1000, 3000, 3100, 20_000, group_id=group, cause="MEMBER_NEW"),
            generation(2, 20_000, 22_000, 22_100, None, group_id=group, cause="LEAVE"),
        )
    ]
    return tables(
        *generations,
        ownership_gaps=[
            *(row for group in GROUPS for row in gaps(2, 20_000, 22_000, (0, 1), 1, group)),
            *gaps(2, 20_000, 22_000, range(400), 1, ODD),
        ],
        episodes=[
            *(episode(1, "restart", 20_000, 22_100, group_id=group) for group in GROUPS),
            episode(1, "scale_in", 20_000, 22_100, group_id=ODD, unowned_partition_ms=800_000),
        ],
        advice=[
            advised(group, f"{group}: static", client_properties=PROPERTIES) for group in GROUPS
        ],
        timeline=events(1000, 60_000, group_id=ODD),
    )


@pytest.fixture(scope="module")
def page(plant, tmp_path_factory):
    """The page has no timeline itself; each data file has one."""
    folder = tmp_path_factory.mktemp("fleet")
    lake = ReportLake(plant(folder / "lake", fleet()), "c", None, ReportWindow())
    return write_page(lake, "c", str(folder / "report.html"), room=0, file_room=1)[0]


@pytest.fixture
def tab(chromium, page):
    opened = chromium.open(page)
    opened.until("rebalances.rows.length")  # The tables are below the timeline, which moves them.
    return opened


def opened(group):
    return f"document.getElementById('group').value === '{group}' && rebalances.rows.length"


def rows_of_groups(tab):
    return tab.run("[...document.querySelectorAll('#groups tbody th')].map((c) => c.textContent)")


def test_a_link_opens_a_group_whose_timeline_is_in_a_data_file(chromium, page):
    tab = chromium.open(page, f"#group={ODD}")
    tab.until(opened(ODD))

    assert tab.run("document.getElementById('timeline-body').hidden") is False
    assert tab.errors() == []


def test_a_missing_data_file_is_named(chromium, plant, tmp_path):
    lake = ReportLake(plant(tmp_path / "lake", fleet()), "c", None, ReportWindow())
    alone, *others = write_page(lake, "c", str(tmp_path / "report.html"), room=0)
    for path in others:
        path.unlink()

    tab = chromium.open(alone)

    note = "document.getElementById('timeline-note').textContent"
    tab.until(f"{note}.includes('is missing')")
    name = f"report.data/{others[0].name}"
    assert tab.run(note) == f"{name} is missing: keep this folder beside the page."


def test_groups_that_look_alike_are_one_row(tab):
    assert sorted(rows_of_groups(tab)) == [ODD, "▸ billing-*: 40 groups"]

    tab.run("document.querySelector('#groups tbody button').click()")
    assert len(rows_of_groups(tab)) == 42

    tab.run("document.getElementById('fold').click()")
    assert sorted(rows_of_groups(tab)) == sorted([*GROUPS, ODD])


def test_the_search_finds_groups_by_name_and_kind_of_episode(tab):
    tab.click_on("#groups-filter")
    tab.type("billing scale")

    assert rows_of_groups(tab) == [ODD]
    assert tab.run("document.getElementById('groups-count').textContent") == "1 of 41 groups"


def test_a_group_of_the_table_opens_its_timeline(tab):
    tab.run(f"[...document.querySelectorAll('#groups a')].find((a) => a.title === '{ODD}').click()")

    tab.until(opened(ODD))


def test_the_headline_names_none_of_many_groups_that_are_alike(chromium, plant, tmp_path):
    data = fleet()
    costs = {f"billing-{n}": 900_000 for n in range(1, 6)}
    for each in data["episodes"]:
        each["unowned_partition_ms"] = costs.get(each["group_id"], each["unowned_partition_ms"])
    lake = ReportLake(plant(tmp_path / "lake", data), "c", None, ReportWindow())
    tab = chromium.open(write_page(lake, "c", str(tmp_path / "report.html"))[0])
    headline = "document.getElementById('headline').textContent"
    tab.until(headline)

    assert tab.run(headline).startswith(
        "Highest cost: restart: 40 episodes in 40 groups billing-*, "
    )


def test_the_headline_leads_with_the_costliest_episode(tab):
    assert tab.run("document.getElementById('headline').textContent") == (
        f"Highest cost: {ODD}, 00:00:20.000: scale_in of {ODD}: 1 rebalance."
    )
    assert tab.run("[...document.querySelectorAll('#episodes > li')].map((e) => e.innerText)") == [
        f"{ODD}, 00:00:20.000: scale_in of {ODD}: 1 rebalance",
        "restart: 40 episodes in 40 groups, 40 processes, 40 rebalances, 80.0 s not stable,"
        " 160 partition-seconds",
    ]


def test_a_link_of_an_episode_opens_its_group_and_time(tab):
    tab.click_on("#episodes a")

    tab.until(opened(ODD))
    times = "from=1970-01-01T00:00:19.000Z&to=1970-01-01T00:00:23.100Z"
    # The page writes the address shortly after the view has moved.
    tab.until(f"location.hash.includes('{times}')")


def test_equal_advice_is_shown_once_with_blocks_to_paste(tab):
    cards = tab.run("[...document.querySelectorAll('#advice .advice')].map((e) => e.innerText)")

    assert len(cards) == 1
    blocks = tab.run("[...document.querySelectorAll('#advice pre')].map((e) => e.textContent)")
    assert blocks == ["a=1\n# b", "group.instance.id=NAME\n# end\n"]
    assert "The same change for 39 other groups" in cards[0]


def test_the_pointer_has_a_line_with_its_time(chromium, page):
    tab = chromium.open(page, f"#group={ODD}")
    tab.until(opened(ODD))
    x, y, width, _ = tab.box("#canvas")

    tab.mouse("mouseMoved", x + 190 + (width - 198) / 2, y + 60)
    tab.until("!document.getElementById('cross').hidden")

    # This is the middle of the time from 1 to 60 s.
    shown = tab.run("document.getElementById('cross-time').textContent")
    assert shown.startswith("00:00:30.")


def test_local_time_is_an_option(chromium, page):
    tab = chromium.open(page, f"#group={ODD}")
    tab.until(opened(ODD))
    tab.ask("Emulation.setTimezoneOverride", timezoneId="Asia/Kolkata")
    first = "rebalances.rows[1].cells[1].textContent"
    assert tab.run(first) == "00:00:01.000"

    tab.click_on("#local")

    tab.until(f"{first} === '05:30:01.000'")
    assert "05:30:01.000 to 05:31:00.000 Asia/" in tab.run("span.textContent")
    assert "05:30:20.000" in tab.run("document.getElementById('episodes').textContent")


@pytest.mark.parametrize("width", [1440, 800, 390])
def test_the_page_is_not_wider_than_the_window(chromium, page, width):
    tab = chromium.open(page, f"#group={ODD}", width=width)
    tab.until(opened(ODD))

    assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.errors() == []


def test_tables_fit_a_window_of_1440(chromium, plant, tmp_path):
    """With aborted rebalances, six kinds of episodes and error budgets."""
    group = "parcels-consumer-auto"
    kinds = ("process_lost", "slow_poll", "flapping", "deployment", "scale_in", "scale_out")
    of_group = {"group_id": group, "protocol": "cooperative-sticky"}
    first_day = {"group_id": group, "event_date": date(1970, 1, 1)}
    commit = {"topic": "t", "partition": 0, "committed_offset": 1, "log_offset": 1}
    lake = plant(
        tmp_path / "lake",
        tables(
            generation(1, 1000, 3000, 3100, 20_000, **of_group),
            *(
                generation(n, 20_000 + n, 20_001 + n, None, 20_001 + n, **of_group)
                | {"outcome": "superseded"}
                for n in range(2, 15)
            ),
            generation(15, 22_000, 23_000, 24_100, None, **of_group),
            **members(member(1, "a", range(40), group_id=group)),
            ownership_gaps=gaps(2, 20_000, 922_000, range(40), 1, group),
            episodes=[episode(n, kind, 1000, 9000, group_id=group) for n, kind in enumerate(kinds)],
            handover_costs=[handover(2, 33_800.0) | first_day],
            unserved_times=[],
            committed_offsets=[commit | first_day | {"append_time": 9000}],
            timeline=events(1000, 60_000, group_id=group),
        ),
    )
    slo = SloSettings(Objectives(reprocessed_per_day=100))
    report = ReportLake(lake, "c", None, ReportWindow(), slo)
    (page,) = write_page(report, "c", str(tmp_path / "report.html"))

    tab = chromium.open(page, width=1440)

    wider = "{0}.parentElement.scrollWidth - {0}.parentElement.clientWidth"
    assert [tab.run(wider.format(name)) for name in ("groups", "budgets")] == [0, 0]
    assert tab.run("[...budgets.tBodies[0].rows].map((row) => row.innerText)") == [
        f"{group}\t1970-01-01\t33,800\n33,800 % of the budget of ≤ 100"
    ]
    assert tab.run("budgets.querySelectorAll('td.over').length") == 1


@pytest.mark.parametrize("width", [800, 390])
def test_the_rows_of_tables_are_blocks_of_named_values_in_a_narrow_window(chromium, page, width):
    tab = chromium.open(page, f"#group={ODD}", width=width)
    tab.until(opened(ODD))
    boxes = "[...document.querySelectorAll('.scroll')]"
    cell = "document.querySelector('#groups tbody td')"

    assert tab.run(f"{boxes}.filter((each) => each.scrollWidth > each.clientWidth).length") == 0
    assert tab.run(f"{cell}.dataset.column") == "Rebalances"
    assert tab.run(f"getComputedStyle({cell}, '::before').content") == '"Rebalances"'
    # Readers can still sort the groups.
    assert tab.run("document.querySelectorAll('#groups thead button')[0].offsetHeight") > 0


def test_a_click_on_an_episode_above_the_lanes_zooms_to_it(chromium, page):
    tab = chromium.open(page, f"#group={ODD}")
    tab.until(opened(ODD))
    x, y, width, _ = tab.box("#canvas")

    tab.click(x + 190 + (width - 198) * (20 - 1 + 1) / 59, y + 24 + 11)

    tab.until("location.hash.includes('from=1970-01-01T00:00:19.000Z')")


def test_the_scale_of_unowned_partitions_has_their_counts(chromium, page):
    tab = chromium.open(page, f"#group={ODD}")
    tab.until(opened(ODD))
    tab.run(
        """(() => { window.written = []; const before = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
          window.written.push(text); return before.call(this, text, ...place); }; })()"""
    )

    tab.click_on("[data-do=in]")
    tab.until("written.includes('at most 400 at once')")

    assert [
        each for each in ("0", "200", "400") if not tab.run(f"written.includes('{each}')")
    ] == []
