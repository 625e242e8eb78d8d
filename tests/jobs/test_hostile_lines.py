"""No line of a log stops a run: the worst outcome is a row in quarantine, and counts add up."""

import re

import pytest

from jobs import ingest
from jobs.checks.check import broken_laws
from jobs.configuration.config import Engine, load_config
from jobs.console.errors import UsageError
from jobs.engine.choice import Workload
from jobs.engine.session import open_session
from jobs.lake.dates import DateRange
from jobs.lake.opening import open_lake
from jobs.lake.path_alias import plain_path
from jobs.lake.sql import query
from jobs.sources.broker_logs.broker_log import first_line_hash, log_rows
from jobs.sources.logs import entries as log_entries
from jobs.sources.logs import reader as log_reader
from jobs.sources.logs import search as log_search
from jobs.sources.logs.file_bytes import KEPT_OF_LINE, LINE_BYTES, ByteRange
from tests.end_to_end.incident_lake import IncidentLake

LOGGER = "(kafka.coordinator.group.GroupCoordinator)"


def line(generation="3", broker="1", date="2026-11-21 00:46:23,402"):
    return (
        f"[{date}] INFO [GroupCoordinator {broker}]: Group g with generation {generation} is now"
        f" empty (__consumer_offsets-1) {LOGGER}\n"
    ).encode()


def read(folder, content, timezone="UTC", within=None):
    """Rows by kind; fails if counts do not add up."""
    file = folder / "server.log"
    file.write_bytes(content)
    ranges = [] if within is None else [within]
    rows = [
        row
        for batch in log_rows(str(file), timezone, DateRange(), *ranges)
        for row in batch.to_pylist()
    ]
    events, bad = ([r for r in rows if r["kind"] == kind] for kind in ("event", "quarantined"))
    counts = rows[-1]
    kept = sum(n for _, n in counts["kept_by_date"])
    assert counts["inputs"] == kept + counts["quarantined"] + counts["skipped"]
    assert (kept, counts["quarantined"]) == (len(events), len(bad))
    return events, bad


def reasons(folder, content, timezone="UTC"):
    return [row["reason_unreadable"] for row in read(folder, content, timezone)[1]]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (line(generation="99999999999"), "generation 99999999999 does not fit 32 bits"),
        (
            line(generation="9" * 5000),
            "unknown wording of kafka.coordinator.group.GroupCoordinator",
        ),
        (line(broker="99999999999"), "broker id 99999999999 does not fit 32 bits"),
        (line(date="0000-01-01 00:00:00,000"), "date 0000-01-01 00:00:00,000 is not between"),
        (line(date="9999-12-31 23:59:59,999"), "date 9999-12-31 23:59:59,999 is not between"),
    ],
)
@pytest.mark.parametrize("timezone", ["UTC", "Europe/Berlin", "America/Los_Angeles"])
def test_a_value_beyond_its_column_is_quarantined_alone(tmp_path, bad, reason, timezone):
    events, quarantined = read(tmp_path, line() + bad + line(), timezone)

    assert [row["position"] for row in events] == [0, len(line() + bad)]
    assert [row["position"] for row in quarantined] == [len(line())]
    assert quarantined[0]["reason_unreadable"].startswith(reason)


@pytest.mark.parametrize(
    "json",
    [
        b'{"message":"","time":1e400}',
        b'{"message":"","time":-1e400}',
        b'{"message":"","time":NaN}',
        b'{"message":"oordinator","time":' + b"9" * 400 + b"}",
        b'{"message":"oordinator","time":' + b"9" * 5000 + b"}",
        b'{"message":"oordinator","instant":{"epochSecond":' + b"9" * 400 + b"}}",
        b'{"message":["oordinator"],"level":{},"time":[],"logger":true}',
        b'{"message":"\\ud800 oordinator","time":"\\ud800"}',
        b'{"\\ud800":"[GroupCoordinator 0]: x"}',
        b'{"message":"[GroupCoordinator 0]: x","kubernetes":{"pod_name":"\\ud800"}}',
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b'[{"a":' * 10_000 + b"1" + b"}]" * 10_000,
        b'{"_source":' * 990 + b'{"message":"oordinator"}' + b"}" * 990,
        b'{"values":[["' + b"9" * 5000 + b'","[GroupCoordinator 0]: x"]]}',
    ],
)
@pytest.mark.parametrize("place", ["first", "middle", "only"])
def test_json_of_any_shape_leaves_the_other_lines(tmp_path, json, place):
    before, after = {"first": (0, 2), "middle": (1, 1), "only": (0, 0)}[place]

    events, _ = read(tmp_path, line() * before + json + b"\n" + line() * after)

    assert len([row for row in events if row["group_id"] == "g"]) == before + after


