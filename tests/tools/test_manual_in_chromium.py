"""axe-core finds no fault in the manual: a page of prose, one with tables, one with a diagram."""

import shutil

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

from tests.accessibility import faults_of
from tools.manual.site import ROOT

pytestmark = pytest.mark.slow

SCHEMES = {"light": "default", "dark": "slate"}  # names of the theme's color schemes
PAGES = ("tutorial", "report", "situations/01-first-member")


@pytest.fixture(scope="module")
def manual(tmp_path_factory):
    """The folder of the built pages.  Not strict: links to other pages lead nowhere."""
    docs, built = tmp_path_factory.mktemp("docs"), tmp_path_factory.mktemp("manual")
    for name in [*(f"{page}.md" for page in PAGES), "manual.css", "manual.js"]:
        (docs / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "docs" / name, docs / name)
    changed = {"docs_dir": str(docs), "site_dir": str(built), "strict": False}
    config = load_config(str(ROOT / "mkdocs.yml"), **changed)
    config.nav = [f"{page}.md" for page in PAGES]
    build(config)
    return built


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_page_has_no_fault(chromium, manual, page, scheme):
    tab = chromium.open_address(f"file://{manual}/{page}.html")
    name = SCHEMES[scheme]
    tab.until("document.readyState === 'complete'")
    tab.until(f"document.querySelector('input[data-md-color-scheme={name}]').click(),"
              f" document.body.dataset.mdColorScheme === '{name}'")  # fmt: skip

    assert faults_of(tab, [scheme]) == []
