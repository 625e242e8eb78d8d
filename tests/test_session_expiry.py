"""An expired session has one word: SESSION_EXPIRY as cause, session_expired elsewhere."""

import ast
import re
from pathlib import Path

import pytest

from schemas.renamed import RENAMED_VALUES

ROOT = Path(__file__).parents[1]
# Words that the previous version used for an expired session.
OLD = {"HEARTBEAT_EXPIRY", "expired", "crash", "stop_or_crash"}
# Files that keep such words: actions of a script, and names that this version still reads.
KEEP = {"coordinator_core/diagram/consumer_recording.py": {"crash"}, "schemas/renamed.py": OLD}
# Pattern of a list of values in a comment, or of values in SQL, TOML and JSON.
VALUE = re.compile(r"""(?:['"]|: |, |=|\|)(\w+)(?=['",|]| \(|$)""", re.MULTILINE)


def strings_of(path):
    tree = ast.parse(path.read_text())
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {node.value for node in constants if isinstance(node.value, str)}


def old_words(path):
    name = path.relative_to(ROOT).as_posix()
    values = strings_of(path) if path.suffix == ".py" else set(VALUE.findall(path.read_text()))
    return values & OLD - KEEP.get(name, set())


def files():
    for folder in ("schemas", "coordinator_core", "jobs"):
        yield from (p for p in (ROOT / folder).rglob("*") if p.suffix in SUFFIXES)


SUFFIXES = {".py", ".sql", ".toml", ".json"}


def test_no_old_word_is_a_value_in_schemas_or_code():
    by_file = {path.relative_to(ROOT).as_posix(): old_words(path) for path in files()}

    assert {name: words for name, words in by_file.items() if words} == {}


@pytest.mark.parametrize(
    "text",
    [
        "left_how STRING COMMENT 'how it ended: left, expired, dropped (did not rejoin)'",
        "story, -- action of the process: restart, slow_poll, crash, ...; null if unknown",
        "WHERE m.left_how = 'expired'",
        'needs = ["generation_members.left_how=expired"]',
        '{"cause": "HEARTBEAT_EXPIRY", "text": "..."}',
    ],
)
def test_a_value_is_found_in_comments_sql_and_lists(text):
    assert set(VALUE.findall(text)) & OLD


def test_each_renamed_value_is_one_of_the_two_words():
    present = {
        new
        for columns in RENAMED_VALUES.values()
        for names in columns.values()
        for new in names.values()
    }
    assert present == {"SESSION_EXPIRY", "session_expired", "stop_or_session_expired"}
