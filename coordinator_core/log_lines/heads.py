"""The text to the left of a message and to the right of it -> its date, level and logger.

Loggers, containers, agents, log stores and people add dates and levels around a message.  The
nearest date and level to the message are the line's own.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from coordinator_core.log_lines.dates import Stamp, stamps_in

# Text around a message beyond these lengths, in characters, is ignored.
_NEAR, _FAR, _BEHIND = 500, 200, 300
_LEVELS = {
    **dict.fromkeys(("TRACE", "TRC", "TRCE", "FINEST", "FINER", "VERBOSE"), "TRACE"),
    **dict.fromkeys(("DEBUG", "DBG", "DBUG", "FINE", "CONFIG", "D"), "DEBUG"),
    **dict.fromkeys(("INFO", "INF", "INFORMATION", "NOTICE", "I"), "INFO"),
    **dict.fromkeys(("WARN", "WARNING", "WRN", "W"), "WARN"),
    **dict.fromkeys(("ERROR", "ERR", "FAIL", "SEVERE", "E"), "ERROR"),
    **dict.fromkeys(("FATAL", "CRITICAL", "CRIT", "FTL", "PANIC", "DPANIC", "F"), "FATAL"),
}
_LEVEL = re.compile(
    r"(?<![\w.$/-])(?:"
    r"(TRACE|TRC|FINER|FINEST|VERBOSE|DEBUG|DBG|FINE|CONFIG|INFO|INF|NOTICE|WARN|WARNING|WRN|ERROR"
    r"|ERR|SEVERE|FATAL|CRITICAL|FTL)(?![\w.$/-])"
    # A word in small letters is a level only after a key, in brackets or before a colon.
    r'|(?:level|lvl|severity|loglevel|log\.level)"?[=:] ?"?([A-Za-z]{3,11})\b'
    r"|[\[<| \t](trace|debug|info|notice|warn|warning|error|fatal|critical)(?=[\]>| \t:])"
    r"|(trce|dbug|info|warn|fail|crit)(?=: )"
    r"|([DIWEF])(?=, \[)|([IWEF])(?=\d{4} \d\d:)"
    r")"
)
_CLASS = re.compile(r"(?<![\w.$/@-])(\.?[a-zA-Z]\w*(?:\.[\w$]+)+)(?![\w$/@-])")
_LOGGER_KEY = re.compile(
    r'(?<![\w.])(?:logger|logger_name|loggerName|log\.logger)"?[=:] ?"?([\w.$-]+)'
)


class Head(NamedTuple):
    """The text around a message.

    ``stamp`` is the line's own date or time.  ``outer`` is another date if ``stamp`` is not
    complete, e.g. a container's.
    """

    stamp: Stamp | None = None
    outer: Stamp | None = None
    level: str | None = None
    logger: str | None = None


def read_head(before: str, behind: str = "") -> Head:
    """Read the text ``before`` a message; what it lacks is read from the text ``behind``."""
    near = before if len(before) <= _NEAR + _FAR else f"{before[:_FAR]} {before[-_NEAR:]}"
    far = behind[:_BEHIND]
    stamps = stamps_in(near)
    stamp, outer = _own(stamps or stamps_in(far))
    if stamp is not None and stamp.lacks == "order" and outer is None:
        # JavaScript loggers print the date again, in the pairs behind the message.
        outer = next((each for each in stamps_in(far) if each.local_ms is not None), None)
    # With their dates removed, many lines have the same text, so the cache of `_words_in` serves
    # them.
    words = near[: stamps[-1].start] + near[stamps[-1].end :] if stamps else near
    level, logger = _words_in(words)
    if far and (level is None or logger is None):
        far_level, far_logger = _words_in(far)
        level, logger = level or far_level, logger or far_logger
    return Head(stamp, outer, level, logger)


@lru_cache(maxsize=4096)
def _words_in(text: str) -> tuple[str | None, str | None]:
    return level_in(text), logger_in(text)


def _own(stamps: list[Stamp]) -> tuple[Stamp | None, Stamp | None]:
    """The line's own date, and another one if it is incomplete; numbers only without dates."""
    if len(stamps) == 1:
        return stamps[0], None
    written = [stamp for stamp in stamps if not stamp.is_number] or stamps
    if not written:
        return None, None
    own = written[-1]
    if own.local_ms is not None:
        return own, None
    dated = [stamp for stamp in stamps if stamp is not own and stamp.lacks in ("", "year")]
    return own, dated[-1] if dated else None


def level_in(before: str) -> str | None:
    """log4j's name of the last level in a text."""
    last = None
    for match in _LEVEL.finditer(before):
        last = match
    return None if last is None else level_named(last[last.lastindex or 0])


def level_named(word: str) -> str | None:
    """log4j's name of a level, from any logger's name of this level."""
    return _LEVELS.get(word.upper())


def logger_in(text: str) -> str | None:
    """The last name of a class or a logger with dots in a text."""
    key = _LOGGER_KEY.search(text)
    if key is not None:
        return key[1]
    for match in reversed(list(_CLASS.finditer(text))):
        *_, last = match[1].split(".")
        if last[:1].isupper() or match[1].startswith(("kafka.", "aiokafka.")):
            return match[1]
    return None
