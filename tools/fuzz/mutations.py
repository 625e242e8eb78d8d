"""Changes of an input: functions of its bytes and a random generator."""

from __future__ import annotations

import gzip
import json
import random
import re
import struct
from collections.abc import Callable, Iterable, Mapping

import cramjam
import crc32c

from jobs.segments.frames import Frame, frames
from jobs.segments.record_batch import CRC_POSITION, CRC_START, HEADER_SIZE
from tools.fuzz.log_mutations import LOG_MUTATIONS, Mutation

_NUMBER = re.compile(rb"\d+")
_DATE = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_NAME = re.compile(rb"[A-Za-z]+-[\w-]+")
_LINE = re.compile(rb"[^\n]*\n?")
_MARK = "(another value)"
NUMBERS = (
    b"0", b"-1", b"2147483648", b"-2147483649", b"9223372036854775808", b"1e400", b"-1e400",
    b"NaN", b"9" * 400, b"9" * 5000, b"\xd9\xa3", b"1.5", b"0x10", b"",
)  # fmt: skip
DATES = (
    b"0000-00-00 00:00:00", b"0001-01-01 00:00:00", b"1969-12-31 23:59:59", b"2262-04-12 00:00:00",
    b"9999-12-31 23:59:59", b"2026-02-30 10:00:00", b"2026-10-25 02:30:00", b"2026-03-29 02:30:00",
    b"2026-11-21 24:61:61", b"2026-11-21T10:00:00", b"3000-01-01 00:00:00",
)  # fmt: skip
NAMES = (
    b"\n", b"\r\n", b"\0", b"\x1b]8;;http://x\x07", b"\xed\xa0\x80", b"\xff\xfe", b"'\"`;--",
    b"../../x",
    "\u202e\u2066".encode(), "\u2028\x85".encode(), b"x" * 40_000, b"", b"<script>", b"|", b"[0]: ",
    b"\n[2026-11-21 00:00:00,000] INFO [GroupCoordinator 0]: ", b'\n{"message":"","time":1e400}\n',
)  # fmt: skip
_LAYOUTS: tuple[Callable[[bytes], bytes], ...] = (
    lambda line: json.dumps({"log": line.decode("latin-1")}).encode() + b"\n",
    lambda line: b"2026-11-21T00:00:00.000000000Z stdout F " + line,
    lambda line: b"\x1b[32m" + line.rstrip(b"\n") + b"\x1b[0m\n",
    lambda line: b"kafka-1  | " + line,
    lambda line: line.replace(b"INFO", b"| INFO |", 1),
)


