"""Histories of Kafka's own classes: records alone give most generations of all types."""

import gzip
import json
from base64 import b64decode
from collections import Counter
from pathlib import Path

import pytest

from coordinator_core.coordinator.era_evidence import InferredEra
from coordinator_core.incident.modern import IncarnationReplay, ModernIncarnation, entry
from coordinator_core.incident.stretches import one_era
from coordinator_core.records import decode

pytestmark = pytest.mark.slow
DATA = Path(__file__).parents[2] / "data"


def histories(folder, era, count):
    """Records by group, and names of topic ids, of the first traces."""
    text = gzip.decompress((DATA / folder / f"traces-{era}.jsonl.gz").read_bytes()).decode()
    for line in text.splitlines()[:count]:
        groups, names = {}, {}
        events = [each for each in json.loads(line)["trace"] if each["event"] == "record"]
        for offset, event in enumerate(events):
            key = b64decode(event["key"])
            value = None if event["value"] is None else b64decode(event["value"])
            kind = int.from_bytes(key[:2], "big")
            if kind == 1 and value is not None:
                commit = decode(key, value)
                names |= {commit.value.get("topic_id", ""): commit.key["topic"]}
            elif kind >= 2:
                record = entry(event["at_ms"], f"log@{offset}", key, value)
                group = record.key.get("group_id") or record.key["group"]
                groups.setdefault(group, []).append(record)
        for group, records in groups.items():
            if any(each.group_type != "classic" for each in records):
                yield group, records, names


# Each row: folder, era, share of generations reproduced.
CASES = [
    ("coordinator-group-types", "4.4", 0.95),
    ("coordinator-group-types", "4.1", 0.95),
    ("coordinator-group-types", "4.0", 0.95),
    ("coordinator-share-streams", "4.4", 0.85),
    ("coordinator-share-streams", "4.1", 0.9),
]


@pytest.mark.parametrize(("folder", "era", "share"), CASES)
def test_most_generations_are_reproduced(folder, era, share):
    """Requests are refused, late and many in a millisecond; topics change, appends fail."""
    verdicts = Counter()
    for group, records, names in histories(folder, era, 60):
        evidence = ModernIncarnation(group, 1, tuple(records), ())
        run = IncarnationReplay(evidence, one_era(InferredEra(era, "of the trace")), names)
        verdicts.update(each.verdict.value for each in run.replay())

    assert verdicts["reproduced"] > share * sum(verdicts.values()), verdicts