def test_a_group_id_with_a_line_break_does_not_stop_the_reader(tmp_path):
    hostile = line().replace(b"Group g", b'Group g\n{"message":"","time":1e400}\n')

    events, quarantined = read(tmp_path, line() + hostile + line())

    assert len(events) >= 2
    assert [row["position"] for row in quarantined] == [len(line())]


def test_an_unknown_wording_is_quarantined_once_in_a_file_that_is_no_text(tmp_path):
    unknown = line().replace(b"is now empty", b"is now full")

    assert reasons(tmp_path, unknown + b"\xff\xfe\n" * 9) == [
        "unknown wording of kafka.coordinator.group.GroupCoordinator"
    ]


def test_a_stack_trace_without_an_end_is_kept_up_to_the_limit_of_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(log_entries, "LINE_BYTES", 1000)
    frame = b"\tat kafka.Frame(Frame.java:1)"

    events, quarantined = read(tmp_path, line() + (frame + b"\n") * 10_000 + line())

    kept = 1000 // len(frame)
    assert [len((row["continuation"] or "").splitlines()) for row in events] == [kept, 0]
    assert quarantined == []


@pytest.mark.parametrize("source", [b"", b"[pod/a/kafka] "])
def test_a_line_in_parts_without_an_end_is_kept_up_to_a_limit(tmp_path, monkeypatch, source):
    monkeypatch.setattr(log_reader, "LINE_BYTES", 16_000)
    part = source + b"2026-11-21T00:00:00.000000000Z stdout P "
    first = part + line().replace(b"is now empty", b"is now full")[:-1] + b" " * 500 + b"\n"

    _, quarantined = read(tmp_path, first + (part + b"x" * 600 + b"\n") * 100)

    limit = 1000 if source else 16_000
    assert limit <= len(quarantined[0]["raw"]) < limit + 600


def test_a_defect_is_told_from_bad_input(tmp_path, monkeypatch):
    parse = log_entries.parse_line

    def defective(text):
        if "generation 7 " in text:
            raise ZeroDivisionError("line\nbreak \ud800")
        return parse(text)

    monkeypatch.setattr(log_entries, "parse_line", defective)
    trace = b"java.lang.X: y\n\tat a.B\n"
    events, quarantined = read(tmp_path, line() + line("7") + trace + line() + line("7"))

    assert len(events) == 2
    assert [row["reason_unreadable"] for row in quarantined] == [
        "internal error: ZeroDivisionError: line"
    ] * 2
    assert quarantined[0]["raw"] + b"\n" == line("7")


