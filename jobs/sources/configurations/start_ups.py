"""Settings of group coordinators that brokers print into their logs when they start.

A block of lines, also printed when a dynamic setting changes:

    [2026-11-21 00:46:20,000] INFO KafkaConfig values:
    <TAB>broker.id = 7
    <TAB>group.consumer.session.timeout.ms = 45000
"""

from __future__ import annotations

import re

from jobs.sources.configurations.files import BROKER, IDS, is_of

_HEADER = b"KafkaConfig values:"
# Container runtimes print a tab and the end of a line as escapes.  A JSON layout has the whole
# block in the line of its header.
_LINE = re.compile(rb"[^\t\\\n]*(?:\t|\\t)([\w.-]+) = ([^\n]*?)(?:\\n[^\n]*)?\r?(?:\n|\Z)")
_UNSET = "null"


class StartUpSettings:
    """Reads a log's chunks in order; ``of_brokers`` has the last block of each broker,
    by its id.
    """

    def __init__(self) -> None:
        self.of_brokers: dict[str, dict[str, str]] = {}
        self._block: dict[str, str] | None = None  # the block may continue in the next chunk

    def read(self, chunk: bytes) -> None:
        """``chunk``: whole lines."""
        at = 0
        while self._block is not None or (at := chunk.find(_HEADER, at)) >= 0:
            if self._block is None:
                self._block = {}
                at = self._read_header(chunk, at)
                if self._block:
                    self.finish()
                    continue
            while (line := _LINE.match(chunk, at)) is not None:
                self._add(line)
                at = line.end()
            if at == len(chunk):
                return
            self.finish()

    def _read_header(self, chunk: bytes, at: int) -> int:
        """Read the settings in the line of the header; returns where the next line begins."""
        end = chunk.find(b"\n", at) + 1 or len(chunk)
        for line in map(_LINE.match, chunk[at:end].split(rb"\n")):
            if line is not None:
                self._add(line)
        return end

    def finish(self) -> None:
        """End the block that is being read."""
        block, self._block = self._block or {}, None
        ids = [block.pop(name) for name in IDS if name in block]
        if ids and block:
            self.of_brokers[ids[0]] = block

    def _add(self, line: re.Match[bytes]) -> None:
        assert self._block is not None
        name, value = (text.decode("utf-8", "replace") for text in line.groups())
        if (name in IDS or is_of(BROKER, name)) and value not in ("", _UNSET):
            self._block[name] = value
