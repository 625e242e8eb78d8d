"""Hash codes, partitions and hash map orders equal those of a JVM."""

import gzip
import json
from pathlib import Path

import pytest

from coordinator_core.jvm.hash_codes import partition_for, string_hash, utils_abs
from coordinator_core.jvm.java_maps import HashMapKeys
from coordinator_core.jvm.scala_maps import ScalaHashMapKeys

FILE = Path(__file__).parents[1] / "data/records/hash_maps.json.gz"
HISTORIES = json.loads(gzip.decompress(FILE.read_bytes()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", -2147483648),
        ("\U0001f600", 1772899),  # two UTF-16 units
        ("consumer-group-1", 147483020),
    ],
)
def test_string_hash(text, expected):
    assert string_hash(text) == expected


def test_the_int_without_a_positive_counterpart_is_0():
    assert [utils_abs(value) for value in (-(2**31), -7, 0, 7)] == [0, 7, 0, 7]


@pytest.mark.parametrize(
    ("group", "partitions", "expected"),
    [
        ("polygenelubricants", 50, 0),
        ("hello", 50, 22),
        ("hello", 7, 0),
        ("consumer-group-1", 50, 20),
        ("consumer-group-1", 7, 6),
    ],
)
def test_partition_of_a_group(group, partitions, expected):
    assert partition_for(group, partitions) == expected


def test_a_group_is_in_one_of_50_partitions_by_default():
    assert partition_for("hello") == 22


@pytest.mark.parametrize(("name", "keys"), [("java", HashMapKeys), ("scala", ScalaHashMapKeys)])
def test_order_after_puts_and_removals(name, keys):
    """A history: puts (+) and removals (-) on one map, and the final order in the JVM."""
    for history in HISTORIES:
        ordered = keys()
        for step in history["steps"]:
            (ordered.add if step[0] == "+" else ordered.discard)(step[1:])

        assert list(ordered) == history[name]


def test_the_histories_distinguish_the_two_maps():
    assert sum(history["java"] != history["scala"] for history in HISTORIES) > 30
    assert max(len(history["java"]) for history in HISTORIES) > 48


def test_a_map_has_the_keys_that_were_added():
    keys = HashMapKeys(["a", "b", "a"])
    keys.discard("c")

    assert (len(keys), "a" in keys, "c" in keys) == (2, True, False)
