"""Changes of a log that loggers, terminals, agents and people make: functions of its bytes and a
random generator.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable

Mutation = Callable[[bytes, random.Random], bytes]

_LINE = re.compile(rb"[^\n]*\n?")
_DATE = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{3})?|(?<!\d)\d{10,13}(?!\d)")
_NAME = re.compile(rb"(?<=[ =:'\"])[a-z]+-[\w-]+")
_NAMES = (
    "größe-zählung", "注文-サービス", "🛒-cart", "e\u0301te\u0301", "ﷺ-\u202e", "\ufeffgroup",
    "a\u00a0b",
)  # fmt: skip
# Dates that are out of range, in the gap and in the repeated hour of Europe/Berlin, without parts,
# or in other forms.
_DATES = (
    b"2026-03-29 02:30:00,000", b"2026-10-25 02:30:00,000", b"2026-10-25T02:30:00.000+0100",
    b"2026-11-21 24:00:00,000", b"2026-11-21 23:59:60,000", b"2026-02-29 10:00:00,000",
    b"0000-00-00 00:00:00,000", b"10000-01-01 00:00:00", b"9999-12-31 23:59:59,999",
    b"1969-12-31T23:59:59Z", b"99999999999", b"1795647047.213", b"1795647047213000000",
    b"9" * 40, b"10:00:00", b"10:00:00.000 PM", b"13/13/2026 10:00:00", b"05/01/2026 10:00:00",
    b"26/11/21 10:00:00", b"Nov 31 10:00:00", b"Sat Nov 21 10:00:00 CST 2026", b"-1",
    b"2026-11-21T10:00:00+99:99", b"2026-11-21T10:00:00[Europe/Berlin]",
    "\uff12\uff10\uff12\uff16-11-21 10:00:00,000".encode(), b"2026-11-21\t10:00:00",
)  # fmt: skip
_COLORS = (
    b"\x1b[31m", b"\x1b[0m", b"\x1b[1;38;5;208m", b"\x1b[K", b"\x1b[2J\x1b[H", b"\x1b[",
    b"\x1b]0;title\x07", b"\x1b]8;;http://x\x1b\\", b"\x1b(B", b"\x1b", b"\x9b1m", b"\x08\x08",
)  # fmt: skip
_LINE_ENDS = (
    b"\r\n",
    b"\r\r\n",
    b"\r",
    b"\n\r",
    b"\x0b",
    b"\x0c\n",
    b"\xc2\x85",
    b"\xe2\x80\xa8\n",
)
_ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "cp1252", "gb18030", "shift_jis")
_SEPARATORS = (b" ", b" | ", b"\t", b",", b";", b"  ", b"][", b" - ")
_KEYS = ("message", "msg", "log", "MESSAGE", "@message", "textPayload", "event", "line", "body")
_PREFIXES = (
    b"2026-11-21T10:00:00.000000000Z stdout F ", b"kafka-1  | ", b"[pod/kafka-0/kafka] ",
    b"Nov 21 10:00:00 node-7 kafka[1]: ", b"<14>1 2026-11-21T10:00:00Z host app 1 - - ",
    b"server.log:17:", b"> ", b"# ", b"    ", b'"', b"| ", b"2026-11-21 10:00:00 INFO ",
)  # fmt: skip


def _in_lines(change: Callable[[bytes, random.Random], bytes], share: float = 0.2) -> Mutation:
    """Changes some lines, which have no end."""

    def changed(data: bytes, chance: random.Random) -> bytes:
        lines = data.split(b"\n")
        return b"\n".join(change(x, chance) if chance.random() < share else x for x in lines)

    changed.__name__ = change.__name__
    return changed


def cut_in_a_character(line: bytes, chance: random.Random) -> bytes:
    """A name that is not ASCII, perhaps without some of its bytes."""
    name = chance.choice(_NAMES).encode()
    start, end = sorted(chance.randrange(len(name) + 1) for _ in range(2))
    broken = chance.choice((name, name[:end], name[start:], name[:start] + name[end:]))
    places = list(_NAME.finditer(line))
    if not places:
        return line + broken
    match = chance.choice(places)
    return line[: match.start()] + broken + line[match.end() :]


def with_a_doubled_head(line: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.5:
        return line[: chance.randrange(80)] + line
    return b"".join(chance.choices(_PREFIXES, k=chance.choice((1, 2, 2, 6)))) + line


def with_swapped_columns(line: bytes, chance: random.Random) -> bytes:
    columns = line.split(b" ", chance.choice((2, 3, 5)))
    chance.shuffle(columns)
    return chance.choice(_SEPARATORS).join(columns)


def interleaved(data: bytes, chance: random.Random) -> bytes:
    """Two writers of one file: a line begins within another line."""
    lines = _LINE.findall(data)
    for number in chance.sample(range(len(lines)), min(len(lines), 5)):
        line, other = lines[number], chance.choice(lines)
        at, cut = chance.randrange(len(line) + 1), chance.randrange(len(other) + 1)
        lines[number] = line[:at] + other[:cut] + line[at:]
    return b"".join(lines)


def in_another_encoding(data: bytes, chance: random.Random) -> bytes:
    """All of a log, or a part of it."""
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    if chance.random() < 0.6:
        start, end = 0, len(data)
    text = data[start:end].decode("utf-8", "replace")
    return data[:start] + text.encode(chance.choice(_ENCODINGS), "replace") + data[end:]


def with_other_line_ends(data: bytes, chance: random.Random) -> bytes:
    ends = chance.choice(((chance.choice(_LINE_ENDS),), (b"\n", *_LINE_ENDS)))
    return b"".join(line + chance.choice(ends) for line in data.split(b"\n"))


def with_a_huge_line(data: bytes, chance: random.Random) -> bytes:
    lines = _LINE.findall(data)
    number = chance.randrange(len(lines))
    line = lines[number]
    at = chance.randrange(len(line) + 1)
    filling = chance.choice((b"x", b" ", b"[", b'{"a":', b"1", b", orders-1", b"\\", b'"', line))
    size = chance.choice((5_000, 70_000, 70_000, 2_000_000))
    lines[number] = line[:at] + filling * (size // max(1, len(filling))) + line[at:]
    return b"".join(lines)


def with_zeros(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice((1, 3))):
        at = chance.choice((0, data.find(b"\n") + 1, len(data), chance.randrange(len(data) + 1)))
        data = data[:at] + bytes(chance.choice((1, 7, 4096, 70_000))) + data[at:]
    return data


def in_nested_json(line: bytes, chance: random.Random) -> bytes:
    text = line.decode("latin-1")
    for _ in range(chance.choice((1, 2, 3, 9))):
        value: object = text
        if chance.random() < 0.3:
            value = {chance.choice(_KEYS): text, "time": "2026-11-21T10:00:00Z"}
        record = {chance.choice(_KEYS): value, chance.choice(("level", "ts", "group")): "info"}
        text = json.dumps(record)
    return text.encode()


def with_colors(line: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice((1, 2, 5))):
        at = chance.randrange(len(line) + 1)
        line = line[:at] + chance.choice(_COLORS) + line[at:]
    return line


def with_another_date(line: bytes, chance: random.Random) -> bytes:
    return _DATE.sub(lambda _: chance.choice(_DATES), line, count=chance.choice((1, 1, 0)))


def rotated(data: bytes, chance: random.Random) -> bytes:
    """A log that was copied and truncated while it was written: a part of it occurs twice."""
    lines = _LINE.findall(data)
    start, end = sorted(chance.randrange(len(lines) + 1) for _ in range(2))
    return b"".join([*lines[:end], *lines[start:]])


LOG_MUTATIONS: tuple[Mutation, ...] = (
    _in_lines(cut_in_a_character), _in_lines(with_a_doubled_head), _in_lines(with_swapped_columns),
    interleaved, in_another_encoding, with_other_line_ends, with_a_huge_line, with_zeros,
    _in_lines(in_nested_json), _in_lines(with_colors), _in_lines(with_another_date, 0.5), rotated,
)  # fmt: skip
