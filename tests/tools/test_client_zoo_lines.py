"""Slices of captured clients' logs, read as patterns that the reader does not share find them."""

import gzip
from pathlib import Path

import pytest

from tools.client_zoo_lines import PATTERNS, faults

ZOO = Path(__file__).parents[1] / "data" / "client_logs" / "zoo"
NOV_26 = 1_795_651_200_000
# Number of lines about membership in each slice.
LINES = {
    "aiokafka": 62,
    "confluent-python-debug": 27,
    "confluent-python": 2,
    "connect": 46,
    "franz-go-kzap": 22,
    "java-2.3": 56,
    "kafka-go": 17,
    "kafka-python-1.4.7": 54,
    "kafka-python": 37,
    "kafkajs": 28,
    "rust-rdkafka": 2,
    "sarama": 52,
    "spring-classic": 53,
    "spring-consumer": 34,
    "streams": 30,
}


@pytest.mark.parametrize("library", LINES)
def test_lines_of_a_library(tmp_path, library):
    path = tmp_path / f"{library}.log"
    path.write_bytes(gzip.decompress((ZOO / f"{library}.log.gz").read_bytes()))

    results = list(faults(path, NOV_26, PATTERNS[library]))

    assert len(results) == LINES[library]
    assert [fault for fault in results if fault] == []


def test_each_slice_is_compared():
    assert sorted(LINES) == sorted(path.name.removesuffix(".log.gz") for path in ZOO.iterdir())


def test_a_fault_is_named(tmp_path):
    path = tmp_path / "app.log"
    path.write_text(
        "2026-11-26 21:26:47.123 INFO [Consumer clientId=c, groupId=g] (Re-)joining group\n"
        "2026-11-26 21:26:47.123 INFO [Consumer clientId=c, groupId=g] Sung\n"
    )

    read, *unread = faults(path, NOV_26, [r"groupId=(?P<group>[^]]*)\]"])

    assert read == ""
    assert [fault[:8] for fault in unread] == ["not read"]
    assert [fault[:7] for fault in faults(path, NOV_26, [r"(?P<group>joining)"])] == ["group g"]
