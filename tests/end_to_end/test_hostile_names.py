"""Hostile names of clients: they become ordinary rows, and have no other effect."""

import base64
import json
import shutil
import subprocess
import sys

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
from jobs.console.errors import RunFailed
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions, nightly
from jobs.segments.writer import record_batch
from tests.end_to_end.incident_lake import IncidentLake
from tools.faults.lakes import tables_of

DAY_MS = 1_795_219_200_000
MAX_NAME_BYTES = 2**15 - 1  # maximum length of a string in bytes
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
def ingested(segment, config, tmp_path_factory):
    root = str(tmp_path_factory.mktemp("lake"))
    nightly(NightlyOptions(root, CLUSTER, segments=str(segment.parent)), config)
    return root


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
@pytest.mark.parametrize("engine", ["embedded"], indirect=True, scope="module")
def test_spark_recomputes_the_tables_of_the_embedded_engine(ingested, tmp_path):
    copy = shutil.copytree(ingested, tmp_path / "lake")

    IncidentLake(str(copy), "spark").recompute(CLUSTER)

    assert tables_of(str(copy)) == tables_of(ingested)
    assert broken_laws(str(copy))[1] == []


@pytest.mark.spark
def test_the_embedded_engine_refuses_to_replace_files_of_names_that_are_not_ascii(
    ingested, engine, tmp_path
):
    lake = IncidentLake(str(shutil.copytree(ingested, tmp_path / "lake")), "embedded")
    before = tables_of(lake.root)

    if engine == "spark":
        with pytest.raises(RunFailed, match="use --engine spark"):
            lake.recompute(CLUSTER)
    else:
        lake.recompute(CLUSTER)

    assert tables_of(lake.root) == before


def test_control_characters_are_escaped(ingested):
    out = printed("sql", "--lake", ingested, "SELECT group_id, leader FROM generations")

    assert "DROP TABLE" in out
    assert not [c for c in out if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)]
    assert "\u202e" not in out


def test_json_has_the_unchanged_names(ingested):
    sql = "SELECT DISTINCT group_id FROM generations"
    out = printed("sql", "--lake", ingested, "--format", "json", sql)

    assert sorted(row["group_id"] for row in json.loads(out)) == sorted(NAMES)


def test_decode_has_the_unchanged_names(segment):
    rows = [json.loads(line) for line in printed("decode", str(segment)).splitlines()]
    keys = [encode_key(2, {"group": name}) for name in NAMES for _ in (1, 2)]

    assert [base64.b64decode(row["key"]) for row in rows if row["type"] == "GroupMetadata"] == keys
    assert {row["decoded"]["key"]["group"] for row in rows} == set(NAMES)
