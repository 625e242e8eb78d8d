"""Rows as in the lake, from the records and logs of real brokers and of simulated fleets."""

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
DELETIONS = {"GROUP_DEAD", "ADMIN_DELETE"}
ROLLING, FLAPPING = "rolling-deploy-and-crash", "flapping-and-slow-poll"
SURGE = "surge-freeze-and-autoscale"
NEXT = "next-rolling-deploy-and-crash"
FREEZES, RETURNS = "freezes-and-return", "kills-returns-and-autoscale"
PLAYS = (
    ("segments", "server.log"), ("segments-delay", "server-delay.log"),
    ("play2/segments", "play2/server.log"), ("orders/segments", "orders/server.log"),
    ("invoices/segments", "invoices/server.log"),
)  # fmt: skip
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
        self._incarnations, self._deleted = {}, set()

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
            "incarnation": self._incarnation(event.group_id, ends=event.event in DELETIONS),
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
            "incarnation": self._incarnation(group_id, ends=value is None),
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

    def _incarnation(self, group_id, ends):
        if group_id in self._deleted and not ends:
            self._deleted.discard(group_id)
            self._incarnations[group_id] = self._incarnations.get(group_id, 1) + 1
        if ends:
            self._deleted.add(group_id)
        return self._incarnations.setdefault(group_id, 1)


def of_fleet(values):
    """Rows of a simulated cluster."""
    rows = IncidentRows()
    for seq, output in enumerate(simulate(fleet_of(values), START_MS, traces=False)):
        if isinstance(output, BrokerLogLine):
            rows.add_line(seq, output.text, output.at_ms, output.broker_id)
        elif isinstance(output, WrittenBatch):
            for place, record in enumerate(output.records):
                offset = output.base_offset + place
                rows.add_record(output.partition, offset, output.at_ms, *record)
    return rows


def last_commits(rows, group, explained):
    """By member id: the last commit of a partition that it owned, in ms."""
    last_ms = {}
    offsets = commits(rows.commits.get(group, []))
    for each in explained.incarnations:
        for commit in commit_stimuli(each.incarnation, offsets):
            last_ms[commit.member_id] = max(last_ms.get(commit.member_id, 0), commit.at_ms)
    return last_ms


@cache
def of_example(version):
    """Rows of a real incident of examples/."""
    folder = ROOT / "examples" / f"mixed-clients-{version}"
    return _of_files(folder / "segments", folder / "server.log")


@cache
def of_twins(version, script=ROLLING):
    """Rows of the runs of a script with real clients, one setting changed per group."""
    with TemporaryDirectory() as folder, tarfile.open(_archive(version, script)) as packed:
        packed.extractall(folder, filter="data")
        paths = [(Path(folder, segments), Path(folder, log)) for segments, log in PLAYS]
        return [_of_files(segments, log) for segments, log in paths if log.exists()]


def _archive(version, script):
    return ROOT / "tests" / "data" / "twins" / f"{script}-{version}.tar.gz"


@cache
def truth_of_twins(version, script=ROLLING):
    """By group: the figures counted during the run; with ``t0_wall_ms``, and ``window_ms`` if they
    were counted in another time than the whole run.
    """
    by_group = {}
    with tarfile.open(_archive(version, script)) as packed:
        for play in sorted(name for name in packed.getnames() if name.endswith("truth.json")):
            counted = json.load(packed.extractfile(play))
            for group, truth in counted["groups"].items():
                by_group[group] = truth | {
                    name: counted[name] for name in ("t0_wall_ms", "window_ms") if name in counted
                }
    return by_group


def _of_files(segments, log):
    rows = IncidentRows()
    for seq, line in enumerate(log.read_text(encoding="utf-8").splitlines()):
        rows.add_line(seq, line)
    text = io.StringIO()
    assert decode_segments([str(segments)], text) == 0
    for row in map(json.loads, text.getvalue().splitlines()):
        if row.get("type") in ("GroupMetadata", "OffsetCommit"):
            value = None if row["value"] is None else b64decode(row["value"])
            key = b64decode(row["key"])
            rows.add_record(row["partition"], row["offset"], row["timestamp"], key, value)
    return rows


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
