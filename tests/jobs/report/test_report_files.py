"""The files of a page: timelines beyond its size are in data files beside it."""

import json
import re

import pytest

from jobs.console.errors import UsageError
from jobs.report.command import ReportOptions, report
from jobs.report.files import write_page
from jobs.report.lake import ReportLake
from jobs.report.window import ReportWindow
from tests.jobs.report.planted import HOSTILE, events, generation, tables

pytestmark = pytest.mark.slow

GROUPS = [HOSTILE, "billing-1", "billing-2", "billing-3"]


@pytest.fixture(scope="module")
def root(plant, tmp_path_factory):
    rows = [
        generation(1, 1000, 9000 - place, 9100, None, group_id=group)
        for place, group in enumerate(GROUPS)
    ]
    return plant(tmp_path_factory.mktemp("lake"), tables(*rows, timeline=events(1000, 30_000)))


def write(root, out, **more):
    return write_page(ReportLake(root, "c", None, ReportWindow()), "c", str(out), **more)


def data_of(page):
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


def timelines_of(data_file):
    call = re.fullmatch(r"regroupTimelines\((.*)\);\n", data_file.read_text(encoding="ascii"))
    return json.loads(call[1])


def test_each_group_is_in_the_page_or_in_a_data_file(root, tmp_path):
    page, *others = write(root, tmp_path / "report.html", room=0, file_room=1)

    files = data_of(page)["elsewhere"]["files"]
    assert data_of(page)["timelines"] == []
    assert [groups for _, groups in files] == [[group] for group in GROUPS]
    assert [tmp_path / "report.data" / name for name, _ in files] == others
    assert [[t["group"] for t in timelines_of(file)] for file in others] == [[g] for g in GROUPS]


def test_a_data_file_holds_several_groups_up_to_its_size(root, tmp_path):
    _, *others = write(root, tmp_path / "report.html", room=0)

    assert [[t["group"] for t in timelines_of(file)] for file in others] == [GROUPS]


def test_no_name_is_markup_in_a_data_file(root, tmp_path):
    _, *others = write(root, tmp_path / "report.html", room=0)

    assert [re.findall("[<>&\u202e]", file.read_text(encoding="utf-8")) for file in others] == [[]]


def test_only_a_page_with_data_files_may_load_scripts(root, tmp_path):
    alone, beside = (
        write(root, tmp_path / name, **more)[0].read_text(encoding="utf-8")
        for name, more in (("alone.html", {}), ("beside.html", {"room": 0}))
    )

    assert ["strict-dynamic" in text.split("</head>")[0] for text in (alone, beside)] == [
        False,
        True,
    ]


def test_a_new_page_deletes_data_files_of_the_previous_one_only(root, tmp_path):
    _, previous, *_ = write(root, tmp_path / "report.html", room=0, file_room=1)
    kept = previous.with_name("notes.js")
    kept.write_text("mine")

    write(root, tmp_path / "report.html")

    assert [path.name for path in (tmp_path / "report.data").iterdir()] == ["notes.js"]
    kept.unlink()
    write(root, tmp_path / "report.html")
    assert not (tmp_path / "report.data").exists()


def test_the_command_names_page_and_folder(root, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("jobs.report.files.ROOM", 0)
    out = tmp_path / "report.html"

    report(ReportOptions(lake=root, cluster_id="c", out=str(out)))

    (data_file,) = (tmp_path / "report.data").iterdir()
    assert capsys.readouterr().err.splitlines() == [
        f"{out}: {out.stat().st_size:,} bytes",
        f"{tmp_path}/report.data: 1 data files, {data_file.stat().st_size:,} bytes; keep the folder"
        " beside the page",
    ]


def test_a_folder_that_cannot_be_written_is_named(root, tmp_path):
    (tmp_path / "report.data").write_text("a file")

    with pytest.raises(
        UsageError, match=r"^--out .*report\.html: File exists; give a file to write$"
    ):
        write(root, tmp_path / "report.html", room=0)
