"""Logs in other layouts than Kafka's: each line gets its date, or is quarantined with a reason."""

from datetime import UTC

import pytest

from jobs.lake.dates import DateRange
from jobs.sources.broker_logs.broker_log import log_rows
from jobs.sources.client_logs.client_log import client_rows
from jobs.sources.logs.dates import since_ms_of_option
from tests.jobs.line_layouts import (
    KAFKA,
    LAYOUTS,
    NO_TIME,
    NO_YEAR,
    TIME_ONLY,
    broker_messages,
    client_messages,
    quoted,
)

pytestmark = pytest.mark.slow

BROKER_LINES, CLIENT_LINES = 250, 150  # over two midnights
OTHER = "INFO [app] handled 417 orders"


def written(folder, layout, messages, first=""):
    """A file with a line of the application after each message."""
    path = folder / "app.log"
    lines = [
        line
        for m in messages
        for line in (layout(m), layout(m._replace(text="handled", logger="org.acme.Shop")))
    ]
    path.write_text("\n".join([*([first] if first else []), *lines, ""]))
    return str(path)


def rows_of(batches):
    rows = [row for batch in batches for row in batch.to_pylist()]
    counts = rows[-1]
    kept = sum(dict(counts["kept_by_date"]).values())
    assert counts["inputs"] == kept + counts["quarantined"] + counts["skipped"]
    events = [row for row in rows if row["kind"] == "event"]
    return events, [row["reason_unreadable"] for row in rows if row["kind"] == "quarantined"]


SECONDS = {
    "java.util.logging", "Spark", "slashes, year first", "logrus", "env_logger",
    "date with slashes and month", "date again in pairs", "Serilog", "syslog of RFC 3164", "syslog",
}  # fmt: skip

MINUTES = {"Python without seconds", "month and day without seconds"}


def times(layout, messages):
    """UTC as the layout prints it, by the generation that each message has."""
    lacks = {"microsecond": 0} if layout in SECONDS else {}
    lacks |= {"microsecond": 0, "second": 0} if layout in MINUTES else {}
    return {
        n: m.at.replace(**({"microsecond": m.ms * 1000} | lacks)).astimezone(UTC)
        for n, m in enumerate(messages)
    }


def read(path, side, since=None):
    since_ms = since_ms_of_option(since)
    if side == "broker":
        return rows_of(log_rows(path, "Europe/Berlin", DateRange(), since_ms=since_ms))
    return rows_of(client_rows(path, "Europe/Berlin", DateRange(), since_ms=since_ms))


MESSAGES = {"broker": broker_messages(BROKER_LINES), "client": client_messages(CLIENT_LINES)}
ALL = LAYOUTS | TIME_ONLY | NO_YEAR | NO_TIME


def check_all_dated(layout, messages, events, reasons):
    assert reasons == []
    assert {row["generation"]: row["event_time"] for row in events} == times(layout, messages)
    assert len(events) == len(messages)


