"""The pictures of the documentation show the present page.

Pixels depend on the fonts of a machine.  So each picture has the words of the drawn page in a chunk
of its PNG file, and the test compares these words with those of the page drawn now.  To take the
pictures again: REGROUP_REDRAW=1 .venv/bin/python -m pytest -n0 tests/end_to_end/test_pictures.py
"""

import base64
import os
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

import pytest

from jobs.report.files import write_page
from jobs.report.lake import ReportLake
from jobs.report.window import ReportWindow

DOCS = Path(__file__).parents[2] / "docs"
WIDTH, HEIGHT = 1180, 860  # of a picture
PAGE_HEIGHT = 8000  # in pixels; high enough for a picture without scrolling
KEYWORD = b"words"


class Picture(NamedTuple):
    """A part of a page: the section with its words, and the elements at its top and its foot."""

    cluster: str
    address: str
    section: str
    top: str
    foot: str | None = None


PICTURES = {
    "report-overview.png": Picture("kafka-4.1", "", "#overview-part", "header"),
    "report-timeline.png": Picture(
        "kafka-4.1", "#group=billing-eager&generation=1.13", "#timeline-part", "#timeline-part"
    ),
    "report-consumer-group.png": Picture(
        "mixed-4.4.0",
        "#group=billing-consumer&from=2026-11-23T02:38:20Z&to=2026-11-23T02:38:40Z&generation=1.11",
        "#timeline-part",
        "#map",
        "#legend",
    ),
}


@pytest.fixture(scope="module")
def tab_of(chromium, incidents, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")

    def opened(picture):
        page = folder / f"{picture.cluster}.html"
        if not page.exists():
            lake = ReportLake(incidents.root, picture.cluster, None, ReportWindow())
            write_page(lake, picture.cluster, str(page))
        tab = chromium.open(page, picture.address, width=WIDTH, height=PAGE_HEIGHT)
        if "generation=" in picture.address:
            tab.until("document.querySelector('#details h3')")
        return without_scroll_bars(tab)

    return opened


def without_scroll_bars(tab):
    """The tab, drawn again at its width."""
    tab.run("document.styleSheets[0].insertRule('* { scrollbar-width: none }')")
    for width in (WIDTH - 20, WIDTH):
        size = {"width": width, "height": PAGE_HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        tab.ask("Emulation.setDeviceMetricsOverride", **size)
        tab.run("new Promise((drawn) => setTimeout(drawn, 500))")
    return tab


def pixels(tab, picture):
    """The PNG file of the picture."""
    foot = f"document.querySelector('{picture.foot}')" if picture.foot else "null"
    top, bottom = tab.run(
        f"""(() => {{ const foot = {foot};
        const top = document.querySelector("{picture.top}").getBoundingClientRect().top + scrollY;
        const bottom = foot && foot.getBoundingClientRect().bottom + scrollY;
        return [top, bottom]; }})()"""
    )
    clip = {"x": 0, "y": top, "width": WIDTH, "height": (bottom or top + HEIGHT) - top, "scale": 1}
    shot = tab.ask("Page.captureScreenshot", clip=clip)
    return base64.b64decode(shot["data"])


def chunks(png):
    """Type and data of each chunk."""
    at = 8
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        yield kind, png[at + 8 : at + 8 + length]
        at += 12 + length


def with_words(png, words):
    """The PNG file with a chunk of compressed text (zTXt) before its last chunk."""
    data = b"zTXt" + KEYWORD + b"\0\0" + zlib.compress(words.encode())
    chunk = struct.pack(">I", len(data) - 4) + data + struct.pack(">I", zlib.crc32(data))
    return png[:-12] + chunk + png[-12:]


def words_of(png):
    head = KEYWORD + b"\0\0"
    text = (d[len(head) :] for kind, d in chunks(png) if kind == b"zTXt" and d.startswith(head))
    return zlib.decompress(next(text)).decode()


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_the_words_of_the_present_page(name, tab_of):
    picture = PICTURES[name]
    tab = tab_of(picture)
    words = tab.run(f"document.querySelector('{picture.section}').innerText")
    if "REGROUP_REDRAW" in os.environ:
        (DOCS / name).write_bytes(with_words(pixels(tab, picture), words))

    assert words_of((DOCS / name).read_bytes()).splitlines() == words.splitlines()
