"""The page as a file: it is complete, loads nothing, and contains no client text as markup."""

import base64
import hashlib
import json
import re
from collections import Counter
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from jobs.console.errors import UsageError
from jobs.report.command import ReportOptions, report
from jobs.report.files import write_page
from jobs.report.lake import ReportLake
from jobs.report.page import SCRIPTS
from jobs.report.window import ReportWindow
from tests.jobs.report.planted import HOSTILE, cause, events, generation, member, members, tables

pytestmark = pytest.mark.slow


class Elements(HTMLParser):
    """Tags with their attributes, and the contents of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.raw, self._inside = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside = len(self.raw)
            self.raw.append([tag, dict(attrs), ""])

    def handle_data(self, data):
        if self._inside is not None:
            self.raw[self._inside][2] += data

    def handle_endtag(self, tag):
        self._inside = None


@pytest.fixture(scope="module")
def hostile(plant, tmp_path_factory):
    """All names that a client can choose are hostile."""
    return plant(
        tmp_path_factory.mktemp("hostile"),
        tables(
            generation(
                1, 1000, 4000, 4100, 9000, group_id=HOSTILE,
                cause="MEMBER_NEW", culprit_client_id=HOSTILE, culprit_client_host=HOSTILE,
            ),
            **members(member(1, HOSTILE, (0,), group_id=HOSTILE, process=HOSTILE)),
            rebalance_causes=[
                cause(1, 1000, HOSTILE, "MEMBER_NEW", "start", group_id=HOSTILE, reason=HOSTILE)
                | {"client_reason": HOSTILE, "client_host": HOSTILE}
            ],
            timeline=events(1000, 9000, group_id=HOSTILE),
        ),
    )  # fmt: skip


def page_of(root, folder):
    """The page's text; it is the only file."""
    (path,) = write_page(ReportLake(root, "c", None, ReportWindow()), "c", f"{folder}/page.html")
    assert [each.name for each in folder.iterdir()] == ["page.html"]
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def hostile_page(hostile, tmp_path_factory):
    return page_of(hostile, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def elements(hostile_page):
    return Elements(hostile_page)


def test_the_data_are_unchanged(elements):
    (data,) = [text for _, attrs, text in elements.raw if attrs.get("id") == "data"]

    page_data_ = json.loads(data)
    assert page_data_["groups"]["rows"][0][0] == HOSTILE
    assert page_data_["timelines"][0]["lanes"][0]["client_id"] == HOSTILE
    assert not re.search("[<>&]", data)


def test_no_name_becomes_an_element(elements):
    tags = [tag for tag, _ in elements.tags]

    assert (tags.count("script"), tags.count("img")) == (3, 0)
    assert not [attrs for _, attrs in elements.tags if any(a.startswith("on") for a in attrs)]


def test_the_page_loads_nothing(elements):
    loaded = [
        attrs[name] for _, attrs in elements.tags for name in ("src", "href") if name in attrs
    ]

    assert loaded == ["data:,"]


def test_the_policy_permits_only_scripts_of_the_page(elements):
    (policy,) = [a["content"] for _, a in elements.tags if "http-equiv" in a]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    texts = [text for tag, attrs, text in elements.raw if attrs.get("id") != "data"]
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in texts
    ]

    assert rules["default-src"] == "'none'"
    assert [rules["style-src"], *rules["script-src"].split()] == hashes


def test_the_same_lake_gives_the_same_page(hostile, hostile_page, tmp_path):
    assert page_of(hostile, tmp_path) == hostile_page


def test_a_thousand_generations_of_twenty_members_are_less_than_3_mb(flapping, tmp_path):
    text = page_of(flapping, tmp_path)

    assert len(text.encode()) < 3_000_000
    assert '"left_out":0' in text


def test_the_command_writes_the_page_and_its_size_on_stderr(hostile, tmp_path, capsys):
    out = tmp_path / "report.html"

    report(ReportOptions(lake=hostile, cluster_id="c", out=str(out)))

    printed = capsys.readouterr()
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (printed.out, printed.err) == ("", f"{out}: {out.stat().st_size:,} bytes\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give --out FILE.html, --trace FILE.json or --mermaid GENERATION"),
        ({"out": "/nowhere/x.html"}, "--out /nowhere/x.html: no folder /nowhere; give a"),
        ({"trace": "/"}, "--trace /: a folder; give a file to write"),
        ({"mermaid": "1"}, "--mermaid 1: give the --group of this generation, too"),
        ({"out": "x.html", "first": "soon"}, "--from soon: expected a UTC time"),
    ],
)
def test_wrong_options(hostile, options, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        report(ReportOptions(lake=hostile, cluster_id="c", **options))


def test_control_characters_of_a_sequence_are_escaped(hostile, monkeypatch, capsys):
    diagram = "sequenceDiagram\n    participant p0 as a\x1b[31m\u202eb\r\n"
    monkeypatch.setattr("jobs.report.sequence.sequence", lambda *_: diagram)

    report(ReportOptions(lake=hostile, cluster_id="c", group_id=HOSTILE, mermaid="1"))

    assert capsys.readouterr().out == (
        "sequenceDiagram\n    participant p0 as a\\x1b[31m\\u202eb\\r\n"
    )


def test_no_two_scripts_define_the_same_function():
    """All scripts share one scope, in which a second function would silently replace the first."""
    static = files("jobs.report") / "static"
    texts = [(static / f"{name}.js").read_text("utf-8") for name in SCRIPTS]
    names = re.findall(r"^(?:async )?function (\w+)", "\n".join(texts), re.M)

    assert len(names) > 100
    assert sorted(name for name, count in Counter(names).items() if count > 1) == []
