"""Finds the lines of a log that must be parsed, without parsing all other lines.

Most lines of a broker's log are in Kafka's own layout and of other loggers.  A search of bytes for
the coordinator's words, and for the next line in another layout, passes over them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from coordinator_core.log_lines.lines import is_coordinator_logger
from coordinator_core.log_lines.literals import any_of
from jobs.sources.logs.layouts import PLAIN_HEAD, may_have_date

# Words in lines of other loggers: about a group's configuration, and about failed requests.
_OF_OTHER_LOGGERS = (b"] Updating group ", b" handling request")
# Every line that Regroup reads has one of these words in its prefix, logger or message.
_WORDS = (b"oordinator", b"Metadata", *_OF_OTHER_LOGGERS)
_BEFORE_OTHER_HEAD = re.compile(rb"\n(?!\[\d{4}-)")
_DEFAULT_LAYOUT = re.compile(
    rb"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) "
)
# Stack frames and listed settings: the text after the indent cannot be a head.
_INDENTED_LINES = re.compile(
    rb"(?:[\t ][\t \d/:.,-]{0,40}+(?:[^\s\d/:.,\-\[{TDIWEF\x1b][^\n\x1b]*+)?+\n)++"
)
_CLASS = re.compile(rb"[\w$]*\.[\w.$]*")


class Search:
    """The lines of a chunk that must be parsed, from its beginning on.

    ``other_layout`` is the begin of the next line that is not in Kafka's own layout.
    """

    def __init__(self, chunk: bytes) -> None:
        self._chunk = chunk
        self._words = [-1] * len(_WORDS)
        self.other_layout = other_layout_from(chunk, 0)

    def next_line(self, at: int) -> int:
        """The begin of the first such line from ``at`` on, or the end of the chunk."""
        words = self._words
        for number, place in enumerate(words):
            if place < at:
                words[number] = find(self._chunk, _WORDS[number], at)
        word = min(words)
        if self.other_layout <= word:
            return self.other_layout
        return max(at, self._chunk.rfind(b"\n", at, word) + 1)

    def pass_other_layout(self, at: int) -> None:
        """Look for the next one from ``at`` on."""
        self.other_layout = other_layout_from(self._chunk, at)


class MarkedLines:
    """The lines of a chunk that have one of several texts, without looking at each line.

    ``marks`` are found in one pass, in linear time.
    """

    def __init__(self, marks: Iterable[bytes]) -> None:
        each = list(marks)
        self._marks = any_of(each)
        self._last = each[0]

    def starts(self, chunk: bytes) -> list[int]:
        """The positions at which these lines begin.

        All lines of a chunk are found before the first line is read, so that finding and reading do
        not evict each other from the processor's caches.
        """
        starts, at, size = [], 0, len(chunk)
        while at < size:
            end = find(chunk, b"\n", at)
            # In a log with few other lines, the next line has the same mark.
            if chunk.find(self._last, at, end) >= 0:
                starts.append(at)
            else:
                match = self._marks.search(chunk, at)
                if match is None:
                    break
                first, last = match.span()
                self._last = chunk[first:last]
                starts.append(max(at, chunk.rfind(b"\n", at, first) + 1))
                end = find(chunk, b"\n", last)
            at = end + 1
        return starts


def find(chunk: bytes, word: bytes, at: int) -> int:
    """The next occurrence from ``at`` on, or the end of the chunk."""
    position = chunk.find(word, at)
    return len(chunk) if position < 0 else position


def other_layout_from(chunk: bytes, at: int) -> int:
    """The next line from ``at`` on that is not in Kafka's own layout, or the end of the chunk."""
    if at == 0 and not PLAIN_HEAD.match(chunk):
        return 0
    before = _BEFORE_OTHER_HEAD.search(chunk, max(0, at - 1))
    return len(chunk) if before is None else before.end()


def indented_lines(chunk: bytes, start: int) -> bytes:
    """The indented lines at ``start``, if none of them may have a date."""
    indented = _INDENTED_LINES.match(chunk, start)
    return b"" if indented is None or may_have_date(indented[0]) else indented[0]


def has_word(body: bytes) -> bool:
    """Returns whether a line may be a coordinator's."""
    return any(word in body for word in _WORDS)


def is_of_other_logger(raw: bytes) -> bool:
    """Returns whether a line in Kafka's own layout ends in the name of a class that is no
    coordinator's.
    """
    line = raw.rstrip(b"\r")
    opening = line.rfind(b" (")
    if opening < 0 or not line.endswith(b")") or not _is_other_class(line[opening + 2 : -1]):
        return False
    head = _DEFAULT_LAYOUT.match(line)
    is_plain = head is not None and head.end() <= opening
    return is_plain and not any(words in line for words in _OF_OTHER_LOGGERS)


@lru_cache(maxsize=1024)
def _is_other_class(name: bytes) -> bool:
    return _CLASS.fullmatch(name) is not None and not is_coordinator_logger(name.decode())
