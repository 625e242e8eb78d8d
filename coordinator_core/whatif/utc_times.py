"""Times that a setting names, as text in UTC."""

from __future__ import annotations

import re
from calendar import monthrange, timegm

_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?Z?", re.ASCII
)


def utc_ms(text: str) -> int:
    """In ms since the epoch; raises ValueError for another text than a date or time in ISO 8601."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    *parts, fraction = match.groups()
    year, month, day, hour, minute, second = (int(part or 0) for part in parts)
    is_day = year >= 1 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]
    if not is_day or hour > 23 or minute > 59 or second > 59:
        raise ValueError(text)
    seconds = timegm((year, month, day, hour, minute, second))
    return seconds * 1000 + int((fraction or "").ljust(3, "0")[:3])
