"""Documents, docstrings and comments name files, modules and definitions that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("jobs", "coordinator_core", "schemas")
FOLDERS = (*PACKAGES, "tools", "tests", "bench")
TEXTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(ROOT / "docs").rglob("*.md"),
    *(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")),
]
PATH = re.compile(rf"(?<![\w./-])(?:{'|'.join(FOLDERS)})/[\w/.-]*\w")
MODULE = re.compile(rf"(?<![\w./-])(?:{'|'.join(PACKAGES)})(?:\.[a-zA-Z]\w*)+")
NOT_IN_A_CHECKOUT = {"jobs/packaged"}


def test_named_files_exist():
    assert {
        (str(text.relative_to(ROOT)), path)
        for text in TEXTS
        for path in PATH.findall(text.read_text("utf-8"))
        if "NAME" not in path and path not in NOT_IN_A_CHECKOUT and not (ROOT / path).exists()
    } == set()


def test_named_modules_and_definitions_exist():
    assert {
        (str(text.relative_to(ROOT)), name)
        for text in TEXTS
        for name in MODULE.findall(text.read_text("utf-8"))
        if not (ROOT / name).exists() and not is_defined(name)  # a file: schemas.json
    } == set()


def is_defined(name):
    """Whether this is a module, a word in a module, or a word of a class in one."""
    parts = name.split(".")
    for length in range(len(parts), max(len(parts) - 3, 0), -1):
        base = ROOT.joinpath(*parts[:length])
        files = [file for file in (base.with_suffix(".py"), base / "__init__.py") if file.is_file()]
        if files:
            return set(parts[length:]) <= set(re.findall(r"\w+", files[0].read_text("utf-8")))
    return False
