"""The page of a file on paper: light colors, and one page per group."""

import base64
import re

import pytest

from jobs.report.files import write_page
from jobs.report.lake import ReportLake
from jobs.report.window import ReportWindow
from tests.jobs.report.planted import episode, generation, tables

pytestmark = pytest.mark.slow

# State of each group's page before the browser prints: title, items, whether it has a timeline,
# text color.
TEXT_COLOR = "getComputedStyle(document.documentElement).getPropertyValue('--text')"
SEEN = """
    window.sheets = []; addEventListener("beforeprint", () => {
      window.sheets = [...document.querySelectorAll(".sheet")].map((each) => [
        each.querySelector("h2").textContent, each.querySelectorAll("li").length,
        each.querySelector("canvas").height > 100,
        getComputedStyle(document.documentElement).getPropertyValue("--text")]);
    })"""


def printed(chromium, plant, folder, *, groups, dark=False):
    """The number of printed pages, and the tab."""
    names = [f"billing-{number}" for number in range(groups)]
    rows = tables(
        *(generation(1, 1000, 4000, 4100, 9000 + at, group_id=g) for at, g in enumerate(names)),
        episodes=[episode(at, "restart", 1000, 2000, group_id=names[0]) for at in range(40)],
    )
    folder.mkdir()
    lake = ReportLake(plant(folder / "lake", rows), "c", None, ReportWindow())
    write_page(lake, "c", str(folder / "report.html"))
    tab = chromium.open(folder / "report.html", dark=dark)
    tab.run(SEEN)
    tab.run(
        "document.querySelectorAll('#overview-part, #tables-part').forEach((each) => each.remove())"
    )
    file = base64.b64decode(tab.ask("Page.printToPDF")["data"])
    return len(re.findall(rb"/Type\s*/Page\b", file)), tab


@pytest.mark.parametrize("groups", [1, 4])
def test_each_group_has_one_printed_page(chromium, plant, tmp_path, groups):
    """The title has one page; overview and tables, which grow with the groups, are hidden here."""
    pages, tab = printed(chromium, plant, tmp_path / "lake", groups=groups)

    assert pages == 1 + groups
    names = [f"billing-{number}" for number in range(groups)]
    assert sorted(name for name, *_ in tab.run("sheets")) == names
    assert tab.run("document.querySelectorAll('.sheet').length") == 0  # after printing


def test_a_printed_page_has_light_colors_and_limited_lists(chromium, plant, tmp_path):
    _, tab = printed(chromium, plant, tmp_path / "dark", groups=1, dark=True)

    assert tab.run("sheets") == [["billing-0", 12, True, "#1a2028"]]
    assert tab.run(TEXT_COLOR) == "#e6edf3"
