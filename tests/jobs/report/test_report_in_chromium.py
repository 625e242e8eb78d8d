"""The page in a browser: drawing, moving, zooming, filtering, and untrusted names."""

from contextlib import nullcontext

import pytest

from jobs.report.files import write_page
from jobs.report.lake import ReportLake
from jobs.report.window import ReportWindow
from tests.jobs.report.planted import (
    HOSTILE,
    advice_outcome,
    advised,
    cause,
    episode,
    events,
    finding,
    gaps,
    generation,
    member,
    members,
    tables,
)
from tests.jobs.report.serving import served

pytestmark = pytest.mark.slow

SECOND = 1000
GROUP = "billing"


def two_groups():
    """billing: b restarts at 20 s, c polls slowly at 40 s; and a group with hostile names."""
    mine = {"group_id": GROUP}
    hostile = {"group_id": HOSTILE}
    return tables(
        generation(1, 1000, 4000, 4100, 20_000, cause="MEMBER_NEW", culprit_client_id="a", **mine),
        generation(2, 20_000, 22_000, 22_100, 40_000, cause="LEAVE", culprit_client_id="b", **mine),
        generation(3, 40_000, 43_000, 43_100, None, cause="LEAVE", culprit_client_id="c", **mine),
        generation(1, 5000, 5900, 6000, None, culprit_client_id=HOSTILE, cause="LEAVE", **hostile),
        **members(
            *(member(number, "a", (0, 1), **mine) for number in (1, 2, 3)),
            *(member(number, "b", (2, 3), **mine) for number in (1, 2, 3)),
            *(member(number, "quiet", (5,), **mine) for number in (1, 2, 3)),
            member(1, "c", (4,), **mine),
            member(2, "c", (4,), left_how="left", left_time=40_000, gone=True, **mine),
            member(1, HOSTILE, (0,), process=HOSTILE, **hostile),
        ),
        rebalance_causes=[
            cause(1, 1000, "a", "MEMBER_NEW", "start", **mine),
            cause(2, 20_000, "b", "LEAVE", "restart", **mine),
            cause(3, 40_000, "c", "LEAVE", "slow_poll", **mine),
            cause(1, 5000, HOSTILE, "LEAVE", "stop", reason=HOSTILE, **hostile),
        ],
        ownership_gaps=gaps(2, 20_000, 22_100, (0, 1, 2, 3, 5), 1, GROUP),
        episodes=[
            episode(1, "restart", 20_000, 30_000, group_id=GROUP),
            episode(2, "slow_poll", 38_000, 43_100, group_id=GROUP, unowned_partition_ms=9000),
            episode(1, "unknown", 5000, 6000, group_id=HOSTILE, processes=[HOSTILE])
            | {"summary": HOSTILE},
        ],
        findings=[
            finding("KAFKA-10284", 5000, group_id=GROUP, remedy="Upgrade:\na=1", confidence=0.9),
            finding("host_lost", 5000, group_id=HOSTILE, summary=HOSTILE, evidence=f"x\n{HOSTILE}"),
        ],
        advice=[
            advised(
                GROUP,
                "static: 1 rebalance less",
                client_properties='# of every consumer\n# in one go\n\n{"a": "1"}',
                whose="caused by b (1 restart)",
            ),
            advised(HOSTILE, HOSTILE, client_properties=HOSTILE, risk=HOSTILE),
        ],
        advice_outcomes=[
            advice_outcome(GROUP, "worse"),
            advice_outcome(GROUP, None, setting="x=1", carried_out="no", figures=None),
            advice_outcome(
                HOSTILE, "not comparable", settings=HOSTILE, figures=None, reason=HOSTILE
            ),
        ],
        timeline=events(1000, 60_000, group_id=GROUP),
    )


def page_of(root, file):
    write_page(ReportLake(root, "c", None, ReportWindow()), "c", str(file))
    return file


