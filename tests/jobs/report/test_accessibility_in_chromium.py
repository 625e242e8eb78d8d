"""axe-core finds no fault in the page of a file and in the views of a served page."""

import pytest

from jobs.report.files import write_page
from jobs.report.lake import ReportLake
from jobs.report.window import ReportWindow
from tests.accessibility import faults_of
from tests.jobs.report.planted import advice_outcome, advised
from tests.jobs.report.serving import served
from tests.jobs.report.test_serve import three_groups

pytestmark = pytest.mark.slow

ROWS = "document.querySelectorAll('{} tbody tr').length >= {}"
ITEMS = "document.querySelectorAll('#list > li').length === {}"
VIEWS = {
    "overview": ROWS.format("#groups", 3)
    + " && document.querySelectorAll('.chart svg').length === 2",
    "group=billing-1&generation=1.2": ROWS.format("#rebalances", 2),
    "view=findings": ITEMS.format(1),
    "view=episodes": ITEMS.format(2),
    "view=advice": ITEMS.format(1),
    "view=compare&group=billing-1&other_group=billing-2": ROWS.format("#compared", 10),
    "view=sql&query=SELECT 1 AS n": ROWS.format("#sql-rows", 1),
}


@pytest.fixture(scope="module")
def lake(plant, tmp_path_factory):
    line = "a=" + "b" * 300
    advice = advised("billing-1", "static membership", client_properties=line, risk="none")
    more = {"advice": [advice], "advice_outcomes": [advice_outcome("billing-1", "worse")]}
    return plant(tmp_path_factory.mktemp("accessible"), three_groups() | more)


@pytest.fixture(scope="module")
def server(lake):
    with served(lake) as running:
        yield running


def test_a_file_has_no_fault(chromium, lake, tmp_path):
    file = tmp_path / "report.html"
    write_page(ReportLake(lake, "c", None, ReportWindow()), "c", str(file))

    assert faults_of(chromium.open(file)) == []


@pytest.mark.parametrize("view", VIEWS)
def test_a_served_view_has_no_fault(chromium, server, view):
    tab = chromium.open_address(f"http://localhost:{server.port}/#{view}")
    tab.until(VIEWS[view])

    assert faults_of(tab) == []


def test_a_long_line_of_advice_does_not_widen_the_page(chromium, server):
    tab = chromium.open_address(f"http://localhost:{server.port}/#view=advice", width=390)
    tab.until(VIEWS["view=advice"])

    assert tab.run("document.documentElement.scrollWidth") <= 390
