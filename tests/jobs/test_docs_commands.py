"""Commands, options, files and pages that the documentation names exist."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import typer.main

from jobs.command_line import cli

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md")),
]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
COMMANDS = typer.main.get_command(cli.app)
PRODUCTION = (ROOT / "docs" / "production.md").read_text(encoding="utf-8")


def code(text):
    """Code of a page: fenced blocks, indented blocks, text between backquotes."""
    for _, block in FENCED.findall(text):
        yield block
    rest = FENCED.sub("", text)
    yield from re.findall(r"((?:^ {4}.*\n)+)", rest, re.M)
    yield from re.findall(r"`([^`\n]+)`", rest)


def commands(text):
    """Words of each command, without quoted text such as SQL."""
    for block in code(text):
        joined = re.sub(r"\\\n\s*", " ", block)
        bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", joined)
        for match in re.finditer(r"(?<![\w./-])(?:\S*/bin/)?regroup +([a-z][^\n|&;#`]*)", bare):
            yield match[1].split()


def resolve(words):
    """The command, and its arguments."""
    group = COMMANDS
    while words and hasattr(group, "commands"):
        name, *words = words
        assert name in group.commands, f"no command {name}"
        group = group.commands[name]
    return group, words


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options_of_a_page_exist(page):
    for words in commands((ROOT / page).read_text(encoding="utf-8")):
        command, rest = resolve(words)
        options = {option for each in command.params for option in each.opts} | {"--help"}
        assert [word for word in rest if word.startswith("--") and word not in options] == [], words


def test_the_pages_name_most_commands():
    text = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)

    names = {words[0] for words in commands(text)}

    assert {"nightly", "ingest", "sql", "replay", "what-if", "alerts", "report"} <= names


@pytest.mark.parametrize("page", PAGES)
def test_linked_pages_exist(page):
    links = re.findall(r"\]\(([^):#]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8"))

    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/extending.md"])
def test_files_named_for_contributors_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    files = re.findall(
        r"`((?:coordinator_core|docs|jobs|schemas|tests|tools)/[a-z][\w./-]*)`", text
    )

    assert len(files) >= 5
    assert [f for f in files if not (ROOT / f).exists() and "/NAME." not in f] == []


@pytest.mark.parametrize("number", range(len(FENCED.findall(PRODUCTION))))
def test_examples_for_production_are_valid(number):
    language, block = FENCED.findall(PRODUCTION)[number]

    if language == "python":
        compile(block, "docs/production.md", "exec")
    elif language == "json":
        json.loads(block)
    elif language == "toml":
        tomllib.loads(block)
    elif language == "cron":
        for line in block.splitlines():
            assert re.match(r"[A-Z]+=\S|(?:[\d*/]+ +){5}/\S+", line), line
    else:
        assert language in {"sh", "dockerfile"}
