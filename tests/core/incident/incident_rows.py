"""Rows as the lake has them, of what brokers left behind: real ones, and simulated ones."""

import io
import json
import tarfile
from base64 import b64decode
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from coordinator_core.incident.commits import commit_stimuli, commits
from coordinator_core.log_lines import parse_line
from coordinator_core.records import decode
from coordinator_core.simulation import BrokerLogLine, WrittenBatch, fleet_of, simulate
from jobs.decode.command import decode as decode_segments

START_MS = 1_795_161_600_000
ROOT = Path(__file__).parents[3]
DEATHS = {"GROUP_DEAD", "ADMIN_DELETE"}
FIELDS = (
    "event", "generation", "member_id", "instance_id", "old_member_id", "step", "reason",
    "client_reason", "cause", "member_count", "members",
)  # fmt: skip


class IncidentRows:
    """``events``, ``records``, ``commits``: rows of group_events, group_metadata and
    committed_offsets by group.
    """

    def __init__(self):
        self.events, self.records, self.commits = {}, {}, {}
        self._lives, self._dead = {}, set()

    def groups(self):
        return sorted(self.records)

    def add_line(self, seq, text, at_ms=None, broker_id=1):
        read = parse_line(text)
        event = None if read is None else read.event
        if event is None or event.group_id is None:
            return
        row = {name: getattr(event, name) for name in FIELDS} | {
            "event_seq": seq,
            "at_ms": read.local_ms if at_ms is None else at_ms,
            "incarnation": self._life(event.group_id, ends=event.event in DEATHS),
            "broker_id": broker_id,
            "file_id": "log",
            "position": seq,
        }
        row["cause"] = None if event.cause == "unknown" else event.cause
        self.events.setdefault(event.group_id, []).append(row)

    def add_record(self, partition, offset, at_ms, key, value):
        record = decode(key, value)
        if record.name == "OffsetCommit" and value is not None:
            self._add_commit(partition, offset, record)
        if record.name != "GroupMetadata":
            return
        group_id = record.key["group"]
        row = {
            "topic_partition": f"__consumer_offsets-{partition}",
            "log_offset": offset,
            "at_ms": at_ms,
            "incarnation": self._life(group_id, ends=value is None),
            "tombstone": value is None,
        }
        if value is not None:
            row |= _group(record)
        self.records.setdefault(group_id, []).append(row)

    def _add_commit(self, partition, offset, record):
        row = {
            "topic_partition": f"__consumer_offsets-{partition}",
            "log_offset": offset,
            "topic": record.key["topic"],
            "partition": record.key["partition"],
            "tombstone": False,
            "outcome": "plain",
            "committed_offset": record.value["offset"],
            "at_ms": record.value["commit_timestamp"],
        }
        self.commits.setdefault(record.key["group"], []).append(row)

    def _life(self, group_id, ends):
        if group_id in self._dead and not ends:
            self._dead.discard(group_id)
            self._lives[group_id] = self._lives.get(group_id, 1) + 1
        if ends:
            self._dead.add(group_id)
        return self._lives.setdefault(group_id, 1)


def of_fleet(values):
    """What a simulated cluster leaves behind."""
    found = IncidentRows()
    for seq, output in enumerate(simulate(fleet_of(values), START_MS, traces=False)):
        if isinstance(output, BrokerLogLine):
            found.add_line(seq, output.text, output.at_ms, output.broker_id)
        elif isinstance(output, WrittenBatch):
            for place, record in enumerate(output.records):
                offset = output.base_offset + place
                found.add_record(output.partition, offset, output.at_ms, *record)
    return found


def last_commits(evidence, group, told):
    """By member, when what it owned was committed for the last time."""
    found = {}
    taken = commits(evidence.commits.get(group, []))
    for life in told.lives:
        for commit in commit_stimuli(life.life, taken):
            found[commit.member_id] = max(found.get(commit.member_id, 0), commit.at_ms)
    return found


@cache
def of_example(version):
    """A real incident of examples/."""
    folder = ROOT / "examples" / f"mixed-clients-{version}"
    return _of_files(folder / "segments", folder / "server.log")


@cache
def of_twins(version):
    """The three plays of a real pair of twins, by (segments, log)."""
    archive = ROOT / "tests" / "data" / "twins" / f"rolling-deploy-and-crash-{version}.tar.gz"
    plays = ("segments", "server.log"), ("segments-delay", "server-delay.log"), (
        "play2/segments", "play2/server.log",
    )  # fmt: skip
    with TemporaryDirectory() as made, tarfile.open(archive) as packed:
        packed.extractall(made, filter="data")
        return [_of_files(Path(made, segments), Path(made, log)) for segments, log in plays]


@cache
def truth_of_twins(version):
    """By group, what was counted when the twins were played; with ``t0_wall_ms``."""
    archive = ROOT / "tests" / "data" / "twins" / f"rolling-deploy-and-crash-{version}.tar.gz"
    found = {}
    with tarfile.open(archive) as packed:
        for play in ("./truth.json", "./play2/truth.json"):
            told = json.load(packed.extractfile(play))
            for group, truth in told["groups"].items():
                found[group] = truth | {"t0_wall_ms": told["t0_wall_ms"]}
    return found


def _of_files(segments, log):
    found = IncidentRows()
    for seq, line in enumerate(log.read_text(encoding="utf-8").splitlines()):
        found.add_line(seq, line)
    text = io.StringIO()
    assert decode_segments([str(segments)], text) == 0
    for row in map(json.loads, text.getvalue().splitlines()):
        if row.get("type") in ("GroupMetadata", "OffsetCommit"):
            value = None if row["value"] is None else b64decode(row["value"])
            key = b64decode(row["key"])
            found.add_record(row["partition"], row["offset"], row["timestamp"], key, value)
    return found


def _group(record):
    value = record.value
    return {
        "value_version": record.version,
        "generation": value["generation"],
        "protocol_type": value["protocol_type"],
        "protocol": value["protocol"],
        "leader": value["leader"],
        "state_timestamp_ms": value.get("current_state_timestamp"),
        "members": [
            {
                "member_id": member["member_id"],
                "instance_id": member.get("group_instance_id"),
                "client_id": member["client_id"],
                "client_host": member["client_host"],
                "rebalance_timeout_ms": member.get("rebalance_timeout", -1),
                "session_timeout_ms": member["session_timeout"],
                "subscription": member["subscription"],
                "assignment": member["assignment"],
            }
            for member in value["members"]
        ],
    }
