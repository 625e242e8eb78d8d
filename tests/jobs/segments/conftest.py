"""Captured segments, uncompressed into a temporary folder."""

import gzip
import json
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "data" / "segments"


@pytest.fixture(scope="session")
def captured(tmp_path_factory):
    """The folder of a capture with its segments as plain files."""
    root = tmp_path_factory.mktemp("segments")

    def unpack(name):
        for packed in (DATA / name).rglob("*.log.gz"):
            target = root / packed.relative_to(DATA).with_suffix("")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(gzip.decompress(packed.read_bytes()))
        return root / name

    return unpack


@pytest.fixture(scope="session")
def told_by_kafka():
    """The lines of a capture's ``records`` or ``batches``."""

    def load(name, what):
        with gzip.open(DATA / name / f"{what}.jsonl.gz", "rt") as lines:
            return [json.loads(line) for line in lines]

    return load
