"""Names that try to run a script in each context of the page: all of them are shown as text."""

import json

import pytest

from jobs.report.files import write_page
from jobs.report.lake import ReportLake
from jobs.report.window import ReportWindow
from tests.jobs.report.planted import (
    advised,
    cause,
    episode,
    events,
    gaps,
    generation,
    member,
    members,
    tables,
)

pytestmark = pytest.mark.slow
MAX_NAME_BYTES = 2**15 - 1
# The context of a name in the page, with a name that sets window.taken if it escapes from this
# context.
NAMES = {
    "an element": '<img src=x onerror="taken=1"><svg onload="taken=1">',
    "the script of the data": "</script><script>taken=1</script>",
    "a comment in a script": "<!--<script>taken=1",
    "an attribute": "\" autofocus onfocus=taken=1 tabindex=0 x='",
    "an attribute in single quotes": "' onmouseover='taken=1",
    "a string of a script": "\\';taken=1;//\\\";taken=1;//",
    "a template of a script": "`${taken=1}`",
    "a line of a script": "\u2028taken=1\u2029//",
    "an address": "javascript:taken=1",
    "a fragment of an address": "a&from=0#group=b%22%3E%3Cscript%3Etaken=1%3C/script%3E",
    "a style": "</style><style>*{background:url(http://127.0.0.1:9/x)}</style>",
    "an entity": "&lt;img src=x onerror=taken=1&gt;",
    "a formula of a chart": "datum['constructor'].constructor('taken=1')()",
    "a property of all objects": "__proto__",
    "a method of all objects": "constructor",
    "the order of text": "\u202egnp.exe\u2066",
    "controls of a terminal": "\x1b]8;;http://127.0.0.1:9/\x07a\x1b]52;c;aGk=\x07\x00",
    "a path": "../../../x",
    "the longest name": "x" * MAX_NAME_BYTES,
}

GROUP = "document.getElementById('group')"
TAGS = ("script", "style", "img", "iframe", "base")
ELEMENTS = f"{list(TAGS)}.map((tag) => document.querySelectorAll(tag).length)"


@pytest.fixture(scope="module")
def hostile_file(plant, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    root = plant(folder / "lake", rows_of(NAMES.values()))
    write_page(ReportLake(root, "c", None, ReportWindow()), "c", str(folder / "report.html"))
    return folder / "report.html"


def rows_of(names):
    """A group per name: its client, host, topic, assignor, reason and texts have the name, too."""
    generations, people, others = [], [], {}
    for number, name in enumerate(names):
        mine, at = {"group_id": name}, 60_000 * number
        generations += [
            generation(1, at + 1000, at + 4000, at + 4100, at + 20_000, protocol=name, **mine),
            generation(
                2, at + 20_000, at + 22_000, at + 22_100, None, cause="LEAVE",
                culprit_client_id=name, culprit_client_host=name, protocol=name, **mine,
            ),
        ]  # fmt: skip
        people += [
            member(each, name, (0,), process=name, client_host=name, **mine) for each in (1, 2)
        ]
        for table, rows in {
            "rebalance_causes": [
                cause(2, at + 20_000, name, "LEAVE", "restart", reason=name, **mine)
                | {"client_reason": name, "client_host": name}
            ],
            "ownership_gaps": gaps(2, at + 20_000, at + 22_100, (0,), 1, name),
            "episodes": [
                episode(1, "restart", at + 20_000, at + 30_000, processes=[name], **mine)
                | {"summary": name, "hosts": [name]}
            ],
            "advice": [advised(name, name, client_properties=name, risk=name)],
            "timeline": events(at + 1000, at + 50_000, **mine),
        }.items():
            others.setdefault(table, []).extend(rows)
    planted = members(*people)
    for row in planted["assignments"]:
        row["topic"] = row["group_id"]
    return tables(*generations, **planted, **others)


def test_no_name_runs_a_script_or_leaves_its_text(chromium, hostile_file):
    """Every group is opened, with the details of a rebalance."""
    tab = chromium.open(hostile_file)
    title, elements = (tab.run(each) for each in ("document.title", ELEMENTS))

    for context, name in NAMES.items():
        tab.run(f"{GROUP}.value = {json.dumps(name)}")
        tab.run(f"{GROUP}.dispatchEvent(new Event('change'))")
        tab.until(f"{GROUP}.value === {json.dumps(name)}")
        tab.until("rebalances.rows.length === 3")
        tab.run("rebalances.tBodies[0].rows[1].querySelector('button').click()")
        tab.until("details.querySelector('li')")
        tab.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

        assert tab.run("window.taken") is None, context
        assert tab.run("({}).taken") is None, context
        assert tab.run(ELEMENTS) == elements, context
    assert tab.run("document.title") == title
    assert not {"\u202e", "\x1b"} & set(tab.run("document.body.innerText"))
    assert tab.errors() == []
