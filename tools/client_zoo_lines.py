"""Compare lines of captured clients' logs with patterns that the reader does not share.

    python -m tools.client_zoo_lines PLAY [PLAY ...]

Prints per library: lines about membership by PATTERNS, and how many of them are read with the
time, group, member id, and generation or epoch that the patterns find.  Below a library whose lines
are not all read so is the first of the others.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from tools.client_zoo import Row, dated, print_row, rows_of

_CONTEXT = (
    r"\[(?:Consumer|Worker) (?:instanceId=[^,]*, )?clientId=[^,]*, groupId=(?P<group>[^]]*)\] "
)
_JAVA = [
    r"Successfully (?:joined|synced) group (?:with|in) generation (?:Generation\{generationId=)?"
    r"(?P<generation>\d+)(?:, memberId='(?P<member>[^']+)')?",
    r"Finished assignment for group at generation (?P<generation>\d+)",
    r"Member (?P<member>\S+) sending LeaveGroup",
    r"Member (?P<member>\S+) with epoch (?P<epoch>\d+) transitioned from",
    r"Member with epoch (?P<epoch>\d+)",
    r"(?:\(Re-\)joining group|Request joining group|Adding newly assigned)",
    r"Revok(?:e|ing) previously assigned",
    r"(?:Lost previously assigned|Notifying assignor|Discovered group coordinator|Subscribed to)",
    r"(?:Attempt to heartbeat|Resetting generation|consumer poll timeout has expired)",
    r"(?:JoinGroup|SyncGroup|Join group|Offset commit) failed",
]
_PYTHON = [
    r"\(Re-\)joining group (?P<group>[^\s']+)",
    r"(?:Setting newly assigned|Revoking previously assigned) partitions",
    r"(?:Leaving consumer group|Discovered coordinator)",
    r"Heartbeat (?:failed|session expired|poll expired)|Marking the coordinator dead",
]
PATTERNS = {
    **{
        name: [_CONTEXT + each for each in _JAVA]
        for name in ("spring-classic", "spring-consumer", "java-2.3", "streams", "connect")
    },
    "aiokafka": [
        r"Joined group '(?P<group>[^']+)' \(generation (?P<generation>\d+)\) with member_id"
        r" (?P<member>\S+)",
        r"Successfully synced group (?P<group>\S+) with generation (?P<generation>\d+)",
        r"LeaveGroup request",
        *_PYTHON,
    ],
    "kafka-python": [
        r"Successfully joined group (?P<group>\S+) <Generation (?P<generation>\d+)"
        r" \(member_id: (?P<member>[^,]+)",
        *_PYTHON,
    ],
    "kafka-python-1.4.7": [
        r"Successfully joined group (?P<group>\S+) with generation (?P<generation>\d+)",
        *_PYTHON,
    ],
    "franz-go-kzap": [
        r'"msg":"joined","group":"(?P<group>[^"]+)","member_id":"(?P<member>[^"]+)".*'
        r'"generation":(?P<generation>\d+)',
        r'"msg":"(?:joining group|synced|leaving group|heartbeat errored)","group":'
        r'"(?P<group>[^"]+)"',
    ],
    "franz-go-basic": [
        r"joined; group: (?P<group>[^,]+), member_id: (?P<member>[^,]+),.* generation:"
        r" (?P<generation>\d+)",
        r"(?:joining group|synced|leaving group|heartbeat errored); group: (?P<group>[^,\s]+)",
    ],
    "kafka-go": [
        r"joinGroup succeeded for response, (?P<group>\S+)\.  generationID=(?P<generation>\d+),"
        r" memberID=(?P<member>.+)",
        r"Leaving group (?P<group>[^,]+), member (?P<member>.+)",
        r"subscribed to topics and partitions",
    ],
    "kafkajs": [
        r'has joined the group","groupId":"(?P<group>[^"]+)","memberId":"(?P<member>[^"]+)',
        r'"\[Consumer\] (?:Starting|Stopped)","groupId":"(?P<group>[^"]+)"',
        r'"\[Runner\] The (?:group is rebalancing|coordinator is not aware)[^"]*","groupId":'
        r'"(?P<group>[^"]+)","memberId":"(?P<member>[^"]+)"',
    ],
    "sarama": [
        r"session/(?P<member>[^/]+)/(?P<generation>\d+) heartbeat loop stopped",
        r"coordinator for (?:consumergroup )?(?P<group>\S+) is #",
        r"(?:added subscription to|closed dead subscription|Successfully initialized new client)",
    ],
    "confluent-python-debug": [
        r'Joining group "(?P<group>[^"]+)" with .* and member id "(?P<member>[^"]*)"',
        r"JoinGroup response: GenerationId (?P<generation>\d+), Protocol \S+, LeaderId .*,"
        r" my MemberId (?P<member>\S+), .*no error",
        r'Group "(?P<group>[^"]+)"(?:: new assignment of| changed join state| heartbeat error)',
        r'Group "(?P<group>[^"]+)"(?:: delegating revoke|: leave| is rebalancing| initiating)',
        r"\]: (?:SyncGroup response: Success|Application maximum poll|Consumer group session)",
    ],
    **{
        name: [r"\]: (?:Application maximum poll interval|Consumer group session timed out)"]
        for name in ("confluent-python", "confluent-go", "rust-rdkafka", "confluent-python-next")
    },
}
_TIMES = [
    (re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)[.,](\d{3})"), "-"),
    (re.compile(r"(\d{4}/\d\d/\d\d) (\d\d:\d\d:\d\d)()"), "/"),
]
_NUMBERS = [re.compile(r'"ts":(\d{10})\.(\d{3})'), re.compile(r"%\d\|(\d{10})\.(\d{3})\|")]


def main(arguments: list[str]) -> None:
    print_row("library", "lines", "read right", "%")
    for play in map(Path, arguments):
        truth = json.loads((play / "truth.json").read_text())["groups"]
        for folder in sorted((play / "clients").iterdir()):
            own = [each for each in truth.values() if each["library"] == folder.name]
            since_ms = min(each["script_t0_wall_ms"] for each in own)
            results = [
                each
                for path in sorted(folder.glob("*.log"))
                for each in faults(path, since_ms, PATTERNS.get(folder.name, []))
            ]
            wrong = [each for each in results if each]
            right = len(results) - len(wrong)
            share = f"{100 * right / len(results):.2f}" if results else "-"
            print_row(folder.name, len(results), right, share)
            if wrong:
                print("   ", wrong[0])


def faults(path: Path, since_ms: int, patterns: list[str]) -> Iterator[str]:
    """Per line that a pattern fits, what is not read as the pattern finds it; or ""."""
    content = path.read_bytes()
    rows = rows_of(content, path, since_ms)
    has_dates = any(row["kind"] == "event" for row in rows)
    if not has_dates:
        content = dated(path)
        rows = rows_of(content, path, since_ms)
    by_position = {row["position"]: row for row in rows if row["kind"] == "event"}
    compiled, position = list(map(re.compile, patterns)), 0
    for raw in content.splitlines(keepends=True):
        line = raw.decode(errors="replace").rstrip("\r\n")
        match = next((match for each in compiled if (match := each.search(line))), None)
        if match is not None and "NetworkClient" not in line:
            fault = _fault(by_position.get(position), match.groupdict())
            if not fault and has_dates:
                fault = _fault_of_time(by_position[position], line)
            yield fault and f"{fault}: {line[:200]}"
        position += len(raw)


def _fault(row: Row | None, expected: dict[str, Any]) -> str:
    if row is None:
        return "not read"
    read = {"group": "group_id", "member": "member_id", "generation": "generation"}
    for name, column in {**read, "epoch": "epoch"}.items():
        value = expected.get(name)
        if value and str(row[column]) != value:
            return f"{name} {row[column]}"
    return ""


def _fault_of_time(row: Row, line: str) -> str:
    """Of a time with a date; others are completed by the reader."""
    read_ms = round(row["event_time"].timestamp() * 1000)
    for pattern, mark in _TIMES:
        if match := pattern.search(line):
            date, time, ms = match.groups()
            day = date.replace(mark, "-")
            seconds = datetime.fromisoformat(f"{day}T{time}+00:00").timestamp()
            return "" if read_ms == round(seconds) * 1000 + int(ms or 0) else f"time {read_ms}"
    for pattern in _NUMBERS:
        if match := pattern.search(line):
            return "" if read_ms == int(match[1] + match[2]) else f"time {read_ms}"
    return ""


if __name__ == "__main__":
    main(sys.argv[1:])