@pytest.mark.parametrize("side", MESSAGES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_with_complete_dates(tmp_path, layout, side):
    path = written(tmp_path, LAYOUTS[layout], MESSAGES[side])

    events, reasons = read(path, side)

    check_all_dated(layout, MESSAGES[side], events, reasons)


@pytest.mark.parametrize("side", MESSAGES)
@pytest.mark.parametrize("layout", TIME_ONLY | NO_YEAR)
@pytest.mark.parametrize("since", ["2026-05-11", "2026-05-11T22:00"])
def test_an_option_completes_dates(tmp_path, layout, side, since):
    path = written(tmp_path, ALL[layout], MESSAGES[side])

    events, reasons = read(path, side, since)

    check_all_dated(layout, MESSAGES[side], events, reasons)


@pytest.mark.parametrize("side", MESSAGES)
@pytest.mark.parametrize("layout", TIME_ONLY | NO_YEAR)
@pytest.mark.parametrize(
    "first", ["2026-05-11 22:10:00.000 Starting", "[2026-05-11 22:10:00,000] INFO Starting (a.B)"]
)
def test_another_line_completes_dates(tmp_path, layout, side, first):
    path = written(tmp_path, ALL[layout], MESSAGES[side], first)

    events, reasons = read(path, side)

    check_all_dated(layout, MESSAGES[side], events, reasons)


WITHOUT = {
    **dict.fromkeys(
        TIME_ONLY, "neither the line nor a previous line has a date, only a time: give --log-date"
    ),
    **dict.fromkeys(NO_YEAR, "no year in the date: give --log-date"),
    **dict.fromkeys(NO_TIME, "the line has no date"),
}


@pytest.mark.parametrize("side", MESSAGES)
@pytest.mark.parametrize("layout", WITHOUT)
def test_what_cannot_be_dated_is_quarantined(tmp_path, layout, side):
    path = written(tmp_path, ALL[layout], MESSAGES[side])

    events, reasons = read(path, side)

    assert events == []
    assert reasons == [WITHOUT[layout]] * len(MESSAGES[side])


@pytest.mark.parametrize("side", MESSAGES)
def test_times_after_a_long_beginning_with_dates(tmp_path, side):
    beginning = "\n".join(["2026-05-11 22:10:00.000 handled"] * 9000)
    path = written(tmp_path, TIME_ONLY["logback"], MESSAGES[side], beginning)

    events, reasons = read(path, side)

    check_all_dated("logback", MESSAGES[side], events, reasons)


@pytest.mark.parametrize("side", MESSAGES)
@pytest.mark.parametrize(
    "header", ["@timestamp,@message", '"@timestamp","@message"', "@timestamp,@message,@logStream"]
)
@pytest.mark.parametrize("is_newest_first", [False, True])
def test_times_of_insights_are_in_utc(tmp_path, side, header, is_newest_first):
    """The message has no date."""
    stream = ",a-0" if "Stream" in header else ""
    rows = [
        f"{m.utc(KAFKA)}.{m.ms:03},{quoted(f'{m.level} {m.text} ({m.logger})')}{stream}"
        for m in MESSAGES[side]
    ]
    path = tmp_path / "insights.csv"
    path.write_text("\n".join([header, *(rows[::-1] if is_newest_first else rows), ""]))

    events, reasons = read(str(path), side)

    check_all_dated("", MESSAGES[side], events, reasons)


def test_lines_within_a_row_of_insights(tmp_path):
    """A message with its stack trace, and one of another logger."""
    path = tmp_path / "insights.csv"
    text = MESSAGES["broker"][1].text
    path.write_text(
        "@timestamp,@message\n"
        f'2026-05-11 20:00:00.500,"ERROR {text} (kafka.coordinator.group.GroupCoordinator)\n'
        'java.io.IOException: ""full"", no space\n\tat a.B.c(B.java:1)"\n'
        '2026-05-11 20:00:01.500,"INFO Rolled (kafka.log.LogCleaner)"\n'
    )

    (event,), reasons = read(str(path), "broker")

    assert (f"{event['event_time']:%H:%M:%S.%f}", event["generation"]) == ("20:00:00.500000", 1)
    assert event["continuation"] == 'java.io.IOException: "full", no space\n\tat a.B.c(B.java:1)'
    assert reasons == []


@pytest.mark.parametrize(
    ("date", "expected"),
    [("5/11/26 10:00:00:123", None), ("26/05/11 10:00:00,123", 11), ("13/5/26 10:00:00.123", 13)],
)
def test_years_of_two_digits(tmp_path, date, expected):
    """Only the year first is usual (Spark); other orders must be the only one possible."""
    path = tmp_path / "app.log"
    path.write_text(f"[{date}] INFO {MESSAGES['client'][0].text}\n")

    events, reasons = read(str(path), "client")

    assert [row["event_time"].day for row in events] == ([] if expected is None else [expected])
    assert len(reasons) == (expected is None)


def test_a_head_on_the_line_before(tmp_path):
    """Payara opens two brackets after the head."""
    path = tmp_path / "server.log"
    path.write_text(
        "".join(
            f"[{m.utc('%Y-%m-%dT%H:%M:%S')}.{m.ms:03}+0000] [Payara 6] [{m.level}] []"
            f" [{m.logger}] [tid: 98] [timeMillis: {m.epoch_ms}] [[\n  {m.text}]]\n\n"
            for m in MESSAGES["client"]
        )
    )

    events, reasons = read(str(path), "client")

    check_all_dated("", MESSAGES["client"], events, reasons)


def test_days_that_may_be_months_are_quarantined(tmp_path):
    messages = [m for m in MESSAGES["broker"] if m.at.day == 12][:9]
    path = written(tmp_path, LAYOUTS["slashes, day first"], messages)

    events, reasons = read(path, "broker")

    assert events == []
    assert set(reasons) == {"day and month of 12/05/2026 are ambiguous: give --log-date"}
    assert len(read(path, "broker", "2026-05-12")[0]) == 9


def test_the_dates_of_a_longer_log_decide_the_order_of_day_and_month(tmp_path):
    messages = broker_messages(2)
    later = [m._replace(at=m.at.replace(day=13)) for m in messages]
    other = "12/05/2026 10:00:00.000 INFO [org.acme.Shop] " + "x" * 4000
    path = tmp_path / "app.log"
    lines = [LAYOUTS["slashes, day first"](m) for m in messages]
    after = [LAYOUTS["slashes, day first"](m) for m in later]
    path.write_text("\n".join([*lines, *[other] * 1000, *after, ""]))

    events, reasons = read(str(path), "broker")

    assert [row["event_time"].day for row in events] == [11, 11, 13, 13]
    assert reasons == []
