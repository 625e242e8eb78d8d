"""A log file's bytes -> chunks of whole lines, in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jobs.sources.logs.file_bytes import (
    WHOLE_FILE,
    Blocks,
    ByteRange,
    Chunk,
    chunks_of_lines,
    in_utf8,
)
from jobs.sources.logs.json_around import DOCUMENT_BYTES, document_lines, is_document
from jobs.sources.logs.order import ORDERED_BYTES, documents_in_order, lines_in_order, sample_of


def chunks_in_order(
    blocks: Blocks, within: ByteRange, keep_sources_apart: Callable[[], None]
) -> Iterator[tuple[int, Chunk]]:
    """Whole lines; of JSON documents, each record as a line at its own position.

    Records and lines that are not in the order of time have positions in the ordered text.
    ``keep_sources_apart`` is called before them if the lines may name their sources.
    """
    beginning = blocks.beginning() if within == WHOLE_FILE else b""
    sample = sample_of(beginning)
    if is_document(beginning):
        keep_sources_apart()
        what = f"a JSON document of more than {DOCUMENT_BYTES >> 20} MiB: split it"
        yield from documents_in_order(document_lines(_at_most(blocks, DOCUMENT_BYTES, what)))
        return
    if sample.has_sources:
        keep_sources_apart()
    if sample.is_disordered:
        most = ORDERED_BYTES >> 20
        what = (
            f"a log of more than {most} MiB that is not sorted by time: sort it, oldest line first"
        )
        yield 0, lines_in_order(_at_most(blocks, ORDERED_BYTES, what))
    else:
        yield from chunks_of_lines(blocks, within)


def _at_most(blocks: Blocks, most: int, what: str) -> bytes:
    """All bytes in UTF-8.

    Too many bytes are damage, with the reason, and no bytes are returned.
    """
    text = bytearray()
    for block in blocks:
        text += block
        if len(text) > most:
            blocks.damage = what
            return b""
    return in_utf8(bytes(text))
