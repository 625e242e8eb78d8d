"""Hostile names of clients: they become ordinary rows, and have no other effect."""

import base64
import csv
import json
import re
import shutil
import subprocess
import sys
from functools import cache

import pytest

from coordinator_core.records import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_key,
    encode_subscription,
    encode_value,
)
from jobs.checks.check import broken_laws
from jobs.command_line import cli
from jobs.console.errors import RunFailed
from jobs.lake.sql import query
from jobs.report.command import ReportOptions, report
from jobs.segments.writer import record_batch
from tests.end_to_end.incident_lake import IncidentLake
from tools.faults.lakes import tables_of

pytestmark = pytest.mark.seldom

DAY_MS = 1_795_219_200_000
MAX_NAME_BYTES = 2**15 - 1  # maximum length of a string, in bytes
NAMES = [
    "",
    " ",
    "'; DROP TABLE generations; --",
    "\\' OR 1=1 --",
    "\"; SELECT * FROM read_csv('/etc/passwd') --",
    "`${jndi:ldap://127.0.0.1/a}`$(touch owned)",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "../../../../tmp/owned",
    "cluster_id=other/event_date=2020-01-01",
    "\x1b[2J\x1b]0;owned\x07\x9b31m",
    "\x1b]8;;http://127.0.0.1/\x07link\x1b]8;;\x07\x1b]52;c;b3duZWQ=\x07",
    '=HYPERLINK("http://127.0.0.1/?"&A1,"x")',
    "@SUM(1)",
    "a: b; end\nNote over a: %%{init: {}}%%",
    'a"} 1\n# HELP owned x\nowned{b="',
    "constructor",
    "a\nb\tc\rd\x0b\x85\u2028e",
    "nul\x00nul",
    "\u202egnp.eman\u2066",
    "%s%n{0}{{7*7}}",
    "null",
    "-1",
    "\U0001f600 \u0130\u0131\ufb01",
    "x" * MAX_NAME_BYTES,
    "\u00e9" * (MAX_NAME_BYTES // 2),
]
MEMBERS = 2
# One statement of a sequence diagram.  A text has no line end, and has ; and # only in entities.
_TEXT = r"(?:[^#;\x00-\x1f]|#\w+;)*"
MERMAID = re.compile(
    rf" *(?:sequenceDiagram|autonumber|end|title:? ?{_TEXT}|(?:participant|actor) {_TEXT}"
    rf"|\w+ ?-?->>?[+-]? ?\w+ ?: ?{_TEXT}|Note (?:over|right of|left of) {_TEXT}|rect {_TEXT}"
    rf"|(?:par|and|loop|opt|alt|else|critical|break)(?: {_TEXT})?|%%{_TEXT})?"
)
CLUSTER = "a/b\\c 'ü' \"100%\""


def records():
    """Two generations of a group per name; members, topics and metadata have the same name."""
    for number, name in enumerate(NAMES):
        subscription = encode_subscription(Subscription(1, [name], None, [], -1))
        for generation in (1, 2):
            at = DAY_MS + 1000 * number + 100 * generation
            yield at, encode_key(2, {"group": name}), group(name, subscription, generation, at)
            key = encode_key(1, {"group": name, "topic": name, "partition": 0})
            commit = {"offset": 5, "leader_epoch": -1, "metadata": name, "commit_timestamp": at + 1}
            yield at + 1, key, encode_value(1, 3, commit)


def group(name, subscription, generation, at):
    def member(number):
        assignment = encode_assignment(Assignment(1, [(name, [number])], None))
        return {
            "member_id": cut(f"{name}{number}"),
            "group_instance_id": cut(f"{name}{number}") if number else None,
            "client_id": name,
            "client_host": name,
            "rebalance_timeout": 1,
            "session_timeout": 1,
            "subscription": subscription,
            "assignment": assignment,
        }

    fields = {
        "protocol_type": "consumer",
        "generation": generation,
        "protocol": name,
        "leader": cut(f"{name}0"),
        "current_state_timestamp": at - 1,
        "members": [member(number) for number in range(min(generation, MEMBERS))],
    }
    return encode_value(2, 3, fields)


def cut(text):
    """The last characters, up to the maximum length of a string."""
    while len(text.encode()) > MAX_NAME_BYTES:
        text = text[1:]
    return text


@pytest.fixture(scope="module")
def segment(tmp_path_factory):
    file = tmp_path_factory.mktemp("hostile") / "__consumer_offsets-0" / "0.log"
    file.parent.mkdir()
    batches = [
        record_batch(offset, 0, at, [(key, value)])
        for offset, (at, key, value) in enumerate(records())
    ]
    file.write_bytes(b"".join(batches))
    return file


@pytest.fixture(scope="module")
def ingested_by(segment, tmp_path_factory):
    """``ingested_by(engine)``: a lake that this engine wrote."""

    @cache
    def of(engine):
        lake = IncidentLake(str(tmp_path_factory.mktemp("lake")), engine)
        lake.run(CLUSTER, segment.parent)
        return lake.root

    return of


@pytest.fixture(scope="module")
def ingested(ingested_by):
    return ingested_by("embedded")


def printed(*command):
    done = subprocess.run(
        [sys.executable, "-m", "jobs.command_line.cli", *command],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize(
    "columns",
    [
        "group_id FROM generations WHERE protocol = group_id",
        "group_id FROM rebalance_latency",
        "topic FROM assignments WHERE assignor = 'actual' AND topic = group_id",
        "client_id FROM generation_members WHERE client_host = group_id",
        "metadata FROM committed_offsets WHERE topic = group_id",
    ],
)
def test_every_name_is_an_ordinary_row(ingested, columns):
    names = [name for (name,) in query(ingested, f"SELECT DISTINCT {columns}")[1]]

    assert sorted(names) == sorted(NAMES)


def test_the_lake_is_valid_and_its_quarantine_empty(ingested):
    assert broken_laws(ingested)[1] == []
    assert query(ingested, "SELECT SUM(quarantined) FROM ingested_files")[1] == [(0,)]


@pytest.mark.spark
@pytest.mark.again_on_spark
def test_both_engines_give_the_same_tables(ingested_by):
    in_spark = ingested_by("spark")

    assert tables_of(in_spark) == tables_of(ingested_by("embedded"))
    assert broken_laws(in_spark)[1] == []


@pytest.mark.spark
def test_the_embedded_engine_refuses_to_replace_files_of_names_that_are_not_ascii(
    ingested_by, tmp_path
):
    """Only Spark gives the folders of such a cluster names that delta-rs cannot find."""
    lake = IncidentLake(str(shutil.copytree(ingested_by("spark"), tmp_path / "lake")), "embedded")
    before = tables_of(lake.root)

    with pytest.raises(RunFailed, match="use --engine spark"):
        lake.recompute(CLUSTER)

    assert tables_of(lake.root) == before


def test_the_embedded_engine_replaces_its_own_files(ingested, tmp_path):
    lake = IncidentLake(str(shutil.copytree(ingested, tmp_path / "lake")), "embedded")
    before = tables_of(lake.root)

    lake.recompute(CLUSTER)

    assert tables_of(lake.root) == before


def test_control_characters_are_escaped(ingested):
    out = printed("sql", "--lake", ingested, "SELECT group_id, leader FROM generations")

    assert "DROP TABLE" in out
    assert not [c for c in out if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)]
    assert "\u202e" not in out


def test_csv_has_formulas_unchanged(ingested):
    """A spreadsheet may calculate them: docs/reliability.md says how to import them as text."""
    sql = "SELECT DISTINCT group_id FROM generations WHERE group_id SIMILAR TO '[=@].*'"
    rows = list(csv.reader(printed("sql", "--lake", ingested, "--format", "csv", sql).splitlines()))

    assert sorted(rows) == [['=HYPERLINK("http://127.0.0.1/?"&A1,"x")'], ["@SUM(1)"], ["group_id"]]


def test_a_sequence_has_a_statement_per_line_whatever_the_names(ingested, capsys):
    for name in NAMES:
        report(ReportOptions(lake=ingested, cluster_id=CLUSTER, group_id=name, mermaid="2"))
    lines = capsys.readouterr().out.splitlines()

    assert lines.count("sequenceDiagram") == len(NAMES)
    assert [line for line in lines if not MERMAID.fullmatch(line)] == []


def test_a_trace_is_json_with_the_names(ingested, tmp_path):
    report(ReportOptions(lake=ingested, cluster_id=CLUSTER, trace=str(tmp_path / "trace.json")))
    events = json.loads((tmp_path / "trace.json").read_bytes())["traceEvents"]
    groups = {each["args"]["name"] for each in events if each["name"] == "process_name"}

    assert len(groups) == len(NAMES)


def test_an_error_with_a_name_is_one_line_of_text(ingested, capsys, monkeypatch):
    for name in NAMES:
        options = ["--lake", ingested, "--cluster-id", CLUSTER, "--group", f"no {name}"]
        monkeypatch.setattr("sys.argv", ["regroup", "report", *options, "--mermaid", "1"])
        with pytest.raises(SystemExit):
            cli.main()

        error = capsys.readouterr().err
        assert error.startswith("regroup: ")
        assert [c for c in error if ord(c) < 32 or 127 <= ord(c) < 160] == ["\n"]
        assert "\u202e" not in error


def test_json_has_the_unchanged_names(ingested):
    sql = "SELECT DISTINCT group_id FROM generations"
    out = printed("sql", "--lake", ingested, "--format", "json", sql)

    assert sorted(row["group_id"] for row in json.loads(out)) == sorted(NAMES)


def test_decode_has_the_unchanged_names(segment):
    rows = [json.loads(line) for line in printed("decode", str(segment)).splitlines()]
    keys = [encode_key(2, {"group": name}) for name in NAMES for _ in (1, 2)]

    assert [base64.b64decode(row["key"]) for row in rows if row["type"] == "GroupMetadata"] == keys
    assert {row["decoded"]["key"]["group"] for row in rows} == set(NAMES)
