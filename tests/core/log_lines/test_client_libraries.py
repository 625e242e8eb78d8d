"""The wordings of each client library: for each wording a line, and the fields that are read.

tests/data/client_logs/wordings has a file for each file of schemas/log_lines/clients.
"""

import json
from pathlib import Path

import pytest

import schemas.log_lines as data
from coordinator_core.log_lines.client_lines import ClientEvent, parse_client_line
from coordinator_core.log_lines.templates import Template

FOLDER = Path(__file__).parents[2] / "data" / "client_logs" / "wordings"
ROWS = [
    (path.stem, *row.split("\t", 1))
    for path in sorted(FOLDER.iterdir())
    for row in path.read_text().splitlines()
]
LIBRARIES = data.client_libraries()


@pytest.mark.parametrize(("name", "expected", "line"), ROWS, ids=[row[2][-60:] for row in ROWS])
def test_a_line_of_each_wording(name, expected, line):
    parsed = parse_client_line(line)

    assert parsed is not None
    event = {} if parsed.event is None else parsed.event._asdict()
    fields = {
        field: list(value) if isinstance(value, tuple) else value
        for field, value in event.items()
        if value is not None
    }
    assert fields == json.loads(expected)
    assert parsed.library == data.client_library(name).get("library", name)


@pytest.mark.parametrize("name", LIBRARIES)
def test_each_wording_has_a_line(name):
    lines = [line for library, _, line in ROWS if library == name]
    texts = [entry["text"] for entry in data.client_library(name)["wordings"]]

    assert [text for text in texts if not any(map(has_words_of(text), lines))] == []


OTHERS = [
    (name, text) for name in LIBRARIES for text in data.client_library(name).get("others", ())
]


@pytest.mark.parametrize("name", sorted({name for name, _ in OTHERS}))
def test_a_message_about_anything_else_is_no_event(name):
    """No text is a wording, too, which would hide one of them."""
    texts = [entry["text"] for entry in data.client_library(name)["wordings"]]

    assert [text for other, text in OTHERS if other == name and text in texts] == []


def test_a_known_message_about_anything_else():
    parsed = parse_client_line(
        "[2026-01-02 03:04:05,678] INFO [Consumer clientId=c, groupId=g] Found no committed offset"
        " for partition orders-0 (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
    )

    assert parsed.event == ClientEvent("OTHER")


def has_words_of(text):
    message = text.partition("; ")[0] if "; " in text and ": {" in text else text
    words = [piece for piece in Template(message).pieces[::2] if piece]
    return lambda line: all(each in line for each in words)