@pytest.fixture(scope="module")
def report_file(plant, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    return page_of(plant(folder / "lake", two_groups()), folder / "report.html")


@pytest.fixture(scope="module")
def large_file(flapping, tmp_path_factory):
    return page_of(flapping, tmp_path_factory.mktemp("large") / "report.html")


@pytest.fixture
def tab(chromium, report_file):
    opened = chromium.open(report_file, f"#group={GROUP}")
    opened.until("rebalances.rows.length === 4")
    return opened


def view(tab):
    """From and to of the address, in s since the epoch, or None if all is shown."""
    return tab.run(
        """(() => { const view = new URLSearchParams(location.hash.slice(1));
        return ["from", "to"].map((n) => view.get(n) && Date.parse(view.get(n)) / 1000); })()"""
    )


def generations(tab):
    return tab.run("[...rebalances.tBodies[0].rows].map((row) => row.cells[0].textContent)")


def is_painted(tab, color, selector="#canvas"):
    """Returns True if the canvas has a pixel of this color of the style sheet."""
    return tab.run(
        f"""(() => {{ const canvas = document.querySelector("{selector}");
        const probe = document.createElement("canvas").getContext("2d");
        probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--{color}");
        probe.fillRect(0, 0, 1, 1);
        const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
        const {{ data }} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        for (let at = 0; at < data.length; at += 4) {{
          if (data[at] === r && data[at + 1] === g && data[at + 2] === b) return true;
        }}
        return false; }})()"""
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_draws_without_errors_and_without_the_network(chromium, report_file, width, dark):
    tab = chromium.open(report_file, f"#group={GROUP}", width=width, dark=dark)
    tab.until("rebalances.rows.length === 4")

    assert tab.errors() == []
    phases = ("join", "stable", "unowned", "leaving")
    assert [is_painted(tab, phase) for phase in phases] == [True] * 4
    assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.run("document.getElementById('groups').rows.length") == 3


def test_a_file_of_one_cluster_shows_no_choice_of_clusters(tab):
    hidden = "[...document.querySelectorAll('[hidden]')].filter((each) => each.offsetParent)"

    assert tab.run(f"{hidden}.map((each) => each.id)") == []


def test_names_of_clients_are_text(chromium, report_file):
    tab = chromium.open(report_file)
    tab.run(f"location.hash = 'group=' + encodeURIComponent({HOSTILE!r})")
    tab.until(f"document.getElementById('group').value === {HOSTILE!r}")
    tab.until("rebalances.rows.length === 2")
    tab.run("rebalances.querySelector('button').click()")
    tab.until("details.querySelector('li')")

    assert tab.run("document.title") == "Rebalances of c"
    assert tab.run("document.images.length + document.querySelectorAll('script').length") == 3
    shown = HOSTILE.replace("\u202e", "\\u202e")  # shown escaped
    for part in ("details", "groups", "rebalances", "group"):
        assert shown in tab.run(f"document.getElementById('{part}').textContent"), part
    assert "\u202e" not in tab.run("document.body.innerText")
    assert tab.errors() == []


def test_a_click_on_a_groups_bar_opens_its_timeline(chromium, report_file):
    tab = chromium.open(report_file, f"#group={GROUP}")
    tab.run(
        """(() => {
        const bars = document.querySelectorAll("#chart-groups path[aria-roledescription=bar]");
        window.bar = [...bars].find((bar) => bar.getAttribute("aria-label").includes("img"));
        bar.id = "hostile-bar"; })()"""
    )

    tab.click_on("#hostile-bar")

    tab.until(f"document.getElementById('group').value === {HOSTILE!r}")


def test_a_link_opens_its_group_time_and_generation(chromium, report_file):
    address = f"#group={GROUP}&from=1970-01-01T00:00:15Z&to=1970-01-01T00:00:30Z&generation=1.2"
    tab = chromium.open(report_file, address)
    tab.until("rebalances.rows.length === 3")

    assert generations(tab) == ["1", "2"]
    assert view(tab) == [15, 30]
    assert "Generation 2: b restarted" in tab.run("details.textContent")


def test_a_link_to_a_missing_group_shows_a_note(chromium, report_file):
    tab = chromium.open(report_file, "#group=gone")

    note = tab.run("document.getElementById('timeline-note').textContent")
    assert note == f"This page has no timeline of gone; showing {GROUP}."


def test_buttons_and_plus_zoom_and_all_shows_all(tab):
    assert view(tab) == [None, None]

    tab.click_on("[data-do=in]")
    tab.until("location.hash.includes('from=')")
    first = view(tab)
    tab.run("canvas.focus()")
    tab.key("+")
    tab.until(f"Date.parse(new URLSearchParams(location.hash).get('to')) / 1000 < {first[1]}")
    second = view(tab)
    assert first[0] < second[0] < second[1] < first[1]

    tab.click_on("[data-do=all]")
    tab.until("!location.hash.includes('from=')")


def test_ctrl_and_wheel_zoom_at_the_pointer(tab):
    x, y, width, _ = tab.box("#canvas")

    tab.mouse("mouseWheel", x + width - 40, y + 60, deltaX=0, deltaY=-200, modifiers=2)
    tab.until("location.hash.includes('from=')")

    begin, end = view(tab)
    assert begin > 30
    assert end > 55


def test_dragging_moves_the_time(tab):
    tab.click_on("[data-do=in]")
    tab.until("location.hash.includes('from=')")
    before = view(tab)
    x, y, width, _ = tab.box("#canvas")

    tab.drag(x + width - 200, y + 70, x + width - 100)
    tab.until(f"Date.parse(new URLSearchParams(location.hash).get('to')) / 1000 < {before[1]}")

    after = view(tab)
    assert after[0] < before[0]
    assert after[1] - after[0] == pytest.approx(before[1] - before[0], abs=0.01)


def test_two_fingers_zoom_and_select_nothing(chromium, report_file):
    tab = chromium.open(report_file, f"#group={GROUP}", width=390)
    tab.ask("Emulation.setTouchEmulationEnabled", enabled=True)
    x, y, width, _ = tab.box("#canvas")
    middle = x + width / 2

    tab.touch("touchStart", (middle - 40, y + 80), (middle + 40, y + 80))
    for apart in (60, 80, 100, 120):
        tab.touch("touchMove", (middle - apart, y + 80), (middle + apart, y + 80))
    tab.touch("touchEnd")
    tab.until("location.hash.includes('from=')")

    begin, end = view(tab)
    assert end - begin == pytest.approx(59 * 1.02 / 3, rel=0.1)
    assert (begin + end) / 2 == pytest.approx(30.5, abs=2)
    assert "generation" not in tab.run("location.hash")


def test_arrow_keys_select_the_next_and_previous_rebalance(tab):
    tab.run("canvas.focus()")

    titles = []
    for key in ("Home", "ArrowRight", "ArrowRight", "ArrowLeft"):
        tab.key(key)
        titles.append(tab.run("details.querySelector('h3').textContent"))

    assert titles == [
        "Generation 1: a started",
        "Generation 2: b restarted",
        "Generation 3: c polled too slowly",
        "Generation 2: b restarted",
    ]


def test_enter_zooms_to_the_rebalance(tab):
    tab.run("canvas.focus()")
    tab.key("End")
    tab.key("Enter")
    tab.until("location.hash.includes('from=')")

    begin, end = view(tab)
    assert 38 < begin < 40
    assert 43 < end < 56


def test_a_click_selects_the_generation_and_lists_its_members(tab):
    x, y, _, _ = tab.box("#canvas")
    second = tab.run("canvas.clientWidth") - 190 - 8
    tab.click(x + 190 + second * 30 / 60, y + 24 + 22 + 30 + 10)
    tab.until("details.querySelector('table')")

    rows = tab.run("[...details.querySelectorAll('tbody tr')].map((row) => row.innerText)")
    assert [row.split("\t") for row in rows] == [
        ["a@host", "/host", "t 0-1", ""],
        ["b@host", "/host", "t 2-3", ""],
        ["c@host", "/host", "t 4", "left"],
        ["quiet@host", "/host", "t 5", ""],
    ]


def test_the_pointer_shows_details_of_the_item_below(tab):
    x, y, _, _ = tab.box("#canvas")
    tab.mouse("mouseMoved", x + 400, y + 24 + 22 + 30 + 14)
    tab.until("!tip.hidden")

    assert tab.run("[...tip.children].map((line) => line.textContent)")[0] == "a@host"


def test_the_filter_finds_processes_and_rebalances(tab):
    tab.click_on("#filter")
    tab.type("restarted")
    tab.until("rebalances.rows.length === 2")
    assert generations(tab) == ["2"]


def test_processes_without_marks_can_be_hidden(tab):
    lanes = "document.getElementById('tall').clientHeight"
    tab.until(f"{lanes} === {24 + 22 + 30 + 4 * 28 + 70}")

    tab.click_on("#marked")

    tab.until(f"{lanes} === {24 + 22 + 30 + 3 * 28 + 70}")


def test_the_filter_finds_the_process_of_a_partition(tab):
    lanes = "document.getElementById('tall').clientHeight"
    tab.click_on("#filter")

    tab.type("t 4")

    tab.until(f"{lanes} === {24 + 22 + 30 + 28 + 70}")


def test_families_of_causes_can_be_hidden(tab):
    tab.click_on("#families label:nth-of-type(1) input")
    tab.until("rebalances.rows.length === 3")
    assert generations(tab) == ["2", "3"]

    tab.click_on("#families label:nth-of-type(3) input")  # Slow polls are in this family.
    tab.until("rebalances.rows.length === 2")
    assert generations(tab) == ["2"]


def test_groups_can_be_sorted_and_opened_and_back_returns(tab):
    names = "[...document.querySelectorAll('#groups tbody th')].map((cell) => cell.textContent)"
    hostile = HOSTILE.replace("\u202e", "\\u202e")
    assert tab.run(names) == [GROUP, hostile]

    tab.run("document.querySelector('#groups th[data-name=rebalances] button').click()")
    tab.run("document.querySelector('#groups th[data-name=rebalances] button').click()")
    assert tab.run(names) == [hostile, GROUP]

    tab.run("document.querySelector('#groups tbody .name').click()")
    tab.until(f"document.getElementById('group').value === {HOSTILE!r}")
    tab.run("history.back()")
    tab.until(f"document.getElementById('group').value === {GROUP!r}")


def test_colors_can_be_switched(tab):
    page_color = "getComputedStyle(document.body).backgroundColor"
    assert tab.run(page_color) == "rgb(255, 255, 255)"

    tab.click_on("#theme")

    tab.until(f"{page_color} === 'rgb(15, 20, 25)'")
    tab.until("document.querySelectorAll('.chart svg').length === 2")
    tab.until("theme.textContent === 'Light colors'")
    assert tab.errors() == []
    assert is_painted(tab, "stable")


def test_all_controls_can_be_reached_by_tab(tab):
    reached = tab.run(
        """[...document.querySelectorAll("a, button, input, select, [tabindex]")]
        .filter((each) => each.offsetParent && each.tabIndex >= 0)
        .map((each) => each.getAttribute("aria-label") || each.textContent.trim()
          || (each.labels && each.labels[0] && each.labels[0].textContent.trim())
          || each.getAttribute("aria-labelledby"))"""
    )

    assert len(reached) > 20
    assert [name for name in reached if not name] == []


def test_moving_and_zooming_a_thousand_generations(chromium, large_file):
    tab = chromium.open(large_file)
    tab.until("rebalances.rows.length === 51")
    tab.run("canvas.focus()")

    for _ in range(8):
        tab.key("+")
    for _ in range(5):
        tab.key("ArrowLeft", shift=True)
    tab.until("location.hash.includes('from=')")
    begin, end = view(tab)
    x, y, width, _ = tab.box("#canvas")
    tab.drag(x + width - 300, y + 100, x + width - 50)
    tab.until(f"Date.parse(new URLSearchParams(location.hash).get('from')) / 1000 < {begin}")

    seen = generations(tab)
    assert end - begin == pytest.approx(60_060 * 1.02 * 0.6**8, rel=0.02)
    assert len(seen) == pytest.approx((end - begin) / 60, abs=2)
    assert tab.errors() == []


def test_findings_come_first_the_surest_of_them_first(chromium, report_file):
    tab = chromium.open(report_file)

    headings = tab.run("[...document.querySelectorAll('h3')].map((each) => each.textContent)")
    assert headings[:2] == [
        "Findings: what is wrong, by name",
        "Episodes: root causes, by partition downtime",
    ]
    items = tab.run(
        "[...document.querySelectorAll('#findings > li summary')].map((e) => e.textContent)"
    )
    assert items[0].startswith("KAFKA-10284 (operation, 90 %): ")
    assert [item.split(" ")[0] for item in items] == ["KAFKA-10284", "host_lost"]
    tab.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert tab.run("document.querySelector('#findings pre').textContent") == "a=1"
    assert tab.run("document.querySelector('#findings a[rel]').href") == "https://example.org/"
    assert tab.errors() == []


def test_advice_says_whose_rebalances_it_is_about(tab):
    facts = "[...document.querySelectorAll('#advice dl > *')].map((e) => e.textContent)"
    shown = tab.run(facts)

    place = shown.index("whose")
    assert shown[place + 1] == "caused by b (1 restart)"


def test_outcomes_of_advice_are_beside_the_advice_and_the_group(tab):
    cells = "[...document.querySelectorAll('#outcomes tbody tr > *')].map((e) => e.textContent)"
    leads = "[...document.querySelectorAll('{} .advice .lead')].map((e) => e.textContent)"

    assert tab.run(cells) == [
        "partition downtime (partition-seconds)", "35 s", "24 s", "18 s to 30 s", "35 s", "worse",
    ]  # fmt: skip
    assert tab.run(leads.format("#outcomes"))[0] == "billing: group.instance.id: worse"
    # Only the group's own view has advice that was not carried out.
    assert len(tab.run(leads.format("#outcomes"))) == 2
    assert tab.run(leads.format("#what-if"))[1:] == [
        "group.instance.id: worse",
        "group.instance.id: not carried out so far",
    ]


def test_hostile_findings_episodes_and_advice_are_text(chromium, report_file):
    tab = chromium.open(report_file)
    tab.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    shown = HOSTILE.replace("\u202e", "\\u202e")
    tab.until("document.querySelector('#advice pre')")

    for part in ("findings", "episodes", "advice", "outcomes"):
        assert shown in tab.run(f"document.getElementById('{part}').textContent"), part
    blocks = tab.run("[...document.querySelectorAll('#advice pre')].map((e) => e.textContent)")
    assert blocks == [shown, '{"a": "1"}']
    assert tab.run("document.title") == "Rebalances of c"
    assert tab.run("document.images.length") == 0


def test_json_has_its_comments_above_its_block(tab):
    """JSON has no comments: pasted with them, it cannot be read."""
    blocks = tab.run("[...document.querySelectorAll('#advice pre')].map((e) => e.textContent)")
    above = tab.run("[...document.querySelectorAll('#advice .block p')].map((e) => e.textContent)")

    assert blocks[-1] == '{"a": "1"}'
    assert above == ["of every consumer", "in one go"]


def test_a_file_has_the_timeline_before_tables_and_no_control_without_choices(tab):
    titles = tab.run(
        "[...document.querySelectorAll('main h2')].filter((each) => each.checkVisibility())"
        ".map((each) => each.textContent)"
    )

    assert titles == ["Overview", "Timeline", "Groups"]
    assert not tab.run("document.getElementById('cluster').checkVisibility()")


def unlogged(number, group_id):
    """A generation of which no log shows when its rebalance began."""
    rows = generation(
        number, 1000, 3000, 3100, None, evidence="records", group_id=group_id, cause="LEAVE"
    )
    rows["generations"] |= {"preparing_time": None}
    rows["rebalance_latency"] |= {"preparing_time": None, "join_ms": None, "total_ms": None}
    return rows


def cells(tab, *names):
    """The texts of a row's cells in the table of groups."""
    selector = ", ".join(f'#groups td[data-column="{name}"]' for name in names)
    return tab.run(f"[...document.querySelectorAll('{selector}')].map((c) => c.innerText)")


BEGIN_CELLS = ("Not Stable", "Share of time", "Longest")


@pytest.mark.parametrize("is_served", [False, True])
def test_times_without_a_logged_begin_are_unknown(chromium, plant, tmp_path, is_served):
    rows = tables(unlogged(1, GROUP), timeline=events(3000, 9000, group_id=GROUP))
    root = plant(tmp_path / "lake", rows)
    with served(root) if is_served else nullcontext() as server:
        file = page_of(root, tmp_path / "report.html")
        address = f"http://127.0.0.1:{server.port}/" if server else f"file://{file}"
        tab = chromium.open_address(address)
        tab.until("document.querySelectorAll('.chart svg').length === 1")
        tab.until("document.querySelector('#groups tbody tr')")

        figures = tab.run("document.getElementById('figures').innerText")
        assert cells(tab, *BEGIN_CELLS) == ["unknown"] * 3
        assert tab.run("document.getElementById('chart-groups').offsetParent === null")
    assert "Longest rebalance\nunknown\nPartition" in figures.replace("\n\n", "\n")
    assert (
        "unknown\nno log shows when rebalances began: add it with regroup nightly --broker-log"
        in figures
    )


def test_times_with_some_logged_begins_are_lower_limits(chromium, plant, tmp_path):
    rows = tables(
        generation(1, 1000, 2000, 2100, 3000, group_id=GROUP, evidence="both", cause="LEAVE"),
        unlogged(2, GROUP),
        unlogged(1, "payments"),
        timeline=events(1000, 12_100, group_id=GROUP),
    )
    tab = chromium.open(page_of(plant(tmp_path / "lake", rows), tmp_path / "report.html"))

    assert cells(tab, *BEGIN_CELLS) == ["≥ 1.1 s", "≥ 9.9 %", "≥ 1.1 s", *["unknown"] * 3]
    assert "≥ 1.1 s\nsum over all groups" in tab.run("document.getElementById('figures').innerText")
    chart = tab.run("document.querySelector('#chart-groups svg').textContent")
    assert (GROUP in chart, "payments" in chart) == (True, False), chart
