"""Dates in the text around a message, in the shapes that loggers, stores and tools print."""

import pytest

from coordinator_core.log_lines.calendar import printed
from coordinator_core.log_lines.dates import orders_of, stamps_in

# Each row: text, date as log4j prints it, offset from UTC in minutes.
COMPLETE = """
[2024-01-02 03:04:05,678] INFO                              2024-01-02 03:04:05,678  None
2025-07-14T05:40:01.100+02:00  INFO 1 --- [app] [main]      2025-07-14 05:40:01,100  120
2025-07-14T05:40:01.100-0330 INFO                           2025-07-14 05:40:01,100  -210
2024-05-01 10:00:00.5 +0800 INFO                            2024-05-01 10:00:00,500  480
2024-05-01 10:00:00,123 GMT+02:00                           2024-05-01 10:00:00,123  120
2024-05-01 10:00:00.123+08                                  2024-05-01 10:00:00,123  480
2024-05-01 10:00:00:123 [main]                              2024-05-01 10:00:00,123  None
2024/05/01 10:00:00 joined                                  2024-05-01 10:00:00,000  None
2024.05.01 10:00:00.25 INFO                                 2024-05-01 10:00:00,250  None
20240501T100000.123Z                                        2024-05-01 10:00:00,123  0
20240501 10:00:00,123 INFO                                  2024-05-01 10:00:00,123  None
01-May-2024 10:00:00.123 INFO                               2024-05-01 10:00:00,123  None
01/May/2024:10:00:00 +0200                                  2024-05-01 10:00:00,000  120
Jul 17, 2026 1:50:20 PM org.acme.App run                    2026-07-17 13:50:20,000  None
Jul 17, 2026 12:00:01 AM org.acme.App run                   2026-07-17 00:00:01,000  None
Jan 25, 2024 3:04 PM org.acme.App run                       2024-01-25 15:04:00,000  None
2024-01-25 12:05 a.m. [main] INFO                           2024-01-25 00:05:00,000  None
May 1, 2024 @ 10:00:00.123                                  2024-05-01 10:00:00,123  None
Wed May  1 10:00:00 UTC 2024                                2024-05-01 10:00:00,000  0
[2023-07-04 14:17:32,032 CEST] INFO                         2023-07-04 14:17:32,032  120
[2026-11-26T21:45:33Z WARN  app]                            2026-11-26 21:45:33,000  0
W, [2024-04-19T03:34:52.103083 #12]  WARN -- :              2024-04-19 03:34:52,103  None
server.log-12-2024-05-01 10:00:00,123 INFO                  2024-05-01 10:00:00,123  None
{"level":"info","ts":1795728355.9721427,"msg":"             2026-11-26 21:25:55,972  0
|1621267834147|                                             2021-05-17 16:10:34,147  0
time=1621267834147123456                                    2021-05-17 16:10:34,147  0
2024-05-01 10:00 root         INFO     joined               2024-05-01 10:00:00,000  None
2016-12-31T23:59:60Z                                        2017-01-01 00:00:00,000  0
"""
ROWS = [(line[:60].rstrip(), *line[60:].split("  ")) for line in COMPLETE.strip().splitlines()]


@pytest.mark.parametrize(("text", "date", "offset"), ROWS, ids=[row[0] for row in ROWS])
def test_a_complete_date(text, date, offset):
    (stamp,) = stamps_in(text)

    assert (printed(stamp.local_ms), str(stamp.utc_offset_minutes)) == (date, offset)


def test_a_narrow_space_before_pm():
    """As Java 20 and later print it."""
    (stamp,) = stamps_in("Jul 17, 2026 1:50:20\u202fPM org.acme.App run")

    assert printed(stamp.local_ms) == "2026-07-17 13:50:20,000"


