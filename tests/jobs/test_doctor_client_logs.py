"""`regroup doctor --client-log`: lines of membership, unreadable lines and files, clocks."""

import gzip
import os
from pathlib import Path

import pytest

from jobs.doctor import log_samples
from jobs.doctor.broker_logs import check_broker_logs
from jobs.doctor.client_logs import LOGS, check_client_logs
from jobs.doctor.results import failure, ok, warning

DATA = Path(__file__).parents[1] / "data" / "client_logs"
QUARANTINED = "a run quarantines unreadable lines and uses the other lines"


def line(time, client, message, group="g"):
    return (
        f"[2026-11-21 {time}] INFO [Consumer clientId={client}, groupId={group}] {message}"
        " (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n"
    )


def joined(time, client, generation):
    of = f"Generation{{generationId={generation}, memberId='{client}-1', protocol='range'}}"
    return line(time, client, f"Successfully joined group with generation {of}")


@pytest.fixture
def log(tmp_path):
    """``log(name, text, written)`` writes a file; ``written``: its write time."""

    def write(name, text, written=0):
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(file, (written, written))
        return str(file)

    return write


SAYS = "lines are about membership"
CAPTURED = [
    ("reports-1.log.gz", f"38 of 368 {SAYS} (java; groups reports-java; 4 joins)"),
    ("rdk-1.log.gz", f"170 of 917 {SAYS} (librdkafka; groups rdk; 5 joins)"),
    ("kpy-1.log.gz", f"26 of 86 {SAYS} (kafka-python; groups kpy; 4 joins)"),
    ("franz-1.log.gz", f"27 of 63 {SAYS} (franz-go; groups franz; 4 joins)"),
    ("orders-5.err", f"1 of 1 {SAYS} (librdkafka; groups not named; 0 joins)"),
]


@pytest.mark.parametrize(("name", "text"), CAPTURED, ids=[row[0] for row in CAPTURED])
def test_the_lines_of_each_library_are_counted(name, text):
    file = str(DATA / name)

    assert list(check_client_logs(file, "UTC")) == [ok("client log", f"{file}: {text}")]


def test_a_log_without_a_consumers_line(log):
    file = log("app.log", "Started\n")

    [result] = check_client_logs(file, "UTC")

    assert (result.severity, result.text) == (
        "failure",
        f"{file}: 0 of 1 lines are about membership; it seems to be the log of an application"
        " without consumers",
    )
    assert result.remedy == "if the application has consumers, log its Kafka client library at INFO"


WRONG = [
    (
        "no file",
        "UTC",
        "--client-log /nowhere/*.log: no such file; give a path, a folder or a quoted glob",
        "give the applications' logs: --client-log GLOB",
    ),
    (
        "no such zone",
        "Mars",
        "unknown time zone 'Mars'; give a name such as UTC or Europe/Berlin",
        "correct --log-timezone, or timezone under [logs]",
    ),
]


@pytest.mark.parametrize(("name", "zone", "text", "remedy"), WRONG, ids=[row[0] for row in WRONG])
def test_a_wrong_option(name, zone, text, remedy):
    results = list(check_client_logs("/nowhere/*.log", zone))

    assert results == [failure("client log", text, remedy)]


UNDATED_REMEDY = (
    "begin the pattern of the log4j or logback layout with %d{ISO8601}, or export the log with "
    "the container's times (kubectl logs --timestamps)"
)
UNDATED = "INFO [Consumer clientId=c, groupId=g] (Re-)joining group (a.B)\n"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (UNDATED, []),
        (
            "[2026-11-21 10:00:00,000] INFO Started (app.Main)\n" + UNDATED,
            [],
        ),
        (
            line("10:00:01,000", "c", "(Re-)joining group")
            + line("10:00:02,000", "c", "Successfully joined group with generation 99999999999"),
            [ok("client log", f"FILE: 1 of 2 {SAYS} (java; groups g; 0 joins)")],
        ),
    ],
    ids=["without a date", "a date of another logger", "a number beyond its column"],
)
def test_unreadable_lines_are_shown(log, text, first):
    """A run fails because of a log whose lines are all without a date."""
    file = log("app.log", text)
    last = text.splitlines()[-1]
    number = len(text.splitlines())
    reason = "a number does not fit the column" if first else "the line has no date"

    results = list(check_client_logs(file, "UTC"))

    shown = f"{file}: 1 unreadable lines, first: line {number}, {reason}: {last[:160]}"
    undated = f"{file}: 0 of {number} {SAYS}; no line has a complete date"
    assert results == [
        *[each._replace(text=each.text.replace("FILE", file)) for each in first],
        warning("client log", shown, QUARANTINED),
        *([] if first else [failure("client log", undated, UNDATED_REMEDY)]),
    ]