def test_a_defect_beyond_a_line_leaves_what_was_read(tmp_path, monkeypatch):
    def defective(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(log_search, "other_layout_from", defective)

    assert reasons(tmp_path, line()) == ["internal error: ZeroDivisionError: no message"]


def test_a_run_with_internal_errors_writes_all_else_and_fails(tmp_path, monkeypatch, capsys):
    from jobs.console.errors import RunFailed

    parse = log_entries.parse_line
    monkeypatch.setattr(
        log_entries, "parse_line", lambda text: parse(text) if "n 7" not in text else 1 / 0
    )
    log = tmp_path / "server.log"
    log.write_bytes(line() + line("7"))
    lake = IncidentLake(str(tmp_path / "lake"), "embedded")

    with pytest.raises(RunFailed, match="1 input"):
        lake.run("c", None, log)

    assert "1 quarantined (1 internal error)" in capsys.readouterr().err
    assert lake.rows("SELECT COUNT(*) FROM broker_log_events") == [(1,)]
    assert lake.rows("SELECT outcome FROM runs WHERE step = 'nightly'") == [("done",)]
    lake.run("c", None, log)  # nothing new


# Long lines and padding ------------------------------------------------------------------------


def test_a_line_beyond_the_limit_is_quarantined_with_its_beginning(tmp_path):
    endless = b"Coordinator" + b"x" * LINE_BYTES + b"\n"

    events, (long,) = read(tmp_path, line() + endless + line())

    assert [row["position"] for row in events] == [0, len(line()) + len(endless)]
    assert (long["position"], long["length"]) == (len(line()), len(endless))
    assert long["raw"] == endless[:KEPT_OF_LINE]
    assert re.fullmatch(r"a line of \d+ bytes, more than 16 MiB", long["reason_unreadable"])


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_long_line_of_utf_16_is_quarantined(tmp_path, encoding):
    text = line().decode() + "x" * (LINE_BYTES + 1) + "\n" + line().decode()

    events, (long,) = read(tmp_path, text.encode(encoding))

    assert [row["position"] for row in events] == [0, 2 * (len(line()) + LINE_BYTES + 2)]
    assert long["position"] == 2 * len(line())


@pytest.mark.parametrize("zeros", [1, 100, 5000, 3 << 20])
@pytest.mark.parametrize("before", [0, 1])
def test_zeros_before_a_line_are_padding(tmp_path, zeros, before):
    """A log that was truncated while the broker went on writing at its old position."""
    events, quarantined = read(tmp_path, before * line() + bytes(zeros) + 2 * line())

    assert len(events) == before + 2
    assert quarantined == []


def test_padding_does_not_change_the_identity_of_a_log(tmp_path):
    plain, padded = tmp_path / "plain", tmp_path / "padded"
    plain.write_bytes(line())
    with padded.open("wb") as stream:
        stream.seek(10 << 20)
        stream.write(line())

    with plain.open("rb") as one, padded.open("rb") as other:
        assert first_line_hash(one) == first_line_hash(other)


def test_ranges_of_a_long_line_are_those_of_the_file(tmp_path):
    content = line() + b"x" * (3 * LINE_BYTES) + b"\n" + bytes(2 << 20) + line() + line()
    whole, (long,) = read(tmp_path, content)
    of_ranges = [
        read(tmp_path, content, within=ByteRange(start, min(start + LINE_BYTES, len(content))))
        for start in range(0, len(content), LINE_BYTES)
    ]

    assert [row["position"] for events, _ in of_ranges for row in events] == [
        row["position"] for row in whole
    ]
    assert [row["position"] for _, bad in of_ranges for row in bad] == [long["position"]]


def test_no_query_is_needed_to_find_the_file(tmp_path):
    log = tmp_path / "server.log"
    log.write_bytes(line("99999999999") + line())
    lake = IncidentLake(str(tmp_path / "lake"), "embedded")
    lake.run("c", None, log)

    ((path, position, reason),) = query(
        lake.root,
        "SELECT f.path, q.position, q.reason FROM quarantine q JOIN ingested_files f"
        " ON f.file = q.file",
    )[1]
    assert (path, position) == (str(log), 0)
    assert "does not fit" in reason


def test_truncated_lines_and_the_greatest_generation_leave_a_valid_lake(tmp_path):
    """A start without a generation is no row of generations; there is no next of 2**31 - 1."""
    start = line().replace(b"Group g with generation 3 is now empty (__consumer_offsets-1)", b"%s")
    start = start.split(b"%s")[0] + b"Preparing to rebalance group g in state Prep\n"
    log = tmp_path / "server.log"
    log.write_bytes(start + line("2147483647") + line("5"))
    lake = IncidentLake(str(tmp_path / "lake"), "embedded")

    lake.run("c", None, log)

    assert lake.rows("SELECT reason FROM quarantine") == [
        ("generation 2147483647 does not fit 32 bits",)
    ]
    assert broken_laws(lake.root)[1] == []


@pytest.mark.parametrize("name", ["a b", "a'b", 'a"b', "a`b", "\u00fc", "a*?#b"])
def test_a_lake_may_be_in_any_folder(tmp_path, name):
    log = tmp_path / "server.log"
    log.write_bytes(line() + line("99999999999"))
    lake = IncidentLake(str(tmp_path / name), "embedded")

    internal_errors = ingest.run(
        open_lake(open_session(load_config(None, Engine.EMBEDDED), Workload(0)), lake.root, "c"),
        ingest.Inputs(broker_logs=[str(log)]),
    )

    assert internal_errors == 0
    assert lake.rows("SELECT COUNT(*) FROM broker_log_events") == [(1,)]
    assert lake.rows("SELECT COUNT(*) FROM quarantine") == [(1,)]


@pytest.mark.parametrize("name", ["a%20b", "a[1]"])
def test_a_folder_that_delta_rs_decodes_wrongly_is_refused(name):
    with pytest.raises(UsageError, match="cannot open a path with"):
        plain_path(f"/nowhere/{name}")
