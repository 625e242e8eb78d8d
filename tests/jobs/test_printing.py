"""Printing rows as a table, as JSON and as CSV."""

import io
import json
import re
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from rich.cells import cell_len

from jobs.console.printing import Format, jsonable, print_rows

COLUMNS = ["group", "generation", "at"]
AT = datetime(2026, 11, 21, 8, 15, 0, 250_000)
ROWS = [("billing", 12, AT), ("a,b", None, None)]


def printed(format, rows=ROWS, columns=COLUMNS, **more):
    out = io.StringIO()
    print_rows(columns, rows, format, out, **more)
    return out.getvalue()


def test_json_is_an_array_of_objects():
    assert json.loads(printed(Format.JSON)) == [
        {"group": "billing", "generation": 12, "at": "2026-11-21T08:15:00.250"},
        {"group": "a,b", "generation": None, "at": None},
    ]


def test_without_rows_json_is_an_empty_array():
    assert json.loads(printed(Format.JSON, rows=[])) == []


def test_csv_has_a_header_and_quotes_where_needed():
    assert printed(Format.CSV) == (
        'group,generation,at\nbilling,12,2026-11-21 08:15:00.250\n"a,b",,\n'
    )


def test_a_table_aligns_numbers_right_and_leaves_nulls_blank():
    assert [line.rstrip() for line in printed(Format.TABLE).splitlines() if line.strip()] == [
        " group     generation   at",
        " " + "─" * 46,
        " billing           12   2026-11-21 08:15:00.250",
        " a,b",
    ]


def test_a_table_in_a_file_is_as_wide_as_its_content():
    wide = "x" * 300

    assert wide in printed(Format.TABLE, [(wide,)], ["reason"])


def test_a_table_does_not_interpret_markup():
    assert "[red]:smile:[/red]" in printed(Format.TABLE, [("[red]:smile:[/red]",)], ["reason"])


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (b"\x00\xff", "AP8="),
        (date(2026, 11, 21), "2026-11-21"),
        (datetime(2026, 11, 21, 8, tzinfo=UTC), "2026-11-21T08:00:00.000Z"),
        (Decimal("3"), 3),
        (Decimal("3.5"), 3.5),
        ({1: [b"a", (None, True)]}, {"1": ["YQ==", [None, True]]}),
    ],
    ids=["bytes", "date", "utc", "whole", "fraction", "nested"],
)
def test_jsonable(value, plain):
    assert jsonable(value) == plain


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (1.5, "1.5"),
        (2.0, "2"),
        (1 / 3, "0.333"),
        (["a", "ü"], '"[""a"", ""ü""]"'),
        ("", '""'),
    ],
)
def test_a_cell_of_csv(value, text):
    assert printed(Format.CSV, [(value,)], ["c"]) == f"c\n{text}\n"


HOSTILE = "a\x1b[2J\x1b]52;c;aGk=\x07\x9b31m\r\n\t\x00\u202eb\u2028"


@pytest.mark.parametrize(
    ("format", "shown"),
    [
        (Format.TABLE, r"a\x1b[2J\x1b]52;c;aGk=\x07\x9b31m\r\n\t\x00\u202eb\u2028"),
        (Format.CSV, '"a\\x1b[2J\\x1b]52;c;aGk=\\x07\\x9b31m\\r\n\t\\x00\\u202eb\\u2028"'),
        (Format.JSON, r"a\u001b[2J\u001b]52;c;aGk=\u0007\u009b31m\r\n\t\u0000\u202eb\u2028"),
    ],
)
def test_control_characters_are_escaped(format, shown):
    out = printed(format, [(HOSTILE, ["\x1b[2J"])], ["reason", "\x1b[1mmembers"], title="\x1b[3m")

    assert shown in out
    assert not {"\x1b", "\x9b", "\x00", "\r", "\u202e", "\u2028"} & set(out)


def test_escaped_json_has_the_original_value():
    assert json.loads(printed(Format.JSON, [(HOSTILE,)], ["reason"])) == [{"reason": HOSTILE}]


def test_a_table_with_wide_characters():
    assert "消费者组" in printed(Format.TABLE, [("消费者组",)] * 3, ["g"])


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def on_terminal(monkeypatch):
    """``on_terminal(columns, rows, width)``: lines on a terminal of this width, without codes."""

    def show(columns, rows, width, **more):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("NO_COLOR", "1")
        out = Terminal()
        print_rows(columns, rows, Format.TABLE, out, **more)
        plain = re.sub("\x1b\\[[0-9;]*m", "", out.getvalue())
        return [line.rstrip() for line in plain.splitlines() if line.strip()]

    return show


WORDS = "a reason that a broker gave in many words"


def test_a_wide_terminal_shows_the_same_lines_as_a_file(on_terminal):
    written = [line for line in printed(Format.TABLE).splitlines() if line.strip()]

    assert on_terminal(COLUMNS, ROWS, 200) == written


def test_on_a_narrow_terminal_the_longest_columns_are_folded(on_terminal):
    assert on_terminal(["group", "n", "reason"], [("billing", 12, WORDS)], 50) == [
        " group      n   reason",
        " " + "─" * 48,
        " billing   12   a reason that a broker gave in",
        "                many words",
    ]


def test_on_a_very_narrow_terminal_each_row_is_a_block(on_terminal):
    rows = [("billing", 12, WORDS), ("audit", None, WORDS)]

    assert on_terminal(["group", "n", "reason"], rows, 40, title="those") == [
        "those",
        " group    billing",
        " n        12",
        f" reason   {WORDS}",
        " group    audit",
        " n",
        f" reason   {WORDS}",
    ]


def test_no_line_is_wider_than_the_terminal(on_terminal):
    rows = [(WORDS, 1, WORDS, "消费者组" * 10)]

    for width in range(85, 160):
        assert max(map(cell_len, on_terminal(["a", "b", "c", "d"], rows, width))) <= width


def test_no_line_of_a_file_ends_in_blanks():
    assert [line for line in printed(Format.TABLE).splitlines() if line != line.rstrip()] == []


def test_a_table_without_rows_has_its_header(on_terminal):
    assert on_terminal(COLUMNS, [], 80)[0].split() == COLUMNS