def flipped(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 2, 10, 100))):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def cut(data: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return chance.choice((data[:start], data[:start] + data[end:], data[start:]))


def repeated(data: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[start:end] * chance.choice((1, 2, 20)) + data[end:]


def spliced(data: bytes, chance: random.Random) -> bytes:
    """Bytes of another format within the input."""
    other = chance.choice(
        (
            chance.randbytes(200),
            bytes(chance.choice((1, 1000, 70_000))),
            gzip.compress(data[:500]),
            b"PAR1Obj\x01",
            "\ufeffx".encode("utf-16"),
            random_json(chance) + b"\n",
            b'[{"message":' * chance.choice((3, 30, 5_000)),
            b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"\n",
        )
    )
    at = chance.choice((0, len(data), data.find(b"\n") + 1, chance.randrange(len(data) + 1)))
    return data[:at] + other + data[at:]


def encoded(data: bytes, chance: random.Random) -> bytes:
    text = data.decode("latin-1")
    kind = chance.randrange(5)
    if kind == 0:
        return text.encode(chance.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig")))
    if kind == 1:
        packed = gzip.compress(data)
        return flipped(packed, chance) if chance.random() < 0.5 else packed
    if kind == 2:
        return data.replace(b"\n", chance.choice((b"\r\n", b"\r", b"\n\n", b"\0\n")))
    if kind == 3:
        return json.dumps([{"message": line} for line in text.splitlines()]).encode()
    return json.dumps({"data": {"result": [{"values": [["1", text]]}]}}).encode()


def _replaced(pattern: re.Pattern[bytes], values: tuple[bytes, ...]) -> Mutation:
    def replaced(data: bytes, chance: random.Random) -> bytes:
        places = list(pattern.finditer(data))
        for match in sorted(chance.sample(places, min(len(places), 3)), key=lambda m: -m.start()):
            data = data[: match.start()] + chance.choice(values) + data[match.end() :]
        return data

    return replaced


def with_names(data: bytes, chance: random.Random) -> bytes:
    """A hostile text within a name."""
    places = list(_NAME.finditer(data))
    for match in sorted(chance.sample(places, min(len(places), 3)), key=lambda m: -m.start()):
        at = chance.randint(match.start(), match.end())
        data = data[:at] + chance.choice(NAMES) + data[at:]
    return data


def in_other_layouts(data: bytes, chance: random.Random) -> bytes:
    lines = _LINE.findall(data)
    return b"".join(
        chance.choice(_LAYOUTS)(line) if chance.random() < 0.2 else line for line in lines
    )


def with_json_values(data: bytes, chance: random.Random) -> bytes:
    """One value per changed line is another; a value is any JSON, or not JSON."""
    lines = _LINE.findall(data)
    for number in chance.sample(range(len(lines)), min(len(lines), 4)):
        try:
            row = json.loads(lines[number])
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and row:
            name = chance.choice(list(row))
            others = {key: value for key, value in row.items() if key != name}
            text = json.dumps(others).encode()[:-1] + (b", " if others else b"")
            lines[number] = text + json.dumps(name).encode() + b": " + random_json(chance) + b"}\n"
    return b"".join(lines)


def in_documents(data: bytes, chance: random.Random) -> bytes:
    """Some values of a JSON document are others; of any other text, those of its lines."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return with_json_values(data, chance)
    for _ in range(chance.choice((1, 1, 3))):
        _mark_a_value(document, chance)
    return json.dumps(document).encode().replace(json.dumps(_MARK).encode(), random_json(chance))


def _mark_a_value(value: object, chance: random.Random) -> None:
    """Puts _MARK in the place of a value somewhere in an object or array."""
    while isinstance(value, dict | list) and value:
        name = chance.choice(list(value if isinstance(value, dict) else range(len(value))))
        if not isinstance(value[name], dict | list) or chance.random() < 0.2:
            value[name] = _MARK
            return
        value = value[name]


def packed(data: bytes, chance: random.Random) -> bytes:
    """Mostly as it is; else in another encoding, or compressed and perhaps damaged."""
    if chance.random() < 0.85:
        return data
    pack = chance.choice((gzip.compress, lambda data: bytes(cramjam.zstd.compress(data)), _utf_16))
    result = pack(data)
    return flipped(result, chance) if chance.random() < 0.5 else result


def _utf_16(data: bytes) -> bytes:
    return data.decode("latin-1").encode("utf-16")


def random_json(chance: random.Random, depth: int = 3) -> bytes:
    kind = chance.randrange(11 if depth else 8)
    if kind < 2:
        return chance.choice(NUMBERS) or b"7"
    if kind == 2:
        return chance.choice((b"true", b"false", b"null", b"Infinity", b"{", b'"', b"[[]"))
    if kind < 7:
        texts = ("", "\ud800", "\0", "AAAA", "[GroupCoordinator 0]: x", "1e400", "x" * 1000)
        return json.dumps(chance.choice(texts)).encode()
    if kind == 7:
        return b"[" * 3000 + b"]" * 3000
    inner = [random_json(chance, depth - 1) for _ in range(chance.randrange(4))]
    if kind == 8:
        return b"[" + b",".join(inner) + b"]"
    names = ("message", "log", "time", "timestamp", "instant", "_source", "level", "event", "a")
    fields = [json.dumps(chance.choice(names)).encode() + b":" + value for value in inner]
    return b"{" + b",".join(fields) + b"}"


def with_valid_checksums(data: bytes, chance: random.Random) -> bytes:
    """Batches with changed content and a right checksum."""
    changed = bytearray(data)
    places = [f for f in frames(memoryview(data)) if isinstance(f, Frame) and f.magic == 2]
    for frame in chance.sample(places, min(len(places), 4)):
        end = frame.position + frame.size
        start = CRC_START if chance.random() < 0.3 else HEADER_SIZE
        for _ in range(chance.choice((1, 3, 20))):
            at = chance.randrange(frame.position + start, end)
            changed[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        checksum = crc32c.crc32c(bytes(changed[frame.position + CRC_START : end]))
        struct.pack_into(">I", changed, frame.position + CRC_POSITION, checksum)
    return bytes(changed)


_OF_TEXT: list[Mutation] = [
    flipped, cut, repeated, spliced, encoded, with_names,
    _replaced(_NUMBER, NUMBERS), _replaced(_DATE, DATES),
]  # fmt: skip
_OF_LOGS = [*_OF_TEXT, in_other_layouts, *LOG_MUTATIONS]
MUTATIONS: dict[str, list[Mutation]] = {
    "log": _OF_LOGS,
    "client": [*_OF_LOGS, in_documents],
    "export": [*_OF_LOGS, in_documents, in_documents],
    "trace": [flipped, cut, spliced, with_json_values, with_json_values, with_names],
    "dump": [flipped, cut, spliced, with_json_values, with_json_values],
    "segment": [flipped, cut, repeated, with_valid_checksums, with_valid_checksums],
}


def add(by_kind: Mapping[str, Iterable[Mutation]]) -> None:
    """Let `mutated` use more mutations."""
    for kind, more in by_kind.items():
        MUTATIONS[kind] = [*MUTATIONS[kind], *more]


def mutated(kind: str, data: bytes, chance: random.Random) -> bytes:
    """The input after one to three mutations."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        data = chance.choice(MUTATIONS[kind])(data, chance)
    return data
