"""Sightings in lines of text: tables of kafka-consumer-groups, kafka-get-offsets, Prometheus' text
format, and the dates between them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jobs.sources.end_offsets.documents import PROMETHEUS, Context, of_sample, reading_by
from jobs.sources.end_offsets.sightings import (
    NoSighting,
    Reading,
    Sighting,
    Times,
    offset_of,
    partition_of,
    topic_of,
)
from jobs.sources.topic.described_groups import HEADER, MISSING, SENTENCE, DescribedTable

DESCRIBE, GET_OFFSETS, TEXT = "describe", "get_offsets", "text"
_GET_OFFSETS = re.compile(r"(?:^|.*\s)([\w.-]{1,249}):(\d{1,10}):(-?\d*)")
_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+(\S+))?")
_LABEL = re.compile(r'(?<!\w)([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
_END = "LOG-END-OFFSET"


class TextLines:
    """Lines in the order of a file: a table's header and a date hold for the lines below them."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._table: DescribedTable | None = None
        self.at_ms: int | None = None

    def read(self, line: str) -> tuple[str, Reading]:
        """Format of a line and its sighting, or None for a line about something else."""
        if not line.strip() or line.startswith("#"):
            return TEXT, None
        header = HEADER.search(f"{line} ")
        if header is not None:
            self._note_date(line[: header.start()])
            self._table = DescribedTable(line, header.start())
            return DESCRIBE, None
        cells = self._table.cells(line) if self._table else None
        if cells is not None:
            return DESCRIBE, self._of_cells(cells)
        return self._of_text(line.strip())

    def _of_text(self, line: str) -> tuple[str, Reading]:
        offset = _GET_OFFSETS.fullmatch(line)
        # A time such as 2026-11-27T09:00:00 also looks like an offset of a partition.
        if offset is not None and self._times.in_text(line, at_end=True) is None:
            self._note_date(line[: offset.start(1)])
            return GET_OFFSETS, reading_by(self._sighting, *offset.groups())
        sample = _SAMPLE.fullmatch(line)
        if sample is not None and sample[2] is not None:
            name, labels, value, time = sample.groups()
            read = {key: _ESCAPED.sub(r"\1", text) for key, text in _LABEL.findall(labels)}
            return PROMETHEUS, of_sample(name, read, value, self._context, time)
        if self._note_date(line) or SENTENCE.search(line) or (sample and _is_number(sample[3])):
            return TEXT, None
        return TEXT, NoSighting("not a line with a log end offset")

    def _of_cells(self, cells: Mapping[str, str]) -> Reading:
        if cells.get(_END, MISSING) == MISSING or cells["PARTITION"] == MISSING:
            return None
        return reading_by(self._sighting, cells["TOPIC"], cells["PARTITION"], cells[_END])

    def _sighting(self, topic: str, partition: str, offset: str) -> Sighting:
        time_ms = self._context.time_ms(None)
        return Sighting(topic_of(topic), partition_of(partition), offset_of(offset), time_ms)

    @property
    def _context(self) -> Context:
        return Context(self._times, self.at_ms)

    def _note_date(self, text: str) -> bool:
        """Returns whether a text has a date, which is the time of the following lines."""
        time_ms = self._times.in_text(text)
        if time_ms is None:
            return False
        self.at_ms, self._table = time_ms, None
        return True


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