# Each row: text, what the text lacks, the numbers as printed, ms of the day.
INCOMPLETE = [
    ("14:17:32.032 [main] INFO", "date", (), 51_452_032),
    ("server.log:12:14:17:32.032 [main]", "date", (), 51_452_032),
    ("3:04PM INF joined", "date", (), 54_240_000),
    ("[12:30 am] joined", "date", (), 1_800_000),
    ("1/25/24 11:59 PM INFO", "order", (1, 25, 24), 86_340_000),
    ("[10:00:00 INF]", "date", (), 36_000_000),
    ("May  1 10:00:00 host app[1]: ", "year", (5, 1), 36_000_000),
    ("I0501 10:00:00.123456  7 a.go:1]", "year", (5, 1), 36_000_123),
    ("[INFO] [05/01/2024 10:00:00.123] [x]", "order", (5, 1, 2024), 36_000_123),
    ("24/05/01 10:00:00 INFO", "order", (24, 5, 1), 36_000_000),
    ("01.05.2024 10:00:00", "order", (1, 5, 2024), 36_000_000),
    ("[2024-13-02 03:04:05,678]", "sense", (2024, 13, 2), 11_045_678),
    ("05-02 14:00:00.123 1 2 I app", "year", (5, 2), 50_400_123),
    ("05-31 14:00 root INFO joined", "year", (5, 31), 50_400_000),
    ("[31/05 14:00:00] joined", "year", (31, 5), 50_400_000),
    ("45-52 14:00:00 joined", "sense", (45, 52), 50_400_000),
]


@pytest.mark.parametrize(("text", "lacks", "parts", "day_ms"), INCOMPLETE)
def test_a_date_that_lacks_something(text, lacks, parts, day_ms):
    (stamp,) = stamps_in(text)

    assert (stamp.local_ms, stamp.lacks, stamp.parts, stamp.day_ms) == (None, lacks, parts, day_ms)


@pytest.mark.parametrize(
    "text",
    [
        "10.10.10.10 port 9092",
        "id 140213456789760",
        "25:00:00",
        "00:1a:2b:3c:4d:5e",
        "12:34:56:78",
        "",
    ],
)
def test_a_text_without_a_date(text):
    assert stamps_in(text) == []


def test_an_unknown_zone_is_kept():
    (stamp,) = stamps_in("[2023-07-04 14:17:32,032 CST] INFO")

    assert (stamp.utc_offset_minutes, stamp.zone) == (None, "CST")


def test_all_dates_from_left_to_right():
    stamps = stamps_in("2024-05-01T08:00:01Z stdout F 2024-05-01 10:00:00,123 [12:00:00] INFO")

    assert [stamp.lacks or printed(stamp.local_ms) for stamp in stamps] == [
        "2024-05-01 08:00:01,000", "2024-05-01 10:00:00,123", "date",
    ]  # fmt: skip


# dates of a file -> order of day, month and year
ORDERS = [
    (["05/01/2024", "05/14/2024"], "mdy"),
    (["05/01/2024", "14/01/2024"], "dmy"),
    (["04/30/2024"], "mdy"),
    (["05/01/2024", "05/02/2024", "05/03/2024"], "mdy"),  # The dates are consecutive days.
    (["01/05/2024", "02/05/2024", "03/05/2024"], "dmy"),
    (["05/13/2024", "05/14/2024", "14/05/2024"], "mdy"),  # most of them
    (["05/01/2024"], None),
    (["05/05/2024"], "dmy"),
    (["01-05"], "md"),
    (["01-05", "13-05"], "dm"),
    (["01.05"], "dm"),
    (["05/01"], None),
    (["05/01", "05/14"], "md"),
    (["01-05-2024"], "dmy"),
    (["01-05-2024", "01-15-2024"], "mdy"),
    (["24/05/01"], "ymd"),
    (["31/05/24", "01/06/24"], "dmy"),
]


@pytest.mark.parametrize(("dates", "order"), ORDERS)
def test_the_order_that_most_dates_have(dates, order):
    stamps = [stamp for date in dates for stamp in stamps_in(f"{date} 10:00:00")]

    assert list(orders_of(stamps).by_shape.values()) == ([order] if order else [])


def test_minutes_alone_are_a_time_only_with_am_or_pm():
    assert stamps_in("at 3:04 INFO") == []
