"""Writes and reads folders of generated pages.

The pages are committed.  Tests compare them with what the generators return.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def write_folder(folder: Path, texts: Mapping[str, str]) -> None:
    """Write ``texts``, by file name, into the folder, and delete its other Markdown files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in read_folder(folder).keys() - texts.keys():
        (folder / name).unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def read_folder(folder: Path) -> dict[str, str]:
    """The text of each Markdown file of the folder, by the file's name."""
    return {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
