"""No line of a consumer's log stops a run, and lines in parts take bounded memory and time."""

import json
from time import process_time

import pytest

from jobs.console.errors import INTERNAL_ERROR
from jobs.lake.dates import DateRange
from jobs.sources.client_logs import client_log
from jobs.sources.client_logs.client_log import client_rows

CRI = b"2026-11-21T00:00:00.000000000Z stdout"


def line(date="2026-11-21 00:46:23,402", group="g"):
    return (
        f"[{date}] INFO [Consumer clientId=c, groupId={group}] (Re-)joining group"
        " (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n"
    ).encode()


def read(folder, content, timezone="UTC"):
    """Events and quarantined lines; fails if counts do not add up."""
    file = folder / "app.log"
    file.write_bytes(content)
    rows = [r for b in client_rows(str(file), timezone, DateRange()) for r in b.to_pylist()]
    counts = rows.pop()
    events, bad = ([r for r in rows if r["kind"] == kind] for kind in ("event", "quarantined"))
    kept = sum(n for _, n in counts["kept_by_date"])
    assert (kept, counts["quarantined"]) == (len(events), len(bad))
    assert counts["inputs"] == kept + counts["quarantined"] + counts["skipped"]
    return events, bad


@pytest.mark.parametrize("timezone", ["UTC", "America/Los_Angeles"])
@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (line("0000-01-01 00:00:00,000"), "date 0000-01-01 00:00:00,000 is not between"),
        (line("9999-12-31 23:59:59,999"), "date 9999-12-31 23:59:59,999 is not between"),
        (
            b'%4|1.848|MAXPOLL|c#consumer-1| [thrd:main]: Group "g": leave (in state up)\n',
            "date 1970-01-01 00:00:01,848 is not between",
        ),
    ],
)
def test_a_date_beyond_its_column_is_quarantined_alone(tmp_path, bad, reason, timezone):
    events, quarantined = read(tmp_path, line() + bad + line(), timezone)

    assert [row["position"] for row in events] == [0, len(line() + bad)]
    assert [row["reason_unreadable"][: len(reason)] for row in quarantined] == [reason]


def test_a_defect_is_told_from_bad_input(tmp_path, monkeypatch):
    find = client_log.find_client_message

    def defective(text, fields):
        if "groupId=h]" in text:
            raise ZeroDivisionError("\ud800")
        return find(text, fields)

    monkeypatch.setattr(client_log, "find_client_message", defective)
    events, quarantined = read(tmp_path, line() + line(group="h") + line())

    assert len(events) == 2
    assert [row["raw"] + b"\n" for row in quarantined] == [line(group="h")]
    assert quarantined[0]["reason_unreadable"].startswith(INTERNAL_ERROR)


def test_halves_of_characters_in_names_are_question_marks(tmp_path):
    record = {"message": line().decode().rstrip(), "kubernetes": {"pod_name": "k\ud800afka-0"}}

    events, quarantined = read(tmp_path, line() + json.dumps(record).encode() + b"\n" + line())

    assert [row["source"] for row in events] == [None, "k?afka-0", None]
    assert quarantined == []


def test_a_line_whose_last_part_is_missing_is_read(tmp_path):
    events, _ = read(tmp_path, CRI + b" P " + line())

    assert [(row["position"], row["group_id"]) for row in events] == [(0, "g")]


def test_parts_of_a_line_are_kept_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(client_log, "LINE_BYTES", 500)
    first = line().split(b"(Re-)")[0] + b"Request joining group due to: x"
    parts = [CRI + b" P " + first + b"\n", *[CRI + b" P " + b"x" * 99 + b"\n"] * 30]

    events, quarantined = read(tmp_path, b"".join(parts))

    assert [row["line"] for row in events] == [first.decode() + "x" * 99 * 5]
    assert quarantined == []


def test_lines_in_parts_of_many_sources_are_kept_up_to_a_limit_for_all(tmp_path, monkeypatch):
    monkeypatch.setattr(client_log, "LINE_BYTES", 20_000)
    first = line().split(b"(Re-)")[0] + b"Request joining group due to: x\n"
    parts = [b"[pod/a-%d/app] %s P %s" % (n, CRI, first) for n in range(1000)]

    events, _ = read(tmp_path, b"".join(parts))

    assert len(events) == 1000
    assert events[0]["position"] > 0, "a line that reached its limit is read at once"


@pytest.mark.parametrize("name", ["a\tb", "a\\x1bb", "a\x00b"])
def test_a_quoted_text_with_escapes_of_go_is_no_defect(tmp_path, name):
    text = (
        f'time=2026-11-25T22:50:51.549Z level=INFO msg=synced group="{name}" assigned=orders[0]\n'
    )

    events, quarantined = read(tmp_path, text.encode() + line())

    assert events[-1]["group_id"] == "g"
    assert quarantined == []


@pytest.mark.parametrize(
    "line",
    [
        b'2026-11-21 00:46:23 {"message":"[Consumer] Starting","groupId":"' + b"a-1" * 50_000,
        b"2026-11-21 00:46:23 INFO kafka.coordinator: Setting newly assigned partitions "
        + b"a-1" * 50_000
        + b" for group",
    ],
    ids=["pairs", "partitions"],
)
def test_a_line_takes_time_in_proportion_to_its_length(tmp_path, line):
    start = process_time()

    assert read(tmp_path, line + b"\n") == ([], [])
    assert process_time() - start < 10
