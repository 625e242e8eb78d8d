"""The evidence of modern groups, from the captures of tests/data/modern_groups."""

import gzip
import json
from base64 import b64decode
from functools import cache
from pathlib import Path

from coordinator_core.incident.modern import (
    GroupLine,
    IncarnationReplay,
    ModernIncarnation,
    entry,
    modern_era,
)
from coordinator_core.incident.stretches import one_era
from coordinator_core.log_lines import parse_line
from coordinator_core.records import decode

DATA = Path(__file__).parents[2] / "data" / "modern_groups"
OFFSET_COMMIT, FIRST, LAST = 1, 2, 23


@cache
def captured(folder):
    """Records by group, lines by group, names of topic ids."""
    records, names = {}, {}
    for row in map(json.loads, text_of(folder, "records.jsonl").splitlines()):
        key = b64decode(row["key"])
        value = None if row["value"] is None else b64decode(row["value"])
        key_type = int.from_bytes(key[:2], "big")
        if key_type == OFFSET_COMMIT and value is not None:
            commit = decode(key, value)
            if "topic_id" in commit.value:
                names[commit.value["topic_id"]] = commit.key["topic"]
        elif FIRST <= key_type <= LAST:
            place = f"{row['partition']}@{row['offset']}"
            each = entry(row["timestamp"], place, key, value)
            group = each.key.get("group_id") or each.key["group"]
            records.setdefault(group, []).append(each)
    return records, lines_of(folder), names


def text_of(folder, name):
    return gzip.decompress((DATA / folder / f"{name}.gz").read_bytes()).decode()


def lines_of(folder):
    lines = {}
    for number, text in enumerate(text_of(folder, "server.log").splitlines()):
        read = parse_line(text)
        event = None if read is None else read.event
        if event is not None and event.group_id is not None:
            line = GroupLine(
                at_ms=read.local_ms,
                place=f"log:{number}",
                event=event.event,
                member_id=event.member_id or "",
                instance_id=event.instance_id,
                old_member_id=event.old_member_id,
                step=event.step,
                reason=event.reason,
                client_reason=event.client_reason,
            )
            lines.setdefault(event.group_id, []).append(line)
    return lines


def groups_of(folder):
    """Those that were of a new type at some time."""
    records, _, _ = captured(folder)
    return [g for g, own in sorted(records.items()) if any(e.group_type != "classic" for e in own)]


def replayed(folder, group, *, with_log=True, records=None, lines=None):
    own, all_lines, names = captured(folder)
    records = own[group] if records is None else records
    lines = all_lines.get(group, []) if lines is None else lines
    evidence = ModernIncarnation(group, 1, tuple(records), tuple(lines) if with_log else ())
    return IncarnationReplay(evidence, one_era(modern_era(records)), names).replay()
