"""Hooks of MkDocs for the manual.

A path of the navigation in mkdocs.yml that ends in a slash stands for all pages of the folder.
Links to files outside of docs/ lead to `ADDED` pages, or become the file's path.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tools.manual.diagrams import FENCED, without_mermaid

ROOT = Path(__file__).resolve().parents[2]
# Files of the project's root that are pages of the site, by the file's name.
ADDED = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
# Weight of a page among search results, by the begin of its path; all other pages have weight 1.
BOOSTS = {
    "glossary": 4,
    "tutorial": 2,
    "metrics": 2,
    "tables/": 0.5,
    "situations/": 0.5,
    "changes": 0.1,
}
WIDTH = 100  # number of characters of a line of code that the page shows without scrolling
_RELATIVE = re.compile(r"\]\((?!https?:|#)")
_LINK = re.compile(r"\[([^\]\n]+)\]\(((?:\.\./)+[^)\s]+)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = _with_folders(config.nav, Path(config.docs_dir))
    return config


def _with_folders(nav: Any, docs: Path) -> Any:
    """The navigation with the pages of a folder in place of its path, its README.md first."""
    if isinstance(nav, list):
        return [_with_folders(each, docs) for each in nav]
    if isinstance(nav, dict):
        return {title: _with_folders(below, docs) for title, below in nav.items()}
    if not nav.endswith("/"):
        return nav
    pages = sorted((docs / nav).glob("*.md"), key=lambda page: (page.name != "README.md", page))
    return [page.relative_to(docs).as_posix() for page in pages]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, page in ADDED.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_RELATIVE.sub("](../", text)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    path = page.file.src_uri
    boosts = [boost for begin, boost in BOOSTS.items() if path.startswith(begin)]
    page.meta["search"] = {"boost": next(iter(boosts), 1)}
    folder = (ROOT / "docs" / path).parent
    linked = _LINK.sub(lambda link: _within(link, folder), markdown)
    return without_mermaid(FENCED.sub(_wrapped, linked))


def _wrapped(block: re.Match[str]) -> str:
    """A block without a language, which is output, wraps long lines unless it is a table."""
    language, text = block.groups()
    is_long = any(len(line) > WIDTH for line in text.splitlines())
    if language or "─" in text or not is_long:
        return block[0]
    return f"```{{ .text .wrap }}\n{text}```"


def _within(link: re.Match[str], folder: Path) -> str:
    """The link, or the path of its file if this file is not on the site."""
    path, hash_sign, anchor = link[2].partition("#")
    name = (folder / path).resolve().relative_to(ROOT).as_posix()
    target = ROOT / "docs" / ADDED.get(name, name.removeprefix("docs/"))
    if name not in ADDED and not name.startswith("docs/"):
        return f"`{name}`" if link[1].strip("`") == name else f"{link[1]} (`{name}`)"
    return f"[{link[1]}]({os.path.relpath(target, folder)}{hash_sign}{anchor})"
