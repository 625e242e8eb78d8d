"""A file of end offsets, unit by unit: a line of text, or a JSON document on one or more lines."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from jobs.console.errors import internal_error
from jobs.sources.end_offsets.documents import Context, sightings_in
from jobs.sources.end_offsets.lines import TextLines
from jobs.sources.end_offsets.sightings import NoSighting, Reading, Sighting, Times
from jobs.sources.logs.file_bytes import Blocks, LongLine, chunks_of_lines, too_long
from jobs.sources.logs.json_around import DOCUMENT_BYTES

# A list whose items are not objects, lists or strings is the head of a log line, e.g. [2026-11-27
# 05:54:43].
_OPENING = re.compile(r"\s*(?:\{|\[\s*(?:[\[{\"]|$))")
_CLOSING = ("}", "]")
# Texts that end the first line of a document of several lines.
_GOES_ON = ("{", "[", ",")
_JSON = json.JSONDecoder(parse_constant=str)  # NaN becomes a string
# Lines of a list that has one element per line.
_PUNCTUATION = {"[", "]", ",", "],", "[]"}
_TOO_LONG = f"a JSON document of more than {DOCUMENT_BYTES >> 20} MiB: export a shorter period"


@dataclass(slots=True)
class Unit:
    """A line or a document: its byte position in the uncompressed file, and its lines.

    ``sightings`` are the readable sightings, each with its format.  ``others`` is the number of
    values about something else.  ``reasons`` say why unreadable values have no sighting.  ``size``
    is the size of a line that is too long, else None.
    """

    position: int
    lines: list[bytes]
    sightings: list[tuple[str, Sighting]] = field(default_factory=list)
    others: int = 0
    reasons: list[str] = field(default_factory=list)
    size: int | None = None

    @property
    def raw(self) -> bytes:
        return b"\n".join(self.lines)


def units(stream: BinaryIO, timezone: str) -> Iterator[Unit]:
    """All units of a file, in their order.  ``timezone`` applies to dates that name no zone."""
    return _Reader(timezone).units(Blocks(stream))


def file_id_of(stream: BinaryIO, timezone: str) -> str:
    """Sixteen hex digits: a hash of the file's lines up to the first sighting, or of all."""
    digest = hashlib.sha256()
    for unit in units(stream, timezone):
        for line in unit.lines:
            digest.update(line.strip() + b"\n")
        if unit.sightings:
            break
    stream.seek(0)
    return digest.hexdigest()[:16]


class _Reader:
    def __init__(self, timezone: str) -> None:
        self._times = Times(timezone)
        self._text = TextLines(self._times)
        self._cluster: str | None = None
        # The incomplete document, and the indentation of its first line.
        self._open: Unit | None = None
        self._indent = ""
        self._bytes = 0

    def units(self, blocks: Blocks) -> Iterator[Unit]:
        for position, chunk in chunks_of_lines(blocks, longest=DOCUMENT_BYTES):
            if isinstance(chunk, LongLine):
                yield from self._end_document()
                reason = too_long(chunk.size, DOCUMENT_BYTES)
                yield Unit(position, [chunk.beginning], reasons=[reason], size=chunk.size)
                continue
            for line in chunk.splitlines(keepends=True):
                yield from self._take(position, line.rstrip(b"\r\n"))
                position += len(line)
        yield from self._end_document()
        if blocks.damage is not None:
            yield Unit(blocks.position, [], reasons=[blocks.damage])

    def _take(self, position: int, raw: bytes) -> Iterator[Unit]:
        try:
            line = raw.decode()
        except UnicodeDecodeError:
            yield from self._end_document()
            yield Unit(position, [raw], reasons=["not UTF-8"])
            return
        begins = _OPENING.match(line) is not None
        indent = line[: len(line) - len(line.lstrip())]
        if self._open is not None and not (begins and indent == self._indent):
            self._bytes += len(raw) + 1
            if self._bytes <= DOCUMENT_BYTES:
                self._open.lines.append(raw)
            if line.lstrip().startswith(_CLOSING) and indent == self._indent:
                yield from self._end_document()
            return
        yield from self._end_document()
        unit = Unit(position, [raw])
        if line.strip() in _PUNCTUATION:
            unit.others += 1
            yield unit
        elif not begins:
            self._add(unit, [self._text.read(line)])
            yield unit
        elif (error := self._read_document(unit, line)) is None:
            yield unit
        elif line.rstrip().endswith(_GOES_ON):
            self._open, self._indent, self._bytes = unit, indent, len(raw) + 1
        else:
            unit.reasons.append(f"not complete JSON: {error}")
            yield unit

    def _end_document(self) -> Iterator[Unit]:
        """End the open document, if any, because it is complete, or its end is missing."""
        if self._open is None:
            return
        unit, self._open = self._open, None
        if self._bytes > DOCUMENT_BYTES:
            unit.reasons, unit.size = [_TOO_LONG], self._bytes
        elif (error := self._read_document(unit, unit.raw.decode())) is not None:
            unit.reasons.append(f"not complete JSON: {error}")
        yield unit

    def _read_document(self, unit: Unit, text: str) -> str | None:
        """Read the document; returns why its text, whose end may be missing, is not JSON."""
        try:
            value = _JSON.decode(text.strip().removesuffix(","))
        except json.JSONDecodeError as error:
            return str(error)
        # The document has, for example, 5,000 digits or 10,000 levels.
        except (ValueError, RecursionError) as error:
            unit.reasons.append(f"not readable as JSON: {str(error).split(':')[0]}")
            return None
        self._add(unit, sightings_in(value, Context(self._times, self._text.at_ms)))
        if not (unit.sightings or unit.others or unit.reasons):
            unit.reasons.append("no log end offset in this JSON")
        return None

    def _add(self, unit: Unit, readings: Iterable[tuple[str, Reading]]) -> None:
        try:
            for format_, each in readings:
                self._add_one(unit, format_, each)
        except RecursionError:
            unit.reasons.append("too many levels of JSON")
        except Exception as error:
            unit.reasons.append(internal_error(error))

    def _add_one(self, unit: Unit, format_: str, reading: Reading) -> None:
        if reading is None:
            unit.others += 1
        elif isinstance(reading, NoSighting):
            unit.reasons.append(str(reading))
        elif reading.cluster is not None and reading.cluster != (self._cluster or reading.cluster):
            unit.reasons.append(
                f"of cluster {reading.cluster}; earlier lines are from cluster "
                f"{self._cluster}: give one cluster per file"
            )
        else:
            self._cluster = self._cluster or reading.cluster
            unit.sightings.append((format_, reading))