def test_a_damaged_file_is_checked_up_to_the_damage(log):
    whole = gzip.compress(joined("10:00:00,000", "c", 1).encode())
    file = log("app.log.gz", whole[:-4])

    assert list(check_client_logs(file, "UTC")) == [
        ok("client log", f"{file}: 1 of 1 {SAYS} (java; groups g; 1 joins)"),
        warning(
            "client log",
            f"{file}: gzip stream ends early",
            "copy the file again; a run uses the lines before the damage",
        ),
    ]


@pytest.mark.parametrize("check", [check_client_logs, check_broker_logs])
def test_a_file_that_cannot_be_read_does_not_end_the_check(tmp_path, log, check):
    """A link to nowhere stands for a file that was rolled away or may not be read."""
    (tmp_path / "a.log").symlink_to("/nowhere/a.log")
    log("b.log", joined("10:00:00,000", "c", 1), written=1)

    first, second = check(str(tmp_path / "*.log"), "UTC")

    assert (first.severity, first.text, first.remedy) == (
        "failure",
        f"{tmp_path}/a.log cannot be read: No such file or directory",
        "let this user read the file",
    )
    assert f"{tmp_path}/b.log" in second.text


def test_the_newest_files_are_checked(tmp_path, log, monkeypatch):
    monkeypatch.setattr("jobs.doctor.client_logs.LOGS", LOGS._replace(most_files=2))
    for name, written in (("a.log", 3), ("b.log", 1), ("c.log", 2)):
        log(name, joined("10:00:00,000", name[0], 1), written)

    texts = [result.text for result in check_client_logs(str(tmp_path), "UTC")]

    assert texts == [
        "3 files; checking the newest 2",
        f"{tmp_path}/c.log: 1 of 1 {SAYS} (java; groups g; 1 joins)",
        f"{tmp_path}/a.log: 1 of 1 {SAYS} (java; groups g; 1 joins)",
    ]


def test_only_the_beginning_of_a_long_log_is_read(log, monkeypatch):
    """Three lines of 193 bytes are in the first 700 bytes."""
    monkeypatch.setattr(log_samples, "MOST_BYTES", 700)
    file = log("app.log", joined("10:00:00,000", "c", 1) * 10)

    [result] = check_client_logs(file, "UTC")

    assert result == ok(
        "client log", f"first 0 MiB of {file}: 3 of 3 {SAYS} (java; groups g; 3 joins)"
    )


CLOCKS = [
    ("10:00:01,000", []),
    ("11:00:00,000", [(3600.0, "ahead of", "b")]),
    ("09:59:57,500", [(2.5, "behind", "b")]),
]


@pytest.mark.parametrize(("time", "expected"), CLOCKS, ids=[row[0] for row in CLOCKS])
def test_clocks_that_differ_by_more_than_a_second(tmp_path, log, time, expected):
    """Both clients are told generation 1 at one moment; a is told at 10:00:00 by its clock."""
    log("a.log", joined("10:00:00,000", "a", 1) + joined("12:00:00,000", "a", 2), written=1)
    log("b.log", joined(time, "b", 1), written=2)

    _, _, *clocks = check_client_logs(str(tmp_path), "UTC")

    assert clocks == [
        warning(
            "client clocks",
            f"group g: the clock of {client} is {seconds:,.1f} s {word} that of another client",
            "correct the hosts' clocks or --log-timezone; a run allows for the difference",
        )
        for seconds, word, client in expected
    ]


def test_groups_of_one_client_have_clocks_of_their_own(tmp_path, log):
    log("a.log", joined("10:00:00,000", "a", 1), written=1)
    log("b.log", joined("11:00:00,000", "b", 1).replace("groupId=g", "groupId=h"), written=2)

    assert [result.check for result in check_client_logs(str(tmp_path), "UTC")] == [
        "client log",
        "client log",
    ]
